"""How each game is played to compare it: every scenario, and each one's share of the steps."""

from parity import fuzz
from parity.recording import Recording, Scenario, Words, record
from qduet.minatar.conformance import policies
from qduet.minatar.conformance.policies import random_words, sometimes

PLAIN = random_words()
STEADY = random_words(sticky=0.0)
STICKY = random_words(sticky=0.7)


def common(state_fuzz: fuzz.Fuzz, fuzz_steps: int) -> tuple[Scenario, ...]:
    """What serves every game."""
    return (
        Scenario("random", policies.uniform, PLAIN),
        Scenario("random, sticky", policies.uniform, STICKY),
        Scenario("fuzzed", policies.uniform, PLAIN, immortal=True, fuzz=state_fuzz),
        Scenario(
            "fuzzed, some steps", policies.uniform, PLAIN, fuzz=state_fuzz, fuzz_steps=fuzz_steps
        ),
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
    Scenario(
        "all gold", policies.noop, random_words(forced=policies.crowd_with_gold), immortal=True
    ),
    Scenario("no ramp", policies.uniform, PLAIN, immortal=True, difficulty_ramping=False),
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
    Scenario("random, immortal", policies.uniform, PLAIN, immortal=True),
    Scenario("noop, immortal", policies.noop, STEADY, immortal=True),
    Scenario("no ramp", policies.alien_shooter, PLAIN, immortal=True, difficulty_ramping=False),
)
SEAQUEST = (
    *common(fuzz.seaquest, 2),
    Scenario("fuzzed again", policies.uniform, STEADY, immortal=True, fuzz=fuzz.seaquest),
    Scenario("diver seeker", sometimes(policies.diver_seeker(1), 0.95), PLAIN),
    Scenario("diver seeker, six", policies.diver_seeker(6), PLAIN),
    Scenario("diver seeker, immortal", policies.diver_seeker(6), PLAIN, immortal=True),
    Scenario("deep", sometimes(policies.diver_seeker(9), 0.9), PLAIN, immortal=True),
    Scenario("bobber, immortal", policies.bobber, PLAIN, immortal=True),
    crowded("one row of subs", random_words(forced=policies.crowd_one_row)),
    crowded("full of fish", random_words(forced=policies.crowd_with_fish)),
    crowded("full of subs", random_words(forced=policies.crowd_with_subs)),
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
