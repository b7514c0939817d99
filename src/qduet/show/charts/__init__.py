"""Results as charts: pure functions, one module for each kind of result."""
