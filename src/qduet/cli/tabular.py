"""``qduet tabular``: one rule with one setting."""

import argparse
import time

import numpy as np

from qduet import stats
from qduet.cli.options import add_json, print_json, real, whole
from qduet.cli.problems import MAX_ACTIONS, named_mdp
from qduet.core.errors import InputError
from qduet.tabular.experiments import PROTOCOLS, RuleSpec, TabularExperiment
from qduet.tabular.mdp import FOUR_STATE, uniform_policy
from qduet.tabular.rules import RULES
from qduet.tabular.summary import summarise
from qduet.tabular.sweeps import EpsilonGreedy, sweep

EXAMPLE = """qduet tabular hard_rdq --mdp dueling --actions 18 --step-size 0.1353 --init-std 2
qduet tabular dueling_q --mdp dueling --init-std 2 --protocol reference
qduet tabular q_learning --mdp FrozenLake-v1 --step-size 0.1 --epsilon 0.1 --json
qduet tabular bc_qvmax --mdp maze:1000x1000 --seeds 2 --steps 1000000 --record-every 100000"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("rule", metavar="RULE", help=f"one of {', '.join(RULES)}")
    add(
        "--mdp",
        default="on-policy",
        help=f"{', '.join(FOUR_STATE)} (the paper's), a toy-text id such as FrozenLake-v1, or a "
        "grid world such as maze:1000x1000, maze:30x40:SEED, grid:30x40 (default on-policy, for "
        "every rule)",
    )
    add("--actions", type=whole(1, MAX_ACTIONS), help="|A| of the paper's problems (default 18)")
    add("--step-size", type=real(0, np.inf, open_below=True), default=0.1, help="α (default 0.1)")
    add("--seeds", type=whole(1, 1_000_000), default=100, help="trials (default 100)")
    add("--steps", type=whole(1), default=20_000, help="(default 20000)")
    add("--record-every", type=whole(1), default=100, help="steps between points (default 100)")
    add("--discount", type=real(0, 1, open_above=True), help="γ; the problem's own by default")
    add(
        "--init-std",
        type=real(0, np.inf),
        help="V₀ and A₀ ~ N(0, std²); default 2 for dueling, else 0",
    )
    add("--beta", type=real(0, 1, open_above=True), help="β of soft_rdq (default 0.001)")
    add(
        "--epsilon",
        type=real(0, 1),
        help="behave ε-greedily on the rule's own Q (default: uniform behaviour)",
    )
    add(
        "--protocol",
        choices=PROTOCOLS,
        default="paper",
        help="the paper as written (default), or what its released code does (docs/differences.md)",
    )
    add("--float64", action="store_true", help="compute in double precision")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the sweep of one rule and one step size."""
    if args.beta is not None and args.rule != "soft_rdq":
        raise InputError(f"--beta belongs to soft_rdq, not to {args.rule}")
    if args.rule == "soft_rdq" and args.beta is None:
        args.beta = 1e-3
    mdp = named_mdp(args.mdp, tuple(FOUR_STATE), num_actions=args.actions, discount=args.discount)
    init_std = args.init_std
    if init_std is None:
        init_std = 2.0 if args.mdp == "dueling" else 0.0
    reference = args.protocol == "reference"
    papers = args.mdp in FOUR_STATE and args.discount is None and args.epsilon is None
    spec = RuleSpec(args.rule, args.beta)
    experiment = TabularExperiment(
        "tabular",
        spec.id,
        args.mdp if papers else mdp,
        (spec,),
        actions=(mdp.num_actions,),
        step_sizes=(args.step_size,),
        protocol=args.protocol,
    )
    rule = spec.make(uniform_policy(mdp), args.protocol)
    started = time.perf_counter()
    curves = sweep(
        mdp,
        {args.rule: rule},
        experiment.step_sizes,
        seeds=range(args.seeds),
        steps=args.steps,
        record_every=args.record_every,
        behaviour=None if args.epsilon is None else EpsilonGreedy(args.epsilon),
        targets=experiment.targets(mdp) if reference else None,
        joint_initial_error=reference,
        init_std=init_std,
        dtype=np.float64 if args.float64 else np.float32,
    )[args.rule]
    seconds = time.perf_counter() - started
    summary = summarise(curves, np.array(experiment.step_sizes), args.protocol)
    auc, final = summary.best.auc, summary.final_error
    diverged = curves.diverged_at[:, 0]
    same = ("rule", "protocol", "beta", "seeds", "steps", "record_every")
    document = {
        **{name: getattr(args, name) for name in same},
        "mdp": mdp.name,
        "num_states": mdp.num_states,
        "num_actions": mdp.num_actions,
        "discount": mdp.discount,
        "step_size": experiment.step_sizes[0],
        "behaviour": "uniform" if args.epsilon is None else f"epsilon-greedy {args.epsilon:g}",
        "error_against": "v_b" if rule.q is None else {"behaviour": "q_b"}.get(rule.goal, "q_*"),
        "init_std": init_std,
        "dtype": "float64" if args.float64 else "float32",
        **{"auc_mean": auc.mean, "auc_ci95": [auc.low, auc.high]},
        **{"final_error_mean": final.mean, "final_error_ci95": [final.low, final.high]},
        "initial_rms_error": float(curves.initial_error.mean()),
        "ended_above_start": int((curves.percent[diverged < 0, 0, -1] > 100).sum()),
        "diverged": int((diverged >= 0).sum()),
        "diverged_at": {int(i): int(diverged[i]) for i in np.flatnonzero(diverged >= 0)},
        "seconds": round(seconds, 3),
    }
    if args.json:
        print_json(document)
    else:
        _print(document, auc, final)
    return 0


def _print(document: dict, auc: stats.Interval, final: stats.Interval) -> None:
    d = document
    print(
        f"{d['rule']} on {d['mdp']} (|S| = {d['num_states']}, |A| = {d['num_actions']}, "
        f"γ = {d['discount']:g}), α = {d['step_size']:g}, {d['behaviour']} behaviour"
    )
    print(f"error against {d['error_against']}, in % of the initial error, {d['seeds']} seeds:")
    shown = {f"AUC over {d['steps']:,} steps": str(auc), "final error": str(final)}
    if d["ended_above_start"]:
        shown["ended above 100 %"] = f"{d['ended_above_start']} of {d['seeds']} runs"
    if d["diverged"]:
        first = min(d["diverged_at"].values())
        shown["diverged"] = f"{d['diverged']} of {d['seeds']} runs, first at step {first}"
    shown["computed in"] = f"{d['seconds']:.1f} s"
    width = max(map(len, shown))
    for label, value in shown.items():
        print(f"  {label:{width}}  {value}")
