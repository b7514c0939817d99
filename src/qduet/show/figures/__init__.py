"""The figures: one function each, from results to a matplotlib figure."""
