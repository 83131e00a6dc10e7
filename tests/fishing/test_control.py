"""Control rules and metrics against the published table of the quota problem, and against each other."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import LazyMapping
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import evaluate_together
from harvestgym.fishing import control
from harvestgym.fishing.family import make, policies, summary
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.view.scene import figure
from tests.fishing.recovery import make_recovery
from tests.long_form import long

PUBLISHED = {"kind": "proportional", "sigma": 0.1}
EPISODES = 4000


@pytest.fixture(scope="module")
def fishery() -> FishingModel:
    return make("logistic-v0", noise=PUBLISHED, Tmax=101, final_price=0.0)


@pytest.mark.parametrize(
    ("rule", "mean", "discounted", "aav"),
    [
        ("escapement", 7.754, 4.960, 0.712),
        ("msy", 4.397, 3.193, 0.019),
        ("rate", 7.521, 4.802, 0.072),
        ("40-10", 7.527, 4.806, 0.074),
        ("dfo, B_MSY after harvest", 7.529, 4.807, 0.075),
    ],
)
def test_published_table(fishery: FishingModel, rule: str, mean: float, discounted: float, aav: float) -> None:
    """Return, discounted return and AAV of the reference's 20 000 episodes, to five standard errors of ours."""
    whole = jax.device_get(evaluate(fishery, policies_of(fishery)[rule], jax.random.key(0), EPISODES, 101))
    columns = summary(fishery, whole)
    error = 5 / np.sqrt(EPISODES)
    assert abs(whole.returns.mean() - mean) < error * whole.returns.std() + 1e-3
    worth = columns["discounted return"]
    assert abs(worth.mean() - discounted) < error * worth.std() + 1e-3
    assert abs(np.median(columns["AAV"]) - aav) < 0.03
    assert columns["regret"].mean() > -error * worth.std()
    if rule == "msy":
        assert 0.82 < columns["ever below 0.2 K"].mean() < 0.89


def test_published_ramp_counts_after_the_harvest() -> None:
    """At sigma 0.2 the published DFO ramp had 10.8 % of episodes below 0.2 K: its B_MSY is K/2, not f(K/2)."""
    env = make("logistic-v0", noise={"kind": "proportional", "sigma": 0.2}, Tmax=101)
    low = {}
    for b_msy in (0.5, 0.575):
        rule = control.ramp(env, 0.075 / 0.575, 0.4 * b_msy, 0.8 * b_msy)
        whole = jax.device_get(evaluate(env, rule, jax.random.key(0), EPISODES, 101))
        low[b_msy] = summary(env, whole)["ever below 0.2 K"].mean()
    # Five standard errors: sqrt(0.108 * 0.892 / 4000).
    assert abs(low[0.5] - 0.108) < 5 * 0.0049 < 0.108 - low[0.575]


_FOUND: dict[int, LazyMapping[Policy]] = {}


def policies_of(env: FishingModel) -> LazyMapping[Policy]:
    """Return the policies of a fishery, solved once, and the ramp as the published table had it."""
    if id(env) not in _FOUND:
        found = policies(env)
        after = {"dfo, B_MSY after harvest": partial(control.ramp, env, 0.075 / 0.575, 0.2, 0.4)}
        _FOUND[id(env)] = LazyMapping(after | {name: partial(found.__getitem__, name) for name in found})
    return _FOUND[id(env)]


@long
def test_optimum_has_no_regret(fishery: FishingModel) -> None:
    """The finite-horizon policy earns what dynamic programming promised, and more than any rule."""
    rules = {name: policies_of(fishery)[name] for name in ("sdp-finite", "escapement")}
    found = evaluate_together("fishing/logistic-v0", rules, EPISODES, 1, fishery)
    best, simple = (found[name].columns for name in rules)
    assert abs(best["regret"].mean()) < 5 * best["regret"].std() / np.sqrt(EPISODES) + 2e-3
    assert best["discounted return"].mean() > simple["discounted return"].mean()


def test_ramps() -> None:
    """Below the lower limit nothing, above the upper one the full rate; between, rate or catch are straight lines."""
    env = make("logistic-v0", scale="natural")

    def catch(on: str, biomass: float) -> float:
        act = control.ramp(env, 0.2, 0.1, 0.4, on=on).act
        return float(act((), jnp.array([biomass]), jax.random.key(0))[1][0])

    for on in ("rate", "catch"):
        assert [catch(on, b) for b in (0.05, 0.4, 1.0)] == pytest.approx([0.0, 0.08, 0.2])
    assert catch("rate", 0.25) == pytest.approx(0.2 * 0.5 * 0.25)
    assert catch("catch", 0.25) == pytest.approx(0.5 * 0.08)


