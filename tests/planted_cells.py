"""Cells of tabular sweeps made up for tests, as ``qduet reproduce`` writes them."""

import numpy as np

from qduet.core.files import write_arrays

STEP_SIZES = tuple(np.exp([-3.0, -2.0, -1.0, 0.0]).tolist())


def curves(generator, seeds, step_sizes, points):
    """Errors that fall at a rate that grows with the step size: ``[seeds, K, points]``."""
    rate = np.linspace(0.5, 3.0, step_sizes)[None, :, None] * generator.uniform(
        0.8, 1.2, (seeds, 1, 1)
    )
    return (100 * np.exp(-rate * np.linspace(0, 1, points))).astype(np.float32)


def cell(folder, rule, num_actions, *, seeds=4, steps=400, diverged=(), seed=0, **settings):
    """Writes one cell; `diverged` are indices of step sizes at which every second run diverges."""
    percent = curves(np.random.default_rng(seed), seeds, len(STEP_SIZES), steps // 100 + 1)
    diverged_at = np.full((seeds, len(STEP_SIZES)), -1, np.int32)
    for k in diverged:
        percent[::2, k, 2:] = np.inf
        diverged_at[::2, k] = 200
    arrays = {
        "percent": percent,
        "initial_error": np.ones(seeds, np.float32),
        "diverged_at": diverged_at,
    }
    made_with = {
        "problem": "dueling",
        "init_std": 2.0,
        "step_sizes": STEP_SIZES,
        "seeds": seeds,
        "steps": steps,
        "record_every": 100,
        "protocol": "paper",
        "num_actions": num_actions,
        "rule": rule,
        "fingerprint": "0" * 16,
        "versions": {"qduet": "0.1.0", "jax": "0", "numpy": "0", "device": "cpu"},
    }
    path = folder / f"actions-{num_actions}" / f"{rule}.npz"
    write_arrays(path, arrays, made_with | settings)
    return path


def experiment(folder, rules=("q_learning", "dueling_q", "hard_rdq"), actions=(2, 6), **options):
    """Writes the cells of a whole experiment."""
    for i, rule in enumerate(rules):
        for n in actions:
            cell(folder, rule, n, seed=10 * i + n, **options)
    return folder
