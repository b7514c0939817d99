"""An environment of gymnax's: RDQ and Double DQN on CartPole, several seeds as one job.

    python examples/gymnax_cartpole.py out-cartpole

Any id of gymnax with a finite set of actions works (``gymnax/Acrobot-v1``); the network follows the
observation. It needs gymnax: ``pip install gymnax``. The same in the shell:

    qduet train rdq double_dqn gymnax/CartPole-v1 --seeds 2 --steps 200_000 --epsilon-decay 50_000 …
"""

import sys
from pathlib import Path

from qduet import Job, compare, make_agent, train

SETTINGS = {"learning_rate": 5e-4, "batch_size": 64, "epsilon_decay_steps": 50_000}


def main(out: Path, steps: int = 200_000, episodes: int = 100, **settings) -> list[float]:
    """Trains two agents × two seeds; prints and returns their last mean returns."""
    agents = {name: make_agent(name, **SETTINGS | settings) for name in ("rdq", "double_dqn")}
    job = Job("gymnax/CartPole-v1", agents, seeds=range(2), steps=steps, episodes=episodes)
    show = lambda progress: print(f"{progress.doing}, step {progress.step:,}", file=sys.stderr)
    result = train(job, out, on_progress=show)
    last = [row for row in result.rows if row["step"] == steps]
    for row in last:
        print(f"{row['agent']}, seed {row['seed']}: mean return {row['return_mean']:.1f} of 500")
    for pair in compare(out).pairs:
        print(f"{pair.x} − {pair.y}: {pair.difference}")
    return [row["return_mean"] for row in last]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out-cartpole"))
