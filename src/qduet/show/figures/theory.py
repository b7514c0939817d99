"""The figures of the analysis: 1 (who bootstraps from whom), 4 (RDQ's geometry), and two of ours.

All are drawn from computed data: Jacobians of the operators, trajectories of the rules, spectra of
the expected updates.
"""

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from qduet.show.figures.style import colour, house_style, in_percent, label
from qduet.tabular import operators as ops
from qduet.tabular.mdp import evaluate, four_state, optimum
from qduet.tabular.rules import make_rule
from qduet.tabular.sweeps import sweep
from qduet.tabular.tables import AVTables
from qduet.theory.av import closed_form_modes, kappas, ring_slowest
from qduet.theory.expected import random_tables
from qduet.theory.problems import Problem, problem_of, ring
from qduet.theory.qv import dependence
from qduet.theory.rates import expected_curve, rate, simulated_curve
from qduet.theory.sampled import replay, walk

# --- Figure 1 ------------------------------------------------------------------------------------


def bootstrap_norms(name: str, problem: Problem) -> dict[tuple[str, str], float]:
    """``(from, to) -> norm``: how strongly the target of one table depends on another.

    For the QV family, the blocks of the joint operator's Jacobian. For the AV family, whose tables
    share the target r + γ P E Q, its response to V or A (and both tables follow it).
    """
    if name in ("qv_learning", "qvmax", "bc_qvmax"):
        blocks = dependence(problem, getattr(ops, name))
        pairs = itertools.product("QV", "QV")
        return {(source, to): x for (to, source), x in zip(pairs, blocks, strict=True)}
    tables = random_tables(name, problem, np.random.default_rng(problem.seed))
    centred = name == "dueling_q"
    greedy = ops.read_out(tables, centred).argmax(axis=1)
    policy = np.eye(problem.mdp.num_actions)[greedy]
    expect = lambda q: ops.E_pi(policy, q)
    target = lambda y: ops.T(problem.mdp, ops.read_out(y, centred), expect).ravel()
    zero = AVTables(np.zeros(problem.mdp.num_states), np.zeros(problem.mdp.r.shape))
    response = {}
    for source, field in (("V", "v"), ("A", "adv")):
        size = getattr(zero, field).size
        units = np.eye(size).reshape(size, *getattr(zero, field).shape)
        columns = [target(zero._replace(**{field: unit})) - target(zero) for unit in units]
        response[source] = float(np.abs(columns).sum(axis=0).max())
    return {(source, to): response[source] for source in "VA" for to in "VA"}


def figure1(discount: float = 0.9) -> Figure:
    """Who bootstraps from whom: an arrow for each block of the Jacobian that is not zero."""
    names = ("qv_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq")
    problem = problem_of(four_state("qvmax", 4, discount))
    with house_style():
        figure = Figure(figsize=(11, 1.6), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names)), names, strict=True):
            _draw_graph(axes, name, bootstrap_norms(name, problem), discount)
        figure.suptitle(
            "Who bootstraps from whom, |A| = 4: arrows point from the bootstrapped table to the "
            "updated one",
            fontsize=11,
        )
    return figure


def _draw_graph(
    axes: Axes, name: str, norms: dict[tuple[str, str], float], discount: float
) -> None:
    tables = sorted({source for source, _ in norms}, key="VAQ".index)
    places = dict(zip(tables, ((0.0, 0.0), (1.0, 0.0)), strict=True))
    tint = colour(name)
    for table, place in places.items():
        axes.text(
            *place,
            table,
            ha="center",
            va="center",
            fontsize=13,
            bbox={"boxstyle": "circle,pad=0.35", "fc": "white", "ec": "black", "lw": 1.1},
            zorder=3,
        )
    for (source, to), norm in norms.items():
        if norm < 1e-12:
            continue
        text = "1" if abs(norm - 1) < 1e-9 else f"{norm / discount:.3g}γ".removeprefix("1γ") or "γ"
        (x0, y0), (x1, y1) = places[source], places[to]
        if source == to:
            side = -1 if x0 == 0 else 1
            start, end = (x0 + 0.10 * side, y0 + 0.13), (x0 + 0.10 * side, y0 - 0.13)
            rad, at = 1.9 * -side, (x0 + (0.5 + 0.03 * len(text)) * side, 0.0)
        else:
            both = norms[to, source] >= 1e-12
            start, end, rad = (x0, y0), (x1, y1), -0.45 if both else 0.0
            direction = np.sign(x1 - x0)
            at = (0.5, direction * (0.34 if both else 0.14))
        axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                connectionstyle=f"arc3,rad={rad}",
                arrowstyle="-|>",
                mutation_scale=13,
                shrinkA=4 if source == to else 15,
                shrinkB=4 if source == to else 15,
                lw=1.6,
                color=tint,
            )
        )
        axes.text(*at, text, ha="center", va="center", fontsize=10)
    axes.set(xlim=(-0.75, 1.75), ylim=(-0.45, 0.45), title=label(name))
    axes.set_aspect("equal")
    axes.set_axis_off()


