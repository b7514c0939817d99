"""A job small enough for tests: four runs of Breakout, 1,200 steps each, in a second or two."""

import copy
import csv
import os
import subprocess
import sys

from qduet import agents
from qduet.jobs.job import Job

SMALL = {"capacity": 400, "learn_from": 100, "sync_every": 100}
JOB = ["train", "rdq", "dqn", "MinAtar/Breakout-v1", "--seeds", "2", "--steps", "1200"]
JOB += ["--evaluate-every", "600", "--episodes", "5"]
TIMES = ("elapsed_seconds", "frames_per_second")

SCRIPT = f"""
import sys, time
from qduet import agents
from qduet.jobs import checkpoint, trainer
from qduet.cli import main
for name, agent in agents.AGENTS.items():
    agents.AGENTS[name] = agent.replace(**{SMALL})
trainer.CALL_SECONDS = 0.0
save = checkpoint.save
checkpoint.save = lambda *arguments: (save(*arguments), time.sleep(0.2))  # time to be interrupted
raise SystemExit(main(sys.argv[1:]))
"""


def untimed(directory):
    """The evaluations without their times."""
    with (directory / "evaluations.csv").open() as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def assert_same(one, other):
    """All results but times are equal to the last bit."""
    assert untimed(one) == untimed(other)
    names = sorted(path.name for path in (one / "weights").iterdir())
    assert names == sorted(path.name for path in (other / "weights").iterdir())
    for name in names:
        assert (one / "weights" / name).read_bytes() == (other / "weights" / name).read_bytes()


def start(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
    )


def small_job(steps=1200):
    small = {name: agents.AGENTS[name] for name in ("rdq", "dqn")}
    return Job("MinAtar/Breakout-v1", small, range(2), steps, 600, 5, protocol="paper")


def changed(program, **parts):
    """A copy of a job's program with other attributes or methods."""
    copied = copy.copy(program)
    vars(copied).update(parts)
    return copied
