"""Games of one's own: what `register` takes and refuses, and what `make` then makes of them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.jobs.job import Job
from qduet.minatar import (
    LEFT,
    NOOP,
    RIGHT,
    Environment,
    StepResult,
    canonical_id,
    game_of,
    make,
    register,
    wrappers,
)


class Walk(NamedTuple):
    """A place on a line, and the action that led there; int32[]."""

    x: jax.Array
    action: jax.Array


def walk(*, size=5, reward=0.5):
    """Left or right from a drawn place; the draw of a step below 2^30 ends the episode."""
    return Environment(
        name="Walk",
        channels=("me",),
        actions=(LEFT, RIGHT),
        num_draws=1,
        reset=lambda draws: Walk((draws[0] >> 24).astype(jnp.int32), jnp.int32(NOOP)),
        step=lambda state, action, draws: StepResult(
            Walk(jnp.clip(state.x + (action == RIGHT) - (action == LEFT), 0, size), action),
            jnp.float32(reward),
            draws[0] < jnp.uint32(2**30),
        ),
        rows=lambda state: jnp.zeros((1, 10), jnp.uint32).at[0, 0].set(1),
    )


def test_a_registered_game_is_made_by_its_id_inside_its_wrappers():
    register("Walk-v0", walk())
    assert canonical_id("Walk-v0") == "Walk-v0"
    env = make("Walk-v0", auto_reset=False)
    assert (env.name, env.num_actions, env.num_draws) == ("Walk-v0", 2, 3)
    state = env.reset(jnp.zeros(3, jnp.uint32))
    for choice, action in enumerate((LEFT, RIGHT)):  # the game is told the names of the actions
        after = env.step(state, jnp.int32(choice), jnp.zeros(3, jnp.uint32))
        assert int(after.state.game.action) == int(after.state.last_action) == action
        assert float(after.reward) == 0.5
    with pytest.raises(InputError, match=r"unknown environment 'walk-v0'.*qduet --import MODULE"):
        make("walk-v0")


def test_it_is_sticky_only_where_that_is_asked_for():
    register("Sticky-v0", walk(), sticky_probability=1.0)
    register("Loose-v0", walk())
    draws = jnp.zeros(3, jnp.uint32)  # the first decides whether the last action is repeated

    def executed(env):
        return int(env.step(env.reset(draws), jnp.int32(1), draws).state.last_action)

    assert executed(make("Sticky-v0")) == NOOP
    assert executed(make("Sticky-v0", sticky_probability=0.0)) == RIGHT
    assert executed(make("Loose-v0")) == RIGHT
    assert executed(make("Loose-v0", sticky_probability=1.0)) == NOOP


def test_the_next_episode_has_draws_of_its_own():
    """Episodes end on small draws; were those the next one's too, all would start at x < 64."""
    register("Draws-v0", walk(size=300))
    env = make("Draws-v0")
    bits = jax.random.bits(jax.random.key(0), (2, 2000, env.num_draws))
    states = jax.vmap(env.reset)(bits[0])
    result = jax.vmap(env.step)(states, jnp.zeros(2000, jnp.int32), bits[1])
    starts = np.asarray(result.state.game.x)[np.asarray(result.terminated)]
    assert 400 < len(starts) < 600
    assert abs(starts.mean() - 127.5) < 4 * 256 / np.sqrt(12 * len(starts))


def test_to_register_it_twice_is_nothing_and_another_under_its_id_an_error():
    register("Twice-v0", walk())
    first = make("Twice-v0")
    register("Twice-v0", walk())  # other functions, the same game
    assert make("Twice-v0") is first
    for other, options in (
        (walk(size=6), {}),
        (walk(reward=1), {}),
        (walk()._replace(small_rewards=True), {}),
        (walk()._replace(channels=("you",)), {}),
        (walk(), {"sticky_probability": 0.1}),
    ):
        with pytest.raises(InputError, match="'Twice-v0' is registered already, as another game"):
            register("Twice-v0", other, **options)


@pytest.mark.parametrize(
    ("env_id", "told"),
    [
        ("", "must be of letters"),
        ("-v0", "must be of letters"),
        ("a b", "must be of letters"),
        ("Käse-v0", "must be of letters"),
        ("a//b", "must be of letters"),
        ("../a", "must be of letters"),
        ("a" * 101, "must be of letters"),
        ("MinAtar/Breakout-v1", "is a name of MinAtar's"),
        ("minatar-space_invaders", "is a name of MinAtar's"),
        ("seaquest-minatar", "is a name of MinAtar's"),
        ("Breakout-v7", "is a name of MinAtar's"),  # its scores would stand beside the published
        ("space_invaders", "is a name of MinAtar's"),
    ],
)
def test_ids_that_are_refused(env_id, told):
    with pytest.raises(InputError, match=told):
        register(env_id, walk())


