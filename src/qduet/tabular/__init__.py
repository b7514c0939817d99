"""QVTables in tables: finite MDPs, update rules, sweeps over step sizes and seeds."""
