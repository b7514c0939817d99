"""`qduet watch`: an episode of a trained agent, with its value functions, to look at."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qduet.cli.options import add_json, add_out, nonempty_path, print_json, real, whole
from qduet.core.errors import InputError, unknown_name

if TYPE_CHECKING:
    from qduet.jobs.recording import Recording

EXAMPLE = """qduet watch out/breakout --agent rdq --seed 3
qduet watch out/breakout/weights/rdq-3.safetensors --episode-seed 7 --frames 500
qduet watch out/watch/breakout-rdq-3-episode7.json --fps 20"""

PAGE_ONLY = {"kind", "format", "game", "channels", "colours", "actions", "all_actions", "rewards"}
"""What ``--json`` leaves out of a recording, besides its data."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet watch`."""
    add = parser.add_argument
    add(
        "source",
        metavar="PATH",
        type=nonempty_path,
        help="the --out directory of qduet train, a weights file, or a recording made before",
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

    recording = made_or_read(args)
    files.check_writable(args.out)
    stem = args.out / file_name(recording)
    paths = {kind: stem.with_name(f"{stem.name}.{kind}") for kind in ("json", "html", "gif")}
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
            f"{args.source} is finished, but {path} is not there: put it back, or watch a "
            "recording (the repository has results/recordings/, and no weights)"
        )
    return path


def file_name(recording: "Recording") -> str:
    """``breakout-rdq-3-episode7``; characters that a file name cannot hold become ``_``."""
    from qduet.minatar import game_of

    safe = lambda name: re.sub(r"[^A-Za-z0-9.]+", "_", name)[:60]
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", game_of(recording.env)).lower()
    return f"{safe(snake)}-{safe(recording.label)}-{recording.seed}-episode{recording.episode_seed}"


def show(recording: "Recording", paths: dict[str, Any]) -> None:
    """Prints the episode's score and length, and where the files are."""
    run = f"{recording.env}, {recording.label}, seed {recording.seed}"
    print(f"{run}, trained for {recording.step:,} steps")
    end = "game over" if recording.ended else "cut short there; --frames N records more"
    score = f"score {recording.score:.7g} in {len(recording.episode.action):,} frames"
    print(f"episode {recording.episode_seed}: {score} ({end})")
    for kind, what in (("html", "page"), ("gif", "GIF"), ("json", "recording")):
        print(f"  {what:10}{paths[kind]}")
