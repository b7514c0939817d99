"""The rules once more, in plain NumPy and written separately: the oracle of the rule tests.

Each function takes tables (a dict of arrays), a transition and a step size, and changes the tables
in place, one line per equation.
"""

import numpy as np


def td0(w, s, a, r, g, s2, alpha):
    w["v"][s] += alpha * (r + g * w["v"][s2] - w["v"][s])


def expected_sarsa(pi):
    def update(w, s, a, r, g, s2, alpha):
        expectation = sum(pi[s2, b] * w["q"][s2, b] for b in range(pi.shape[1]))
        w["q"][s, a] += alpha * (r + g * expectation - w["q"][s, a])

    return update


def q_learning(w, s, a, r, g, s2, alpha):
    w["q"][s, a] += alpha * (r + g * max(w["q"][s2]) - w["q"][s, a])


def qv_learning(w, s, a, r, g, s2, alpha):
    w["q"][s, a] += alpha * (r + g * w["v"][s2] - w["q"][s, a])
    w["v"][s] += alpha * (r + g * w["v"][s2] - w["v"][s])


def qvmax(w, s, a, r, g, s2, alpha):
    w["q"][s, a] += alpha * (r + g * w["v"][s2] - w["q"][s, a])
    w["v"][s] += alpha * (r + g * max(w["q"][s2]) - w["v"][s])


def bc_qvmax(w, s, a, r, g, s2, alpha):
    w["q"][s, a] += alpha * (r + g * w["v"][s2] - w["q"][s, a])
    w["v"][s] += alpha * (max(w["q"][s]) - w["v"][s])


def dueling_q(w, s, a, r, g, s2, alpha):
    q = dueling_read_out(w)
    delta = r + g * max(q[s2]) - q[s, a]
    for b in range(q.shape[1]):
        w["adv"][s, b] += alpha * ((b == a) - 1 / q.shape[1]) * delta
    w["v"][s] += alpha * delta


def hard_rdq(w, s, a, r, g, s2, alpha):
    q = additive_read_out(w)
    delta = r + g * max(q[s2]) - q[s, a]
    w["adv"][s, a] += alpha * delta
    w["v"][s] += alpha * delta


def soft_rdq(beta):
    def update(w, s, a, r, g, s2, alpha):
        q = additive_read_out(w)
        delta = r + g * max(q[s2]) - q[s, a]
        for b in range(q.shape[1]):
            w["adv"][s, b] = (1 - beta) * w["adv"][s, b] + alpha * (b == a) * delta
        w["v"][s] = (1 - beta) * w["v"][s] + alpha * delta

    return update


def dueling_read_out(w):
    return w["v"][:, None] + w["adv"] - w["adv"].mean(axis=1)[:, None]


def additive_read_out(w):
    return w["v"][:, None] + w["adv"]


def tables(name, v, adv):
    """The tables that rule `name` starts from, given V_0 and A_0."""
    q = v[:, None] + adv
    if name == "td0":
        return {"v": v.copy()}
    if name in ("expected_sarsa", "q_learning"):
        return {"q": q.copy()}
    if name in ("qv_learning", "qvmax", "bc_qvmax"):
        return {"q": q.copy(), "v": v.copy()}
    return {"v": v.copy(), "adv": adv.copy()}


def rule(name, pi, beta=1e-3):
    """The update of rule `name`; `pi` is Expected Sarsa's target policy."""
    if name == "expected_sarsa":
        return expected_sarsa(np.asarray(pi))
    if name == "soft_rdq":
        return soft_rdq(beta)
    return globals()[name]


def read_out(name, w):
    """The action values (for TD(0), the state values) in tables `w`."""
    if name == "td0":
        return w["v"]
    if name == "dueling_q":
        return dueling_read_out(w)
    return w["q"] if "q" in w else additive_read_out(w)
