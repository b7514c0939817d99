import csv
import json
import re
import shlex
import sys

import jax
import numpy as np
import pytest
from examples_by_path import ROOT, example

from qduet.agents import make_agent
from qduet.cli import main
from qduet.deep import Outputs, Transition, board, make_environment, networks
from qduet.deep.algorithms import AV
from qduet.jobs import devices, weights
from qduet.minatar import make
from qduet.results import runs
from qduet.tabular.experience import draw_seed
from qduet.tabular.mdp import four_state
from qduet.tabular.rules import hard_rdq, q_learning
from qduet.tabular.sweeps import sweep
from qduet.tabular.values import optimum


@pytest.fixture(scope="module")
def own_rule():
    return example("own_rule")


def curves(rule, step_sizes):
    mdp = four_state("dueling", 3)
    options = {"seeds": range(2), "steps": 400, "init_std": 2.0, "dtype": np.float64}
    return sweep(mdp, {"mine": rule}, step_sizes, **options)["mine"].percent


@pytest.mark.parametrize(
    ("share", "other", "factor"), [(0.0, q_learning(), 1.0), (0.5, hard_rdq(), 0.5)]
)
def test_own_rule_has_the_two_special_cases_it_names(own_rule, share, other, factor):
    alphas = np.array([0.1, 0.6])
    expected = curves(other, factor * alphas)
    np.testing.assert_allclose(curves(own_rule.shared_rdq(share), alphas), expected, rtol=1e-10)


def test_own_rule_is_what_plain_numpy_computes(own_rule):
    mdp = four_state("dueling", 3)
    draws = draw_seed(1, mdp, 400, 2.0, np.float64)
    v, adv, target = draws.v.copy(), draws.adv.copy(), optimum(mdp).q
    error = lambda: np.sqrt(np.mean((v[:, None] + adv - target) ** 2))
    first, s = error(), 0
    for u_action, u_state in zip(draws.steps.action, draws.steps.next_state, strict=True):
        a, s2 = int(3 * u_action), int(4 * u_state)
        reward = 1.0 if a == 0 else -1.0
        delta = reward + 0.999 * max(v[s2] + adv[s2]) - v[s] - adv[s, a]
        v[s] += 0.6 * 0.75 * delta
        adv[s, a] += 0.6 * 0.25 * delta
        s = s2
    last = curves(own_rule.shared_rdq(0.75), [0.6])[1, 0, -1]
    assert last == pytest.approx(100 * error() / first, rel=1e-10)


def assert_told(rule, name, text):
    """Best AUC with Student's interval, t(9) = 2.26216, and its difference to Q-learning's."""
    alphas, rules = np.geomspace(0.05, 1.0, 8), {"q": q_learning(), "mine": rule}
    options = {"seeds": range(10), "steps": 5_000, "init_std": 2.0}
    found = sweep(four_state("dueling", 10), rules, alphas, **options)
    q, mine = (found[x].percent.mean(axis=2, dtype=np.float64) for x in rules)
    best = mine.mean(axis=0).argmin()
    half = 2.26216 * mine[:, best].std(ddof=1) / np.sqrt(10)
    gap = mine[:, best].mean() - q.mean(axis=0).min()
    line = f"{name}: best AUC {mine[:, best].mean():.2f} ± {half:.2f} % at α = {alphas[best]:.2f}; "
    line += f"minus Q-learning's best: {gap:.2f} ("
    assert line in text
    low, high = map(float, re.match(r"(\S+) to (\S+)\)", text.partition(line)[2]).groups())
    assert low < gap < high


def test_own_rule_joins_figure_5_and_an_experiment_on_another_mdp(own_rule, tmp_path, capsys):
    results, other = own_rule.main(tmp_path)
    names = ("rdq-share-0.25", "rdq-share-0.5", "rdq-share-0.75")
    assert results.rules[-3:] == other.rules[-3:] == names
    assert other.curves[5]["rdq-share-0.5"].percent.shape == (10, 7, 51)
    assert_told(own_rule.shared_rdq(0.75), "rdq-share-0.75", capsys.readouterr().out)
    # Shares of 1/2 at α = 1 would be Hard RDQ at α = 1/2; at |A| = 18 both start from one seed.
    curves_18 = results.curves[18]
    np.testing.assert_array_equal(
        curves_18["rdq-share-0.5"].initial_error, curves_18["hard_rdq"].initial_error
    )
    for suffix in ("png", "pdf", "svg"):
        for figure in ("figure5", "garnet"):
            assert (tmp_path / f"{figure}-own-rule.{suffix}").stat().st_size > 1000


