"""The figures of the analysis: 4 (RDQ's geometry), and two of ours.

All show computed data: trajectories of the rules, spectra of the expected updates.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from qduet.show.chart import FAINT, STEPS, Axis, Chart, Panel, Series
from qduet.show.names import Style, rule_styles
from qduet.tabular import operators as ops
from qduet.tabular.mdp import AVTables, four_state
from qduet.tabular.rules import make_rule
from qduet.tabular.sweeps import sweep
from qduet.tabular.values import evaluate, optimum
from qduet.theory.av import closed_form_modes, kappas, ring_slowest
from qduet.theory.expected import expected_curve, rate
from qduet.theory.problems import Problem, problem_of, ring
from qduet.theory.sampled import replay, simulated_curve, walk

TITLES = {
    "figure4": "Figure 4: where Dueling and Hard RDQ end up",
    "rates": "Predicted and simulated rates (not in the paper)",
    "ring": "Where AV-learning diverges off-policy (not in the paper)",
}
"""What the charts are about, by the stem of their file names."""

ALT = {
    "figure4": "Sampled paths of V(s) and A(s, a₀). Dueling keeps the mean advantage it starts "
    "with; Hard RDQ ends at the solution nearest to its start, of V and all advantages: in this "
    "plane of two of them its path need not be at a right angle to the line.",
    "rates": "Lines: the expected update; dots: the mean of simulated runs. Prediction: solid "
    "|A| = 18, dotted |A| = 2. Slowest mode: how many steps the slowest error needs to shrink by "
    "e, times the step size; Q-learning’s line is Expected Sarsa’s too.",
    "ring": "A ring of states with uniform behaviour: runs of four rules, and the slowest mode of "
    "the expected update, which repels from the optimum where it is below zero: solid "
    "|A| = 18, dashed |A| = 4, dotted |A| = 2.",
}
"""What they show, in words."""

RING: dict[str, Any] = {"line": "", "marker": "o", "open": True}
"""Computed or simulated points beside a line."""


# --- Figure 4 ------------------------------------------------------------------------------------

PLANE = ("dueling_q", "hard_rdq")


def figure4_chart(steps: int = 4_000) -> Chart:
    """Paths of Dueling and Hard RDQ in the plane of V(s) and A(s,a₀), for 1, 2 and 6 actions."""
    styles = rule_styles(PLANE)
    groups = {
        "solutions": Style("solutions: V + A = q⁎(s,a₀)", "#000000"),
        "starts": Style("starts: V + A = Q₀ = 0", "#8c8c8c", "--"),
        **styles,
        **{_end(r): Style(f"{styles[r].label}: closed-form end", styles[r].colour) for r in PLANE},
        "start": Style("start", "#595959"),
    }
    x, y = Axis("V(s)", min=-1.4, max=2.6), Axis("A(s, a₀)", min=-0.9, max=2.6)
    panels = []
    for num_actions in (1, 2, 6):
        problem = problem_of(four_state("dueling", num_actions, 0.5))
        paths = _paths(problem, steps * num_actions)
        panels.append(Panel(f"|A| = {num_actions}", x, y, tuple(paths), equal=True))
    title = "Sampled paths in the V–A plane, 4-state MDP, γ = 0.5"
    title += "; Hard RDQ from two starts with the same Q₀"
    return Chart(title, groups, tuple(panels))


def _end(rule: str) -> str:
    return f"{rule} end"


def _paths(problem: Problem, steps: int) -> list[Series]:
    q = optimum(problem.mdp).q
    span = np.array([-1.4, 2.6])
    lines = [Series("solutions", span, q[0, 0] - span), Series("starts", span, -span)]
    experience = walk(problem, np.random.default_rng(4), steps)
    for v, rules in ((0.0, PLANE), (-0.4, PLANE[1:])):  # Dueling's Q₀ is V₀, not V₀ + A₀
        start = AVTables(np.full(problem.mdp.num_states, v), np.full(q.shape, -v))
        for rule in rules:
            path = replay(rule, problem, start, experience, 0.02)
            x = np.concatenate([[v], path.v[:, 0]])
            y = np.concatenate([[-v], path.adv[:, 0, 0]])
            end = getattr(ops, f"{rule}_limit")(q, start)
            lines.append(Series(rule, x, y))
            lines.append(Series(_end(rule), end.v[:1], end.adv[0, :1], **RING))
        lines.append(Series("start", start.v[:1], -start.v[:1], line="", marker="s"))
    return lines


# --- Rates ---------------------------------------------------------------------------------------


def rates_chart(steps: int = 20_000, seeds: int = 100) -> Chart:
    """Predicted against simulated mean error, and the slowest modes that explain them."""
    step_size = 0.1
    control = ("q_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq")
    prediction = ("expected_sarsa", "qv_learning")
    left, centre = [], []
    for num_actions, line in ((2, ":"), (18, "-")):
        problem = problem_of(four_state("on-policy", num_actions))
        for rule in prediction:
            options = {"line": line, "detail": f"|A| = {num_actions}"}
            left += _errors(rule, problem, step_size, steps, seeds, **options)
    for rule in control:
        problem = problem_of(four_state("qvmax", 6))
        centre += _errors(rule, problem, 3 * step_size, steps, seeds, line="-")
    x = Axis(STEPS, min=0, max=steps)
    y = Axis("RMS of the mean error", log=True, min=0.3, max=130, percent=True)
    panels = (
        Panel(f"Prediction, α = {step_size:g}", x, y, tuple(left)),
        Panel(f"Control, |A| = 6, α = {3 * step_size:g}", x, y, tuple(centre)),
        _modes(),
    )
    title = f"Expected update (lines) against the mean of {seeds} simulated runs (dots)"
    styles = rule_styles((*prediction, *control))
    return Chart(f"{title}, 4-state MDP, γ = 0.99", styles, panels)


def _errors(
    rule: str, problem: Problem, step_size: float, steps: int, seeds: int, **options: Any
) -> list[Series]:
    """The error of the expected update as a line, of the mean of simulated runs as rings.

    `options` are fields of the line.
    """
    on_policy = rule in ("expected_sarsa", "qv_learning")
    goal = evaluate(problem.mdp, problem.behaviour) if on_policy else optimum(problem.mdp)
    every = max(1, steps // 40)
    percent = lambda q: 100 * np.sqrt(((q - goal.q) ** 2).mean(axis=(1, 2)) / (goal.q**2).mean())
    expected = expected_curve(rule, problem, step_size, steps=steps, record_every=every)
    made = make_rule(rule, problem.behaviour)
    lengths = {"steps": steps, "record_every": every, "seeds": seeds}
    simulated = simulated_curve(made, problem, step_size, **lengths)
    points = every * np.arange(len(expected))
    return [
        Series(rule, points, percent(expected), **options),
        Series(rule, points[::2], percent(simulated)[::2], **(options | RING)),
    ]


def _modes() -> Panel:
    sizes = np.unique(np.geomspace(2, 200, 60).round().astype(int))
    lines = []
    for rule in ("q_learning", "bc_qvmax", "qvmax", "dueling_q", "hard_rdq", "qv_learning"):
        modes = np.array([1 / closed_form_modes(int(n), 0.99)[rule] for n in sizes])
        kind = "on-policy" if rule == "qv_learning" else "qvmax"
        some = np.array([2, 6, 18])
        slowest = [rate(rule, problem_of(four_state(kind, int(n))), 0.1).slowest for n in some]
        dashed = rule in ("qv_learning", "bc_qvmax")  # so that the line below it shows
        lines.append(Series(rule, sizes, modes, line="--" if dashed else "-"))
        lines.append(Series(rule, some, 1 / np.array(slowest), **RING))
    return Panel(
        "Slowest mode (dots: computed spectrum)",
        Axis("Number of actions |A| (line: 1/|A| = 1 − γ)", log=True, guide=100),
        Axis("Steps × α until the slowest error shrinks by e", log=True),
        tuple(lines),
    )


# --- Where AV-learning diverges ------------------------------------------------------------------


def ring_chart(steps: int = 40_000, seeds: int = 20) -> Chart:
    """The ring: error curves, and where in (states, actions) AV-learning is unstable."""
    mdp = ring()
    behaviour = problem_of(mdp).behaviour
    rules = ("q_learning", "bc_qvmax", "dueling_q", "hard_rdq")
    curves = sweep(
        mdp,
        {rule: make_rule(rule, behaviour) for rule in rules},
        np.array([0.1]),
        seeds=range(seeds),
        steps=steps,
        record_every=steps // 100,
    )
    points = np.linspace(0, steps, 101)
    lines = []
    for rule in rules:
        percent = curves[rule].percent[:, 0]
        lines += [Series(rule, points, run, line="-", kind=FAINT) for run in percent]
        dash = "--" if rule == "bc_qvmax" else "-"
        lines.append(Series(rule, points, np.median(percent, axis=0), line=dash))
    runs = Panel(
        f"Ring of 12 states, 18 actions, γ = 0.99, α = 0.1: {seeds} runs",
        Axis(STEPS, min=0, max=steps),
        Axis("RMS error", log=True, min=0.01, percent=True),
        tuple(lines),
    )
    return Chart("", rule_styles(rules), (runs, _ring_modes()))


def _ring_modes() -> Panel:
    sizes = np.arange(2, 21)
    lines = []
    for rule, marker in (("dueling_q", "o"), ("hard_rdq", "s")):
        for num_actions, line in ((2, ":"), (4, "--"), (18, "-")):
            kappa = kappas(num_actions)[rule]
            modes = [n * ring_slowest(int(n), num_actions, 0.99, kappa) for n in sizes]
            mode = Series(rule, sizes, np.array(modes), line=line, marker=marker)
            lines.append(dataclasses.replace(mode, detail=f"|A| = {num_actions}"))
    return Panel(
        "Uniform behaviour: below 0, q⁎ repels for every step size",
        Axis("States in the ring", ticks=tuple(range(2, 21, 2))),
        Axis("Slowest mode × |S|", min=-0.09, max=0.065, guide=0),
        tuple(lines),
    )


CHARTS: dict[str, Callable[[], Chart]] = {
    "figure4": figure4_chart,
    "rates": rates_chart,
    "ring": ring_chart,
}
"""By the stem of their file names."""
