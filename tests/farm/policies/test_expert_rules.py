"""Expert rules as data: order of precedence, plots in need first, pauses, and observations that are paid for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.build.compile import build
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_engine import FILE, REED, SPRING

WATER = ["Field-0", "Spring-0", "available_Water#L", []]
FREE = [WATER, ["Field-0", "Reed-0", "stage", []]]
POUR: list[Any] = ["BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": "each", "amount#L": 2.0}]
CUT: list[Any] = ["BasicFarmer-0", "Field-0", "Reed-0", "cut", {}]


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
    dry = {"when": [[[WATER, "value", "<", 5]]], "do": POUR}
    old = {"when": [[[["Field-0", "Reed-0", "stage", []], "max", "==", 1]]], "do": CUT}
    today = obs(9, 4, 1, 9, 2, 9)
    assert played([dry], [today]) == [[pour(0, 2), pour(1, 1)]]
    cut = ("BasicFarmer-0", "Field-0", "Reed-0", "cut", {})
    assert played([old, dry], [obs(9, 4, 1, 9, 2, 9, old=1)]) == [[cut, pour(0, 2)]]
    assert played([dry], [obs(*[9] * 6)]) == [[None, None]]


def test_a_condition_on_the_whole_field_holds_for_each_of_its_plots() -> None:
    rule = {"when": [[[WATER, "min", "<", 5], [WATER, "value", ">", 3]]], "do": POUR}
    assert played([rule], [obs(9, 4, 1, 2, 2, 2)]) == [[pour(0, 0), pour(0, 1)]], "scan order where need says nothing"


def test_a_pause_is_kept_for_each_plot() -> None:
    rule = {"when": [[[WATER, "value", "<", 5]]], "do": POUR, "every#day": 3}
    days = [obs(1, 9, 9, 9, 9, 9), obs(1, 2, 9, 9, 9, 9), obs(1, 9, 9, 9, 9, 9), obs(1, 9, 9, 9, 9, 9)]
    done = [[a for a in day if a] for day in played([rule], days)]
    assert done == [[pour(0, 0)], [pour(0, 1)], [], [pour(0, 0)]]


def test_an_observation_is_asked_for_and_what_is_not_seen_triggers_nothing() -> None:
    look = {"do": ["BasicFarmer-0", *WATER], "every#day": 1}
    dry = {"when": [[[WATER, "value", "<", 5]]], "do": POUR}
    shown = {"free_observations": [["Field-0", "Reed-0", "stage", []]], "observations": [WATER]}
    blind = {"values": [0.0] * 12, "mask": [1.0] * 6 + [0.0] * 6}
    seen = {"values": [0.0] * 6 + [9, 9, 9, 9, 9, 4], "mask": [1.0] * 12}
    first, second = played([look, dry], [blind, seen], mode="ao", **shown)
    assert first == ([1], [None, None])
    assert second[1] == [pour(1, 2), None]


def test_an_observation_is_asked_for_again_after_its_pause() -> None:
    look = {"do": ["BasicFarmer-0", *WATER], "every#day": 3}
    shown = {"free_observations": [["Field-0", "Reed-0", "stage", []]], "observations": [WATER]}
    blind = {"values": [0.0] * 12, "mask": [1.0] * 6 + [0.0] * 6}
    halves = played([look], [blind] * 10, mode="ao", **shown)
    assert [request for request, _ in halves[::2]] == [[1], [0], [0], [1], [0]]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"when": [[[["Field-0", "Reed-0", "cumulated_water#L", []], "sum", ">", 1]]], "do": CUT},
            "expected an observed variable",
        ),
        ({"do": ["BasicFarmer-0", *WATER]}, "expected observations that can be requested here"),
        ({"do": [*CUT[:3], "cutt", {}]}, "cutt.*cut"),
        ({"do": [*POUR[:4], {"plot": "each"}]}, "expected amount#L, got nothing"),
    ],
)
def test_mistakes_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        played([rule], [])
