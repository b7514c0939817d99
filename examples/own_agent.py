"""An agent of one's own: Q = w V + A − c mean(A) with any w and c, and any penalty β.

    python examples/own_agent.py out-own-agent

DQN, Dueling DQN and RDQ are three such agents. Here is one between the last two: half of the mean
is subtracted (c = 1/2), and nothing is penalised. Step size, exploration, initialisation and the
rest are other fields of `Agent`. The same call again continues the training, or reads what is
finished; `qduet watch`, `compare` and `report` take the directory as well.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

from qduet.deep import AV, Agent
from qduet.jobs import Job, Progress, load_weights, train
from qduet.minatar import make
from qduet.results import runs
from qduet.stats import mean_interval

ENV = "MinAtar/Breakout-v1"


def show(progress: Progress) -> None:
    """Prints where the training stands, about once a second."""
    print(f"{progress.doing}, step {progress.step:,}", file=sys.stderr)


def main(out: Path, steps: int = 5_000, episodes: int = 100, **settings) -> jax.Array:
    """Trains two seeds, prints their returns, loads the weights; Q(s, ·) of a first board."""
    agent = Agent("half_dueling", "av", AV(w=1.0, c=0.5), **settings)
    job = Job(
        ENV,
        agents={agent.name: agent},
        seeds=range(2),
        steps=steps,
        evaluate_every=steps // 5,
        episodes=episodes,
    )
    # Ctrl-C raises KeyboardInterrupt once a checkpoint is written; the same call continues from it.
    train(job, out, on_progress=show)
    scores = runs.load(out).scores(agent.name)
    for step, returns in zip(scores.steps, scores.values.T, strict=True):
        each = ", ".join(f"{x:.2f}" for x in returns)
        print(f"step {step:,}: mean returns {each}; 95 % interval {mean_interval(returns)}")

    trained = load_weights(out / "weights" / f"{agent.name}-1.safetensors")
    env = make(trained.env_id)
    board = env.observe(env.reset(jnp.zeros(env.num_draws, jnp.uint32)))
    q = trained.values(board)[1]
    print(f"seed 1 at the start of a game: Q = {q}")
    return q


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out-own-agent"))