def test_own_agent_trains_and_its_weights_give_its_values(tmp_path, capsys, monkeypatch):
    kept = []
    monkeypatch.setattr(devices, "keep_compiled", lambda: kept.append(True))
    small = {"capacity": 400, "learn_from": 100, "sync_every": 100, "batch_size": 16}
    out = tmp_path / "out"
    q = example("own_agent").main(out, steps=1_000, episodes=3, **small)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert kept == [True]
    assert {"compiling, step 0", "training, step 400", "evaluating, step 1,000"} <= {
        *printed.err.splitlines()
    }
    assert [line.split(":")[0] for line in lines[:-1]] == [
        f"step {step:,}" for step in range(0, 1_001, 200)
    ]
    with (out / "evaluations.csv").open() as file:
        ends = [float(row["return_mean"]) for row in csv.DictReader(file) if row["step"] == "1000"]
    mean, half = np.mean(ends), 12.7062 * abs(ends[1] - ends[0]) / 2  # t with 1 degree of freedom
    told = f"mean returns {ends[0]:.2f}, {ends[1]:.2f}; 95 % interval {mean:.2f} ± {half:.2f}"
    assert lines[-2].endswith(told)
    found = weights.load(out / "weights" / "half_dueling-1.safetensors")
    assert found.agent.numbers == AV(w=1, c=0.5, beta=0)
    env = make("MinAtar/Breakout-v1")
    seen = env.observe(env.reset(np.zeros(env.num_draws, np.uint32)))
    values = board.apply(found.params, seen)
    want = float(values.v) + values.adv - np.mean(values.adv) / 2
    np.testing.assert_allclose(q, want, rtol=1e-5)


def test_own_algorithm_is_munchausen_dqn_and_trains_by_its_name(tmp_path, monkeypatch, capsys):
    """The loss against the equation of its docstring, in NumPy; then the command."""
    own = example("own_algorithm")
    q, target, next_target = np.array([[0.1, -0.2, 0.3], [0.2, 0.0, -0.1], [0.5, 0.4, -0.3]])
    numbers = own.Munchausen(tau=0.5, alpha=0.9, lowest=-0.4)
    softmax = lambda x: np.exp(x) / np.exp(x).sum()
    pi, next_pi = softmax(target / 0.5), softmax(next_target / 0.5)
    soft = (next_pi * (next_target - 0.5 * np.log(next_pi))).sum()
    for action in range(3):
        y = 1 + 0.9 * max(0.5 * np.log(pi[action]), -0.4) + 0.8 * soft
        outputs = [Outputs(0.0, x) for x in (q, target, q, next_target)]
        found = own.loss(numbers, Transition(*outputs, action, 1.0, 0.8))
        np.testing.assert_allclose(found.td_error, y - q[action], rtol=1e-5)
        np.testing.assert_allclose(found.total, (y - q[action]) ** 2 / 2, rtol=1e-5)
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(devices, "keep_compiled", lambda: None)
    job = "train munchausen MinAtar/Breakout-v1 --set tau=0.1 --steps 200 --learn-from 100"
    job += " --target-every 100 --replay 400 --batch-size 16 --episodes 2 --json --out"
    assert main(["--import", "own_algorithm", *job.split(), str(tmp_path / "out")]) == 0
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["agents"][0]["tau"] == 0.1
    assert "algorithm munchausen" in config["agent_programs"]


