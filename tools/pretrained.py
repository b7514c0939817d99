"""Weights that come with qduet, from finished training: ``results/weights/``.

    PYTHONPATH=src python tools/pretrained.py out/breakout [--agent rdq] [--seed 0]

writes the weights of a run in half precision (``breakout-rdq-0.safetensors``) and its card beside
them (.json): settings, seed, steps, scores of the run's last evaluation, commit and device, all of
it read from the run's own files. The card also says how the weights play before and after they
were rounded: the run's last evaluation, or as many episodes as --episodes says, is repeated with
both, episode by episode with the same random numbers. Weights that play worse after rounding, by
more than three standard errors, are refused. README.md in the same folder is written anew, as a
table of all cards.
"""

import argparse
import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.errors import InputError
from qduet.core.files import write_atomically, write_json
from qduet.core.reading import read_json
from qduet.core.tables import Table
from qduet.deep import environments, training
from qduet.deep.evaluation import evaluate
from qduet.jobs import weights
from qduet.jobs.weights import Weights
from qduet.results import runs
from qduet.results.published import title

COLUMNS = ("return_mean", "return_median", "return_std", "return_min", "return_max",
           "episode_length_mean")  # fmt: skip
"""The columns of the last evaluation that a card repeats."""

README = """# Trained agents

Weights in half precision, each with its card (.json): settings, seed, scores of the run's last
evaluation, commit and device. `qduet watch AGENT GAME` plays one; `qduet.jobs.load_pretrained`
gives it to Python. `tools/pretrained.py` makes weights, cards and this page from directories of
`qduet train`; nothing here is written by hand.

*Return*: mean of the run's last evaluation, ± its standard error over episodes. *Rounding*: how
much the mean return changes when the same episodes are played with the weights in half precision,
± the standard error of that change.

"""


def make(
    directory: Path,
    out: Path,
    *,
    label: str | None = None,
    seed: int | None = None,
    episodes: int | None = None,
) -> Path:
    """The card of one run of a finished directory, written with its weights.

    Play is compared over `episodes` episodes, by default as many as the run's evaluations had.
    """
    job = runs.load(directory)
    if not job.finished:
        raise InputError(f"{directory} is unfinished: continue it, weights come at the end")
    label = label or job.agents[0]
    seed = job.config["seeds"][0] if seed is None else seed
    full = weights.load(weights.path_of(directory, label, seed))
    half = full._replace(params=jax.tree.map(lambda x: np.asarray(x, np.float16), full.params))
    rounding = compared(full, half, episodes or job.config["episodes"])
    if rounding["change"] < -3 * rounding["standard_error"]:
        raise InputError(f"{directory}, {label}, seed {seed}: play is worse rounded: {rounding}")
    path = out / f"{title(job.game).lower().replace(' ', '_')}-{label}-{seed}.safetensors"
    weights.save(path, half)
    card = card_of(job, full) | {
        "weights": path.name,
        "weights_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "half_precision": rounding,
    }
    write_json(path.with_suffix(".json"), card)
    return path.with_suffix(".json")


def card_of(job: runs.Runs, trained: Weights) -> dict[str, Any]:
    """What the run's own files say of it."""
    table = job.table
    row = (table["agent"] == trained.label) & (table["seed"] == trained.seed)
    (row,) = np.flatnonzero(row & (table["step"] == trained.step))
    return {
        "kind": "qduet-card",
        "env": trained.env_id,
        "label": trained.label,
        "agent": trained.agent.fields(),
        "seed": trained.seed,
        "steps": trained.step,
        "protocol": job.config.get("protocol"),
        "evaluation": {
            "episodes": job.config["episodes"],
            **{name: float(table[name][row]) for name in COLUMNS if name in table},
        },
        "provenance": job.config.get("provenance"),
    }


def compared(full: Weights, half: Weights, episodes: int) -> dict[str, Any]:
    """The run's last evaluation again, with both weights side by side."""
    env, agent = environments.make(full.env_id), full.agent
    setting = training.make_setting(env, agent)
    both = lambda a, b: jnp.stack([jnp.asarray(a, jnp.float32), jnp.asarray(b, jnp.float32)])
    params = jax.tree.map(both, full.params, half.params)
    numbers = jax.tree.map(both, agent.numbers, agent.numbers)
    key = jax.random.fold_in(jax.random.key(np.uint32(full.seed)), training.EVALUATION)
    keys = jnp.stack([jax.random.fold_in(key, full.step)] * 2)
    options = {"episodes": episodes, "discount": agent.discount}
    played = evaluate(env, setting.algorithm, setting.compute, params, numbers, keys, **options)
    before, after = played.episodes.undiscounted.astype(np.float64)
    change = after - before
    return {
        "episodes": episodes,
        "return_mean_float32": before.mean(),
        "return_mean_float16": after.mean(),
        "change": change.mean(),
        "standard_error": change.std(ddof=1) / np.sqrt(episodes),
    }


def readme(out: Path) -> str:
    """The table of all cards in `out`."""
    rows = []
    for path in sorted(out.glob("*.json")):
        card = read_json(path)
        scores, rounding, made = card["evaluation"], card["half_precision"], card["provenance"]
        error = scores["return_std"] / np.sqrt(scores["episodes"])
        change = f"{rounding['change']:+.2f} ± {rounding['standard_error']:.2f}"
        rows.append((
            title(environments.game_of(card["env"])), card["label"], str(card["seed"]),
            f"{card['steps']:,}", str(card["protocol"]),
            f"{scores['return_mean']:.2f} ± {error:.2f}", change.replace("-", "−"),
            made["device"], (made["commit"] or "–")[:7],
        ))  # fmt: skip
    headings = ("game", "agent", "seed", "steps", "protocol", "return", "rounding", "device",
                "commit")  # fmt: skip
    return README + Table("", headings, rows).markdown() + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR", help="of qduet train")
    parser.add_argument("--agent", help="its label (default: the directory's first)")
    parser.add_argument("--seed", type=int, help="(default: the directory's first)")
    parser.add_argument("--episodes", type=int, help="to compare play (default: as evaluated)")
    parser.add_argument("--out", type=Path, default=Path("results") / "weights", metavar="DIR")
    args = parser.parse_args()
    for directory in args.directories:
        card = make(directory, args.out, label=args.agent, seed=args.seed, episodes=args.episodes)
        print(card, read_json(card)["half_precision"])
    write_atomically(args.out / "README.md", readme(args.out).encode())


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        raise SystemExit(f"tools/pretrained.py: {error}") from None
