"""The compiled programs of a job; what they do is tested in test_training and test_trainer."""

import jax
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.deep import training
from qduet.jobs import program
from qduet.jobs.job import Job


def test_every_evaluation_has_random_numbers_of_its_own(monkeypatch):
    """Of its run and its step, and none that start or training of the seed use."""
    used = []
    monkeypatch.setattr(program.evaluation, "evaluate", lambda *args, **_: used.append(args[5]))
    monkeypatch.setattr(program.evaluation, "summarise", lambda played: {})
    agent = make_agent("rdq", capacity=400)
    built = program.Program(Job("MinAtar/Breakout-v1", (("rdq", agent),), (3, 8)))
    runs = built.start()
    steps = (0, 1_000_000, 2_000_000)
    first = built.weights_to_evaluate(runs, 0)
    assert first[0] is runs[0].params  # no update is due before the first step
    for step in steps:
        built.evaluate(first, step, lambda: None)
    fold = jax.vmap(jax.random.fold_in, (0, None))
    seeds = jax.vmap(jax.random.key)(np.array([3, 8], np.uint32))
    purposes = (training.INIT, training.EXPERIENCE, training.EVALUATION)
    used += [seeds, *(fold(seeds, purpose) for purpose in purposes)]
    used += [jax.vmap(jax.random.split)(fold(seeds, training.INIT)).reshape(-1)]
    used += [fold(runs[0].key, step) for step in steps]
    words = np.concatenate([jax.random.key_data(keys) for keys in used])
    assert len(np.unique(words, axis=0)) == len(words) == 2 * (3 + 4 + 2 + 3)
    assert not np.array_equal(*runs[0].observation)  # the ball is left in one, right in the other


def test_every_run_starts_with_weights_as_its_agent_has_them(monkeypatch):
    monkeypatch.setattr(training, "init", lambda setting, scheme, key: scheme)
    two = {name: make_agent(name, protocol="reference") for name in ("dqn", "rdq")}
    (scheme,) = program.Program(Job("MinAtar/Breakout-v1", two, (0,))).start()
    assert scheme.uniform_conv.tolist() == [True, True]
    assert scheme.uniform_streams.tolist() == [True, False]


def test_this_version_of_xla_knows_the_options():
    assert program.compiler_options(jax.devices("cpu")[0]) == program.CPU_OPTIONS


def test_five_runs_use_one_of_four_devices():
    assert [len(program.dividing([None] * 4, n)) for n in (1, 2, 3, 5, 6, 8, 90)] == [
        *(1, 2, 3, 1, 3, 4, 3)
    ]


def test_double_precision_is_refused():
    job = Job("MinAtar/Breakout-v1", {"rdq": make_agent("rdq")}, (0,))
    with jax.enable_x64(True), pytest.raises(InputError, match="leave jax_enable_x64"):
        program.Program(job)
