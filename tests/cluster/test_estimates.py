import pytest

from qduet.agents import make_agent
from qduet.cluster import estimates
from qduet.cluster.estimates import Machine
from qduet.env_ids import ENV_IDS
from qduet.jobs import devices
from qduet.jobs.job import Job
from qduet.jobs.program import Program


@pytest.mark.parametrize("env_id", [x for x in ENV_IDS if x.endswith("v1")])
@pytest.mark.parametrize("name", ["rdq", "dqv_max"])
def test_memory_is_what_the_compiled_program_has(env_id, name):
    """Counted without jax, against the shapes of the program's state, within 3 %."""
    agent = make_agent(name)
    program = Program(Job(env_id, {name: agent}, range(2)))
    counted = estimates.bytes_per_run(env_id, agent, 1_000, on_cpu=True)
    assert counted == pytest.approx(
        2 * devices.bytes_per_run(program, 0) / program.copies, rel=0.03
    )


def test_what_was_not_measured_is_not_made_up():
    agent = make_agent("rdq")
    h200 = Machine("NVIDIA H200", 1, None)
    assert estimates.seconds("gymnax/CartPole-v1", agent, 30, 10**6, h200) is None
    other = Machine("NVIDIA A100", 1, None)
    assert estimates.seconds("MinAtar/Breakout-v1", agent, 30, 10**6, other) is None
    assert estimates.bytes_per_run("gymnax/CartPole-v1", agent, 10, True) is None


@pytest.mark.parametrize(("game", "minutes"), [("Breakout", 17.5), ("Seaquest", 20.6)])
def test_times_are_those_of_the_recorded_runs(game, minutes):
    """Figure 6's 90 runs × 10M steps took so long on an H200 (docs/reproduction.md)."""
    h200 = Machine("NVIDIA H200", 1, None)
    seconds = estimates.seconds(f"MinAtar/{game}-v1", make_agent("rdq"), 90, 10**7, h200)
    assert seconds / 60 == pytest.approx(minutes, rel=0.1)


def test_gpus_are_those_that_the_process_may_use(tmp_path, monkeypatch):
    script = tmp_path / "nvidia-smi"
    script.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771'\necho 'NVIDIA H200, 143771'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert estimates.this_machine("auto", 1).workers == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    machine = estimates.this_machine("auto", 1)
    assert (machine.device, machine.workers, machine.gpu) == ("NVIDIA H200", 1, True)
    assert not estimates.this_machine("cpu", 1).gpu
