"""A fishery through its interfaces: equal trajectories, units, conservation problems, metrics, errors."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy, make_policy
from harvestgym.core.rollout import evaluate, rollout
from harvestgym.evaluate.record import record_episode, record_named
from harvestgym.evaluate.run import evaluate_together
from harvestgym.fishing import FishingEnv, control, metrics
from harvestgym.fishing.analysis import tipping
from harvestgym.fishing.family import make, policies, summary
from harvestgym.fishing.growth import Ricker
from harvestgym.fishing.noise import Lognormal
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.fishing.units import Units
from harvestgym.fishing.view.scene import figure
from harvestgym.gym.env import GymEnv
from harvestgym.gym.pettingzoo_env import ParallelEnv
from tests.long_form import long

LOGISTIC = "fishing/logistic-v0"
YEARS = 12
ACTION = np.array([-0.9], np.float32)
"""A quota of K/10."""


def play(env: Any, action: Any = ACTION, years: int = YEARS, seed: int = 3) -> np.ndarray:
    """Observations and rewards of an episode, (years, 2)."""
    env.reset(seed=seed)
    steps = (env.step(action) for _ in range(years))
    return np.array([(obs[0], reward) for obs, reward, *_ in steps], np.float64)


# -- equality of interfaces --------------------------------------------------------------------------------


def test_all_interfaces_live_the_same_episode() -> None:
    """FishingEnv, gymnasium.make, a batch of one and a rollout from the same seed."""
    model = make("logistic-v0", Tmax=YEARS)
    made = play(gymnasium.make("fishing/logistic-v0", Tmax=YEARS, disable_env_checker=True))
    np.testing.assert_allclose(play(FishingEnv(sigma=0.1, Tmax=YEARS)), made, rtol=1e-6)
    batch: Any = harvestgym.make_vec("fishing/logistic-v0", 1, Tmax=YEARS)
    batch.reset(seed=3)
    rows = [batch.step(ACTION[None])[:2] for _ in range(YEARS)]
    np.testing.assert_allclose([(obs[0, 0], reward[0]) for obs, reward in rows], made, rtol=1e-6)
    assert float(model.params.noise.sigma) == pytest.approx(0.1)  # type: ignore[attr-defined]


def test_parts_as_objects_are_parts_of_a_file() -> None:
    given = FishingEnv(law=Ricker(r=0.4), noise=Lognormal(sigma=0.2), order="growth first", Tmax=YEARS)  # type: ignore[arg-type]
    named = make("ricker-v0", r=0.4, sigma=0.2, order="growth first", Tmax=YEARS)
    np.testing.assert_allclose(play(given), play(GymEnv(named)), rtol=1e-6)
    assert jax.tree.leaves(given.model.params) == jax.tree.leaves(named.params)


def test_a_rollout_adds_up_to_its_tally() -> None:
    """The sums in `info` over an episode equal those of its years."""
    env = make("logistic-v0", Tmax=YEARS)
    path = rollout(env, constant_policy(jnp.asarray(ACTION)), jax.random.key(0), 5, YEARS)
    catch, biomass = np.asarray(path.info["catch"], np.float64), np.asarray(path.info["biomass"])
    last = {name: np.asarray(values)[-1] for name, values in path.info.items()}
    np.testing.assert_allclose(last["total_catch"], catch.sum(0), rtol=1e-5)
    np.testing.assert_allclose(last["catch_change"], np.abs(np.diff(catch, axis=0)).sum(0), atol=1e-5)
    weight = 0.99 ** np.arange(YEARS)[:, None]
    np.testing.assert_allclose(last["discounted_return"], (np.asarray(path.reward) * weight).sum(0), rtol=1e-5)
    np.testing.assert_allclose(last["lowest_biomass"], np.minimum(biomass.min(0), 0.75), rtol=1e-6)
    np.testing.assert_array_equal(last["years_low"], (biomass < 0.2).sum(0))


def test_submodules_are_attributes() -> None:
    assert harvestgym.fishing.control is control and harvestgym.fishing.metrics is metrics
    assert harvestgym.fishing.shared_stock.share_stock is share_stock
    with pytest.raises(AttributeError, match="has no attribute 'sea'"):
        harvestgym.fishing.sea  # noqa: B018


# -- units -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "action", "wanted"),
    [
        (Units(bound=2.0), -1.0, 0.0),
        (Units(bound=2.0), 0.0, 1.0),
        (Units(bound=2.0), 1.0, 2.0),
        (Units(bound=2.0, scale="natural"), 0.3, 0.3),
        (Units(bound=2.0, scale="natural"), 5.0, 2.0),
        (Units(bound=2.0, control="rate"), 0.0, 0.5),
        (Units(bound=2.0, control="rate", scale="natural"), 0.25, 0.25),
        (Units(bound=2.0, levels=11), 10, 1.0),
        (Units(bound=2.0, levels=11, control="rate"), 5, 0.5),
        (Units(bound=2.0), np.nan, 0.0),
    ],
)
def test_actions_ask_for_biomass_or_a_rate(units: Units, action: float, wanted: float) -> None:
    assert float(units.wanted(jnp.atleast_1d(action))[0]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("scale", ["symmetric", "natural"])
def test_observations_are_clipped_and_otherwise_inverted(scale: Any) -> None:
    units = Units(bound=3.0, scale=scale)
    biomass = jnp.array([0.0, 0.4, 2.9, 7.0])
    np.testing.assert_allclose(units.survey(units.observation(biomass)), [0.0, 0.4, 2.9, 3.0], atol=1e-6)


def test_spaces_follow_the_units() -> None:
    assert Units(levels=5).action_space == gymnasium.spaces.Discrete(5)
    assert Units(levels=5, targets=2).action_space == gymnasium.spaces.MultiDiscrete([5, 5])
    assert Units(bound=4.0, scale="natural").action_space == gymnasium.spaces.Box(0.0, 4.0, (1,), np.float32)
    assert Units(control="rate", scale="natural").action_space == gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    assert Units(seen=3).observation_space == gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)


# -- rewards and conservation problems ---------------------------------------------------------------------


def first_year(env: Any, wanted: float) -> tuple[Any, Any]:
    """State and Timestep after asking for `wanted` in the first year, without noise."""
    state, _ = env.reset(jax.random.key(0), env.params)
    return env.step(jax.random.key(1), state, env.units.action(jnp.array([wanted])), env.params)


@pytest.mark.parametrize(("price", "cost"), [(1.0, 0.0), (2.5, 0.0), (1.0, 0.2)])
def test_reward_is_price_times_catch_less_effort(price: float, cost: float) -> None:
    """Effort is -ln(1 - catch/stock) (Clark 1990)."""
    _, seen = first_year(make("logistic-v0", sigma=0.0, price=price, cost=cost), 0.3)
    assert float(seen.reward) == pytest.approx(price * 0.3 + cost * np.log(1 - 0.3 / 0.75), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "left", "worth"), [({}, 0.55, 1.0), ({"loss": 0.0, "benefit": 5.0}, 1.0, 5.0)], ids=["v1", "published"]
)
def test_translocation_adds_before_losses_and_growth_and_costs(options: Any, left: float, worth: float) -> None:
    """x' = f((1 - loss)(x + A)), worth x' - A; published without losses, for 5 x' - A."""
    after, seen = first_year(make("recovery-ricker-v0", noise={"kind": "none"}, start=0.4, **options), 0.2)
    there = left * 0.6
    stock = there * np.exp(0.3 * (1 - there))
    assert float(after.stock[0]) == pytest.approx(stock, rel=1e-6)
    assert float(seen.reward) == pytest.approx(worth * stock - 0.2, rel=1e-5)


