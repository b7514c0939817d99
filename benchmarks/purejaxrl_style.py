"""Frames per second of a plain JAX DQN as people write it with gymnax, flax and optax.

This is the peer that qduet is measured against. It is written in the style of purejaxrl: one file,
a gymnax environment that resets itself, a flax network, optax's Adam, a replay memory of arrays,
`lax.scan` over steps and `vmap` over seeds. It imports nothing of qduet.

    δ = R + γ max_a' Q(S', a'; θ⁻) − Q(S, A; θ),      loss = ½ mean δ²

There are two forms. Both compute the same runs from the same random numbers:

    cond    every step asks, by `lax.cond`, whether an update and whether a target copy is due
    tuned   a scan over 4 steps and an update, inside a scan over target copies: nothing is asked

The step counter has no axis of seeds in either form. Under `vmap` a `cond` therefore stays a
branch, and a write to the replay memory stays one slice.

    python benchmarks/purejaxrl_style.py --env Breakout-MinAtar --form tuned --seeds 90
    python benchmarks/purejaxrl_style.py --learn
"""

import argparse
import dataclasses
import functools
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import flax.linen as nn
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS = (
    "CartPole-v1",
    "Asterix-MinAtar",
    "Breakout-MinAtar",
    "Freeway-MinAtar",
    "Seaquest-MinAtar",
    "SpaceInvaders-MinAtar",
)
FORMS = ("cond", "tuned")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """DQN's settings; the defaults are the paper's."""

    hidden: tuple[int, ...] = (128, 128)
    """Widths of an MLP's hidden layers; boards have the paper's network instead."""
    capacity: int = 100_000
    batch_size: int = 32
    learning_rate: float = 2.5e-4
    adam_epsilon: float = 3.125e-4
    discount: float = 0.99
    learn_from: int = 1_000
    """Steps before the first update."""
    update_every: int = 4
    sync_every: int = 1_000
    """Steps between two copies of the weights to the target network."""
    epsilon_final: float = 0.01
    epsilon_decay_steps: int = 250_000
    unroll: int = 1
    """How many of the tuned form's 4 steps are traced one by one; on a CPU, 1 is fastest."""


class QNetwork(nn.Module):
    """An MLP of vectors [..., n], or the paper's network of boards [..., 10, 10, C]."""

    num_actions: int
    hidden: tuple[int, ...]
    board: bool

    @nn.compact
    def __call__(self, obs: jax.Array) -> jax.Array:
        """Q(s, ·), float32[..., |A|]."""
        x = obs.astype(jnp.float32)
        if self.board:
            x = nn.relu(nn.Conv(16, (3, 3), padding="VALID")(x))
            x = x.reshape(*x.shape[:-3], -1)
        for width in self.hidden:
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(self.num_actions)(x)


class Transition(NamedTuple):
    """A step of the environment; in a replay memory, each field has a leading axis [capacity]."""

    obs: jax.Array
    """float32[n] or bool[10, 10, C]"""
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array
    next_obs: jax.Array
    """What the step led to, also where the environment then reset itself."""


class Run(NamedTuple):
    """One seed's training state."""

    params: Any
    target: Any
    opt_state: Any
    replay: Transition
    env_state: Any
    obs: jax.Array
    episode_return: jax.Array
    """float32[]: the rewards of the current episode so far"""
    key: jax.Array


class Step(NamedTuple):
    """What a step gives besides the new state."""

    transition: Transition
    """For the replay memory."""
    key_batch: jax.Array
    """For the minibatch, if an update follows."""
    finished_return: jax.Array
    """float32[]: the return of the episode that ended with this step; NaN if none did"""


