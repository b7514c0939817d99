"""Sweeps on a Ray cluster of two nodes on this machine: faults, and what Ray costs.

    python benchmarks/cluster.py faults      # kill workers, a node and the driver; compare results
    python benchmarks/cluster.py overhead    # against two plain `qduet train` side by side

`faults` runs a plan of 14 small jobs (MinAtar and tabular) with ``--engine local``, and then on
Ray: ten workers are killed with SIGKILL, a raylet is killed and another node joins, the driver is
killed and started again. All results must be the same to the last byte, times aside.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SMALL = "capacity = 400\nlearn_from = 100\nsync_every = 100\n"
PLAN = f"""
environments = ["MinAtar/Breakout-v1", "MinAtar/Asterix-v1"]
seeds = 4
steps = {{steps}}
evaluate_every = {{every}}
episodes = 5

[[agents]]
name = "rdq"
beta = [1e-4, 1e-3]
{SMALL}
[[agents]]
name = "dqv_max"
{SMALL}
[[tabular]]
figure = "figure5"
seeds = 4
steps = 2_000
step_sizes = [0.1, 0.5, 1.0]
actions = [2, 18]

[[tabular]]
figure = "figure3"
seeds = 4
steps = 2_000
step_sizes = [0.1, 0.5, 1.0]
actions = [2, 18]
"""
TIMES = ("elapsed_seconds", "frames_per_second")
QDUET = [sys.executable, "-m", "qduet"]


def results(directory):
    """A digest of each result: evaluations without times, weights, curves."""
    found = {}
    for path in sorted(directory.glob("*/**/*")):
        name = path.relative_to(directory).as_posix()
        if path.suffix in (".safetensors", ".npz") and "checkpoint" not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name == "evaluations.csv":
            with path.open(encoding="utf-8") as file:
                rows = [
                    {k: v for k, v in r.items() if k not in TIMES} for r in csv.DictReader(file)
                ]
            found[name] = hashlib.sha256(repr(rows).encode()).hexdigest()
    return found


class TwoNodes:
    """A Ray cluster of two raylets with one core each, on this machine."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        lost = {"health_check_period_ms": 1_000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": lost}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.node = self.cluster.add_node(num_cpus=1)
        self.address = self.cluster.address

    def replace_node(self):
        """Kills the second raylet, and adds another one."""
        self.cluster.remove_node(self.node, allow_graceful=False)
        self.node = self.cluster.add_node(num_cpus=1)

    def workers(self, names):
        """The processes that are at work on these jobs."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    title = (entry / "cmdline").read_bytes().decode(errors="replace")
                except OSError:
                    continue
                if title.startswith(tuple(f"ray::{name}" for name in names)):
                    found.append(int(entry.name))
        return found

    def shutdown(self):
        """Ends all processes of the cluster."""
        self.cluster.shutdown()


def sweep(plan, out, *options):
    """Starts ``qduet sweep``."""
    words = [*QDUET, "sweep", str(plan), "--out", str(out), "--runs-per-job", "2", *options]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def faults(args):
    """The same plan undisturbed and disturbed; prints what was done and what came out."""
    where = args.out
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    plan = where / "plan.toml"
    text = PLAN.format(steps=args.steps, every=args.steps // 4)
    if args.small:
        text = text.replace(', "MinAtar/Asterix-v1"', "").replace("seeds = 4", "seeds = 2")
        text = text.replace("beta = [1e-4, 1e-3]", "beta = [1e-4, 1e-3, 1e-2]")
        text = text.replace(f'[[agents]]\nname = "dqv_max"\n{SMALL}', "")
        text = text[: text.rindex("[[tabular]]")]
    plan.write_text(text)
    begun = time.monotonic()
    local = sweep(plan, where / "local", "--checkpoint-minutes", "0")
    assert local.wait() == 0, local.stdout.read()
    local_seconds = time.monotonic() - begun
    names = [path.stem for path in (where / "local" / "status").iterdir()]
    nodes, generator = TwoNodes(), random.Random(args.seed)
    options = ["--engine", "ray", "--address", nodes.address, "--retries", "20"]
    options += ["--checkpoint-minutes", "0"]
    done = {"workers killed": 0, "nodes killed": 0, "drivers killed": 0}
    begun = time.monotonic()
    driver = sweep(plan, where / "ray", *options)
    try:
        while driver.poll() is None:
            time.sleep(generator.uniform(0.5, args.pause))
            kills = done["workers killed"]
            workers = nodes.workers(names)
            if workers and kills < args.kills:
                victim = generator.choice(workers)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                done["workers killed"] += 1
            if kills >= args.kills // 3 and not done["nodes killed"]:
                nodes.replace_node()
                done["nodes killed"] += 1
            if kills >= 2 * args.kills // 3 and not done["drivers killed"]:
                driver.kill()
                driver.wait()
                done["drivers killed"] += 1
                driver = sweep(plan, where / "ray", *options)
        told = driver.stdout.read()
    finally:
        if driver.poll() is None:
            driver.kill()
        nodes.shutdown()
    wanted, got = results(where / "local"), results(where / "ray")
    different = sorted(name for name in {*wanted, *got} if wanted.get(name) != got.get(name))
    document = {
        "jobs": len(list((where / "local").glob("status/*.json"))),
        "results compared": len(wanted),
        "different": different,
        **done,
        "exit code": driver.returncode,
        "local seconds": round(local_seconds, 1),
        "ray seconds, with the kills": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(document, indent=1))
    if driver.returncode:
        print(told[-2000:])
    return int(bool(different) or driver.returncode != 0 or done["workers killed"] < args.kills)


OVERHEAD = """
environments = ["MinAtar/Breakout-v1"]
seeds = {seeds}
steps = {steps}
evaluate_every = {steps}
episodes = 20

