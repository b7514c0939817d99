"""``qduet train``: trains agents × seeds in one environment, side by side."""

import argparse
import dataclasses
import signal
import sys
from typing import Any

import jax.numpy as jnp

from qduet.agents import AGENTS, INITIALISATIONS, PROTOCOLS, Agent, ablations, grid, make_agent
from qduet.cli.live import Display, latest, table
from qduet.cli.options import UNFINISHED, add_json, add_out, nonempty_path, print_json, real, whole
from qduet.cli.tracking import Tracker
from qduet.cluster.plan import seeds_of
from qduet.core.errors import InputError, unknown_name
from qduet.deep.acting import epsilon
from qduet.deep.environments import canonical_id
from qduet.deep.training import hyper
from qduet.jobs import devices
from qduet.jobs.job import Job
from qduet.jobs.program import dividing, groups
from qduet.jobs.stopping import DEADLINE
from qduet.jobs.trainer import Progress, TrainingResult, train

EXAMPLE = """qduet train rdq MinAtar/Breakout-v1 --seeds 3 --steps 1_000_000 --out out/breakout
qduet train rdq dueling_dqn dqn MinAtar/Breakout-v1 --seeds 30 --protocol reference --out out/all
qduet train rdq MinAtar/Seaquest-v1 --beta 1e-4 1e-3 1e-2 --seeds 10-19 --out out/beta
qduet train dqv_max bc_qvmax double_dqn MinAtar/Breakout-v1 --n-step 3 --seeds 5 --out out/qv
qduet train rdq gymnax/CartPole-v1 --epsilon-decay 50_000 --steps 200_000 --out out/cartpole"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("agents", nargs="+", metavar="AGENT", help="dqn, rdq, …; qduet agents lists them")
    add(
        "env",
        metavar="ENV",
        help="such as MinAtar/Breakout-v1 or gymnax/CartPole-v1; one of yours: "
        "qduet --import MODULE train …",
    )
    add(
        "--seeds",
        type=_seeds,
        default=(0,),
        metavar="N|A-B|A,B,…",
        help="how many (5: seeds 0 to 4), or which (10-29; 3,17; one with a comma: 17,); default: "
        "seed 0",
    )
    add("--steps", type=whole(1), default=10_000_000, help="per run (default 10,000,000)")
    add(
        "--evaluate-every",
        type=whole(1),
        metavar="STEPS",
        help="steps between evaluations (default 1,000,000, or --steps if that is less)",
    )
    add("--episodes", type=whole(1), default=1_000, help="per evaluation (default 1,000)")
    add_out(parser, "for the results; the same one continues (there is no default)")
    add_json(parser)

    add = parser.add_argument_group("settings of the agents").add_argument
    add(
        "--protocol",
        choices=PROTOCOLS,
        default="paper",
        help="the paper as written (default), or what its released code does "
        "(docs/differences.md, 9 to 11)",
    )
    add("--initialisation", choices=INITIALISATIONS, help="overrides the protocol")
    either = argparse.BooleanOptionalAction
    add("--shared-bias", action=either, help="one bias for all advantages; overrides the protocol")
    hold = "steps before ε falls; overrides the protocol"
    add("--epsilon-hold", dest="epsilon_hold_steps", type=whole(0), metavar="STEPS", help=hold)
    add(
        "--ablate",
        action="store_true",
        help="train, in place of each agent, one agent for each setting in which the protocols "
        "differ, with that setting as the other protocol has it: rdq-hold, rdq-init, rdq-bias",
    )
    from_0, above_0 = real(0, float("inf")), real(0, float("inf"), open_below=True)
    beta = "rdq's penalty (default 0.001); each value makes an agent, rdq-beta-0.01 …"
    add("--beta", type=from_0, nargs="+", metavar="B", help=beta)
    rate = "the optimiser's step size (default 2.5e-4); each value makes an agent"
    add("--learning-rate", type=real(0, 1), nargs="+", metavar="R", help=rate)
    add("--discount", type=real(0, 1), metavar="G", help="γ (default 0.99)")
    add("--double", action=either, help="choose the best next action by the online network")
    add("--n-step", type=whole(1), metavar="N", help="rewards summed in a target (default 1)")
    add("--batch-size", type=whole(1), metavar="N", help="transitions per update (default 32)")
    kept = "transitions in memory (default 100,000)"
    add("--replay", dest="capacity", type=whole(1), metavar="N", help=kept)
    begin = "steps before the first update (default 1,000)"
    add("--learn-from", type=whole(1), metavar="STEPS", help=begin)
    copy = "steps between two copies to the target network (default 1,000)"
    add("--target-every", dest="sync_every", type=whole(1), metavar="STEPS", help=copy)
    add("--epsilon-final", type=real(0, 1), metavar="E", help="ε after its fall (default 0.01)")
    fall = "steps in which ε falls (default 250,000)"
    add("--epsilon-decay", dest="epsilon_decay_steps", type=whole(1), metavar="STEPS", help=fall)
    add("--adam-epsilon", type=above_0, metavar="E", help="in Adam's denominator")
    kinds = "board, mlp, conv, each also with -one or -separate; or one of yours (default auto)"
    add("--network", metavar="NAME", help=kinds)
    add("--optimiser", metavar="NAME", help="adam, or one of yours")
    number = "any number of the agents' algorithms (qduet agents), such as w=0.5 c=0.5"
    add("--set", type=_number, nargs="+", default=[], metavar="NAME=X", help=number)

    add = parser.add_argument_group("how it is run (changes no result)").add_argument
    add("--device", choices=devices.KINDS, default="auto")
    stop = "stop cleanly after so long; the same command continues"
    add("--max-minutes", type=above_0, metavar="M", help=stop)
    between = "time between checkpoints (default 5)"
    add("--checkpoint-minutes", type=from_0, default=5.0, metavar="M", help=between)
    keep = "keep the last checkpoint, so that a finished job can go on with more --steps"
    add("--keep-checkpoint", action="store_true", help=keep)
    add("--tensorboard", type=nonempty_path, metavar="DIR", help="log evaluations there")
    add("--wandb", metavar="PROJECT", help="log evaluations to Weights & Biases")
    add("--commit", metavar="SHA", help="for the record, where qduet is not in a git checkout")


def _seeds(text: str) -> tuple[int, ...]:
    """``5``: 0 to 4; ``10-29``: these twenty; ``3,17``: these two; ``17,``: this one."""
    try:
        return seeds_of(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number(text: str) -> tuple[str, float]:
    """``w=0.5``."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER") from None