class DQN:
    """DQN on one environment, for one seed; `vmap` makes many of it."""

    def __init__(self, env_name: str, settings: Settings) -> None:
        self.settings = settings
        self.env, self.env_params = gymnax.make(env_name)
        self.num_actions = self.env.action_space(self.env_params).n
        self.board = len(self.env.observation_space(self.env_params).shape) == 3
        hidden = (128,) if self.board else settings.hidden
        self.network = QNetwork(self.num_actions, hidden, self.board)
        self.optimizer = optax.adam(settings.learning_rate, eps=settings.adam_epsilon)

    def begin(self, key: jax.Array) -> Run:
        """A run that has taken `learn_from` steps and not learned yet."""
        key_params, key_env, key_run = jax.random.split(key, 3)
        obs, env_state = self.env.reset(key_env, self.env_params)
        params = self.network.init(key_params, obs)
        run = Run(
            params=params,
            target=params,
            opt_state=self.optimizer.init(params),
            replay=self.empty_replay(obs.shape),
            env_state=env_state,
            obs=obs,
            episode_return=jnp.float32(0),
            key=key_run,
        )
        first = jnp.arange(self.settings.learn_from)
        run, out = jax.lax.scan(self.env_step, run, first)
        return run._replace(replay=self.store(run.replay, out.transition, first[0]))

    def empty_replay(self, obs_shape: tuple[int, ...]) -> Transition:
        """A memory for `capacity` transitions; boards take a byte a cell."""
        zeros = lambda dtype, *shape: jnp.zeros((self.settings.capacity, *shape), dtype)
        obs_dtype = jnp.bool_ if self.board else jnp.float32
        return Transition(
            obs=zeros(obs_dtype, *obs_shape),
            action=zeros(jnp.int32),
            reward=zeros(jnp.float32),
            terminated=zeros(jnp.bool_),
            next_obs=zeros(obs_dtype, *obs_shape),
        )

    def store(self, replay: Transition, new: Transition, t: jax.Array) -> Transition:
        """The memory with transitions [n] of steps t to t + n − 1; n divides `capacity` and `t`."""
        write = lambda ring, x: jax.lax.dynamic_update_slice_in_dim(
            ring, x.astype(ring.dtype), t % self.settings.capacity, axis=0
        )
        return jax.tree.map(write, replay, new)

    def env_step(self, run: Run, t: jax.Array) -> tuple[Run, Step]:
        """An ε-greedy action in the environment; `t` counts the steps before this one."""
        s = self.settings
        key, key_explore, key_action, key_env, key_batch = jax.random.split(run.key, 5)
        epsilon = jnp.maximum(
            s.epsilon_final, 1 - (1 - s.epsilon_final) * t / s.epsilon_decay_steps
        )
        greedy = jnp.argmax(self.network.apply(run.params, run.obs))
        other = jax.random.randint(key_action, (), 0, self.num_actions)
        action = jnp.where(jax.random.uniform(key_explore) < epsilon, other, greedy)
        obs, env_state, reward, terminated, truncated, info = self.env.step(
            key_env, run.env_state, action, self.env_params
        )
        transition = Transition(run.obs, action, reward, terminated, info["final_observation"])
        ended = terminated | truncated
        episode_return = run.episode_return + reward
        moved = run._replace(
            env_state=env_state,
            obs=obs,
            episode_return=jnp.where(ended, 0.0, episode_return),
            key=key,
        )
        finished_return = jnp.where(ended, episode_return, jnp.nan)
        return moved, Step(transition, key_batch, finished_return)

    def update(self, run: Run, filled: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        """New weights and optimiser state, from a minibatch of the first `filled` places."""
        rows = jax.random.randint(key, (self.settings.batch_size,), 0, filled)
        batch = jax.tree.map(lambda ring: ring[rows], run.replay)
        q_next = self.network.apply(run.target, batch.next_obs).max(axis=-1)
        goal = batch.reward + self.settings.discount * jnp.where(batch.terminated, 0.0, q_next)

        def loss(params: Any) -> jax.Array:
            q = self.network.apply(params, batch.obs)
            q_taken = jnp.take_along_axis(q, batch.action[:, None], axis=-1)[:, 0]
            return 0.5 * jnp.mean((goal - q_taken) ** 2)

        updates, opt_state = self.optimizer.update(jax.grad(loss)(run.params), run.opt_state)
        return optax.apply_updates(run.params, updates), opt_state

    def train_cond(self, run: Run, start: jax.Array, steps: int) -> tuple[Run, jax.Array]:
        """The run after `steps` more steps, and the returns of episodes, [steps]."""
        s = self.settings

        def step(run: Run, t: jax.Array) -> tuple[Run, jax.Array]:
            run, out = self.env_step(run, t)
            new = jax.tree.map(lambda x: x[None], out.transition)
            run = run._replace(replay=self.store(run.replay, new, t))
            taken = t + 1
            params, opt_state = jax.lax.cond(
                taken % s.update_every == 0,
                lambda: self.update(run, jnp.minimum(taken, s.capacity), out.key_batch),
                lambda: (run.params, run.opt_state),
            )
            target = jax.lax.cond(taken % s.sync_every == 0, lambda: params, lambda: run.target)
            run = run._replace(params=params, target=target, opt_state=opt_state)
            return run, out.finished_return

        return jax.lax.scan(step, run, start + jnp.arange(steps))

    def train_tuned(self, run: Run, start: jax.Array, steps: int) -> tuple[Run, jax.Array]:
        """The same without a question: 4 steps and an update, 250 times, then a target copy."""
        s = self.settings

        def iteration(run: Run, t: jax.Array) -> tuple[Run, jax.Array]:
            steps_now = t + jnp.arange(s.update_every)
            run, out = jax.lax.scan(self.env_step, run, steps_now, unroll=s.unroll)
            run = run._replace(replay=self.store(run.replay, out.transition, t))
            filled = jnp.minimum(t + s.update_every, s.capacity)
            params, opt_state = self.update(run, filled, out.key_batch[-1])
            return run._replace(params=params, opt_state=opt_state), out.finished_return

        def block(run: Run, t: jax.Array) -> tuple[Run, jax.Array]:
            firsts = t + jnp.arange(0, s.sync_every, s.update_every)
            run, returns = jax.lax.scan(iteration, run, firsts)
            return run._replace(target=run.params), returns

        run, returns = jax.lax.scan(block, run, start + jnp.arange(0, steps, s.sync_every))
        return run, returns.reshape(steps)


class Reading(NamedTuple):
    """What was measured."""

    env: str
    form: str
    unroll: int
    """Of the tuned form's 4 steps."""
    seeds: int
    steps: int
    """Of each seed, in each repetition."""
    frames_per_second: float
    """Of all seeds together; the median of the repetitions."""
    repetitions: list[float]
    """Frames per second of each."""
    compile_seconds: float
    device: str
    versions: dict[str, str]


def compiled(dqn: DQN, seeds: int, steps: int, form: str) -> tuple[Any, Run]:
    """The compiled training of `steps` steps, and runs that are ready for it.

    Everything has a leading axis [seeds], but not if there is only one.
    """
    if form not in FORMS:
        raise ValueError(f"no form {form!r}: choose one of {', '.join(FORMS)}")
    if steps <= 0 or steps % dqn.settings.sync_every:
        raise ValueError(f"steps must be a multiple of {dqn.settings.sync_every:,}, not {steps:,}")
    begin, train = dqn.begin, dqn.train_cond if form == "cond" else dqn.train_tuned
    train = functools.partial(train, steps=steps)
    keys = jax.random.split(jax.random.key(0), seeds)
    if seeds == 1:  # without vmap the convolution is 1.3 times as fast on a CPU
        keys = keys[0]
    else:
        begin, train = jax.vmap(begin), jax.vmap(train, in_axes=(0, None))
    runs = jax.jit(begin)(keys)
    start = jnp.int32(dqn.settings.learn_from)
    return jax.jit(train, donate_argnums=0).lower(runs, start).compile(), runs


def measure(
    env_name: str, *, seeds: int, steps: int, repeats: int, form: str, settings: Settings
) -> Reading:
    """Times `repeats` stretches of training that follow each other, after compilation."""
    begun = time.perf_counter()
    train, runs = compiled(DQN(env_name, settings), seeds, steps, form)
    jax.block_until_ready(runs)
    compile_seconds = time.perf_counter() - begun
    speeds = []
    for i in range(repeats):
        start = jnp.int32(settings.learn_from + i * steps)
        begun = time.perf_counter()
        runs, _ = jax.block_until_ready(train(runs, start))
        speeds.append(seeds * steps / (time.perf_counter() - begun))
    return Reading(
        env=env_name,
        form=form,
        unroll=settings.unroll,
        seeds=seeds,
        steps=steps,
        frames_per_second=float(np.median(speeds)),
        repetitions=speeds,
        compile_seconds=compile_seconds,
        device=jax.devices()[0].device_kind,
        versions={name: version(name) for name in ("jax", "flax", "optax", "gymnax")},
    )


def frames_per_second(
    env_name: str,
    *,
    seeds: int,
    steps: int,
    repeats: int,
    form: str,
    hidden: tuple[int, ...] = (128, 128),
    unroll: int = 1,
) -> float:
    """Frames per second of all seeds together, for a comparison within one process."""
    settings = Settings(hidden=hidden, unroll=unroll)
    reading = measure(
        env_name, seeds=seeds, steps=steps, repeats=repeats, form=form, settings=settings
    )
    return reading.frames_per_second


def learn(form: str, hidden: tuple[int, ...], steps: int = 100_000) -> np.ndarray:
    """Returns of the episodes of one CartPole run, in order; ε is 0.01 from step 10,000 on."""
    settings = Settings(hidden=hidden, epsilon_decay_steps=10_000)
    train, runs = compiled(DQN("CartPole-v1", settings), 1, steps, form)
    _, returns = train(runs, jnp.int32(settings.learn_from))
    returns = np.asarray(returns)
    return returns[~np.isnan(returns)]


def main() -> None:
    """Prints the speed, or what CartPole's last episodes returned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--env", choices=ENVS, default="CartPole-v1")
    add("--form", choices=FORMS, default="cond")
    add("--seeds", type=int, default=90)
    add("--steps", type=int, default=20_000, help="of each seed and repetition, thousands")
    add("--repeats", type=int, default=3)
    add("--hidden", type=int, nargs="+", default=[128, 128], help="widths of the MLP")
    add("--unroll", type=int, choices=(1, 2, 4), default=1, help="of the tuned form's 4 steps")
    add("--json", type=Path, metavar="FILE", help="write the reading there, too")
    add("--learn", action="store_true", help="train one seed on CartPole instead of timing")
    args = parser.parse_args()
    hidden = tuple(args.hidden)
    if args.learn:
        returns = learn(args.form, hidden)
        print(f"CartPole-v1, {args.form}: {len(returns)} episodes in 100,000 steps")
        print(f"mean return of the first 20: {returns[:20].mean():.1f}")
        print(f"mean return of the last 20: {returns[-20:].mean():.1f} (500 is the most)")
        return
    for name in ("seeds", "steps", "repeats"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if args.steps % Settings.sync_every:
        parser.error(f"--steps must be a multiple of {Settings.sync_every:,}")
    reading = measure(
        args.env,
        seeds=args.seeds,
        steps=args.steps,
        repeats=args.repeats,
        form=args.form,
        settings=Settings(hidden=hidden, unroll=args.unroll),
    )
    print(
        f"{reading.env}, {reading.form}, {reading.seeds} seeds on {reading.device}: "
        f"{reading.frames_per_second:,.0f} frames/s "
        f"(compiled and warmed up in {reading.compile_seconds:.1f} s)"
    )
    if args.json:
        args.json.write_text(json.dumps(reading._asdict(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
