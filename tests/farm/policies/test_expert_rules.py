"""Expert rules as data: order of precedence, plots in need first, pauses, and observations that are paid for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.farm.build.compile import build
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_engine import FILE, REED, SPRING

WATER = "Spring-0.available_Water#L"
FREE = [WATER, "Reed-0.stage"]
DRY = "Spring-0.available_Water < 5"
POUR: dict[str, Any] = {"do": "Spring-0.pour", "plot": "each", "amount#L": 2.0}
DRIEST = POUR | {"plot": "least Spring-0.available_Water"}


def played(expert: list[dict[str, Any]], seen: Any, size: int = 2, mode: str = "po", **rules: Any) -> list[Any]:
    """Return the actions of an expert day by day, as the paper's tuples, for a sequence of observations."""
    rules = {"free_observations": FREE, "max_action_schedule_size": size} | rules
    data = FILE | {"rules": FILE["rules"] | rules, "expert": expert, "mode": mode}
    env = build(farm_spec(data, "test"), {"Field-0": (SPRING, REED)})
    policy = rule_policy(env)
    carry, out = jax.tree.map(jnp.asarray, policy.init), []
    act = jax.jit(lambda carry, obs: policy.act(carry, obs, jax.random.key(0)))
    for obs in seen:
        carry, action = act(
            carry, jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), obs, is_leaf=lambda x: isinstance(x, list))
        )
        order = np.atleast_1d(action["order"] if mode == "ao" else action)
        reported = [found and env.actions.write(found) for found in map(env.actions.order, map(int, order))]
        out.append((np.asarray(action["request"]).tolist(), reported) if mode == "ao" else reported)
    return out