def make_job(args: argparse.Namespace) -> Job:
    """The job that the arguments describe."""
    if args.env in AGENTS:
        raise InputError(
            f"'{args.env}' is an agent; the environment comes last, for example "
            f"qduet train {args.env} MinAtar/Breakout-v1"
        )
    agents = [agent for name in args.agents for agent in _variants(name, args)]
    known = {x for name in args.agents for x in AGENTS[name].numbers._fields}
    for number, _ in args.set:
        if number not in known:
            raise unknown_name("number of these agents", number, known)
    if args.beta and not any(map(_is_penalised, args.agents)):
        raise InputError(
            "--beta is for agents with a penalty, such as rdq, and none is given; --set beta=… "
            "gives one to any"
        )
    return Job(
        canonical_id(args.env),
        tuple(agents),
        seeds=args.seeds,
        steps=args.steps,
        evaluate_every=args.evaluate_every or 0,
        episodes=args.episodes,
        protocol=args.protocol,
    )


def _is_penalised(name: str) -> bool:
    """Whether --beta is for this agent."""
    return name in AGENTS and getattr(AGENTS[name].numbers, "beta", 0.0) > 0


def _variants(name: str, args: argparse.Namespace) -> list[tuple[str, Agent]]:
    """The agent `name`: once, or with each change of an ablation, or with each β and step size."""
    settings = {field.name for field in dataclasses.fields(Agent)} - {"learning_rate"}
    given = {name: x for name, x in vars(args).items() if name in settings}
    options: dict[str, Any] = {name: x for name, x in given.items() if x is not None}
    own = AGENTS[name].numbers._fields if name in AGENTS else ()
    options |= {number: x for number, x in args.set if number in own}
    if args.ablate:
        if options or args.beta or args.learning_rate:
            raise InputError(
                "--ablate changes the protocol's settings one by one; leave out the other settings "
                "of the agents"
            )
        changed = ablations(name, args.protocol)
        return [(f"{name}-{short}", agent) for short, agent in changed.items()]
    agent = make_agent(name, protocol=args.protocol, **options)
    axes = {"learning_rate": args.learning_rate}
    if _is_penalised(name) and args.beta != [agent.numbers.beta]:
        axes = {"beta": args.beta, **axes}
    if args.learning_rate and len(args.learning_rate) == 1:
        agent = agent.replace(learning_rate=args.learning_rate[0])
        del axes["learning_rate"]
    return grid(name, agent, {setting: values for setting, values in axes.items() if values})


