"""`qduet watch`: an episode of a trained agent, with its value functions, to look at."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qduet.cli.options import add_json, add_out, nonempty_path, print_json, real, whole
from qduet.core.errors import InputError, unknown_name
from qduet.core.tables import Table

if TYPE_CHECKING:
    from qduet.jobs.recording import Recording

EXAMPLE = """qduet watch                                 # the agents that come with qduet
qduet watch rdq Breakout                    # one of them plays, without training
qduet watch out/breakout --agent rdq --seed 3
qduet watch out/breakout/weights/rdq-3.safetensors --episode-seed 7 --frames 500
qduet watch out/watch/breakout-rdq-3-step1000000-episode7.json --fps 20"""

PAGE_ONLY = {"kind", "format", "game", "channels", "colours", "actions", "all_actions", "rewards"}
"""What ``--json`` leaves out of a recording, besides its data."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet watch`."""
    add = parser.add_argument
    add(
        "source",
        nargs="*",
        metavar="SOURCE",
        type=nonempty_path,
        help="AGENT GAME: one that comes with qduet (all are listed if nothing is given); or a "
        "PATH: the --out directory of qduet train, a weights file, or a recording made before",
    )
    add("--agent", help="which agent of a directory (default rdq, or its first)")
    add("--seed", type=whole(0), help="which run of it (default its first seed)")
    add(
        "--episode-seed",
        type=whole(0),
        help="of the game's random draws; the same number gives the same episode (default 0)",
    )
    add("--frames", type=whole(1), help="stop an episode that is longer (default 1,000)")
    add("--fps", type=real(0.1, 50), default=10, help="of the GIF (default 10)")
    add_out(parser, "for recording, page and GIF", "out/watch")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Plays an episode, or reads one, and writes it as a recording, a page and a GIF."""
    from qduet.core import files
    from qduet.jobs import recording_file
    from qduet.show.player.gif import gif
    from qduet.show.player.page import page

    if not args.source:
        return list_shipped(json=args.json)
    named, args.source = len(args.source) > 1, source_of(args.source)
    recording = made_or_read(args)
    stem = args.out / file_name(recording)
    paths = {kind: stem.with_name(f"{stem.name}.{kind}") for kind in ("json", "html", "gif")}
    check_same_agent(paths["json"], recording)
    if named and args.source.suffix == ".json":
        reason = f"no weights of {recording.label} for {recording.env} come with qduet"
        print(f"qduet watch: {reason}: this is {args.source}", file=sys.stderr)
    files.check_writable(args.out)
    document = recording_file.document(recording)
    recording_file.write(paths["json"], recording)
    title = f"{recording.env}, {recording.label}: an episode"
    files.write_atomically(paths["html"], page([document], title=title).encode())
    files.write_atomically(paths["gif"], gif(recording, fps=args.fps))
    if args.json:
        facts = {name: document[name] for name in document.keys() - PAGE_ONLY - {"data"}}
        print_json(facts | {kind: str(path) for kind, path in paths.items()})
    else:
        show(recording, paths)
    return 0


def list_shipped(*, json: bool) -> int:
    """Prints what comes with qduet."""
    from qduet.jobs import pretrained

    known = pretrained.everything()
    if json:
        print_json([{**one._asdict(), "path": str(one.path)} for one in known])
        return 0
    rows = [
        (one.label, one.env, one.kind, f"{one.steps:,}", score, one.path.name)
        for one in known
        for score in [f"{one.score:.4g}{'' if one.ended else ' (cut)'}"]
    ]
    headings = ("agent", "environment", "what", "steps", "return", "file")
    Table("what comes with qduet", headings, rows).show()
    print("weights: they play any episode; the return is the mean of the run's last evaluation")
    print("recording: one episode and its return; shown where there are no weights")
    print("(cut): the recording stops before the episode's end; the return counts what is in it")
    print(f"files in {known[0].path.parents[1]}; to see one: qduet watch AGENT GAME")
    return 0


def source_of(words: list[Path]) -> Path:
    """The file or directory that the command line names, by its path or as AGENT GAME."""
    from qduet.agents import AGENTS
    from qduet.jobs import pretrained

    if len(words) == 1:
        if str(words[0]) in AGENTS and not words[0].exists():
            raise InputError(f"in which game? For example: qduet watch {words[0]} Breakout")
        return words[0]
    if len(words) > 2:
        raise InputError(f"give one PATH, or AGENT and GAME; not {' '.join(map(str, words))}")
    return pretrained.find(*map(str, words)).path


def made_or_read(args: argparse.Namespace) -> "Recording":
    """The recording that the command line asks for: made, or read."""
    from qduet.jobs import recording_file, weights
    from qduet.jobs.recording import record

    source: Path = args.source
    if source.suffix == ".json":
        _refuse(args, ("agent", "seed", "episode_seed", "frames"), "a recording")
        return recording_file.read(source)
    if source.is_dir():
        source = weights_of(args)
    elif source.is_file() and source.suffix != ".safetensors":
        raise InputError(
            f"{source} cannot be watched; give the --out directory of qduet train, a weights file "
            "(.safetensors) or a recording (.json)"
        )
    else:
        _refuse(args, ("agent", "seed"), "a weights file")
    return record(
        weights.load(source), episode_seed=args.episode_seed or 0, frames=args.frames or 1_000
    )


def _refuse(args: argparse.Namespace, names: tuple[str, ...], kind: str) -> None:
    """Refuses options that have no meaning for the given source."""
    for name in names:
        if getattr(args, name) is not None:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} does not go with {args.source}, which is {kind}")


def weights_of(args: argparse.Namespace) -> Path:
    """The weights file of the run that `--agent` and `--seed` name in a results directory."""
    from qduet.jobs import weights
    from qduet.results import runs

    trained = runs.load(args.source)
    agent = args.agent or ("rdq" if "rdq" in trained.agents else trained.agents[0])
    if agent not in trained.agents:
        raise unknown_name("agent", agent, trained.agents)
    seeds = trained.config["seeds"]
    seed = seeds[0] if args.seed is None else args.seed
    if seed not in seeds:
        known = ", ".join(map(str, seeds))
        raise InputError(f"{args.source} has no run with seed {seed}; its seeds: {known}")
    path = weights.path_of(args.source, agent, seed)
    if not path.is_file():
        if not trained.finished:
            raise InputError(f"{args.source} is unfinished: continue it, weights come at the end")
        raise InputError(
            f"{args.source} is finished, but {path} is not there: put it back, or watch an agent "
            "that comes with qduet (qduet watch lists them)"
        )
    return path


def file_name(recording: "Recording") -> str:
    """``breakout-rdq-3-step1000000-episode7``; what a file name cannot hold becomes ``_``."""
    from qduet.minatar import game_of

    safe = lambda name: re.sub(r"[^A-Za-z0-9.]+", "_", name)[:60]
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", game_of(recording.env)).lower()
    run = f"{safe(snake)}-{safe(recording.label)}-{recording.seed}-step{recording.step}"
    return f"{run}-episode{recording.episode_seed}"


def check_same_agent(path: Path, recording: "Recording") -> None:
    """`InputError` if the file at `path` is a recording of an agent with other settings."""
    from qduet.core.files import first_difference, to_json
    from qduet.jobs import recording_file

    try:
        there = recording_file.read(path)
    except InputError:  # there is none, or none that could be watched
        return
    if there.agent != recording.agent:
        settings = (to_json(one.agent.fields()) for one in (there, recording))
        raise InputError(
            f"{path} is an episode of an agent with other settings ({first_difference(*settings)}):"
            " choose another --out"
        )


def show(recording: "Recording", paths: dict[str, Any]) -> None:
    """Prints the episode's score and length, and where the files are."""
    run = f"{recording.env}, {recording.label}, seed {recording.seed}"
    print(f"{run}, trained for {recording.step:,} steps")
    end = "game over" if recording.ended else "cut short there; of weights, --frames N records more"
    score = f"score {recording.score:.7g} in {len(recording.episode.action):,} frames"
    print(f"episode {recording.episode_seed}: {score} ({end})")
    for kind, what in (("html", "page"), ("gif", "GIF"), ("json", "recording")):
        print(f"  {what:10}{paths[kind]}")