def test_a_sink_is_gone_without_translocation_and_lasts_with_it() -> None:
    """At low stock it keeps 0.55 exp(0.3) = 0.742 of itself each year."""
    env = make("recovery-ricker-v0", noise={"kind": "none"})
    rules = (control.lift(env, target) for target in (1.111, 0.0))
    lifted, left = (rollout(env, rule, jax.random.key(0), 1, 99).info["biomass"][:, 0] for rule in rules)
    assert (np.diff(left) < 0).all() and left[-1] < 1e-6
    assert left[-1] / left[-2] == pytest.approx(0.55 * np.exp(0.3), rel=1e-4)
    assert lifted[-1] == pytest.approx(0.55 * 1.111 * np.exp(0.3 * (1 - 0.55 * 1.111)), rel=1e-5)


@pytest.mark.parametrize("satiation", [0.0, 1.0], ids=["v1", "published"])
def test_a_push_lowers_the_driver_before_it_rises(satiation: float) -> None:
    """a' = max(a - A / 300, 0) + 0.001, worth x' - A^2; published with the worth x' / (1 + x')."""
    after, seen = first_year(make("driver-v0", noise={"kind": "none"}, satiation=satiation), 0.6)
    driver = 0.19 - 0.6 / 300 + 0.001
    assert float(after.law.a) == pytest.approx(driver, rel=1e-5)
    stock = 0.8 + 0.7 * 0.8 * (1 - 0.8 / 1.2) - driver * 0.8**3 / (0.8**3 + 0.15**3)
    assert float(after.stock[0]) == pytest.approx(stock, rel=1e-5)
    assert float(seen.reward) == pytest.approx(stock / (1 + satiation * stock) - 0.36, abs=1e-5)


