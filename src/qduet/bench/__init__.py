"""What ``qduet bench`` measures, one module for each section.

The sections are `tabular`, `scaling`, `minatar` and `deep`. Each holds `DESCRIPTION` (one line),
`add_arguments(parser)` for its options, `measure(args)`, which yields readings (NamedTuples of
plain values) as they are taken, and `show(readings)`, which prints them as a table; it may hold
`summary(readings)`, which adds to the JSON document, and `chart(readings)`, which is drawn.
`qduet.cli.bench` lists the sections.
"""
