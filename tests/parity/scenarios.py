"""How each game is played to compare it: every scenario, and each one's share of the steps."""

from collections.abc import Callable

import numpy as np

from parity import fuzz
from parity.recording import Recording, Scenario, Words, record
from qduet.minatar.conformance import policies
from qduet.minatar.conformance.policies import Policy, uniform


def sometimes(policy: Policy, probability: float) -> Policy:
    """The policy with this probability, else any action."""
    return lambda game, rng: policy(game, rng) if rng.random() < probability else uniform(game, rng)


def random_words(
    sticky: float = 0.1, forced: Callable[[np.random.Generator, np.ndarray], None] | None = None
) -> Words:
    """Words that are uniform, but for how often actions stick, and what `forced` changes."""
    threshold = 429_496_730  # a smaller word repeats the action, with the original's 0.1

    def words(rng: np.random.Generator, count: int) -> np.ndarray:
        result = rng.integers(0, 2**32, count, dtype=np.uint32)
        sticks = rng.random() < sticky
        low, high = (0, threshold) if sticks else (threshold, 2**32)
        result[0] = rng.integers(low, high, dtype=np.uint32)
        if forced:
            forced(rng, result)
        return result

    return words


def crowd_one_row(rng: np.random.Generator, words: np.ndarray) -> None:
    """Seaquest: nearly all enemies are subs, from the left, in row 4."""
    if rng.random() < 0.98:
        words[1] >>= 2
        words[2] = (int(words[2]) & 0x7FFFFFF8) | 3


def crowd_with_fish(rng: np.random.Generator, words: np.ndarray) -> None:
    """Seaquest: all enemies are fish from the right."""
    words[1] |= 1 << 31
    words[2] |= 1 << 31


def crowd_with_subs(rng: np.random.Generator, words: np.ndarray) -> None:
    """Seaquest: all enemies are subs from the left."""
    words[1] >>= 2
    words[2] &= 0x7FFFFFFF


def crowd_with_gold(rng: np.random.Generator, words: np.ndarray) -> None:
    """Asterix: nearly everything is gold."""
    words[1] >>= 2


PLAIN = random_words()
STEADY = random_words(sticky=0.0)
STICKY = random_words(sticky=0.7)


def common(state_fuzz: fuzz.Fuzz, fuzz_steps: int) -> tuple[Scenario, ...]:
    """What serves every game."""
    return (
        Scenario("random", uniform, PLAIN),
        Scenario("random, sticky", uniform, STICKY),
        Scenario("fuzzed", uniform, PLAIN, immortal=True, fuzz=state_fuzz),
        Scenario("fuzzed, some steps", uniform, PLAIN, fuzz=state_fuzz, fuzz_steps=fuzz_steps),
    )


def crowded(name: str, words: Words) -> Scenario:
    """Seaquest made as hard as it gets, soon after the start, and long enough to fill up."""
    return Scenario(
        name,
        sometimes(policies.bobber, 0.9),
        words,
        immortal=True,
        fuzz=fuzz.free_surfacing,
        fuzz_steps=400,
    )


ASTERIX = (
    *common(fuzz.asterix, 5),
    Scenario("gold chaser", sometimes(policies.gold_chaser, 0.9), PLAIN),
    Scenario("gold chaser, immortal", policies.gold_chaser, PLAIN, immortal=True),
    Scenario("noop, immortal", policies.noop, PLAIN, immortal=True),
    Scenario("all gold", policies.noop, random_words(forced=crowd_with_gold), immortal=True),
    Scenario("no ramp", uniform, PLAIN, immortal=True, difficulty_ramping=False),
)
BREAKOUT = (
    *common(fuzz.breakout, 4),
    Scenario("ball tracker", policies.ball_tracker, STEADY),
    Scenario("ball tracker, sticky", sometimes(policies.ball_tracker, 0.98), PLAIN),
)
FREEWAY = (
    *common(fuzz.freeway, 6),
    Scenario("always up", policies.always_up, PLAIN),
    Scenario("mostly up", sometimes(policies.always_up, 0.8), PLAIN),
)
SPACE_INVADERS = (
    *common(fuzz.space_invaders, 6),
    Scenario("alien shooter", policies.alien_shooter, PLAIN),
    Scenario("alien shooter, immortal", policies.alien_shooter, PLAIN, immortal=True),
    Scenario("random, immortal", uniform, PLAIN, immortal=True),
    Scenario("noop, immortal", policies.noop, STEADY, immortal=True),
    Scenario("no ramp", policies.alien_shooter, PLAIN, immortal=True, difficulty_ramping=False),
)
SEAQUEST = (
    *common(fuzz.seaquest, 2),
    Scenario("fuzzed again", uniform, STEADY, immortal=True, fuzz=fuzz.seaquest),
    Scenario("diver seeker", sometimes(policies.diver_seeker(1), 0.95), PLAIN),
    Scenario("diver seeker, six", policies.diver_seeker(6), PLAIN),
    Scenario("diver seeker, immortal", policies.diver_seeker(6), PLAIN, immortal=True),
    Scenario("deep", sometimes(policies.diver_seeker(9), 0.9), PLAIN, immortal=True),
    Scenario("bobber, immortal", policies.bobber, PLAIN, immortal=True),
    crowded("one row of subs", random_words(forced=crowd_one_row)),
    crowded("full of fish", random_words(forced=crowd_with_fish)),
    crowded("full of subs", random_words(forced=crowd_with_subs)),
    Scenario(
        "no ramp",
        policies.bobber,
        PLAIN,
        immortal=True,
        fuzz=fuzz.free_surfacing,
        fuzz_steps=400,
        difficulty_ramping=False,
    ),
)

SCENARIOS = {
    "Asterix": ASTERIX,
    "Breakout": BREAKOUT,
    "Freeway": FREEWAY,
    "Seaquest": SEAQUEST,
    "SpaceInvaders": SPACE_INVADERS,
}


def record_all(game: str, num_steps: int, seed: int) -> list[Recording]:
    """At least `num_steps` steps of the original, shared equally by the game's scenarios."""
    scenarios = SCENARIOS[game]
    share = -(-num_steps // len(scenarios))
    return [record(game, scenario, share, seed + i) for i, scenario in enumerate(scenarios)]
