"""Evaluations: batches, splits and policies give the episodes that each gives alone, and their summary is a sum."""

from __future__ import annotations

import json
import re
from operator import methodcaller

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.core.rollout import Episodes, evaluate
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import (
    BATCH,
    LONGEST,
    Evaluation,
    count_labels,
    evaluate_id,
    evaluate_together,
    evaluation_keys,
    format_counts,
    horizon,
    policy_named,
    run_episodes,
    summarise_episodes,
)
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.family import derive_samples, summary
from harvestgym.registry import unregister
from tests.long_form import long, some
from tests.toy_env import Stock

LOGISTIC, SURVEY = "fishing/logistic-v0", "fishing/logistic-survey-v0"
BEAN = "farm/bean-1x1-v0"
FORAGER = "forager/flowers-v0"
EPISODES = 20


@pytest.fixture(scope="module")
def fishery() -> harvestgym.Env:
    return harvestgym.make(SURVEY)


@long
def test_policies_evaluated_together_fare_as_alone() -> None:
    both = evaluate_together(SURVEY, ("random", "expert"), episodes=EPISODES, seed=3)
    for name, found in both.items():
        alone = evaluate_id(SURVEY, name, episodes=EPISODES, seed=3)
        np.testing.assert_allclose(found.returns, alone.returns, rtol=1e-3)


def test_custom_policies_are_evaluated_by_name(fishery: harvestgym.Env) -> None:
    """The same policy under two names has the same episodes, since all policies meet the same seeds."""
    rule = policy_named(SURVEY, fishery, "expert")
    found = evaluate_together(SURVEY, {"one": rule, "two": rule}, episodes=EPISODES, env=fishery)
    assert [each.policy for each in found.values()] == ["one", "two"]
    np.testing.assert_array_equal(found["one"].returns, found["two"].returns)


def test_fewer_episodes_are_the_first_of_more(fishery: harvestgym.Env) -> None:
    """The number of episodes changes neither their seeds nor their results, across the border of a batch too."""
    rule = policy_named(SURVEY, fishery, "expert")
    few, more = (run_episodes(fishery, rule, n, 4, horizon(fishery)) for n in (BATCH - 7, BATCH + 7))
    assert len(few.returns) == BATCH - 7 and len(more.returns) == BATCH + 7
    np.testing.assert_array_equal(few.returns, more.returns[: BATCH - 7])
    assert len(np.unique(more.returns)) == BATCH + 7, "no episode occurs twice"


def test_a_batch_is_the_evaluation_of_its_key(fishery: harvestgym.Env) -> None:
    rule, steps = policy_named(SURVEY, fishery, "expert"), horizon(fishery)
    whole = run_episodes(fishery, rule, 2 * BATCH, 9, steps)
    second = evaluate(fishery, rule, evaluation_keys(9, range(BATCH, 2 * BATCH)), BATCH, steps)
    np.testing.assert_array_equal(whole.returns[BATCH:], second.returns)


def test_seeds_give_different_episodes_and_one_seed_the_same(fishery: harvestgym.Env) -> None:
    first, again, other = (evaluate_id(SURVEY, "expert", EPISODES, seed, env=fishery) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.returns, again.returns)
    assert not np.isin(first.returns, other.returns).any()


def test_progress_is_reported_up_to_the_number_of_episodes(fishery: harvestgym.Env) -> None:
    reported: list[int] = []
    evaluate_id(SURVEY, "expert", BATCH + 3, env=fishery, progress=reported.append)
    assert reported == [BATCH, 3]


def test_a_split_sets_the_seed_and_the_environment() -> None:
    chosen = splits.split(SURVEY, "test")
    by_name = evaluate_id(SURVEY, "expert", EPISODES, seed=2, split="test")
    by_hand = evaluate_id(SURVEY, "expert", EPISODES, seed=chosen.seed(2), env=chosen.make())
    np.testing.assert_array_equal(by_name.returns, by_hand.returns)
    assert not np.isin(by_name.returns, evaluate_id(SURVEY, "expert", EPISODES, seed=2, split="train").returns).any()


def test_policies_are_found_by_name(fishery: harvestgym.Env) -> None:
    """`none` takes the lowest number of an integer action."""
    levels = harvestgym.make("fishing/logistic-levels-v0")
    idle = policy_named("fishing/logistic-levels-v0", levels, "none")
    assert int(idle.act(idle.init, None, jax.random.key(0))[1]) == 0
    with pytest.raises(ConfigError, match="expected a known policy, got 'expret'; try 'expert'"):
        policy_named(SURVEY, fishery, "expret")


def test_an_optimum_that_cannot_be_computed_is_refused_with_the_reason() -> None:
    id = "fishing/three-species-v0"
    with pytest.raises(ConfigError, match=f"{id}: policy sdp: expected one stock, got 3; try one of 40-10, "):
        policy_named(id, harvestgym.make(id), "sdp")