# --- Figure 4 ------------------------------------------------------------------------------------


def figure4(steps: int = 4_000, step_size: float = 0.02) -> Figure:
    """Paths of Dueling and Hard RDQ in the plane of V(s) and A(s,a₀), for 1, 2 and 6 actions."""
    with house_style():
        figure = Figure(figsize=(11, 4.3), layout="constrained")
        for axes, num_actions in zip(figure.subplots(1, 3), (1, 2, 6), strict=True):
            problem = problem_of(four_state("dueling", num_actions, 0.5))
            _draw_plane(axes, problem, steps * num_actions, step_size)
            axes.set_title(f"|A| = {num_actions}")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.suptitle(
            "Sampled paths in the V–A plane, 4-state MDP, γ = 0.5; "
            "Hard RDQ from two starts with the same $Q_0$",
            fontsize=11,
        )
    return figure


def _draw_plane(axes: Axes, problem: Problem, steps: int, step_size: float) -> None:
    mdp = problem.mdp
    q = optimum(mdp).q
    span = np.array([-1.4, 2.6])
    axes.plot(span, q[0, 0] - span, color="black", lw=1.2, label="solutions: $V + A = q_*(s,a_0)$")
    axes.plot(span, -span, color="0.55", lw=1.0, ls="--", label="starts: $V + A = Q_0 = 0$")
    experience = walk(problem, np.random.default_rng(4), steps)
    for number, v in enumerate((0.0, -0.4)):
        adv = np.full(q.shape, -v)
        start = AVTables(np.full(mdp.num_states, v), adv)
        for name in ("dueling_q", "hard_rdq"):
            if name == "dueling_q" and number == 1:
                continue  # its Q₀ would be V₀, not V₀ + A₀
            path = replay(name, problem, start, experience, step_size)
            limit = getattr(ops, f"{name}_limit")(q, start)
            x = np.concatenate([[v], path.v[:, 0]])
            y = np.concatenate([[-v], path.adv[:, 0, 0]])
            first = number == 0
            axes.plot(x, y, color=colour(name), lw=1.5, label=label(name) if first else None)
            axes.plot(
                limit.v[0],
                limit.adv[0, 0],
                "o",
                ms=7,
                mfc="white",
                mec=colour(name),
                mew=1.6,
                zorder=4,
                label=f"{label(name)}: closed-form end" if first else None,
            )
        axes.plot(v, -v, "s", ms=5, color="0.35", zorder=4, label="start" if number == 0 else None)
    axes.set(xlim=span, ylim=(-0.9, 2.6), xlabel="$V(s)$", ylabel="$A(s, a_0)$")
    axes.set_aspect("equal")


# --- Rates ---------------------------------------------------------------------------------------


def rates_figure(steps: int = 20_000, seeds: int = 100, step_size: float = 0.1) -> Figure:
    """Predicted against simulated mean error, and the slowest modes that explain them."""
    with house_style():
        figure = Figure(figsize=(11, 4.0), layout="constrained")
        left, centre, right = figure.subplots(1, 3)
        for num_actions, style in ((2, ":"), (18, "-")):
            for name in ("expected_sarsa", "qv_learning"):
                problem = problem_of(four_state("on-policy", num_actions))
                text = f"{label(name)}, |A| = {num_actions}"
                _draw_rate(left, name, problem, steps, seeds, step_size, style, text)
        for name in ("q_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq"):
            problem = problem_of(four_state("qvmax", 6))
            _draw_rate(centre, name, problem, steps, seeds, 3 * step_size, "-", label(name))
        for axes, title in (
            (left, f"Prediction, α = {step_size:g}"),
            (centre, f"Control, |A| = 6, α = {3 * step_size:g}"),
        ):
            axes.set(xlabel="Environment steps", ylabel="RMS of the mean error", title=title)
            axes.set_yscale("log")
            axes.set_ylim(0.3, 130)
            in_percent(axes.yaxis)
            axes.legend(fontsize=7.5)
        _draw_modes(right)
        figure.suptitle(
            f"Expected update (lines) against the mean of {seeds} simulated runs (dots), "
            "4-state MDP, γ = 0.99",
            fontsize=11,
        )
    return figure


