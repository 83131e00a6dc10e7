"""Events of a fishery: catches below the quota, low stocks and the collapse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import harvestgym
from harvestgym.core.view.events import LOSS, WARNING, say_event
from harvestgym.fishing.family import find_events, say_goal


def years(env: Any, biomass: list[float], asked: list[float], caught: list[float]) -> dict[str, np.ndarray]:
    """Return a record of a fishery with one stock."""
    action = np.asarray([env.units.action(np.asarray([a], np.float32)) for a in asked], np.float32)
    columns = {"biomass": np.asarray(biomass), "catch": np.asarray(caught)[:, None], "quota": env.units.wanted(action)}
    return columns | {"action": action, "reward": np.asarray(caught)}


def test_a_quota_above_the_stock_is_cut_and_a_stock_collapses() -> None:
    env: Any = harvestgym.make("fishing/logistic-v0", collapse=0.01)
    record = years(env, [0.8, 0.5, 0.15, 0.0], [0.0, 0.3, 0.3, 0.4], [0.0, 0.3, 0.3, 0.15])
    low, cut, end = find_events(env, record, 0, 3)
    assert (low.step, low.kind, low.severity) == (2, "low", WARNING)
    assert say_event(low) == "the stock: below 0.2, a fifth of K"
    assert (cut.step, cut.kind, cut.reason) == (3, "cut", "stock")
    assert say_event(cut) == "only 0.15 of the quota of 0.4 was caught: there were no more fish"
    assert (end.step, end.kind, end.severity) == (3, "collapsed", LOSS)
    assert say_event(end) == "the stock: at its lower limit, which ends the fishery"
    assert list(find_events(env, record, 3, 3)) == []
    hidden = record | {"biomass": np.full(4, np.nan)}
    assert [event.kind for event in find_events(env, hidden, 0, 3)] == ["cut"], "nobody saw the stock"


def test_nobody_knows_what_was_missing_if_quotas_have_an_error() -> None:
    env: Any = harvestgym.make("fishing/logistic-v0", quota_error={"kind": "lognormal", "sigma": 0.1})
    record = years(env, [0.8, 0.5], [0.0, 0.3], [0.0, 0.2])
    assert list(find_events(env, record, 0, 1)) == []


@pytest.mark.parametrize(
    ("rule", "reason", "why"),
    [
        ({"assessment_interval": 2}, "assessment_interval", "it is kept until the next assessment"),
        ({"catch_constraint": 0.2}, "catch_constraint", "it may change by only a limited amount each year"),
    ],
)
def test_a_quota_other_than_the_one_asked_for_names_its_rule(rule: dict[str, Any], reason: str, why: str) -> None:
    """0.1 was caught, although 0.3 was asked for; nothing was short."""
    env: Any = harvestgym.make("fishing/logistic-v0", **rule)
    record = years(env, [0.8, 0.8, 0.8], [0.0, 0.1, 0.3], [0.0, 0.1, 0.1])
    (limited,) = find_events(env, record | {"quota": np.asarray([[0.0], [0.1], [0.1]])}, 0, 2)
    assert (limited.step, limited.kind, limited.severity, limited.reason) == (2, "refused", WARNING, reason)
    assert say_event(limited) == f"the quota was 0.1: {why}"


def test_the_goal_has_the_end_of_the_fishery() -> None:
    fishery: Any = harvestgym.make("fishing/logistic-v0", collapse=0.01)
    assert "ends early if the stock falls to 0.01" in say_goal(fishery)[1]
