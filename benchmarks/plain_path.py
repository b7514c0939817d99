"""The plain update against a purejaxrl-style script: same network, batch and updates, one process.

    python benchmarks/plain_path.py CartPole-v1 --runs 1                # on a CPU
    python benchmarks/plain_path.py Breakout-MinAtar --runs 90          # on a GPU

Both train DQN: four steps, then an update from 32 transitions. The network has one stream (two
layers of 128 units, or the paper's convolution and a layer of 128). Rounds alternate, and the
ratio of their medians is what counts. `purejaxrl_style` is the peer.
"""

import argparse
import json
import statistics
import time

import jax
import numpy as np
import purejaxrl_style

from qduet.deep import make_agent
from qduet.jobs import Job, program

ENVIRONMENTS = {
    "CartPole-v1": ("gymnax/CartPole-v1", "mlp-one"),
    "Breakout-MinAtar": ("MinAtar/Breakout-v1", "board-one"),
    "Seaquest-MinAtar": ("MinAtar/Seaquest-v1", "board-one"),
}
"""The peer's name of each, ours, and the network of one stream."""


def ours(name: str, runs: int, steps: int, repeats: int) -> list[float]:
    """Frames per second of all runs together, once for each repetition."""
    env_id, network = ENVIRONMENTS[name]
    job = Job(env_id, {"dqn": make_agent("dqn", network=network)}, seeds=range(runs))
    built = program.Program(job)
    step, block = (getattr(job.members[0].agent, key) for key in ("learn_from", "sync_every"))
    state, _ = built.advance(built.warm_up(built.start()), step, 1)
    step, found = step + block, []
    for _ in range(repeats):
        begun = time.perf_counter()
        state, losses = built.advance(jax.block_until_ready(state), step, steps // block)
        np.asarray(losses.total)
        found.append(runs * steps / (time.perf_counter() - begun))
        step += steps
    return found


def main() -> None:
    """Prints the frames per second of both and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env", choices=ENVIRONMENTS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000, help="of a repetition")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    mine: list[float] = []
    peers: dict[str, list[float]] = {"tuned": [], "cond": []}
    sizes = {"seeds": args.runs, "steps": args.steps, "repeats": args.repeats}
    for _ in range(args.rounds):
        mine += ours(args.env, args.runs, args.steps, args.repeats)
        for form, found in peers.items():
            found.append(purejaxrl_style.frames_per_second(args.env, form=form, **sizes))
    middle = statistics.median(mine)
    reading = {
        "device": jax.devices()[0].device_kind,
        "env": args.env,
        "runs": args.runs,
        "plain": round(middle),
        **{form: round(statistics.median(found)) for form, found in peers.items()},
    }
    reading["ratio"] = round(middle / reading["tuned"], 2)
    print(json.dumps(reading))


if __name__ == "__main__":
    main()
