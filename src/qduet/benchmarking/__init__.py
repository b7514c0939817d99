"""Benchmarks, one module per section of ``qduet bench``.

A section has ``measure(quick=..., tell=...)``, which returns a NamedTuple of plain values, and
``text(measured)``, which tells it to people. `tell` is called with what is being timed.
"""