def _warn_of_exploration(job: Job) -> None:
    for label, agent in job.agents:
        last = float(epsilon(hyper(agent).exploration, jnp.int32(job.steps)))
        if last > 0.5:
            print(
                f"{label} still explores with ε = {last:.2f} at the end of {job.steps:,} steps; "
                "--epsilon-decay STEPS lets it fall sooner",
                file=sys.stderr,
            )


def run(args: argparse.Namespace) -> int:
    """Trains until the job is done, or until it is asked to stop."""
    job = make_job(args)
    if args.out is None:
        raise InputError("--out DIR is missing: where to put the results")
    chosen = devices.choose(args.device)
    for group in groups(job.members):
        used = len(dividing(chosen, len(group)))
        if used < len(chosen):
            share = f"{used} of {len(chosen)} devices in use"
            print(f"{share}: as many as divide {len(group)} runs evenly", file=sys.stderr)
    with Tracker(job, args.tensorboard, args.wandb) as track, Display(job) as show:
        warned = False

        def on_progress(progress: Progress) -> None:
            nonlocal warned
            if not warned:  # not before the directory has been found to be this job's
                _warn_of_exploration(job)
                warned = True
            show(progress)
            track(progress.rows)

        result = train(
            job,
            args.out,
            device=args.device,
            max_minutes=args.max_minutes,
            checkpoint_minutes=args.checkpoint_minutes,
            keep_checkpoint=args.keep_checkpoint,
            commit=args.commit,
            raise_signals=False,
            on_progress=on_progress,
        )
    return _report(args, job, result)


def _report(args: argparse.Namespace, job: Job, result: TrainingResult) -> int:
    """Prints where the job stands; returns the exit code."""
    if result.stopped_by == DEADLINE and not result.advanced:
        raise InputError(
            f"--max-minutes {args.max_minutes:g} is too short: it ended, at step {result.step:,}, "
            "before one evaluation or block of training was done; give more"
        )
    cut = int(sum(row["episodes_cut"] or 0 for row in result.rows))
    if args.json:
        document = {
            "directory": str(args.out),
            "env": job.env_id,
            "finished": result.finished,
            "step": result.step,
            "elapsed_seconds": result.elapsed,
            "episodes_cut": cut,
            "return_mean": {a: latest(result.rows, a, "return_mean") for a, _ in job.agents},
        }
        print_json(document)
    elif result.finished:
        table(job, result.rows).show()
        when = "was finished before" if result.was_finished else "finished"
        print(f"{when}, after {result.elapsed / 60:.1f} minutes; results in {args.out}/")
        if cut:
            total = len(result.rows) * job.episodes
            print(f"{cut:,} of {total:,} evaluation episodes did not end and were cut short")
    if result.finished:
        return 0
    interrupted = result.stopped_by == signal.SIGINT
    told = "stopped before anything was written"
    if result.step or result.rows:
        told = f"stopped at step {result.step:,} of {job.steps:,}, everything is saved; run the "
        told += "same command again to continue"
    print("\n" * interrupted + f"qduet train: {told}", file=sys.stderr)
    return 130 if interrupted else UNFINISHED
