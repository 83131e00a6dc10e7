"""Rows of the leaderboard: the baselines of each family, custom policies, and the numbers of the evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import harvestgym
from experiments.leaderboard.cases import collect_rows, list_cases
from experiments.leaderboard.foresight import Search
from experiments.leaderboard.run import (
    LONG_EPISODE,
    MOST_RULES,
    RULES_OF_TRIAL,
    expand_ids,
    make_policy_rows,
)
from experiments.leaderboard.store import BLIND, FORESIGHT, IQM, OPTIMUM, ORACLE, TRIED
from experiments.plot_steps import count_plot_steps
from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_id, horizon, policy_named
from harvestgym.farm import MapFarm
from harvestgym.sweep.engine import collect
from tests.long_form import long

LEVELS, LOGISTIC = "fishing/logistic-levels-v0", "fishing/logistic-v0"
SEASONS = 50
SHORT_SEARCH = Search(trials=4, generations=2, elites=2)


def test_no_names_are_all_ids_and_families_are_expanded_in_order() -> None:
    assert expand_ids([]) == registry.ids()
    assert expand_ids([LEVELS, "forager"]) == [LEVELS, *registry.ids("forager")]
    with pytest.raises(ConfigError, match="try 'fishing/logistic-levels-v0'"):
        expand_ids(["fishing/logistic-level-v0"])


def test_a_farm_counts_its_plots_and_others_their_steps() -> None:
    small, large = (harvestgym.make(f"farm/{name}") for name in ("bean-1x1-v0", "full-3x4-v0"))
    assert count_plot_steps(small) == horizon(small)
    assert count_plot_steps(large) == 12 * horizon(large)
    assert count_plot_steps(harvestgym.make(LOGISTIC)) == horizon(harvestgym.make(LOGISTIC)) < LONG_EPISODE


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    cases = list_cases([LEVELS], SEASONS, {}, 4, tuple(SHORT_SEARCH))
    done = dict(zip(cases, collect(cases), strict=True))
    return {row.policy: row for row in collect_rows(done, cases)}


def test_a_row_is_the_evaluation_on_the_test_split(rows: dict[str, Any]) -> None:
    assert set(rows) == {"none", "random", "expert", BLIND, OPTIMUM, FORESIGHT}
    for name in ("random", "expert"):
        found = evaluate_id(LEVELS, name, SEASONS, split="test")
        row = rows[name]
        assert (row.mean, row.low, row.high) == pytest.approx(
            (found.summary.mean, found.summary.low, found.summary.high), rel=1e-4
        )
        assert row.cvar10 == pytest.approx(found.summary.cvar10, rel=1e-4) and row.seasons == SEASONS
        numbers = {key: float(np.mean(v)) for key, v in found.columns.items() if v.dtype.kind in "fiub"}
        assert row.columns == pytest.approx(numbers | {IQM: found.summary.iqm}, rel=1e-4)


def test_doing_nothing_catches_nothing(rows: dict[str, Any]) -> None:
    """It earns the price of the unfished stock, about K, in the last year."""
    assert rows["none"].columns["mean catch per year"] == 0 and rows["none"].mean == pytest.approx(1.0, abs=0.1)


def test_foresight_gains_over_the_expert(rows: dict[str, Any]) -> None:
    """It is the expert's mean over all seasons and the gain of the planned ones, which is not negative."""
    planned = rows[FORESIGHT]
    assert planned.columns["gain"] >= 0 and planned.mean == pytest.approx(rows["expert"].mean + planned.columns["gain"])
    assert planned.columns[TRIED] == SHORT_SEARCH.tried + RULES_OF_TRIAL * SHORT_SEARCH.trials
    assert planned.seasons == 4 and planned.cvar10 is None and planned.low < planned.mean < planned.high


@pytest.fixture(scope="module")
def quotas() -> dict[str, Any]:
    return {row.policy: row for row in make_policy_rows(LOGISTIC, SEASONS)}


def test_a_continuous_quota_has_no_blind_schedule(quotas: dict[str, Any]) -> None:
    assert [*quotas] == ["none", "random", "expert", OPTIMUM, FORESIGHT]


def test_plans_with_continuous_actions_correct_the_expert_and_the_optimum(quotas: dict[str, Any]) -> None:
    chosen, expert = quotas[FORESIGHT], quotas["expert"]
    assert chosen.mean == pytest.approx(expert.mean + chosen.columns["gain"]) and chosen.seasons == SEASONS
    assert chosen.mean > max(quotas[OPTIMUM].mean, expert.mean) and chosen.columns[TRIED] > MOST_RULES


def test_no_planned_seasons_no_foresight() -> None:
    assert [row.policy for row in make_policy_rows(LOGISTIC, 4, planned=0)] == ["none", "random", "expert", OPTIMUM]


def test_an_entrant_is_a_policy_or_brings_its_own_environment() -> None:
    """An entrant that is the expert, in the environment given or in its own, has the expert's row."""

    def enters(id: str, env: Any) -> Any:
        assert id == LEVELS and env == splits.make(LEVELS, "test")
        return policy_named(id, env, "expert")

    entrants = {"same": enters, "own": lambda id, env: (env, enters(id, env)), "absent": lambda id, env: None}
    found = {row.policy: row for row in make_policy_rows(LEVELS, SEASONS, entrants, planned=0)}
    assert set(found) == {"none", "random", "expert", OPTIMUM, "same", "own"}
    for name in ("same", "own"):
        assert found[name].mean == pytest.approx(found["expert"].mean, rel=1e-5)
        assert found[name].columns == pytest.approx(found["expert"].columns, rel=1e-4)


def test_one_planned_season_has_no_interval_and_is_refused() -> None:
    with pytest.raises(ConfigError, match="planned: expected two or more seasons"):
        make_policy_rows(LEVELS, SEASONS, planned=1)


def test_the_optimum_that_knows_the_horizon_has_less_regret_than_the_expert(rows: dict[str, Any]) -> None:
    """It maximises the discounted return; the sums of rewards are nearly equal, because the final stock is paid."""
    assert rows[OPTIMUM].columns["regret"] < rows["expert"].columns["regret"]
    assert rows[OPTIMUM].mean == pytest.approx(rows["expert"].mean, rel=2e-3)


def test_a_blind_schedule_is_the_same_in_all_seasons_and_no_better_than_the_optimum(rows: dict[str, Any]) -> None:
    assert rows["none"].mean < rows[BLIND].mean < rows[OPTIMUM].mean


@long
def test_an_entrant_on_a_wrapped_farm_plays_whole_seasons() -> None:
    """A step of maps is an order, and "stop" ends the day: a policy that always stops does nothing."""
    id = "farm/bean-clay-weeds-3x4-v0"
    stop = constant_policy(np.zeros(3, np.int32))

    entrants = {"agent": lambda id, env: (MapFarm(env), stop)}
    found = {row.policy: row for row in make_policy_rows(id, 4, entrants, planned=0)}
    assert found["agent"].mean == pytest.approx(found["none"].mean) and found["agent"].columns["water used L"] == 0


@long
def test_a_forager_has_the_row_of_its_oracle() -> None:
    registry.register("forager/short-test-v0", "harvestgym.forager.family:make", name="unending-v0", horizon=20)
    try:
        rows = make_policy_rows("forager/short-test-v0", 2, planned=0)
    finally:
        registry.unregister("forager/short-test-v0")
    assert [row.policy for row in rows] == ["random", "expert", ORACLE]