def pour(x: int, y: int) -> tuple[Any, ...]:
    return ("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (x, y), "amount#L": 2.0})


def obs(*water: float, old: int = 0) -> list[float]:
    return [*water, *[float(old)] * 6]


def test_expert_orders_by_rule_and_then_by_need() -> None:
    dry = {"when": DRY, **DRIEST}
    old = {"when": "max(Reed-0.stage) == 1", "do": "Reed-0.cut"}
    today = obs(9, 4, 1, 9, 2, 9)
    assert played([dry], [today]) == [[pour(0, 2), pour(1, 1)]]
    cut = ("BasicFarmer-0", "Field-0", "Reed-0", "cut", {})
    assert played([old, dry], [obs(9, 4, 1, 9, 2, 9, old=1)]) == [[cut, pour(0, 2)]]
    assert played([dry], [obs(*[9] * 6)]) == [[None, None]]
    assert played([{"when": DRY, **POUR}], [today]) == [[pour(0, 1), pour(0, 2)]], "each in the order of the plots"
    most = {"when": "Spring-0.available_Water > 1", **POUR, "plot": "most abs(Spring-0.available_Water - 5)"}
    assert played([most], [today]) == [[pour(0, 0), pour(1, 0)]]


def test_a_condition_on_the_whole_field_holds_for_each_of_its_plots() -> None:
    rule = {"when": "min(Spring-0.available_Water) < 5 and Spring-0.available_Water > 3", **POUR}
    assert played([rule], [obs(9, 4, 1, 2, 2, 2)]) == [[pour(0, 0), pour(0, 1)]], "scan order where need says nothing"


def test_a_pause_is_kept_for_each_plot() -> None:
    rule = {"when": DRY, **POUR, "every#day": 3}
    days = [obs(1, 9, 9, 9, 9, 9), obs(1, 2, 9, 9, 9, 9), obs(1, 9, 9, 9, 9, 9), obs(1, 9, 9, 9, 9, 9)]
    done = [[a for a in day if a] for day in played([rule], days)]
    assert done == [[pour(0, 0)], [pour(0, 1)], [], [pour(0, 0)]]


@pytest.mark.parametrize(
    "condition", [DRY, "not Spring-0.available_Water >= 5", "not (Reed-0.stage == old or Spring-0.available_Water > 5)"]
)
def test_an_observation_is_asked_for_and_what_is_not_seen_triggers_nothing(condition: str) -> None:
    look = {"observe": "Spring-0.available_Water", "every#day": 1}
    dry = {"when": condition, **POUR}
    shown = {"free_observations": ["Reed-0.stage"], "observations": [WATER]}
    blind = {"values": [0.0] * 12, "mask": [1.0] * 6 + [0.0] * 6}
    seen = {"values": [0.0] * 6 + [9, 9, 9, 9, 9, 4], "mask": [1.0] * 12}
    first, second = played([look, dry], [blind, seen], mode="ao", **shown)
    assert first == ([1], [None, None])
    assert second[1] == [pour(1, 2), None]


def test_a_rule_reads_one_day_of_a_forecast() -> None:
    """A rule that waters if tomorrow is dry, or a later day; without an index, all days must be dry."""
    for when, wanted in (
        ("Weather-0.forecast/rain[0] < 0.5", [True, False, True]),
        ("Weather-0.forecast/rain[4] < 0.5", [True, True, False]),
        ("Weather-0.forecast/rain < 0.5", [True, False, False]),
        ("Weather-0.forecast/rain[0] + Weather-0.forecast/rain[1] > 0.5", [False, True, False]),
    ):
        rule = {"when": when, "do": "Soil-0.watering_discrete", "amount#L": 5, "duration#min": 60}
        farm: Any = registry.spec("farm/bean-1x1-v0").make(expert=[rule])
        policy, at = rule_policy(farm), farm.plan.positions["Field-0/Weather-0/forecast/rain"]
        for rain, orders in zip(([0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]), wanted, strict=True):
            seen = jnp.zeros(farm.plan.size).at[at].set(jnp.asarray(rain, jnp.float32))
            assert bool(policy.act(policy.init, seen, jax.random.key(0))[1]) == orders, (when, rain)


def test_a_stopping_condition_reads_one_day_of_a_forecast() -> None:
    ends = {"terminal_conditions": "Weather-0.forecast/rain[1] > 0.5"}
    farm: Any = registry.spec("farm/bean-1x1-v0").make(rules=ends)
    state, timestep = farm.reset(jax.random.key(0), farm.params)
    step = jax.jit(farm.step)
    for day in range(100):
        assert timestep.terminated == (state.fields[0][0].forecast_rain[1] > 0.5)
        if timestep.terminated:
            break
        state, timestep = step(jax.random.key(day), state, 0, farm.params)
    assert timestep.terminated


def test_an_observation_is_asked_for_again_after_its_pause() -> None:
    look = {"observe": "Spring-0.available_Water", "every#day": 3}
    shown = {"free_observations": ["Reed-0.stage"], "observations": [WATER]}
    blind = {"values": [0.0] * 12, "mask": [1.0] * 6 + [0.0] * 6}
    halves = played([look], [blind] * 10, mode="ao", **shown)
    assert [request for request, _ in halves[::2]] == [[1], [0], [0], [1], [0]]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"when": "sum(Reed-0.cumulated_water) > 1", "do": "Reed-0.cut"}, "expected an observed variable"),
        ({"observe": "Spring-0.available_Water"}, "expected observations that can be requested here"),
        ({"do": "Reed-0.cutt"}, "expected a known action, got 'cutt'; try 'cut'"),
        ({"do": "Spring-0.pour", "plot": "each"}, "expected amount#L, got nothing"),
        ({"do": "Spring-0.pour", "amount#L": 2.0}, "expected plot, got nothing"),
        ({"do": "Reed-0.cut", "plot": "each"}, "plot: expected none, because cut is for the whole field, got 'each'"),
        ({"do": "Reed-0.cut", "observe": "Reed-0.stage"}, "expected exactly one of do and observe, got do and observe"),
        ({**POUR, "plot": "most"}, "expected each, most VARIABLE, least VARIABLE or a plot .x, y., got 'most'"),
        ({**POUR, "plot": "most Gauge-0.levels"}, "expected a known entity, got 'Gauge-0'"),
        ({**POUR, "amuont": 3}, "expected a known parameter, got 'amuont'; try 'amount#L'"),
    ],
)
def test_mistakes_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        played([rule], [])