@pytest.mark.parametrize("action", [7, -1, 4.7, 1.5, np.int64(7), [0, 1], None])
def test_an_action_that_does_not_exist_is_refused(action: object) -> None:
    """The season in which it is taken does not matter."""

    def rule(obs: np.ndarray) -> object:
        return action if obs[0] > 130 else 0

    with pytest.raises(ConfigError, match=re.escape(f"policy: expected an action in Discrete(7), got {action}") + "$"):
        evaluate_together(BEAN, {"rule": rule}, 2)


def test_a_catch_above_the_bound_is_refused() -> None:
    env = harvestgym.make(LOGISTIC, scale="natural")
    with pytest.raises(ConfigError, match=re.escape("Box(0.0, 2.0, (1,), float32), got 5.0") + "$"):
        evaluate_together(LOGISTIC, {"all": lambda stock: 5.0 if stock > 0.3 else 0.0}, 2, env=env)


def test_an_error_of_a_rule_is_raised_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(IndexError, match="^index 99 is out of bounds for axis 0 with size 1$"):
        evaluate_together(LOGISTIC, {"wrong": lambda obs: obs[99]}, 2)
    assert not caplog.records


def test_an_environment_of_ones_own_is_evaluated_under_any_name() -> None:
    found = evaluate_together("my-stock", {"rest": lambda obs: 0, "random": "random"}, 3, env=Stock())
    assert found["rest"].id == "my-stock" and found["random"].returns.shape == (3,)
    with pytest.raises(ConfigError, match="expected a known name, got 'bean'"):
        evaluate_together("bean", {"rest": lambda obs: 0}, 3, env=harvestgym.make(BEAN))


def test_the_horizon_is_that_of_the_parameters_or_a_limit() -> None:
    assert horizon(harvestgym.make(LOGISTIC, Tmax=17)) == 17
    endless = harvestgym.make(FORAGER)
    assert 0 < horizon(endless) <= LONGEST


def test_a_constant_harvest_earns_what_arithmetic_says() -> None:
    """Without noise, the stock that the logistic law replaces every year yields the same catch in each."""
    env = harvestgym.make(LOGISTIC, sigma=0.0, Tmax=30, final_price=0.0)
    catch = 0.05
    policy = constant_policy(env.units.action(np.float32([catch])))
    found = run_episodes(env, policy, 3, 0, horizon(env))
    np.testing.assert_allclose(found.returns, 30 * catch, rtol=1e-4)
    np.testing.assert_array_equal(found.length, 30)
    assert found.truncated.all() and not found.terminated.any()


def test_the_json_has_means_and_counts_of_every_column() -> None:
    found = evaluate_id(SURVEY, "expert", EPISODES)
    written = json.loads(json.dumps(found.to_json()))
    assert (written["id"], written["policy"], written["episodes"], written["seed"]) == (SURVEY, "expert", EPISODES, 0)
    assert written["return"]["mean"] == pytest.approx(found.returns.mean(), rel=1e-6)
    low, high = written["return"]["ci95"]
    assert low <= written["return"]["mean"] <= high and written["return"]["cvar10"] <= written["return"]["mean"]
    assert written["years"] == pytest.approx(found.lengths.mean())
    for name, values in found.columns.items():
        if values.dtype.kind in "fiub":
            assert written[name] == pytest.approx(float(values.mean())), name
            assert written["spread"][name]["sd"] == pytest.approx(float(values.std(ddof=1))), name
        else:
            assert sum(written[name].values()) == EPISODES, name


def test_a_table_has_intervals_of_every_mean_on_request() -> None:
    together = evaluate_together(SURVEY, ["expert", "closed"], EPISODES)
    found = together["expert"]
    plain, rows = (found.to_table(*chosen) for chosen in ((), (True,)))
    assert plain.columns == rows.columns[:-1] and rows.columns[-1] == "95 % interval"
    assert {len(row) for row in rows.rows} == {6} and [row[:5] for row in rows.rows] == plain.rows
    low, high = found.to_json()["spread"]["ever below 0.2 K"]["ci95"]
    cells = {row[0]: row[-1] for row in rows.rows}
    assert cells["ever below 0.2 K"] == f"{low:.3f} to {high:.3f}" and 0 <= low < high < 1
    compared = together.to_table("ever below 0.2 K", intervals=True).rows[0]
    assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", compared[-1])


def test_yields_are_also_in_tonnes_and_of_the_harvested_seasons_and_water_in_mm() -> None:
    """The averages over the seasons with a harvest accompany those over all seasons."""
    columns = {
        "water used L": np.array([0.0, 8.0, 16.0]),
        "yield kg": np.array([0.0, 1.0, 3.0]),
        "Plant-0 yield kg/m2": np.array([0.0, 0.25, 0.75]),
    }
    returns, days = np.zeros(3), np.array([30, 100, 120])
    samples = derive_samples(harvestgym.make("farm/bean-1x1-v0"), {"days": days} | columns)
    found = Evaluation("farm", "expert", 0, returns, days, columns, samples, summarise(returns)).to_json()
    assert found["Plant-0 yield t/ha"] == pytest.approx(10 / 3) and found["days"] == pytest.approx(250 / 3)
    assert found["Plant-0 yield t/ha, harvested seasons"] == 5.0 and found["days, harvested seasons"] == 110.0
    assert found["water used mm"] == 8.0 and "water used L, harvested seasons" not in found
    low, high = found["spread"]["yield kg, harvested seasons"]["ci95"]
    assert low < found["yield kg, harvested seasons"] == 2.0 < high


