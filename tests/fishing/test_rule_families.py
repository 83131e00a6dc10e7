"""Rule families of fisheries: every rule catches what its definition says, and moves with the years where it should."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.policy import Policy
from harvestgym.fishing.analysis.dynamic_programming import solve, solve_ahead
from harvestgym.fishing.control import FEW_TARGETS, make_rule_families
from harvestgym.fishing.family import make
from harvestgym.fishing.model import FishingModel
from tests.long_form import long

KEY = jax.random.key(0)

RATE = -0.007
"""Change of r of the drifting fishery, per year."""


def catch(env: FishingModel, rule: Policy, *stock: float, carry: object = None) -> np.ndarray:
    """Return the catch that a rule asks for at a stock."""
    obs = env.units.observation(jnp.asarray(stock))
    _, action = rule.act(rule.init if carry is None else carry, obs, KEY)
    return np.asarray(env.units.wanted(action))


@pytest.mark.parametrize(
    ("rule", "numbers", "wanted"),
    [
        ("quota", {"catch": 0.1}, 0.1),
        ("rate", {"share": 0.25}, 0.2),
        ("escapement", {"target": 0.5}, 0.3),
        ("share above threshold", {"share": 0.5, "threshold": 0.2}, 0.3),
    ],
)
def test_a_rule_catches_what_it_says(rule: str, numbers: dict[str, float], wanted: float) -> None:
    env = make("logistic-v0")
    assert catch(env, make_rule_families(env)[rule].build(numbers), 0.8) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("predator", "wanted"), [(0.2, [0.3, 0.05]), (0.1, [0, 0])])
def test_a_rule_spares_the_prey_of_a_scarce_predator(predator: float, wanted: list[float]) -> None:
    env = make("three-species-v0")
    rule = make_rule_families(env)["share unless the predator is scarce"]
    policy = rule.build({"share": 0.5, "threshold": 0.2, "least": 0.15})
    assert catch(env, policy, 0.8, 0.3, predator) == pytest.approx(wanted, abs=1e-6)


def test_a_share_above_a_threshold_includes_escapement_and_a_constant_rate() -> None:
    env = make("logistic-v0")
    families = make_rule_families(env)
    for simple, general in (
        (("escapement", {"target": 0.5}), {"share": 1.0, "threshold": 0.5}),
        (("rate", {"share": 0.3}), {"share": 0.3, "threshold": 0.0}),
    ):
        one = families[simple[0]].build(simple[1])
        two = families["share above threshold"].build(general)
        for stock in (0.1, 0.4, 0.7, 1.2):
            assert catch(env, one, stock) == pytest.approx(catch(env, two, stock), abs=1e-6)


def test_numbers_of_a_moving_rule_go_from_their_first_to_their_last_value() -> None:
    env = make("drifting-v0")
    rule = make_rule_families(env)["escapement, moving"].build({"target first": 0.6, "target last": 0.2})
    horizon = int(env.params.horizon)
    for year, target in ((0, 0.6), (horizon // 2, 0.4), (horizon, 0.2), (2 * horizon, 0.2)):
        assert catch(env, rule, 0.9, carry=jnp.int32(year)) == pytest.approx(0.9 - target, abs=1e-6)


def test_only_drifting_fisheries_have_moving_rules_and_only_few_stocks_their_own_numbers() -> None:
    names = {name: list(make_rule_families(make(name))) for name in ("logistic-v0", "three-species-v0", "patches-v0")}
    assert not any("moving" in rule for rules in names.values() for rule in rules)
    assert make("patches-v0").units.targets > FEW_TARGETS
    by_stock = {name: any("by stock" in rule for rule in rules) for name, rules in names.items()}
    assert by_stock == {"logistic-v0": False, "three-species-v0": True, "patches-v0": False}


def test_each_stock_may_have_its_own_number() -> None:
    env = make("three-species-v0")
    rule = make_rule_families(env)["rate, by stock"].build({"share 0": 0.25, "share 1": 0.5})
    assert catch(env, rule, 0.8, 0.6, 0.4) == pytest.approx([0.2, 0.3], abs=1e-6)


def test_a_stock_is_lifted_by_a_share_of_what_is_missing() -> None:
    env = make("recovery-ricker-v0")
    families = make_rule_families(env)
    assert catch(env, families["share of missing"].build({"share": 0.5, "target": 1.0}), 0.4) == pytest.approx(0.3)
    assert catch(env, families["same amount"].build({"amount": 0.7}), 0.4) == pytest.approx(0.7)


@long
def test_every_fishery_has_families_that_build_policies_of_one_structure() -> None:
    for name in ("driver-v0", "recovery-ricker-v0", "walleye-v0", "any-law-v0", "logistic-levels-v0"):
        env = make(name)
        for family in make_rule_families(env).values():
            first, second = (family.build(family.decode([share] * len(family.numbers))) for share in (0.2, 0.7))
            assert jax.tree.structure(first.traced()) == jax.tree.structure(second.traced())


@long
@pytest.mark.parametrize("year", [0, 50])
def test_the_optimum_of_a_drifting_law_knows_the_law_of_each_year(year: int) -> None:
    """Reed (1979): the best escapement depends on next year's growth only, so it is that of the law of the year."""
    drifting = solve_ahead(make("drifting-v0"))
    r = float(make("drifting-v0").params.law.r) + year * RATE
    still = solve(make("beverton-holt-v0", r=r))
    full = len(still.grid) // 2
    assert drifting.target.shape[0] == int(make("drifting-v0").params.horizon)
    assert float(drifting.target[year, full]) == pytest.approx(float(still.target[full]), abs=2 * float(still.grid[1]))
