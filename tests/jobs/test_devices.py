"""What a job needs of memory, and what is said when it is too much."""

import functools

import jax
import jax.numpy as jnp
import pytest
from small_jobs import changed

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.deep import training
from qduet.deep.environments import make
from qduet.jobs import devices, program
from qduet.jobs.job import Job

GAME = "MinAtar/Breakout-v1"


def test_an_unknown_kind_of_device_is_refused():
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        devices.choose("tpu")


@pytest.fixture(scope="module")
def breakout():
    job = Job(GAME, (("rdq", make_agent("rdq")),), tuple(range(6)), 2_000, 1_000)
    return program.Program(job)


def test_a_run_needs_its_replay_memory_and_its_weights(breakout):
    """100,004 × (50 + 1 + 1) bytes; 4 × 267,060 weights with target and Adam's averages."""
    weights = 37 * 16 + 2 * 1025 * 128 + 129 + 129 * 3
    state = 100_004 * 52 + 4 * 4 * weights
    on_gpu = changed(breakout, copies=1)
    assert devices.bytes_per_run(on_gpu, 0) == pytest.approx(state, rel=1e-3)
    assert devices.bytes_per_run(breakout, 0) == pytest.approx(2 * state, rel=1e-3)


def test_on_cpus_training_needs_the_state_twice(breakout):
    setting = training.make_setting(make(GAME), make_agent("rdq"))
    hypers = jax.tree.map(lambda x: jnp.broadcast_to(x, 6), training.hyper(setting.agent))
    block = functools.partial(training.over_runs, training.block, setting)
    lowered = jax.jit(block, donate_argnums=1).lower(hypers, breakout.shapes[0], jnp.int32(1_000))
    used = lowered.compile().memory_analysis()
    total = used.argument_size_in_bytes + used.temp_size_in_bytes
    assert total == pytest.approx(6 * devices.bytes_per_run(breakout, 0), rel=0.05)


@pytest.mark.parametrize("count", [1, 3])
def test_too_many_runs_are_refused_before_they_start(breakout, monkeypatch, count):
    """However many devices a host is said to have: they share its memory."""
    breakout = changed(breakout, devices=count)
    each = devices.bytes_per_run(breakout, 1)
    monkeypatch.setattr(devices, "memory", lambda device: 5 * each)
    with (
        pytest.raises(InputError, match=r"6 runs of about .* MiB .*: about 4 would; use fewer"),
        devices.checking_memory(breakout, jax.devices(), 1),
    ):
        pytest.fail("it began")


def test_running_out_of_memory_says_how_many_fit(breakout, monkeypatch):
    each = devices.bytes_per_run(breakout, 2_000)
    monkeypatch.setattr(devices, "memory", lambda device: 4 * each)
    with (
        pytest.raises(InputError, match=r"about 3 would"),
        devices.checking_memory(breakout, jax.devices(), 2_000),
    ):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
    with (
        pytest.raises(jax.errors.JaxRuntimeError),
        devices.checking_memory(breakout, jax.devices(), 2_000),
    ):
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")


@pytest.mark.parametrize(
    "error", [MemoryError, jax.errors.JaxRuntimeError("INTERNAL: Out of memory allocating 9 bytes")]
)
def test_too_many_episodes_for_a_single_run_are_told(breakout, monkeypatch, error):
    each = devices.bytes_per_run(breakout, 10**6)
    monkeypatch.setattr(devices, "memory", lambda device: each // 2)
    with (
        pytest.raises(InputError, match="fewer episodes or another device"),
        devices.checking_memory(breakout, jax.devices(), 10**6),
    ):
        raise error