def test_an_evaluation_summarises_given_episodes(fishery: harvestgym.Env) -> None:
    """The summary is that of the returns that were given, for any episodes."""
    whole = run_episodes(fishery, policy_named(SURVEY, fishery, "expert"), EPISODES, 0, horizon(fishery))
    doubled = Episodes(2 * whole.returns, *whole[1:])
    one, two = (summarise_episodes(SURVEY, fishery, "expert", 0, given) for given in (whole, doubled))
    assert two.summary.mean == pytest.approx(2 * one.summary.mean)
    assert two.summary.sd == pytest.approx(2 * one.summary.sd)
    assert two.summary.cvar10 == pytest.approx(2 * one.summary.cvar10)


FISHERIES = [LOGISTIC, "fishing/logistic-levels-v0", "fishing/patches-v0", "fishing/driver-v0"]


@pytest.mark.parametrize("id", some(FISHERIES, "logistic-v0"))
def test_none_catches_nothing_in_a_fishery(id: str) -> None:
    env = harvestgym.make(id)
    found = evaluate_id(id, "none", episodes=2, env=env)
    if "mean catch per year" in found.columns:
        np.testing.assert_array_equal(found.columns["mean catch per year"], 0)
    np.testing.assert_allclose(found.returns, evaluate_id(id, "closed", episodes=2, env=env).returns, rtol=1e-5)


def test_deaths_are_counted_over_plots() -> None:
    """Two seasons of four plots, on which one, then three plants died; a farm of two fields names the field."""
    env = harvestgym.make("farm/full-3x4-v0")
    causes = np.zeros((2, 3, 4), int)
    causes[0, 0, 0], causes[1, 1, :3] = 1, 2
    info = {"Field-0/Plant-0/cause_of_death": causes}
    whole = Episodes(np.zeros(2), np.ones(2, int), np.ones(2, bool), np.zeros(2, bool), info)
    found = summary(env, whole)["Plant-0 cause of death"]
    assert found.shape == (2, 12)
    counts = count_labels(found)
    assert list(counts.values()) == [20, 3, 1] and next(iter(counts)) == "none"
    assert format_counts(counts).startswith("none in 20, ") and format_counts({"none": 1}) == "none"


def test_a_notebook_shows_an_evaluation_and_a_comparison() -> None:
    compared = evaluate_together(LOGISTIC, ["none", "sdp"], EPISODES)
    show = methodcaller("_repr_html_")
    text = show(compared["sdp"])
    assert f"<caption>sdp on {LOGISTIC}, {EPISODES} episodes, seed 0</caption>" in text
    assert "95 % interval of the mean return" in text and "<th>mean</th>" in text
    table = compared.to_table("mean catch per year")
    assert table.columns == ("policy", "return (95 % interval)", "mean catch per year")
    assert [row[0] for row in table.rows] == ["none", "sdp"] and table.rows[0][2] == "0"
    assert "<th>sdp</th>" in show(compared)
    with pytest.raises(ConfigError, match="colapsed.*collapsed"):
        compared.to_table("colapsed")


def test_abbreviations_are_explained_below_the_table(fishery: harvestgym.Env) -> None:
    found = evaluate_id(SURVEY, "none", 1, env=fishery)
    shown = {line.partition(": ")[0] for line in found.describe()}
    assert {"AAV", "time below B_MSY"} <= shown


def test_a_registered_variant_has_the_policies_and_the_years_of_its_family() -> None:
    """Its module has only the function that makes it."""
    harvestgym.register("rl/dry-bean-v0", "tests.evaluate.variant:dry_bean", price=3.0)
    try:
        found = evaluate_together("rl/dry-bean-v0", ["expert", "none"], 2, split="test")
        assert found["expert"].returns.min() > found["none"].returns.max() >= 0
        assert "yield kg" in found["expert"].columns
        weather = splits.split("rl/dry-bean-v0", "test").overrides["entities"]["Field-0/Weather-0"]
        assert weather == {"extends": "seattle", "rain_factor": 0.5, "years": [2013, 2015]}
    finally:
        unregister("rl/dry-bean-v0")


def test_an_environment_of_your_own_has_random_policies_and_no_columns() -> None:
    harvestgym.register("toy/stock-v0", "tests.toy_env:Stock")
    try:
        found = evaluate_id("toy/stock-v0", "random", 3)
        assert found.columns == {} and found.notes == () and len(found.returns) == 3
        with pytest.raises(ConfigError, match="toy/stock-v0: expected a known policy, got 'expert'"):
            evaluate_id("toy/stock-v0", "expert", 3, split="test")
    finally:
        unregister("toy/stock-v0")
