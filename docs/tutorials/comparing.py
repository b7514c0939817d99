# %% [markdown]
# # Comparing honestly
#
# Is RDQ better than DQN? This page asks with the scores that the paper's authors released: five
# games × three agents × 30 seeds, which come with qduet. Five habits, each with what goes wrong
# without it. The last section does all of it with one command on runs of your own.

# %%
import matplotlib.pyplot as plt
import numpy as np

from qduet import stats
from qduet.results import published

score = {
    (game, agent): published.scores(game, agent).values[:, -1]  # after 10M steps, one per seed
    for game in published.GAMES
    for agent in published.AGENTS
}
rdq, dueling = score["SpaceInvaders", "rdq"], score["SpaceInvaders", "dueling_dqn"]
print("RDQ         ", stats.mean_interval(rdq))
print("Dueling DQN ", stats.mean_interval(dueling))

# %% [markdown]
# ## 1. The seed is the unit
#
# One run is one draw. The interval is over *seeds*, not over episodes: a thousand episodes of one
# network say how good that network is, not how good the agent is. Each dot is one seed:

# %%
plt.figure(figsize=(7, 2.2))
for row, values in enumerate((dueling, rdq)):
    plt.plot(values, row + np.linspace(-0.2, 0.2, len(values)), "o", alpha=0.6)
plt.yticks([0, 1], ["Dueling DQN", "RDQ"])
plt.xlabel("mean return in Space Invaders, one dot per seed")
plt.show()

# %% [markdown]
# ## 2. The interval of the difference, not two intervals
#
# Whether two intervals overlap is not a test. Ask for the difference, and for its interval:

# %%
print("RDQ − Dueling DQN:", stats.welch_interval(rdq, dueling))
print(f"p of 'no difference': {stats.welch_test(rdq, dueling):.3f}")

# %% [markdown]
# ## 3. Enough seeds
#
# What would three or five seeds have told? Draw so few from the thirty, many times:

# %%
rng = np.random.default_rng(0)
for seeds in (3, 5, 10, 30):
    draws = [(rng.choice(rdq, seeds), rng.choice(dueling, seeds)) for _ in range(1_000)]
    wrong = np.mean([x.mean() < y.mean() for x, y in draws])
    found = np.mean([stats.welch_test(x, y) < 0.05 for x, y in draws])
    print(f"{seeds:2} seeds: the wrong agent looks better in {wrong:4.0%}, p < 5 % in {found:4.0%}")

# %% [markdown]
# With three seeds the worse agent looks better in one comparison of five, and the difference is
# hardly ever shown. A large p is then no news: it is what few seeds give.
#
# ## 4. Correct for the number of questions
#
# Two comparisons in five games are ten tests. If nothing were there, one of them would be below 5 %
# with a chance of 40 %. Holm's correction keeps that chance at 5 %:

# %%
pairs = [(game, other) for game in published.GAMES for other in ("dqn", "dueling_dqn")]
raw = [stats.welch_test(score[game, "rdq"], score[game, other]) for game, other in pairs]
for (game, other), p, corrected in zip(pairs, raw, stats.holm(raw), strict=True):
    gap = stats.welch_interval(score[game, "rdq"], score[game, other])
    print(f"{game:14} RDQ − {other:12} {gap!s:>15}   p {p:.1e}   corrected {corrected:.1e}")

# %% [markdown]
# ## 5. "No difference" must be shown, too
#
# A large p does not show that two agents are equal. `equivalence` does: it asks whether the
# difference is smaller than a margin *that you choose before you look*. Are the first fifteen seeds
# of DQN in Breakout like the last fifteen, within one standard deviation?

# %%
dqn = score["Breakout", "dqn"]
margin = dqn.std(ddof=1)
test = stats.equivalence(dqn[:15], dqn[15:], margin)
print(
    f"difference {test.difference}, margin {margin:.2f}: {'alike' if test.equivalent else 'not shown'}"
)
small = stats.equivalence(dqn[:3], dqn[15:18], margin)
print(f"with three seeds each {small.difference}: {'alike' if small.equivalent else 'not shown'}")

# %% [markdown]
# ## Over all games
#
# Returns of different games have different units. P(X > Y), the chance that a run of X beats a run of
# Y, has none, so it can be averaged over games. The interval resamples seeds within each game:

# %%
for other in ("dqn", "dueling_dqn"):
    strata = [score[game, agent] for agent in ("rdq", other) for game in published.GAMES]
    print(
        f"P(RDQ > {other}):", stats.bootstrap(strata, stats.improvement, np.random.default_rng(0))
    )

# %% [markdown]
# ## Your own runs, in one command
#
# `qduet compare out/breakout` prints all of this for what `qduet train` wrote; `--figures DIR` draws
# it, and `qduet.compare("out/breakout")` gives it to Python. It takes all runs at the last step
# they share, refuses to mix settings under one name, and warns of few seeds.
# [Comparing agents](../comparing.md) defines every number.
#
# **Choosing settings.** Choose step size and β on other seeds than those you report: the best of
# many settings on the same seeds flatters. `stats.held_out` shows by how much in a tabular sweep.
