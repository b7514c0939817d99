"""The tabular rules restated in NumPy: what the sweep is timed against, and tested against.

It shares no code with `qduet.tabular.rules`. An update changes its tables in place, as one would
write it without JAX. Tables are ``[S, A]`` or, with a further axis, ``[S, A, K]`` for K step sizes
``[K]`` at once.
"""

import functools
from collections.abc import Callable

import numpy as np

Tables = dict[str, np.ndarray]
Update = Callable[..., None]
"""``(tables, s, a, reward, discount, s', step_size)``"""


def _td0(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    v = w["v"]
    v[s] += alpha * (r + g * v[s2] - v[s])


def _expected_sarsa(
    policy: np.ndarray, w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray
) -> None:
    q = w["q"]
    q[s, a] += alpha * (r + g * (policy[s2] @ q[s2]) - q[s, a])


def _q_learning(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    q = w["q"]
    q[s, a] += alpha * (r + g * q[s2].max(axis=0) - q[s, a])


def _qv_learning(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    q, v = w["q"], w["v"]
    target = r + g * v[s2]
    q[s, a] += alpha * (target - q[s, a])
    v[s] += alpha * (target - v[s])


def _qvmax(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    q, v = w["q"], w["v"]
    q[s, a] += alpha * (r + g * v[s2] - q[s, a])
    v[s] += alpha * (r + g * q[s2].max(axis=0) - v[s])


def _bc_qvmax(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    q, v = w["q"], w["v"]
    q[s, a] += alpha * (r + g * v[s2] - q[s, a])
    v[s] += alpha * (q[s].max(axis=0) - v[s])


def _dueling_q(w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray) -> None:
    v, adv = w["v"], w["adv"]
    bootstrap = v[s2] + adv[s2].max(axis=0) - adv[s2].mean(axis=0)
    move = alpha * (r + g * bootstrap - (v[s] + adv[s, a] - adv[s].mean(axis=0)))
    v[s] += move
    adv[s] -= move / adv.shape[1]
    adv[s, a] += move


def _rdq(
    beta: float, w: Tables, s: int, a: int, r: float, g: float, s2: int, alpha: np.ndarray
) -> None:
    v, adv = w["v"], w["adv"]
    move = alpha * (r + g * (v[s2] + adv[s2].max(axis=0)) - (v[s] + adv[s, a]))
    if beta:
        v[s] *= 1 - beta
        adv[s] *= 1 - beta
    v[s] += move
    adv[s, a] += move


def update_of(name: str, policy: np.ndarray) -> Update:
    """The update of rule `name`: Expected Sarsa of `policy` ``[S, A]``, Soft RDQ with β = 0.001."""
    updates: dict[str, Update] = {
        "td0": _td0,
        "expected_sarsa": functools.partial(_expected_sarsa, policy),
        "q_learning": _q_learning,
        "qv_learning": _qv_learning,
        "qvmax": _qvmax,
        "bc_qvmax": _bc_qvmax,
        "dueling_q": _dueling_q,
        "soft_rdq": functools.partial(_rdq, 1e-3),
        "hard_rdq": functools.partial(_rdq, 0.0),
    }
    return updates[name]


def first_tables(name: str, v: np.ndarray, adv: np.ndarray) -> Tables:
    """The tables that rule `name` starts from, given V_0 and A_0."""
    if name == "td0":
        return {"v": v.copy()}
    if name in ("dueling_q", "soft_rdq", "hard_rdq"):
        return {"v": v.copy(), "adv": adv.copy()}
    q = v[:, None] + adv
    return {"q": q} if name in ("expected_sarsa", "q_learning") else {"q": q, "v": v.copy()}


def read_out(name: str, w: Tables) -> np.ndarray:
    """Q (V for TD(0)) in the tables `w`."""
    if "q" in w:
        return w["q"]
    if name == "td0":
        return w["v"]
    centre = w["adv"].mean(axis=1, keepdims=True) if name == "dueling_q" else 0.0
    return w["v"][:, None] + w["adv"] - centre
