import tomllib

import pytest

from qduet.cluster import plan as plans
from qduet.cluster.plan import read_plan, seeds_of
from qduet.core.errors import InputError
from qduet.paper.figures import FIGURES
from qduet.tabular.rules import RULES

TOP = 'environments = ["MinAtar/Breakout-v1", "asterix-minatar"]\nsteps = 2_000_000\n'


def read(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return read_plan(path)


def test_names_that_are_listed_twice_are_the_same():
    """The plan must not import jax, so it lists the names of rules and figures itself."""
    assert {*plans.RULES} == {*RULES}
    assert {*plans.FIGURES} == {*FIGURES}


def test_lists_are_crossed_and_name_their_agents(tmp_path):
    agent = (
        '[[agents]]\nname = "rdq"\nbeta = [0, 1e-3]\nlearning_rate = [1e-4, 2.5e-4]\nn_step = 3\n'
    )
    plan = read(tmp_path, TOP + agent)
    assert plan.environments == ("MinAtar/Breakout-v1", "MinAtar/Asterix-v1")
    assert [label for label, _ in plan.agents] == [
        "rdq-beta-0-rate-0.0001",
        "rdq-beta-0-rate-0.00025",
        "rdq-beta-0.001-rate-0.0001",
        "rdq-beta-0.001-rate-0.00025",
    ]
    first = plan.agents[0][1]
    assert (first.numbers.beta, first.learning_rate, first.n_step) == (0.0, 1e-4, 3)
    assert (plan.seeds, plan.evaluate_every, plan.episodes) == ((0,), 1_000_000, 1_000)


def test_the_protocol_is_that_of_the_plan(tmp_path):
    text = TOP + 'protocol = "reference"\n[[agents]]\nname = "rdq"\n'
    assert read(tmp_path, text).agents[0][1].initialisation == "released"


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (3, (0, 1, 2)),
        ("1e1", tuple(range(10))),
        ("10-12", (10, 11, 12)),
        ("3,17", (3, 17)),
        ("17,", (17,)),
        ([5, 2], (5, 2)),
    ],
)
def test_seeds(given, seeds):
    assert seeds_of(given) == seeds


@pytest.mark.parametrize(
    "given", [0, "5-2", "x", [], [1, 1], [-1], 1.5, True, "0-999999", "9" * 30, 10**19, "1e99"]
)
def test_seeds_that_are_none(given):
    with pytest.raises(InputError):
        seeds_of(given)


TAB = '[[tabular]]\nfigure = "figure5"\n'
RDQ = '[[agents]]\nname = "rdq"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (TOP + RDQ + "bta = 1\n", 5, "did you mean 'beta'"),
        ('enviroments = ["MinAtar/Breakout-v1"]\n' + RDQ, 1, "did you mean 'environments'"),
        (TOP + '[[agents]]\nname = "rdqq"\n', 4, "did you mean 'rdq'"),
        (TOP + RDQ + 'network = ["board", "mlp"]\n', 5, "network is no number"),
        (TOP + RDQ + "beta = []\n", 5, "empty grid"),
        (TOP + RDQ + "beta = [1e-3, 1e-3]\n", 5, "twice"),
        (TOP + RDQ + "beta = -1\n", 5, "beta must be"),
        (TOP + RDQ + 'beta = ["x"]\n', 5, "finite number"),
        (TOP + RDQ + "label = 3\n", 5, "label must be of letters"),
        (TOP + RDQ + 'label = "a/b"\n', 5, "label must be of letters"),
        (TOP + RDQ + "sync_every = 3_000\n", 2, "evaluate_every must be a multiple of 3,000"),
        (TOP.replace("2_000_000", "4_100") + RDQ, 2, "steps must be a multiple of 1,000 "),
        (TOP + RDQ + RDQ, 5, "two agents are called rdq"),
        (TOP + 'protocol = ["paper"]\n' + RDQ, 3, "protocol must be"),
        (TOP + '[[agents]]\nname = ["rdq"]\n', 4, "unknown agent.*--import MODULE"),
        ('[[tabular]]\nfigure = "figure5"\nactions = ["a"]\n', 3, "actions must be"),
        ('[[tabular]]\nfigure = "figure5"\nseeds = 0\n', 3, "at least 1"),
        ('[[tabular]]\nfigure = "figure5"\nname = "a b/c"\n', 3, "name must be"),
        (TAB + 'rules = [{rule = "soft_rdq", beta = "x"}]\n', 3, "unknown rule"),
        (TOP + "seeds = [1, 1]\n" + RDQ, 3, "seed 1 is there twice"),
        (TOP.replace("2_000_000", "1_500_000") + RDQ, 2, r"multiple of 1,000,000 \(evaluate_every"),
        (TOP.replace("Breakout", "Breakot") + RDQ, 1, "MinAtar/Breakout-v1"),
        (TOP.replace("asterix-minatar", "MinAtar/Breakout-v1") + RDQ, 1, "there twice"),
        ('[[tabular]]\nfigure = "figure9"\n', 2, "figure must be one of"),
        ('[[tabular]]\nfigure = "figure5"\nseeds = "many"\n', 3, "seeds must be a whole number"),
        ('[[tabular]]\nfigure = "figure5"\nrules = ["hard"]\n', 3, "unknown rule"),
        ('[[tabular]]\nfigure = "figure5"\n' * 2, 3, "two experiments"),
    ],
)
def test_a_bad_plan_names_its_line(tmp_path, text, line, words):
    tomllib.loads(text)
    with pytest.raises(InputError, match=words) as error:
        read(tmp_path, text)
    assert f"plan.toml, line {line}: " in str(error.value)


@pytest.mark.parametrize("text", ["", "a = [\n", TOP, RDQ, "agents = 3\n", "\x00"])
def test_a_plan_that_is_none(tmp_path, text):
    with pytest.raises(InputError, match=r"plan\.toml"):
        read(tmp_path, text)
