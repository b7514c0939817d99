"""A training command from its settings to its files: run, stopped, continued, recorded."""
