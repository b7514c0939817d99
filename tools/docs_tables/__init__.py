"""The documentation's numbers and pictures, derived from ``results/``.

    python -m docs_tables             # writes the tables and draws the pictures anew
    python -m docs_tables --check     # exit code 1 if a table is not what the data say

`protocols` tables what the two protocols and their parts do, `tables` collects every table by name,
`documents` puts them between their markers.
"""
