"""Small agents, and the job of `small_jobs` as it comes out without interruption."""

import jax
import pytest
from small_jobs import JOB, SMALL

from qduet import agents
from qduet.cli import main
from qduet.jobs import program, trainer


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Small agents, and a cache of compiled programs that all tests here share."""
    folder = tmp_path_factory.mktemp("train")
    patch = pytest.MonkeyPatch()
    small = {name: a.replace(**SMALL) for name, a in agents.AGENTS.items()}
    patch.setattr(agents, "AGENTS", small)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    programs = {}

    def build_once(job, devices):
        key = job.env_id, job.agents, job.seeds, job.episodes
        if key not in programs:
            programs[key] = program.Program(job, devices)
        return programs[key]

    patch.setattr(trainer, "Program", build_once)
    before = getattr(jax.config, "jax_compilation_cache_dir", None)
    yield folder
    jax.config.update("jax_compilation_cache_dir", before)
    patch.undo()


@pytest.fixture(scope="module")
def whole(place):
    """The job without interruption, its last checkpoint kept."""
    assert main([*JOB, "--out", str(place / "whole"), "--keep-checkpoint"]) == 0
    return place / "whole"


@pytest.fixture
def stopped(whole, tmp_path):
    """A directory with a checkpoint in the middle of the job: the end of its first half."""
    half = [*JOB, "--out", str(tmp_path / "half"), "--keep-checkpoint"]
    half[half.index("1200")] = "600"
    assert main(half) == 0
    return tmp_path / "half"
