"""Limits of memory that are not the machine's own; what git does not tell."""

import os
import shutil
import subprocess
import sys

import jax
import pytest

from qduet.core import provenance
from qduet.jobs import devices

MIB = 2**20


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A machine with 8 GiB free, in whose control groups `write` puts files."""

    def write(name, content):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(str(content))

    write("proc/meminfo", f"MemTotal: {16 * MIB} kB\nMemAvailable:  {8 * MIB} kB\nHugePages: 0\n")
    monkeypatch.setattr(devices, "PROC", tmp_path / "proc")
    monkeypatch.setattr(devices, "CGROUPS", tmp_path / "cgroup")
    return write


def memory():
    return (devices.memory(jax.devices("cpu")[0]) + devices.COMPILING) // MIB


def group(write, name, limit, used, cached=0, v1=False):
    files = ("limit_in_bytes", "usage_in_bytes") if v1 else ("max", "current")
    for file, value in zip(files, (limit, used), strict=True):
        write(f"cgroup/{name}/memory.{file}", value if value == "max" else value * MIB)
    total = "total_" if v1 else ""
    stat = f"anon 1\n{total}inactive_file {cached * MIB}\n{total}active_file 0\n"
    write(f"cgroup/{name}/memory.stat", stat)


def test_the_machine_alone(planted):
    assert memory() == 8192


def test_every_group_above_counts_and_the_cache_of_files_does_not(planted):
    planted("proc/self/cgroup", "0::/a/b\n")
    group(planted, "a/b", "max", 100)
    assert memory() == 8192
    group(planted, "a", 3000, 1000, cached=500)
    assert memory() == 2500
    group(planted, ".", 2000, 0)
    assert memory() == 2000
    group(planted, "a/b", 700, 800)
    assert devices.memory(jax.devices("cpu")[0]) == 0


def test_groups_of_version_1(planted):
    planted("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n")
    group(planted, "memory/docker/abc", 2**43, 10, v1=True)
    assert memory() == 8192
    group(planted, "memory", 1500, 600, cached=100, v1=True)  # where the host's names are hidden
    assert memory() == 1000


def test_ulimit_counts():
    script = "import jax; from qduet.jobs import devices as d\n\
print(d.memory(jax.devices('cpu')[0]) + d.COMPILING)"
    limit = 6 * 2**20  # in kB
    command = ["sh", "-c", f'ulimit -v {limit} && exec "$0" -c "$1"', sys.executable, script]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert 2**30 < int(done.stdout) < 1024 * limit


# --- Git ------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A source tree in git, with one commit."""
    if not shutil.which("git"):
        pytest.skip("there is no git")
    module = tmp_path / "src" / "qduet" / "core" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.write_text("one")
    monkeypatch.setattr(provenance, "__file__", str(module))
    name = ["-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    return tmp_path


def test_a_clean_tree_an_edited_one_and_one_that_git_cannot_judge(tree):
    clean = provenance.commit()
    assert len(clean) == 40
    (tree / "src" / "new").write_text("not tracked")
    assert provenance.commit() == clean
    (tree / "src" / "qduet" / "core" / "provenance.py").write_text("two")
    assert provenance.commit() == f"{clean}+changes"
    (tree / ".git" / "index").write_bytes(b"damaged")
    assert provenance.commit() is None


def test_git_takes_no_lock_that_a_kill_would_leave(tree):
    """With another time stamp, git would write its index anew."""
    os.utime(tree / "src" / "qduet" / "core" / "provenance.py", (1, 1))
    before = (tree / ".git" / "index").stat().st_mtime_ns
    (tree / ".git" / "index.lock").touch()
    assert len(provenance.commit()) == 40
    (tree / ".git" / "index.lock").unlink()
    assert len(provenance.commit()) == 40
    assert (tree / ".git" / "index").stat().st_mtime_ns == before