def _draw_rate(
    axes: Axes,
    name: str,
    problem: Problem,
    steps: int,
    seeds: int,
    step_size: float,
    style: str,
    text: str,
) -> None:
    on_policy = name in ("expected_sarsa", "qv_learning")
    goal = evaluate(problem.mdp, problem.behaviour) if on_policy else optimum(problem.mdp)
    every = max(1, steps // 40)
    percent = lambda q: 100 * np.sqrt(((q - goal.q) ** 2).mean(axis=(1, 2)) / (goal.q**2).mean())
    expected = expected_curve(name, problem, step_size, steps=steps, record_every=every)
    rule = make_rule(name, problem.behaviour)
    found = simulated_curve(rule, problem, step_size, steps=steps, record_every=every, seeds=seeds)
    points = every * np.arange(len(expected))
    axes.plot(points, percent(expected), style, color=colour(name), label=text)
    axes.plot(points[::2], percent(found)[::2], "o", ms=3, mfc="white", color=colour(name))


def _draw_modes(axes: Axes) -> None:
    sizes = np.unique(np.geomspace(2, 200, 60).round().astype(int))
    names = ("q_learning", "bc_qvmax", "qvmax", "dueling_q", "hard_rdq", "qv_learning")
    styles = {"qv_learning": (0, (5, 5)), "bc_qvmax": (0, (2, 2))}
    for name in names:
        modes = [1 / closed_form_modes(int(n), 0.99)[name] for n in sizes]
        text = "Q-learning, Expected Sarsa" if name == "q_learning" else label(name)
        axes.plot(sizes, modes, color=colour(name), ls=styles.get(name, "-"), label=text)
        for n in (2, 6, 18):
            kind = "on-policy" if name == "qv_learning" else "qvmax"
            slowest = rate(name, problem_of(four_state(kind, n)), 0.1).slowest
            axes.plot(n, 1 / slowest, "o", ms=4, mfc="white", color=colour(name))
    axes.axvline(100, color="0.6", lw=0.8)
    axes.text(106, 1100, "1/|A| = 1 − γ", rotation=90, ha="left", va="bottom", color="0.35")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="Number of actions |A|",
        ylabel="Steps × α until the slowest error shrinks by e",
        title="Slowest mode (dots: computed spectrum)",
    )
    axes.legend(fontsize=7.5, loc="upper left")


# --- Where AV-learning diverges ------------------------------------------------------------------


def ring_figure(steps: int = 40_000, seeds: int = 20, step_size: float = 0.1) -> Figure:
    """The ring: error curves, and where in (states, actions) AV-learning is unstable."""
    mdp = ring()
    problem = problem_of(mdp)
    with house_style():
        figure = Figure(figsize=(11, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        names = ("q_learning", "bc_qvmax", "dueling_q", "hard_rdq")
        curves = sweep(
            mdp,
            {name: make_rule(name, problem.behaviour) for name in names},
            np.array([step_size]),
            seeds=range(seeds),
            steps=steps,
            record_every=steps // 100,
        )
        points = np.linspace(0, steps, 101)
        for name in names:
            percent = curves[name].percent[:, 0]
            dash = (0, (2, 2)) if name == "bc_qvmax" else "-"
            left.plot(points, percent.T, color=colour(name), lw=0.4, alpha=0.4)
            left.plot(
                points, np.median(percent, axis=0), color=colour(name), ls=dash, label=label(name)
            )
        left.set(
            yscale="log",
            xlabel="Environment steps",
            ylabel="RMS error",
            title=f"Ring of 12 states, 18 actions, γ = 0.99, α = {step_size:g}: {seeds} runs",
        )
        in_percent(left.yaxis)
        left.set_ylim(bottom=0.01)
        left.legend()
        _draw_ring_modes(right)
    return figure


def _draw_ring_modes(axes: Axes) -> None:
    sizes = np.arange(2, 21)
    for name, marker in (("dueling_q", "o"), ("hard_rdq", "s")):
        for num_actions, style in ((2, ":"), (4, "--"), (18, "-")):
            kappa = kappas(num_actions)[name]
            modes = [n * ring_slowest(int(n), num_actions, 0.99, kappa) for n in sizes]
            text = f"{label(name)}, |A| = {num_actions}"
            axes.plot(
                sizes, modes, style, color=colour(name), marker=marker, ms=3, lw=1.1, label=text
            )
    axes.axhline(0, color="black", lw=0.8)
    axes.set(
        xlabel="States in the ring",
        ylabel="Slowest mode × |S|",
        ylim=(-0.09, 0.065),
        title="Uniform behaviour: below 0, $q_*$ repels for every step size",
    )
    axes.set_xticks(sizes[::2])
    axes.legend(fontsize=7.5, ncols=2, loc="upper right")