class Odd(NamedTuple):
    x: jax.Array


def step_giving(state=None, reward=1.0, terminated=False):
    """A step that gives what is not None, else what it should."""

    def step(before, action, draws):
        return StepResult(
            before if state is None else state, jnp.asarray(reward), jnp.asarray(terminated)
        )

    return {"step": step}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"channels": ()}, "channels must be different names"),
        ({"channels": ("a", "a")}, "channels must be different names"),
        ({"actions": ()}, "actions must be different indices into ACTION_NAMES, 0 to 5"),
        ({"actions": (0, 0)}, "actions must be different"),
        ({"actions": (0, 6)}, "actions must be different"),
        (step_giving(reward=jnp.int32(1)), r"a reward of float32\[\]; it gives int32\[\]"),
        (step_giving(reward=jnp.ones(1)), r"a reward of float32\[\]; it gives float32\[1\]"),
        (step_giving(terminated=jnp.float32(0)), r"terminated as bool\[\]; it gives float32"),
        (
            step_giving(state=Odd(jnp.int32(1))),
            r"like that of reset: Walk\(.*; it gives Odd\(x=int32",
        ),
        (step_giving(state=Walk(jnp.float32(0), jnp.int32(0))), "a state like that of reset"),
        ({"step": lambda state, action, draws: (state, 1.0, False)}, "must give a StepResult"),
        ({"rows": lambda state: jnp.zeros((1, 10), bool)}, r"rows must give uint32\[1, 10\]"),
        ({"rows": lambda state: jnp.zeros((2, 10), jnp.uint32)}, r"it gives uint32\[2, 10\]"),
        ({"reset": lambda draws: jax.random.key(0)}, r"the state may hold .* key<fry>\[\]"),
    ],
)
def test_games_that_are_refused(change, told):
    game = walk()._replace(**change)
    if "reset" in change:
        game = game._replace(rows=lambda state: jnp.zeros((1, 10), jnp.uint32), **step_giving())
    with pytest.raises(InputError, match=told) as error:
        register("Refused-v0", game)
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(InputError, match="unknown environment"):
        make("Refused-v0")


def test_lists_and_numbers_of_python_are_taken_as_they_are_meant():
    def step(state, action, draws):
        return StepResult(state, 1.0, True)

    loose = walk()._replace(channels=["a"], actions=[np.int64(0), 1], reset=lambda draws: 3)
    loose = loose._replace(step=step, rows=lambda state: jnp.zeros((1, 10), jnp.uint32))
    register("PlainNumbers-v0", loose)
    env = make("PlainNumbers-v0")
    assert (env.channels, env.actions) == (("a",), (0, 1))
    state = env.reset(jnp.zeros(env.num_draws, jnp.uint32))
    reward = env.step(state, jnp.int32(0), jnp.zeros(env.num_draws, jnp.uint32)).reward
    assert reward.dtype == jnp.float32
    with pytest.raises(InputError, match="actions must be different indices"):
        register("Float-v0", walk()._replace(actions=(0.0, 1.0)))


def test_wrapped_games_and_other_things_are_refused():
    register("Alone-v0", walk())
    with pytest.raises(InputError, match="register the game alone"):
        register("Wrapped-v0", make("Alone-v0"))
    with pytest.raises(InputError, match=r"register a qduet\.minatar\.Environment"):
        register("Class-v0", Walk)
    with pytest.raises(InputError, match=r"sticky_probability 2 is not in \[0, 1\]"):
        register("Sticky-v2", walk(), sticky_probability=2)
    with pytest.raises(InputError, match="difficulty_ramping is MinAtar's"):
        make("Alone-v0", difficulty_ramping=False)
    assert wrappers.wrap(walk(), actions=(LEFT,)).num_actions == 1


@pytest.mark.parametrize(
    ("env_id", "game"),
    [
        ("MinAtar/SpaceInvaders-v1", "SpaceInvaders"),
        ("Catch-v0", "Catch"),
        ("lab/Catch-v12", "lab/Catch"),
        ("my-variant", "my-variant"),
        ("Catch", "Catch"),
    ],
)
def test_names_of_games(env_id, game):
    assert game_of(env_id) == game


def test_a_job_knows_the_game_and_tells_a_changed_one():
    agent = (("rdq", make_agent("rdq")),)
    register("lab/Job-v0", walk())
    register("lab/Job-v1", walk(reward=2))
    jobs = [Job(f"lab/Job-v{i}", agent, (0,)) for i in (0, 1)]
    assert [job.game for job in jobs] == ["lab/Job"] * 2
    first, second = (job.identity()["game_program"] for job in jobs)
    assert first != second
    assert "game_program" not in Job("MinAtar/Breakout-v1", agent, (0,)).identity()
