"""Directories of runs as tables, the published scores, and the comparison of agents."""