def test_gymnax_cartpole_trains_and_compares(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(devices, "keep_compiled", lambda: None)
    small = {"capacity": 400, "learn_from": 100, "sync_every": 100}
    returns = example("gymnax_cartpole").main(tmp_path / "out", steps=200, episodes=3, **small)
    assert len(returns) == 4
    assert all(8 <= x <= 500 for x in returns)  # an episode that fails at once has 8 steps
    difference = (returns[0] + returns[1] - returns[2] - returns[3]) / 2
    told = re.search("rdq − double_dqn: ([-−0-9.]+) ±", capsys.readouterr().out)[1]
    assert float(told.replace("−", "-")) == pytest.approx(difference, abs=0.01)


def test_own_game_is_learned(tmp_path, capsys):
    """Of 1,000 returns of ±1 the mean is known to ±0.03."""
    after = example("own_game").main(tmp_path / "out", steps=10_000)
    told = capsys.readouterr().out
    before = float(re.search(r"episodes: (\S+) before", told)[1])
    assert f"{after:.2f} after 10,000 steps" in told
    assert before < -0.3
    assert after > 0.3


def test_own_environment_moves_as_its_docstring_says():
    """An episode of random forces from each start, in NumPy and double precision."""
    example("own_environment")
    env = make_environment("Docking-v0", auto_reset=False)
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    rng, ends = np.random.default_rng(0), []
    for _ in range(20):
        uniform = rng.random(4)  # `make` gives the first half to `step`, the second to `reset`
        state = reset((uniform * 2**32).astype(np.uint32))
        x, v = 0.8 * (2 * uniform[2] - 1), 2 * uniform[3] - 1
        for time in range(1, 51):
            action, uniform = rng.integers(3), rng.random(4)
            state, reward, docked, cut = step(
                state, np.int32(action), (uniform * 2**32).astype(np.uint32)
            )
            v += 0.1 * ((-2, 0, 2)[action] + 2 * uniform[0] - 1)
            x += 0.1 * v
            if abs(x) >= 1:
                x, v = np.sign(x), 0.0
            np.testing.assert_allclose(env.decode(env.encode(state)), [x, v], atol=1e-5)
            assert (reward, docked) == (-1, abs(x) < 0.1 and abs(v) < 0.4)
            assert cut == (time == 50 and not docked)
            if docked:
                break
        ends.append((time, bool(docked), bool(cut)))
    assert {(docked, cut) for _, docked, cut in ends} == {(True, False), (False, True)}


def test_own_environment_is_learned_by_the_command_of_its_docstring(tmp_path, monkeypatch, capsys):
    """Random forces cost 41 on average. RDQ ended between 7.8 and 8.6 with each of 20 seeds."""
    command = re.search(r"qduet (--import .*?) --out", example("own_environment").__doc__)[1]
    fewer = command.replace("rdq dqn", "rdq").replace("--seeds 3", "--seeds 1 --episodes 200")
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(devices, "keep_compiled", lambda: None)
    assert main([*shlex.split(fewer), "--json", "--out", str(tmp_path / "out")]) == 0
    before, after = runs.load(tmp_path / "out").scores("rdq").values[0]
    assert before < -20
    assert after > -12


@pytest.mark.parametrize("missing", [[], ["equinox"], ["flax", "equinox"]])
def test_own_network_has_what_the_installed_packages_allow(missing, monkeypatch, capsys):
    monkeypatch.setattr(networks, "NETWORKS", networks.NETWORKS.copy())
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)  # `import` then raises ModuleNotFoundError
    example("own_network")
    left_out = [f"small-{package}" for package in missing]
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" is left out: ")[0] for line in told] == left_out
    own = {name: net for name, net in networks.NETWORKS.items() if name.startswith("small-")}
    assert {*own} == {"small-plain", "small-flax", "small-equinox"} - {*left_out}
    for network in own.values():
        params = network.init(jax.random.key(0), jax.ShapeDtypeStruct((2,), np.float32), 3)
        v, adv = network.apply(params, np.array([0.5, -1.0], np.float32))
        assert (v.shape, adv.shape) == ((), (3,))


@pytest.mark.parametrize("name", ["dqn", "dueling_dqn", "rdq", "dqv_max"])
def test_plain_numpy_plays_with_a_weights_file(name, tmp_path, capsys):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    plain = example("load_and_play")
    env, agent = make("MinAtar/Breakout-v1"), make_agent(name, protocol="reference")
    params = board.init(jax.random.key(1), env.num_channels, env.num_actions)
    trained = weights.Weights(params, agent, "MinAtar/Breakout-v1", name, 1, 2_000)
    weights.save(tmp_path / "w.safetensors", trained)
    rewards = plain.main(tmp_path / "w.safetensors", seed=3, frames=30)
    assert (
        f"MinAtar/Breakout-v1, {name}: {sum(rewards):g} in {len(rewards)}"
        in capsys.readouterr().out
    )
    # The network of the library says the same of an observation.
    arrays, _ = plain.load(tmp_path / "w.safetensors")
    observation = np.random.default_rng(0).random((10, 10, 4)) < 0.2
    found = plain.q_values(arrays, agent.fields(), observation)
    np.testing.assert_allclose(found, trained.values(observation)[1], atol=1e-5)


def test_the_rdq_loss_in_code_of_ones_own_finds_the_exact_values(capsys):
    assert example("rdq_loss").main() < 0.4
    assert "rdq: Q is up to 11.89" in capsys.readouterr().out


def test_rdq_in_a_dqn_of_ones_own_learns_cartpole(capsys):
    """Uniform play balances the pole for some 22 steps; an eighth of the training, for far more."""
    returns = example("rdq_cartpole").main(steps=5_000)
    told = re.findall(r"^step ([\d,]+): mean return (\d+)$", capsys.readouterr().out, re.MULTILINE)
    assert len(told) == len(returns) // 20 > 3
    assert told[-1][1] == f"{np.mean(returns[: len(returns) // 20 * 20][-20:]):.0f}"
    assert np.mean(returns[:20]) < 40
    assert np.mean(returns[-20:]) > 60


BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[-1][:30])
def test_the_readme_code_runs_as_printed(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    told = capsys.readouterr().out
    assert told.startswith("[")
    assert told.count(" ± ") == (3 if "sweep(" in code else 0)  # one for each step size


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]


def anchors(page):
    """The fragments that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not link.startswith("https://"):
            name, _, fragment = link.partition("#")
            there = page.parent / name if name else page
            assert there.exists(), link
            assert not fragment or fragment in anchors(there), link


def test_the_readme_has_code():
    assert len(BLOCKS) == 3
