"""All claims by name, run on one problem or on many.

    >>> report = run_suite(range(1000))
    >>> all(result.holds for result in report)
    True

Problems with equally many actions are checked together: Dueling's program has to be compiled anew
for each number, the other rules' programs once per process (see `sampled`).
"""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

from qduet.core.errors import InputError, unknown_name
from qduet.core.machine import cores
from qduet.theory import av, qv, updates
from qduet.theory.check import Check
from qduet.theory.problems import Problem, random_problem


class Claim(NamedTuple):
    """A statement and the check of it."""

    where: str
    """Where the paper makes it, or "ours"."""
    statement: str
    """The claim in one line."""
    function: Callable[..., Check]
    """The check: ``(problem) -> Check``."""
    once: bool = False
    """Whether it is about an MDP of its own; `function` then takes no problem."""
    paper: str | None = None
    """What the paper says instead, if the claim corrects it."""

    def check(self, problem: Problem | None = None) -> Check:
        """The claim, checked on `problem`."""
        if self.once:
            return self.function()
        if not isinstance(problem, Problem):
            raise InputError(
                f"a Problem is needed, not {type(problem).__name__}: problem_of(mdp) makes one"
            )
        return self.function(problem)


_CLAIMS = (
    Claim("Thm 1", "QV contracts by γ, to (q_b, v_b) only", qv.qv_contraction),
    Claim("Prop 1", "QVMAX: (q_*, v_*) is fixed iff b is greedy", qv.qvmax_fixed_point),
    Claim("Sec 3.2", "QVMAX: where it ends, bounds on its bias", qv.qvmax_bias),
    Claim("Prop 2", "BC-QVMAX: one fixed point, (q_*, v_*)", qv.bc_qvmax_fixed_point),
    Claim(
        "Sec 3.2",
        "BC-QVMAX at α = 1 is Q-learning, undelayed",
        updates.bc_qvmax_unit_step,
        paper="with a delay",
    ),
    Claim("Fig 2", "who bootstraps from whom", qv.bootstrapping),
    Claim("Eq 2–14", "the nine rules follow their operators", updates.mean_updates),
    Claim("Sec 4.1", "Dueling keeps the mean advantage", updates.dueling_invariant),
    Claim("Eq 15", "Hard RDQ keeps V − Σ A, Soft RDQ forgets it", updates.rdq_invariant),
    Claim("Sec 4.2", "Hard RDQ ends at V = Σ q_*/(|A|+1), minimal", av.minimum_norm),
    Claim("Eq 12–14", "Soft RDQ: one fixed point per β/α; its bias", av.soft_rdq_fixed_point),
    Claim(
        "Sec 4.2",
        "steps of 2α (RDQ) and (2−1/|A|)α (Dueling)",
        updates.effective_step,
        paper="2α for both",
    ),
    Claim("ours", "AV-learning is stable on-policy", av.av_on_policy_stable),
    Claim(
        "ours", "AV-learning can diverge off-policy: a ring", av.av_off_policy_unstable, once=True
    ),
    Claim("ours", "closed-form rates, 4-state MDP, 2–18 actions", av.slowest_modes, once=True),
)

CLAIMS: dict[str, Claim] = {claim.function.__name__: claim for claim in _CLAIMS}
"""Every claim by its name, which is that of its function."""


class Result(NamedTuple):
    """One claim, checked on several problems."""

    claim: str
    """Its name in `CLAIMS`."""
    problems: int
    """The number of problems it was checked on."""
    failures: int
    """The number of problems on which it does not hold."""
    worst: Check
    """The check with the smallest margin."""
    problem: Problem | None
    """The problem of that check; None for a claim about an MDP of its own."""

    @property
    def holds(self) -> bool:
        """Whether it held on every problem."""
        return self.failures == 0


def claim_names(names: Sequence[str] | None = None) -> list[str]:
    """The claims called `names`, all of them by default; raises if one is unknown."""
    for name in names or ():
        if name not in CLAIMS:
            raise unknown_name("claim", name, CLAIMS)
    return list(names or CLAIMS)


def check_problem(problem: Problem, names: Sequence[str] | None = None) -> list[Check]:
    """Every claim that is about a given problem, checked on `problem`."""
    return [CLAIMS[name].check(problem) for name in claim_names(names) if not CLAIMS[name].once]


def results_on(problem: Problem, names: Sequence[str] | None = None) -> list[Result]:
    """The claims on one problem; those about MDPs of their own only if `names` asks for them."""
    chosen = [name for name in claim_names(names) if names or not CLAIMS[name].once]
    return _summary([(problem, check_problem(problem, chosen))], chosen)


def run_suite(
    seeds: Iterable[int],
    names: Sequence[str] | None = None,
    *,
    workers: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """The claims on the random problems numbered `seeds`, with the worst margin of each.

    `on_progress` is called with the number of problems done since its last call.
    """
    chosen = claim_names(names)
    per_problem = [name for name in chosen if not CLAIMS[name].once]
    done: list[tuple[Problem, list[Check]]] = []
    for seed, checks in _checked(list(seeds) if per_problem else [], per_problem, workers):
        done.append((random_problem(seed), checks))
        if on_progress is not None:
            on_progress(1)
    return _summary(done, chosen)


def _summary(done: list[tuple[Problem, list[Check]]], names: Sequence[str]) -> list[Result]:
    results = []
    for name in names:
        if CLAIMS[name].once:
            checked: list[tuple[Problem | None, Check]] = [(None, CLAIMS[name].check())]
        else:
            checked = [(p, check) for p, checks in done for check in checks if check.claim == name]
        if checked:
            problem, worst = min(checked, key=lambda item: item[1].margin)
            failures = sum(not check.holds for _, check in checked)
            results.append(Result(name, len(checked), failures, worst, problem))
    return results


def _checked(
    seeds: list[int], names: list[str], workers: int | None
) -> Iterator[tuple[int, list[Check]]]:
    """Each seed with its checks, in no particular order."""
    workers = workers or cores()
    if workers == 1 or len(seeds) < 50:
        for seed in seeds:
            yield from _check_seeds([seed], names)
        return
    seeds = sorted(seeds, key=lambda seed: random_problem(seed).mdp.num_actions, reverse=True)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_leave_with_parent)
    try:
        with _single_threaded():
            parts = [seeds[i : i + 20] for i in range(0, len(seeds), 20)]
            futures = [pool.submit(_check_seeds, part, names) for part in parts]
        for future in as_completed(futures):
            yield from future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_with_parent() -> None:
    """Ends a worker process when the process that started it has ended, even if killed."""

    def wait() -> None:
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _check_seeds(seeds: list[int], names: list[str]) -> list[tuple[int, list[Check]]]:
    return [(seed, check_problem(random_problem(seed), names)) for seed in seeds]


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started within use one thread each for linear algebra."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