def test_losses_come_before_growth_at_a_tipping_point_too() -> None:
    """And the plan knows them: it promises what it earns."""
    env: Any = make("driver-v0", noise={"kind": "none"}, loss=0.1, Tmax=30)
    left = 0.9 * 0.8
    stock = left + 0.7 * left * (1 - left / 1.2) - 0.191 * left**3 / (left**3 + 0.15**3)
    assert float(first_year(env, 0.0)[0].stock[0]) == pytest.approx(stock, rel=1e-5)
    plan = tipping.plan_actions(env, env.params, 30)
    earned = evaluate(env, tipping.follow_plan(env, plan), jax.random.key(0), 1, 30).returns[0]
    assert float(earned) == pytest.approx(np.interp(0.8, plan.stock, np.asarray(plan.value)[:, 38]), rel=0.01)


def test_the_driver_is_observed_only_where_it_is_shown() -> None:
    hidden, shown = make("driver-v0"), make("driver-v0", shows_driver=True)
    obs = shown.reset(jax.random.key(0), shown.params)[1].obs
    assert hidden.observation_space.shape == (1,) and shown.observation_space.shape == (2,)
    assert float(obs[1]) == pytest.approx(2 * 0.19 / 0.5 - 1, abs=1e-6)


def test_fleets_share_what_one_fleet_would_take() -> None:
    """Three quotas of K/10 leave the stock that one of 3 K/10 leaves; each is paid its own catch."""
    alone = first_year(make("logistic-v0", sigma=0.0), 0.3)[0]
    fleets = ParallelEnv(share_stock(make("logistic-v0", sigma=0.0), 3))
    fleets.reset(seed=0)
    obs, rewards, *_ = fleets.step(dict.fromkeys(fleets.agents, ACTION))
    assert list(rewards.values()) == pytest.approx([0.1] * 3, abs=1e-6)
    assert obs["fleet_0"][0] == pytest.approx(float(alone.stock[0]) - 1, abs=1e-6)


# -- metrics and errors ------------------------------------------------------------------------------------


@long
def test_metrics_of_a_constant_catch() -> None:
    """A quota of K/20 from 0.75 for 12 calm years: no variation, no closed year, the catch as its mean."""
    env = make("logistic-v0", sigma=0.0, Tmax=YEARS, final_price=0.0)
    rules = {"quota": control.quota(env, 0.05), "closed": policies(env)["closed"]}
    found = evaluate_together(LOGISTIC, rules, 2, env=env)
    quota, closed = ({name: values[0] for name, values in found[rule].columns.items()} for rule in rules)
    assert quota["mean catch per year"] == pytest.approx(0.05, rel=1e-5) and quota["AAV"] == pytest.approx(0, abs=1e-5)
    assert quota["closed years"] == 0 and closed["closed years"] == YEARS
    assert closed["regret"] > quota["regret"] > 0 and not quota["collapsed"]
    assert quota["discounted return"] == pytest.approx(0.05 * (1 - 0.99**YEARS) / 0.01, rel=1e-5)


