"""A rule of one's own: in a sweep, in Figure 5, and in an experiment on an MDP of one's own.

    python examples/own_rule.py out-own-rule

Hard RDQ moves V(S) and A(S, A) by α δ each, so that Q(S, A) moves by 2 α δ. Who should learn more
from an error, V, which all actions share, or A? `shared_rdq` gives V the share w of the error and A
the rest, so that Q(S, A) moves by α δ whatever w is. With w = 0 it is Q-learning (V stays where it
starts); with w = 1/2 it is Hard RDQ at half its step size.

Run it a second time and it only draws, because finished curves are read from the directory.
`qduet report out-own-rule` makes a page.
"""

import dataclasses
import sys
from pathlib import Path

import jax
import numpy as np

from qduet import stats
from qduet.paper.figures import FIGURES
from qduet.show import draw, save, tabular_chart
from qduet.tabular import (
    Results,
    Rule,
    RuleSpec,
    TabularExperiment,
    four_state,
    garnet,
    q_learning,
    run,
    summarise_all,
    sweep,
)


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


def run_and_draw(experiment: TabularExperiment, rules: dict[str, Rule], out: Path) -> Results:
    """Runs what is not in `out` yet, and draws all of it."""
    results = run(experiment, out, extra_rules=rules)
    chart = tabular_chart(results, summarise_all(results))
    print("drawn:", *save(draw(chart), out / f"{experiment.figure}-own-rule"))
    return results


def main(out: Path) -> list[Results]:
    """A sweep over the share w, then two experiments (small scale) with three of them in each."""
    shares = {f"rdq-share-{w:g}": shared_rdq(w) for w in (0.25, 0.5, 0.75)}
    step_sizes = np.geomspace(0.05, 1.0, 8)
    mdp = four_state("dueling", num_actions=10)
    rules = {"q_learning": q_learning(), **shares}
    curves = sweep(mdp, rules, step_sizes, seeds=range(10), steps=5_000, init_std=2.0)
    aucs = {name: stats.auc(c.percent) for name, c in curves.items()}  # [seeds, step sizes]
    for name in shares:
        best = stats.best(aucs[name])
        gap = stats.best_difference(aucs[name], aucs["q_learning"], np.random.default_rng(0))
        print(
            f"{name}: best AUC {best.auc} % at α = {step_sizes[best.which]:.2f}; "
            f"minus Q-learning's best: {gap.value:.2f} ({gap.low:.2f} to {gap.high:.2f})"
        )
    of_the_paper = FIGURES["figure5"]
    of_my_own = TabularExperiment(
        figure="garnet",  # names the folder in `out`
        title="A random MDP of 10 states and 5 actions",
        problem=garnet(jax.random.key(0), num_states=10, num_actions=5, branching=3, discount=0.9),
        rules=(RuleSpec("q_learning"), RuleSpec("hard_rdq")),
    )
    return [
        run_and_draw(dataclasses.replace(experiment.small(), seeds=10, steps=5_000), shares, out)
        for experiment in (of_the_paper, of_my_own)
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out-own-rule"))
