"""The files of runs, read with nothing of qduet."""

import csv

import numpy as np


def curves(path, game, agent, column="return_mean"):
    """``[seeds, evaluations]`` of an ``evaluations.csv``; an empty cell is NaN."""
    values = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["game"], row["agent"]) == (game, agent):
                values[int(row["seed"]), int(row["step"])] = float(row[column] or "nan")
    seeds, steps = (sorted(set(part)) for part in zip(*values, strict=True))
    return np.array([[values[seed, step] for step in steps] for seed in seeds])


def columns(path):
    """The heading."""
    with path.open(encoding="utf-8") as file:
        return next(csv.reader(file))
