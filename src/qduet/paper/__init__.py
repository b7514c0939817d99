"""What the paper reports, held against our results: its figures as data, findings, certificate."""
