# %% [markdown]
# # Your own MDP, and a counter-example
#
# This page makes an MDP from arrays, computes its exact values, lets rules learn on it, and asks
# the paper's theory about it. The MDP is one on which dueling methods **diverge whatever the step
# size is**, if they run long enough, while Q-learning converges.
#
# ## An MDP is two arrays and a discount
#
# Twelve states in a circle. Action 0 goes one step forward and pays 0; the other actions go one
# step back and pay −1. So it is best to go forward, and its value is 0.

# %%
import matplotlib.pyplot as plt
import numpy as np

from qduet.tabular import MDP, dueling_q, hard_rdq, optimum, q_learning, qvmax, sweep

S, A = 12, 18
p = np.zeros((S, A, S))  # p[s, a, s']: the probability of s' after action a in s
for s in range(S):
    p[s, 0, (s + 1) % S] = 1
    p[s, 1:, (s - 1) % S] = 1
reward = np.full((S, A), -1.0)
reward[:, 0] = 0

mdp = MDP(p, reward, discount=0.99, name="circle")
print(optimum(mdp).q[0, :3], "is Q*(0, ·), the first three of", mdp.num_actions, "actions")

# %% [markdown]
# `MDP` checks what it is given. A row that is no distribution is refused, by name:

# %%
from qduet import InputError

try:
    MDP(p * 0.5, reward, discount=0.99)
except InputError as error:
    print(error)

# %% [markdown]
# Other arguments: `start`, `terminal` and `reward_std`. From Gymnasium's toy-text environments:
# `from_gymnasium("FrozenLake-v1")`; at random: `garnet(key, num_states=…, …)`.
#
# ## Rules on it
#
# Actions are drawn uniformly: the behaviour is not the greedy policy, learning is *off-policy*.
# What is printed is the error at the end, in % of the initial one, for α = 0.01, 0.03 and 0.1.

# %%
rules = {"q_learning": q_learning(), "hard_rdq": hard_rdq(), "dueling_q": dueling_q()}
curves = sweep(
    mdp, rules, [0.01, 0.03, 0.1], seeds=range(5), steps=50_000, record_every=500, init_std=1.0
)
for name, curve in curves.items():
    last = [f"{error:,.0f} %" for error in curve.percent[:, :, -1].mean(axis=0)]
    print(f"{name:10}", *last, sep="   ")

# %%
plt.figure(figsize=(7, 3.5))
for name, curve in curves.items():
    plt.plot(500 * np.arange(101), curve.percent[:, 1].mean(axis=0), label=name)
plt.yscale("log")
plt.xlabel("steps, at α = 0.03")
plt.ylabel("error, % of the initial one")
plt.legend()
plt.show()

# %% [markdown]
# A smaller step size only makes it slower. The reason is in the expected update. `rate` gives how
# fast its slowest part shrinks; a rate below 0 grows.

# %%
from qduet.theory import problem_of, rate

problem = problem_of(mdp)  # the MDP with a behaviour, uniform by default
for name in rules:
    print(f"{name:10}  {rate(name, problem, step_size=0.01).slowest:+.5f}")

# %% [markdown]
# V(s) is shared by all actions of s. Under uniform play, 17 of 18 updates of V(s) come from actions
# that look one state *back*, while the greedy action looks forward. So errors travel around the
# circle and grow. [The theory](../theory.md#av-learning-off-policy) has the closed form. It takes
# structure: no random MDP that was tried does this.
#
# ## What the paper proves, asked of your MDP
#
# `check_problem` runs every claim: whether it holds here, and by what margin (at least 1 where it
# holds).

# %%
from qduet.theory import check_problem

for check in check_problem(problem):
    print(f"{check.claim:28} {'holds' if check.holds else 'FAILS'}   margin {check.margin:.3g}")

# %% [markdown]
# ## Where a biased rule ends
#
# QVMAX has another fault: it converges, to something else. Its fixed point, against Q*:

# %%
from qduet.tabular import four_state
from qduet.theory import fixed_point

biased = problem_of(four_state("qvmax", num_actions=3))
print("Q* ", optimum(biased.mdp).q[0])
print("QVMAX's Q", fixed_point("qvmax", biased).q[0])
curve = sweep(biased.mdp, {"qvmax": qvmax()}, [0.1], seeds=range(5), steps=20_000)["qvmax"]
print(f"simulated: {curve.percent[:, 0, -1].mean():.0f} % of the initial error is left")

# %% [markdown]
# ## From the shell
#
# A problem in a file can be given to the command. Exit code 1 would mean that a claim fails.

# %%
from pathlib import Path

from qduet.theory import problem_json

_ = Path("circle.json").write_bytes(problem_json(problem))

# %% language="bash"
# qduet theory --mdp circle.json --claim qvmax_bias