@long
def test_years_lost_to_a_collapse_count() -> None:
    """A whole stock of 0.75 is caught in the first of 12 years: eleven years without catch, below every limit."""
    env = make("logistic-v0", sigma=0.0, Tmax=YEARS)
    found = {name: one[0] for name, one in evaluate_together(LOGISTIC, {"all": control.quota(env, 2.0)}, 1, env=env)[
        "all"].columns.items()}  # fmt: skip
    assert found["collapsed"] and found["mean catch per year"] == pytest.approx(0.75 / YEARS)
    assert found["time below 0.2 K"] == found["time below B_MSY"] == 1 and found["closed years"] == YEARS - 1
    assert found["AAV"] == pytest.approx(1)  # from 0.75 to 0


def test_several_species_have_no_time_below_b_msy() -> None:
    env = make("three-species-v0", Tmax=3)
    whole = jax.device_get(evaluate(env, policies(env)["closed"], jax.random.key(0), 2, 3))
    assert "mean catch per year" in summary(env, whole) and "time below B_MSY" not in summary(env, whole)


def test_conservation_problems_have_no_catch_to_measure() -> None:
    env = make("recovery-ricker-v0", Tmax=3)
    whole = jax.device_get(evaluate(env, policies(env)["closed"], jax.random.key(0), 2, 3))
    assert set(summary(env, whole)) == {
        "collapsed", "ever below 0.2 K", "time below 0.2 K", "lowest biomass", "discounted return"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"K": 0}, "law: .*\n.*K"), ({"r": np.nan}, "r: expected a finite number"), ({"s0": -1}, "s0"),
        ({"Tmax": 1.5}, "Tmax"), ({"sigma": -0.1}, "noise: .*\n.*sigma"), ({"levels": 1}, "levels"),
        ({"law": "ricker"}, "law"), ({"noise": 0.1}, "noise"), ({"order": "harvest"}, "order"),
        ({"scale": "log"}, "scale"), ({"control": "effort"}, "control"), ({"discount": 1.5}, "discount"),
        ({"levels": -1}, "levels"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(arguments: Any, path: str) -> None:
    with pytest.raises(ConfigError, match=f"FishingEnv.*\n?.*{path}"):
        FishingEnv(**arguments)


def test_numpy_numbers_are_numbers() -> None:
    env = FishingEnv(r=np.float32(0.3), Tmax=np.int64(7), s0=np.asarray(0.5))  # type: ignore[arg-type]
    assert int(env.model.params.horizon) == 7 and float(env.model.params.start) == 0.5


def test_fleets_share_the_cost_of_what_one_fleet_would_take() -> None:
    """The cost of effort is the cost of one fleet with the total catch, shared in proportion to the catches."""
    env, params = make("logistic-effort-v0", sigma=0.0, Tmax=50), {"start": 0.5}
    shared, start = share_stock(env, 3), env.set_options(env.params, params)[1]
    alone = env.step(jax.random.key(0), env.reset(jax.random.key(0), start)[0], jnp.array([0.2]), start)[1].reward
    state = shared.reset(jax.random.key(0), start)[0]
    last = shared.step(jax.random.key(0), state, jnp.array([-0.8, -0.6, -0.4]), start)[1]
    assert float(last.reward) == pytest.approx(float(alone), abs=1e-6)
    assert np.asarray(last.info["own"]["reward"]) == pytest.approx(float(alone) * np.array([1, 2, 3]) / 6, abs=1e-6)


def test_fleets_refuse_what_does_not_fit() -> None:
    with pytest.raises(ConfigError, match="expected a fishery with one stock, got 5 stocks"):
        share_stock(make("patches-v0"), 2)
    with pytest.raises(ConfigError, match="fleets: expected greater than or equal to 1, got 0"):
        share_stock(make("logistic-v0"), 0)
    fleets = ParallelEnv(share_stock(make("logistic-v0"), 2))
    with pytest.raises(gymnasium.error.ResetNeeded):
        fleets.step({})
    fleets.reset(seed=0)
    with pytest.raises(ConfigError, match="step: expected an action for each of"):
        fleets.step({"fleet_0": ACTION})


def test_files_that_extend_each_other_are_refused(tmp_path: Any) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {other}\n")
    with pytest.raises(ConfigError, match="expected no cycle, got a -> b -> a"):
        harvestgym.fishing.family.from_yaml(tmp_path / "a.yaml")


class FixedModel:
    """A model with the interface of Stable-Baselines3's."""

    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert obs.shape[1:] == (1,) and deterministic
        return np.full((len(obs), 1), -0.9, np.float32), None


def test_any_agent_is_compared_on_the_same_episodes() -> None:
    env = make("logistic-v0", Tmax=12)
    rules = {"rule": control.quota(env, 0.1), "model": FixedModel(), "function": lambda obs: np.float32([-0.9])}
    found = evaluate_together(LOGISTIC, rules, 5, env=env)
    np.testing.assert_allclose(found["model"].returns, found["rule"].returns, rtol=1e-5)
    np.testing.assert_array_equal(found["model"].returns, found["function"].returns)
    with pytest.raises(TypeError, match="policy: expected a Policy, a model with `predict` or a function, got 3"):
        evaluate_together(LOGISTIC, {"three": 3}, 20, env=env)


def test_a_function_may_return_a_list_and_not_a_wrong_shape() -> None:
    env = make("logistic-v0", Tmax=3)
    found = evaluate_together(LOGISTIC, {"array": lambda obs: ACTION, "list": lambda obs: [-0.9]}, 2, env=env)
    np.testing.assert_array_equal(found["list"].returns, found["array"].returns)
    record = record_named(LOGISTIC, lambda obs: [-0.9], env=env).record
    np.testing.assert_allclose(record["action"][1:], -0.9, rtol=1e-6)
    words = re.escape("policy: expected an action in Box(-1.0, 1.0, (1,), float32), got [0.1, 0.2]") + "$"
    with pytest.raises(ConfigError, match=words):
        evaluate_together(LOGISTIC, {"two": lambda obs: [0.1, 0.2]}, 2, env=env)
    with pytest.raises(ConfigError, match=words):
        record_named(LOGISTIC, lambda obs: [0.1, 0.2], env=env)


def test_an_agent_with_predict_is_recorded_and_drawn() -> None:
    """The policy panel of the figure holds the quotas of the model next to the optimum."""
    env = make("logistic-v0", Tmax=12)
    record = record_episode(LOGISTIC, env, make_policy(env, FixedModel()), 0)
    np.testing.assert_allclose(record["action"][1:], -0.9, rtol=1e-6)
    panels = {panel.get_title(): panel for panel in figure(env, record).axes}
    labels = [line.get_label() for line in panels["Policy"].lines]
    assert any("optimum" in str(label) for label in labels) and len(labels) > 1
    drawn = np.concatenate([np.ravel(line.get_ydata()) for line in panels["Catch per year"].lines])
    assert np.isclose(drawn, record["catch"][1:].sum(1)[0]).any()


def test_any_agent_is_evaluated_and_recorded_by_id() -> None:
    env = make("logistic-v0", Tmax=12)
    found = evaluate_together(LOGISTIC, {"model": FixedModel(), "rule": control.quota(env, 0.1)}, 5, env=env)
    np.testing.assert_allclose(found["model"].returns, found["rule"].returns, rtol=1e-5)
    record = record_named(LOGISTIC, FixedModel(), seed=0, env=env).record
    assert record["reward"][1:].sum() == pytest.approx(found["model"].returns[0], rel=1e-5)


@long
def test_the_year_is_observed_where_it_is_asked_for() -> None:
    years = 4
    env = FishingEnv(shows_year=True, Tmax=years)
    assert env.observation_space.shape == (2,)
    seen = [env.reset(seed=0)[0][1]] + [env.step(np.float32([-0.9]))[0][1] for _ in range(years)]
    np.testing.assert_allclose(seen, np.linspace(-1, 1, years + 1), atol=1e-6)
    plain, shown = make("logistic-v0", Tmax=years), make("logistic-v0", Tmax=years, shows_year=True)
    names = ("expert", "escapement")
    found, other = (
        evaluate_together(LOGISTIC, {name: policies(env)[name] for name in names}, 8, env=env) for env in (shown, plain)
    )
    for name in names:
        np.testing.assert_array_equal(found[name].returns, other[name].returns)
        assert {"regret", "stationary regret"} <= set(found[name].columns)
    fleets = ParallelEnv(share_stock(shown, 2))
    assert fleets.reset(seed=0)[0]["fleet_0"].shape == (2,)
