"""Fault injection: ``make torture`` kills, damages, fills and crowds, and counts the faults."""
