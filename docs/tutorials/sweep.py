# %% [markdown]
# # A sweep on a cluster
#
# Several agents, a grid of settings, many seeds: a *plan* in one file, run on this machine or on a
# Ray cluster by the same command. This page runs a small one on a cluster of this machine alone,
# which `--address local` starts. On a real cluster only `--out` (a directory that all nodes see)
# and `--address` differ. It needs `pip install 'qduet[cluster,gymnax]'`.
#
# ## The plan
#
# Environments × agents × grids × seeds. Each list in an agent makes an agent of each of its values.

# %%
from pathlib import Path

plan = """
environments = ["gymnax/CartPole-v1"]
seeds = 2
steps = 10_000
episodes = 20

[[agents]]
name = "rdq"
beta = [1e-4, 1e-2]             # two agents
learning_rate = 5e-4
epsilon_decay_steps = 5_000
batch_size = 64

[[tabular]]                     # a figure of the paper, with fewer seeds and steps
figure = "figure5"
actions = [2, 6]
seeds = 10
steps = 2_000
"""
_ = Path("plan.toml").write_text(plan)

# %% [markdown]
# ## What it would do
#
# `--dry-run` shows the jobs, with memory, disk and time where they are known. It writes nothing and
# needs no GPU: a login node will do.

# %% language="bash"
# qduet sweep plan.toml --out out --dry-run

# %% [markdown]
# ## Run it
#
# Without `--engine ray` the same jobs run on the GPUs or cores of this machine, without Ray. Kill
# any of it at any moment, and the same command continues and ends with the same bytes.

# %% language="bash"
# qduet sweep plan.toml --out out --engine ray --address local

# %% [markdown]
# From another terminal, or another machine that sees the directory:

# %% language="bash"
# qduet sweep status out

# %% [markdown]
# A plan may grow: with `seeds = 10`, the same command runs the eight that are missing. It may not
# change what is there; that is refused in one line.

# %% language="bash"
# sed 's/learning_rate = 5e-4/learning_rate = 1e-3/' plan.toml > other.toml
# qduet sweep other.toml --out out || echo "exit code $?"

# %% [markdown]
# ## Results
#
# `compare` and `report` take the directory as it is. `collect` makes one table of all runs.

# %% language="bash"
# qduet compare out
# qduet sweep collect out --out collected

# %%
import csv

with open("collected/all.csv") as file:
    for row in csv.DictReader(file):
        print(row["agent"], "seed", row["seed"], "step", row["step"], "return", row["return_mean"])

# %% [markdown]
# Two seeds say nothing of β, and the note above says so. [Many jobs](../cluster.md) has every key of
# a plan, SLURM, several GPUs, and what a sweep costs on 1, 8 and 64 of them.
