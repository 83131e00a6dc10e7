"""The stand-ins for gym_fishing and gym_conservation: names, defaults, units, tools, and published trajectories."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.fishing import control, drop_in
from harvestgym.fishing.drop_in import conservation
from tests.load_script import ROOT
from tests.long_form import ALL

CALM = 12


def walk(env: Any, wanted: float, years: int = CALM) -> np.ndarray:
    """Return the biomass of each year under a constant quota or amount."""
    env.reset(seed=0)
    return np.array([env.step(env.get_action(wanted))[4]["biomass"] for _ in range(years)])


def repeat(law: Any, start: float, wanted: float, years: int = CALM) -> np.ndarray:
    """Return the biomass by an equation that is written here again: harvest first."""
    stocks = [start]
    for year in range(years):
        stocks.append(law(max(stocks[-1] - wanted, 0.0), year))
    return np.array(stocks[1:])


def beverton_holt(s: float, r: float) -> float:
    return (1 + r) * s / (1 + r * s)


LAWS: dict[str, Any] = {
    "fishing-v0": (0.75, lambda s, t: s + 0.3 * s * (1 - s)),
    "fishing-v1": (0.75, lambda s, t: s + 0.3 * s * (1 - s)),
    "fishing-v2": (0.75, lambda s, t: s * np.exp(0.3 * (1 - s) * (s - 0.5))),
    "fishing-v5": (0.75, lambda s, t: s * np.exp(0.3 * (1 - s) * 0.5)),
    "fishing-v6": (0.75, lambda s, t: beverton_holt(s, 0.3)),
    "fishing-v7": (0.75, lambda s, t: s + 0.7 * s * (1 - s / 1.5) - 0.2 * s**3 / (s**3 + 0.15**3)),
    "fishing-v8": (1.5, lambda s, t: 2 * s**3 / (1 + s**3)),
    "fishing-v9": (0.75, lambda s, t: s * np.exp(0.3 * (1 - s))),
    "fishing-v10": (0.75, lambda s, t: beverton_holt(s, 0.8 - 0.007 * (t + 1))),
}


@pytest.mark.parametrize("id", LAWS if ALL else ["fishing-v2", "fishing-v10"])
def test_without_noise_the_stock_follows_the_published_equation(id: str) -> None:
    start, law = LAWS[id]
    np.testing.assert_allclose(walk(drop_in.make(id), 0.02), repeat(law, start, 0.02), rtol=1e-5)


def test_conservation_adds_to_the_stock_or_lowers_the_driver() -> None:
    """V3 adds A and lets `a` rise before growth; V5 lowers `a` by A / (200 K) first."""

    def may(s: float, a: float) -> float:
        return s + 0.7 * s * (1 - s / 1.2) - a * s**3 / (s**3 + 0.15**3)

    lifted = repeat(lambda s, t: may(s, 0.2 + 0.001 * (t + 1)), 0.8, -0.1)
    np.testing.assert_allclose(walk(conservation.NonStationaryV3(), 0.1), lifted, rtol=1e-5)
    pushed = repeat(lambda s, t: may(s, 0.19 + (t + 1) * (0.001 - 0.6 / 300)), 0.8, 0.0)
    env = conservation.NonStationaryV5()
    np.testing.assert_allclose(walk(env, 0.6), pushed, rtol=1e-5)
    assert env.params["a"] == pytest.approx(0.19 - CALM * 0.001, rel=1e-5)
    _, reward, *_ = env.step(env.get_action(0.6))
    assert reward == pytest.approx(env.unscaled_state / (1 + env.unscaled_state) - 0.36, rel=1e-4)


@pytest.mark.parametrize("id", drop_in.IDS if ALL else ["fishing-v0"])
def test_every_published_id_is_an_environment(id: str) -> None:
    env = drop_in.make(id, Tmax=4)
    check_env(env, skip_render_check=True)
    assert env.Tmax == 4 and env.file is None
    assert env.get_fish_population(env.get_state(0.3)) == pytest.approx(0.3)


def test_an_action_of_a_hundred_allows_the_published_quota() -> None:
    env = drop_in.FishingEnv()
    assert env.action_space == gymnasium.spaces.Discrete(100)
    assert env.get_quota(7) == pytest.approx(0.07) and env.get_action(0.07) == 7 and env.get_action(2.0) == 99
    env.reset(seed=0)
    assert env.step(7)[1] == pytest.approx(0.07)
    with pytest.raises(ConfigError):
        env.step(100)


def test_attributes_describe_the_year_and_arguments_can_be_set() -> None:
    env = drop_in.FishingTippingEnv(0.3, 1, 0.5, init_state=0.75)
    assert (env.K, env.r, env.C, env.sigma, env.years_passed, env.harvest, env.fish_population) == (
        1,
        0.3,
        0.5,
        0,
        0,
        0,
        0.75,
    )
    env.reset(seed=0)
    obs = env.step(env.get_action(0))[0]
    assert env.get_fish_population(obs) >= 0.75 and env.state is obs and env.years_passed == 1
    env.init_state = 0.3
    assert env.fish_population == 0.3 and env.params["x0"] == 0.3
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(env.get_action(0))
    env.reset()
    obs, *_ = env.step(env.get_action(0))
    assert env.get_fish_population(obs) <= 0.3
    for name in ("fish_population", "state", "price"):
        with pytest.raises(ConfigError, match=f"{name}: expected no assignment"):
            setattr(env, name, 0.5)
    with pytest.raises(ConfigError, match="r: expected a number"):
        env.r = -1
    assert env.r == 0.3, "a wrong value changes nothing"
    differing = drop_in.FishingModelError(K_mean=2.0, r_mean=0.5)
    assert (differing.K, differing.r) == (2.0, 0.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_actoins'"):
        drop_in.FishingEnv(n_actoins=3)
    with pytest.raises(TypeError, match="multiple values for argument 'r'"):
        drop_in.FishingEnv(0.3, r=0.5)


def test_policies_simulate_and_draw(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    env = drop_in.FishingCtsEnv(Tmax=5, file=tmp_path / "log.csv")
    rule = drop_in.escapement(env)
    assert pytest.approx(0.5) == rule.S
    frame = env.simulate(rule, reps=2)
    assert list(frame.columns) == ["time", "state", "action", "reward", "rep"] and len(frame) == 12
    assert frame.reward.sum() == pytest.approx(2 * (0.25 + 4 * 0.075), rel=1e-5)
    asked = env.policyfn(drop_in.msy(env), reps=1)
    assert len(asked) == 50 and np.allclose(asked.action, 0.075, atol=1e-6)
    for draw, df in ((env.plot, frame), (env.plot_policy, asked)):
        draw(df, tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 5_000
    env.render()
    assert (tmp_path / "log.csv").read_text().count("\n") == 1


def test_the_user_is_asked_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    env = drop_in.FishingCtsEnv()
    monkeypatch.setattr("builtins.input", lambda prompt: "0.25")
    action, _ = drop_in.user_action(env).predict(env.reset(seed=0)[0])
    assert env.get_quota(action) == pytest.approx(0.25)


def test_a_rule_follows_its_numbers_when_they_are_set() -> None:
    env = drop_in.FishingCtsEnv(r=0.3, K=1.0, init_state=0.9)
    obs, _ = env.reset(seed=0)
    rule = drop_in.escapement(env)
    rule.S = 0.8
    assert env.get_quota(rule.predict(obs)[0]) == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize(("rule", "amount"), [("fixed_action", 0.0), ("target_state", 0.2), ("target_a", 0.0)])
def test_conservation_policies(rule: str, amount: float) -> None:
    env = conservation.NonStationaryV5()
    obs, _ = env.reset(seed=0)
    action, _ = getattr(conservation, rule)(env).predict(obs)
    assert env.get_unscaled_action(action) == pytest.approx(amount, abs=1e-6)


def test_the_arguments_listed_for_rl4fisheries_exist() -> None:
    text = (ROOT / "docs" / "coming.md").read_text("utf-8").partition("### rl4fisheries")[2]
    rows = [line.rpartition(" | ")[2] for line in text.splitlines() if line.startswith("| `")]
    numbers = {name: 0.5 for row in rows[:4] for name in re.findall(r"`(\w+)`", row) if name != "asl"}
    given: Any = numbers | {"compensation": 2.0, "Tmax": 3, "bound": 20.0, "start": [0.5, 5.0]}
    env = harvestgym.make("fishing/walleye-v0", **given, survey_error={"kind": "lognormal", "sigma": 0.1})
    assert len(numbers) == 10 and int(env.params.horizon) == 3  # type: ignore[attr-defined]
    assert all(hasattr(control, name) for name in ("escapement", "rate", "ramp"))