[[agents]]
name = "rdq"
"""


def overhead(args):
    """Two workers of Ray's on two cores, against two plain `qduet train` side by side."""
    where = args.out
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    plan = where / "plan.toml"
    plan.write_text(OVERHEAD.format(seeds=4, steps=args.steps))
    nodes = TwoNodes()
    rows = []
    try:
        for i in range(args.rounds):
            begun = time.monotonic()
            options = ["--engine", "ray", "--address", nodes.address]
            process = sweep(plan, where / f"ray-{i}", *options)
            assert process.wait() == 0, process.stdout.read()
            ray_seconds = time.monotonic() - begun
            begun = time.monotonic()
            train = [*QDUET, "train", "rdq", "MinAtar/Breakout-v1", "--steps", str(args.steps)]
            train += ["--episodes", "20", "--device", "cpu"]
            environment = {**os.environ, "NPROC": "1", "JAX_PLATFORMS": "cpu"}
            processes = [
                subprocess.Popen(
                    [*train, "--seeds", seeds, "--out", str(where / f"plain-{i}-{seeds[0]}")],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for seeds in ("0-1", "2-3")
            ]
            assert all(process.wait() == 0 for process in processes)
            rows.append((ray_seconds, time.monotonic() - begun))
            print(f"round {i}: Ray {rows[-1][0]:.1f} s, plain {rows[-1][1]:.1f} s", flush=True)
    finally:
        nodes.shutdown()
    ratios = sorted(one / other for one, other in rows)
    print(json.dumps({"rounds": rows, "median ratio": ratios[len(ratios) // 2]}, indent=1))
    return 0


def main():
    """The chosen measurement; code 1 if results differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", choices=("faults", "overhead"))
    parser.add_argument("--out", type=Path, default=Path("out/cluster"))
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=float, default=6.0, help="seconds between kills, at most")
    parser.add_argument("--small", action="store_true", help="four jobs, half of the seeds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    return {"faults": faults, "overhead": overhead}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
