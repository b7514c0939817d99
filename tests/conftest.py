"""Strictness for every test: no silent rank promotion, no silent dtype promotion."""

import atexit
import os
import re
import shutil
import signal
import tempfile

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # What several tests or processes compile is compiled once. Processes of tests inherit this.
    cache = tempfile.mkdtemp(prefix="qduet-compiled-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = cache
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
    atexit.register(shutil.rmtree, cache, ignore_errors=True)

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_platforms", "cpu")

SLOW = """
test_acting test_bench_deep test_bench_tabular test_cards test_cli test_cli_compare test_cli_hostile
test_cli_theory test_cluster_simulation test_command_lines test_conformance test_damaged_files
test_devices test_docs_commands test_docs_tables test_engines test_environments test_evaluation
test_examples test_figure6 test_figure_numbers test_figures test_games test_groups test_gym
test_gymnax_interface test_hostile_files test_incomplete_directories test_job_directories
test_kernels test_limits test_networks test_odd_arguments test_one_sided test_own_game test_parity
test_plain_and_fused test_play test_player test_pretrained test_probes test_program
test_python_misuse test_recording test_report test_report_page test_results_page test_resuming
test_running test_running_own_mdp test_scalars test_streams test_sweeps test_theory_claims
test_torture test_trainer test_training test_validation test_watch test_wheel test_xla
"""
"""Files that `make quick` leaves out: they train, compile much, or start processes and browsers."""

LONGEST = {
    "test_website", "test_engines", "test_training", "test_plain_and_fused", "test_trainer",
    "test_conformance", "test_groups", "test_kernels", "test_probes",
}  # fmt: skip
"""Files of one to three minutes. They begin first: else one core works on them at the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in LONGEST)
    for item in items:
        if re.search(rf"\b{item.path.stem}\b", SLOW):
            item.add_marker(pytest.mark.slow)


# Started in the background of a shell, we would hand "ignore Ctrl-C" down to the commands we test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def x64():
    """Double precision for the duration of one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def h200():
    """The GPU that programs are lowered for here; since jax 0.11 it must have a name."""
    device = jax.sharding.AbstractDevice("NVIDIA H200", 132, "gpu")
    mesh = jax.sharding.AbstractMesh((), (), abstract_device=device)
    with jax.sharding.use_abstract_mesh(mesh):
        yield


@pytest.fixture
def refused(capsys):
    """Checks that the command refuses `arguments`: exit code 2, one line that holds `told`."""
    from qduet.cli import main

    def check(arguments, told):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        out = capsys.readouterr()
        assert code == 2
        assert told in out.err
        assert len(out.err.splitlines()) == 1
        assert out.out == ""

    return check
