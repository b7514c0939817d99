"""benchmarks/gpu_profile.py: what is computed from a trace, by hand."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from gpu_profile import Event, Kernel, kernels, traced


def test_time_alone_and_side_by_side():
    """µs: adam 0 to 10 and 30 to 40, game 5 to 20; two iterations."""
    events = [Event("adam", 0, 10_000), Event("game", 5_000, 20_000), Event("adam", 30_000, 40_000)]
    found, busy = kernels(events, 2)
    assert found == [
        Kernel("adam", launches=1.0, total=10.0, alone=7.5),
        Kernel("game", launches=0.5, total=7.5, alone=5.0),
    ]
    assert busy == 15.0


def test_kernels_of_one_name_that_overlap_are_not_alone():
    found, busy = kernels([Event("adam", 0, 10_000), Event("adam", 5_000, 15_000)], 1)
    assert (found, busy) == ([Kernel("adam", 2.0, 20.0, 10.0)], 15.0)


def test_a_trace_of_a_cpu_has_no_kernels(tmp_path):
    import jax

    with jax.profiler.trace(str(tmp_path)):
        jax.block_until_ready(jax.numpy.arange(3) + 1)
    assert list(tmp_path.rglob("*.xplane.pb"))
    assert list(traced(tmp_path)) == []
