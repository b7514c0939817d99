"""The paper's network as kernels: what makes training fast, and nothing that decides a result."""
