# %% [markdown]
# # A rule from its equation
#
# A tabular rule of qduet is three pure functions of one transition. This page writes Hard RDQ from
# its equation, holds it against the one that comes with qduet, and then changes it: a rule that
# nobody has tried takes part in a sweep with intervals and a figure, some thirty lines in all.
#
# ## The equation
#
# Hard RDQ keeps a table V(s) and a table A(s, a), and Q is their sum. After a transition
# (S, A, R, S′), both move by the TD error:
#
# > δ = R + γ max Q(S′, ·) − Q(S, A)
# >
# > V(S) ← V(S) + α δ
# >
# > A(S, A) ← A(S, A) + α δ

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from qduet import stats
from qduet.tabular import Rule, Transition, four_state, hard_rdq, q_learning, sweep


def my_rdq(share=0.5, scale=2.0):
    """V takes `share` of each step and A the rest; Q(S, A) moves by α · scale · δ."""

    def init(v, adv):  # the start: V_0[S] and A_0[S, A]
        return {"v": v, "adv": adv}

    def q(tables):  # the read-out, [S, A]
        return tables["v"][:, None] + tables["adv"]

    def update(tables, t, step_size):
        now = q(tables)
        error = t.reward + t.discount * now[t.next_state].max() - now[t.state, t.action]
        step = step_size * scale * error
        v = tables["v"].at[t.state].add(share * step)
        adv = tables["adv"].at[t.state, t.action].add((1 - share) * step)
        return {"v": v, "adv": adv}

    return Rule(init=init, update=update, q=q)


# %% [markdown]
# `t.discount` is γ, or 0 where S′ ends the episode. One update by hand: from zero, with R = 1 and
# α = 0.25, both V(0) and A(0, 1) become 0.25, so Q(0, 1) is 0.5, and Q(0, 0) has moved too.

# %%
rule = my_rdq()
tables = rule.init(jnp.zeros(4), jnp.zeros((4, 2)))
tables = rule.update(tables, Transition(0, 1, 1.0, 0.99, 3), 0.25)
print(rule.q(tables))

# %% [markdown]
# ## Is it Hard RDQ?
#
# `sweep` runs rules × step sizes × seeds on one MDP. All rules learn from the same trajectories, so
# two equal rules give equal curves, to rounding.

# %%
mdp = four_state("dueling", num_actions=10)  # the MDP of the paper's Figure 5
step_sizes = [0.05, 0.1, 0.2, 0.4]
rules = {"mine": my_rdq(), "hard_rdq": hard_rdq()}
curves = sweep(mdp, rules, step_sizes, seeds=range(10), steps=5_000, init_std=2.0)
mine, theirs = curves["mine"].percent, curves["hard_rdq"].percent
print(mine.shape, "[seeds, step sizes, points]; largest difference:", abs(mine - theirs).max())

# %% [markdown]
# ## A rule that is new
#
# Hard RDQ gives V and A equal shares. V is shared by all actions; should it learn faster, or slower?
# `scale=1` makes Q(S, A) move by α δ, as in Q-learning, whatever the share is. (With share 0 it *is*
# Q-learning.)

# %%
step_sizes = np.geomspace(0.05, 1.0, 8)
rules = {"q_learning": q_learning()}
rules |= {f"share {w}": my_rdq(w, scale=1.0) for w in (0.25, 0.5, 0.75)}
curves = sweep(mdp, rules, step_sizes, seeds=range(20), steps=5_000, init_std=2.0)

for name, curve in curves.items():
    aucs = stats.auc(curve.percent)  # [seeds, step sizes]: the mean error, in % of the first
    best = stats.best(aucs)
    print(f"{name:10}  best AUC {best.auc} % at α = {step_sizes[best.which]:.2f}")

# %% [markdown]
# The ± is a 95 % interval over seeds. A run that diverges has an AUC of ∞, and such a step size is
# never the best. Two rules, each at its best step size, are compared by `best_difference`. It
# chooses the step sizes anew in each resample, because choosing and reporting on the same seeds
# flatters:

# %%
aucs = {name: stats.auc(curve.percent) for name, curve in curves.items()}
gap = stats.best_difference(aucs["share 0.75"], aucs["share 0.5"], np.random.default_rng(0))
print(
    f"share 0.75 − share 0.5: {gap.value:+.1f} points, 95 % from {gap.low:+.1f} to {gap.high:+.1f}"
)

# %%
plt.figure(figsize=(7, 3.5))
for name, values in aucs.items():
    plt.plot(step_sizes, values.mean(axis=0), marker="o", label=name)
plt.xscale("log")
plt.ylim(0, 100)
plt.xlabel("step size α")
plt.ylabel("AUC, % of the initial error")
plt.legend()
plt.show()

# %% [markdown]
# ## Next
#
# - In the paper's figures, with files that resume: [own_rule.py](../../examples/own_rule.py).
# - On a problem of your own: [Your own MDP](mdp.py).
# - All nine rules with their equations: `help(qduet.tabular)`, or its page in the reference of the
#   site that `make site` builds.