def test_numbers_by_stock_are_a_list_or_an_array() -> None:
    env, seen = make("three-species-v0"), jnp.float32([-0.2, 0.0, 0.1])
    first, second = (
        control.escapement(env, targets).act((), seen, jax.random.key(0))[1]
        for targets in ([0.3, 0.4], np.array([0.3, 0.4]))
    )
    assert first.shape == (2,) and np.array_equal(first, second)
    with pytest.raises(ConfigError, match="control.ramp > on: expected a known ramp, got 'ctach'; try 'catch'"):
        control.ramp(env, 0.1, 0.1, 0.4, on="ctach")


def test_growth_first_escapement_leaves_the_target() -> None:
    """With growth first the rule allows for growth: what is left is S*."""
    env = make("logistic-v0", sigma=0.0, order="growth first")
    state, first = env.reset(jax.random.key(0), env.params)
    _, action = control.escapement(env, 0.5).act((), first.obs, jax.random.key(0))
    after, seen = env.step(jax.random.key(0), state, action, env.params)
    assert float(after.stock[0]) == pytest.approx(0.5, abs=1e-6)
    assert float(seen.reward) == pytest.approx(0.30625, abs=1e-6)


def test_rate_control_is_the_same_rule() -> None:
    """Through exploitation rates or through quotas, a rule catches the same."""
    key, start = jax.random.key(0), make("logistic-v0", sigma=0.0)
    by_rate = make("logistic-v0", sigma=0.0, control="rate")
    for env in (start, by_rate):
        state, first = env.reset(key, env.params)
        _, action = control.escapement(env, 0.5).act((), first.obs, key)
        after, _ = env.step(key, state, action, env.params)
        assert float(after.catch[0]) == pytest.approx(0.25, abs=1e-6)


def test_figure_has_the_optimum(fishery: FishingModel) -> None:
    """The last panel holds the episode and the optimum."""
    years = np.arange(12.0)
    made = {
        "stock": 0.5 + 0.01 * years[:, None],
        "biomass": 0.5 + 0.01 * years,
        "catch": np.full((12, 1), 0.05),
        "rate": np.full((12, 1), 0.1),
        "reward": np.full(12, 0.05),
        "action": np.zeros((12, 1)),
    }
    panels = {axes.get_title(): axes for axes in figure(fishery, made).axes}
    assert [*panels][:3] == ["Stock", "Catch per year", "Harvest rate"]
    policy = panels["Policy"]
    optimum = next(line for line in policy.lines if "optimum" in line.get_label())
    x, y = optimum.get_data()
    assert np.interp(0.65, x, y) == pytest.approx(0.65 - 0.485, abs=0.01)


def test_lifting_a_stock_over_its_threshold() -> None:
    """A stock between its equilibria, too low to recover, is brought to the upper one; left alone it stays low."""
    env = make_recovery(sigma=0.0, start=0.2)
    rules = policies(env)
    ends = {name: evaluate(env, rules[name], jax.random.key(0), 1, 100) for name in ("lift", "closed")}
    assert float(ends["lift"].info["biomass"][0]) > 0.5 > 0.2 > float(ends["closed"].info["biomass"][0])
    assert float(ends["lift"].returns[0]) > float(ends["closed"].returns[0])


@long
def test_errors_turn_the_tables() -> None:
    """With survey and quota errors a ramp earns more than the optimum that trusts what it sees (Sethi et al. 2005)."""
    env = make("logistic-survey-v0")
    rules = policies(env)
    trusting, ramp = (
        np.asarray(evaluate(env, rules[name], jax.random.key(0), 1000, 100).returns) for name in ("sdp", "expert")
    )
    assert ramp.mean() - trusting.mean() > 5 * np.sqrt((ramp.var() + trusting.var()) / 1000)


@long
@pytest.mark.parametrize(
    ("id", "best", "rival"), [("patches", "escapement", "dfo"), ("three-species", "dfo", "escapement")]
)
def test_the_expert_of_several_stocks_is_the_best_rule(id: str, best: str, rival: str) -> None:
    """The expert earns as the better of the two rules does, and five standard errors more than the other."""
    env = make(f"{id}-v0", Tmax=80)
    rules = policies(env)
    expert, other = (
        np.asarray(evaluate(env, rules[name], jax.random.key(5), 400, 80).returns) for name in ("expert", rival)
    )
    assert rules["expert"] is rules[best]
    gap = expert - other
    assert gap.mean() > 5 * gap.std() / np.sqrt(400)
