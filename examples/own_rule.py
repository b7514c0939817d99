"""A rule of one's own: in a sweep, and beside the paper's rules in Figure 5.

    python examples/own_rule.py out-own-rule

Hard RDQ moves V(S) and A(S, A) by α δ each, so that Q(S, A) moves by 2 α δ. Who should learn more
from an error, V, which all actions share, or A? `shared_rdq` gives V the share w of the error and A
the rest, so that Q(S, A) moves by α δ whatever w is. With w = 0 it is Q-learning (V stays where it
starts); with w = 1/2 it is Hard RDQ at half its step size.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

from qduet.experiments import FIGURES, Results, run
from qduet.figures.style import save
from qduet.figures.tabular import tabular_figure
from qduet.mdp import four_state
from qduet.rules import Rule
from qduet.summary import summarise_all
from qduet.sweep import sweep


def shared_rdq(share: float) -> Rule:
    """RDQ that gives V the share w of each TD error: Q = V + A, V += α w δ, A += α (1 − w) δ."""

    def q(tables):
        return tables["v"][:, None] + tables["adv"]

    def update(tables, t, step_size):
        now = q(tables)
        error = t.reward + t.discount * now[t.next_state].max() - now[t.state, t.action]
        v = tables["v"].at[t.state].add(step_size * share * error)
        adv = tables["adv"].at[t.state, t.action].add(step_size * (1 - share) * error)
        return {"v": v, "adv": adv}

    return Rule(init=lambda v, adv: {"v": v, "adv": adv}, update=update, q=q)


def main(out: Path) -> Results:
    """A sweep over the share w, then Figure 5 (small scale) with three of them in it."""
    shares = {f"rdq-share-{w:g}": shared_rdq(w) for w in (0.25, 0.5, 0.75)}
    step_sizes = np.geomspace(0.05, 1.0, 8)
    mdp = four_state("dueling", num_actions=10)
    curves = sweep(mdp, shares, step_sizes, seeds=range(10), steps=5_000, init_std=2.0)
    for name, c in curves.items():
        aucs = c.percent.mean(axis=(0, 2))  # infinite where a run diverged
        best = aucs.argmin()
        print(f"{name}: best AUC {aucs[best]:.1f} % at α = {step_sizes[best]:.2f}")
    experiment = dataclasses.replace(FIGURES["figure5"].small(), seeds=10, steps=5_000)
    results = run(experiment, out, extra_rules=shares)
    paths = save(tabular_figure(results, summarise_all(results)), out / "figure5-own-rule")
    print("drawn:", *paths)
    return results


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out-own-rule"))
