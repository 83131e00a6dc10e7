"""Sentences about fisheries, from counts of their years."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.rollout import Episodes
from harvestgym.evaluate.record import record_named
from harvestgym.evaluate.run import Evaluation, evaluate_together
from harvestgym.fishing.family import describe, explain, explain_policy, make

QUOTAS, RATES, HELP = "fishing/logistic-v0", "fishing/logistic-effort-v0", "fishing/recovery-ricker-v0"


def evaluate(id: str, *actions: Any, **overrides: Any) -> list[Evaluation]:
    env: Any = harvestgym.make(id, Tmax=8, **overrides)
    policies = {str(at): constant_policy(action) for at, action in enumerate(actions)}
    return list(evaluate_together(id, policies, 2, env=env).values())


@pytest.mark.parametrize(("id", "what"), [(QUOTAS, "quota"), (RATES, "rate"), (HELP, "action")])
def test_decisions_that_never_change_are_named(id: str, what: str) -> None:
    space = harvestgym.make(id).action_space
    none, most = evaluate(id, space.low, space.high)
    assert none.notes == (f"the {what} was 0 in every year",)
    assert f"the {what} was the largest possible in every year" in most.notes


def test_a_quota_that_is_not_caught_is_counted() -> None:
    """The largest quota is twice the capacity, so that the stock ends the first year at 0."""
    (all_,) = evaluate(QUOTAS, np.ones(1, np.float32))
    assert "in 2 of 2 years, the catch was below the quota: there were no more fish" in all_.notes
    slip = {"kind": "lognormal", "sigma": 0.1}
    (slips,) = evaluate(QUOTAS, np.ones(1, np.float32), quota_error=slip)
    assert not any("below the quota" in note for note in slips.notes), "an error could also explain it"


def test_quotas_that_a_rule_changed_are_counted() -> None:
    """A quota in the first year applies for three; none is asked for in the second year and later."""
    env: Any = harvestgym.make(QUOTAS, Tmax=6, assessment_interval=3)
    policy = Policy(jnp.int32(0), lambda year, obs, key: (year + 1, jnp.where(year == 0, -0.8, -1.0)[None]))
    notes = record_named(QUOTAS, policy, env=env).timeline.notes
    assert "in 2 of 6 years, assessment_interval or catch_constraint changed the quota" in notes


def test_years_that_were_not_counted_have_no_notes() -> None:
    env: Any = harvestgym.make(QUOTAS)
    assert explain(env, Episodes(*np.zeros((4, 2)), info={})) == []  # pyright: ignore[reportArgumentType]


def test_dynamic_programming_with_survey_errors_is_called_a_bound() -> None:
    env = make("logistic-survey-v0")
    assert "sdp is computed for exact surveys" in explain_policy(env, "sdp")[0]
    assert "the optimum of `regret` is computed for exact surveys" in explain_policy(env, "dfo")[0]
    for exact in (make("logistic-v0"), make("three-species-v0")):
        assert not explain_policy(exact, "sdp") and not explain_policy(exact, "expert")
    assert not explain_policy(env, "human"), "a game shows no regret"


def test_the_overview_has_the_reference_points() -> None:
    """For Schaefer's law, U_MSY = r / (2 + r) and F = -ln(1 - U); the yields of several stocks are summed."""
    (row,) = [row for row in describe(make("logistic-v0"))[0].rows if row[0] == "reference points"]
    assert row[2] == "MSY 0.075, B_MSY 0.575, U_MSY 0.1304, F_MSY 0.1398"
    assert describe(make("patches-v0"))[0].rows[-1][2].startswith("MSY 0.375, ")
