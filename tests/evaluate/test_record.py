"""Records of an episode: the frames of a policy's steps, equal to the row of its evaluation."""

from __future__ import annotations

import base64
from io import BytesIO
from operator import methodcaller

import jax
import numpy as np
import pytest
from PIL import Image

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate.record import record_episode, record_first, record_named
from harvestgym.evaluate.run import evaluate_id, horizon, policy_named, run_episodes, summarise_episodes
from tests.long_form import long

SURVEY, LEVELS, TIPPING = "fishing/logistic-survey-v0", "fishing/logistic-levels-v0", "fishing/tipping-v0"
FORAGER = "forager/flowers-v0"


@pytest.mark.parametrize("id", [SURVEY, pytest.param(TIPPING, marks=long)])
@pytest.mark.parametrize("policy", ["expert", pytest.param("random", marks=long)])
def test_the_first_record_is_the_first_row_of_the_evaluation(id: str, policy: str) -> None:
    env = harvestgym.make(id)
    acting = policy_named(id, env, policy)
    record, row = record_first(id, env, acting, 6)
    whole = run_episodes(env, acting, 1, 6, horizon(env))
    for mine, theirs in zip(jax.tree.leaves(row), jax.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert len(record["reward"]) == int(row.length[0]) + 1
    one, all_ = (summarise_episodes(id, env, policy, 6, episodes) for episodes in (row, whole))
    assert one.columns.keys() == all_.columns.keys()


def test_frames_begin_with_the_start_and_have_one_length() -> None:
    env = harvestgym.make(SURVEY, Tmax=12)
    record = record_episode(SURVEY, env, policy_named(SURVEY, env, "expert"), 0)
    assert {len(values) for values in record.values()} == {13}
    assert record["reward"][0] == 0 and (np.asarray(record["stock"]) >= 0).all()


def test_the_rewards_of_a_record_sum_to_the_return() -> None:
    env = harvestgym.make(SURVEY)
    record, row = record_first(SURVEY, env, policy_named(SURVEY, env, "expert"), 1)
    assert float(row.returns[0]) == pytest.approx(record["reward"].sum(), rel=1e-5)
    found = evaluate_id(SURVEY, "expert", 1, seed=1, env=env)
    assert float(found.returns[0]) == pytest.approx(record["reward"].sum(), rel=1e-5)


def test_a_record_ends_with_the_episode() -> None:
    """The whole stock is taken in the first year, after which there is nothing left to record."""
    env = harvestgym.make(LEVELS)
    record = record_episode(LEVELS, env, constant_policy(np.int32(env.action_space.n - 1)), 0)
    assert 2 <= len(record["reward"]) < horizon(env)
    ended = record_first(LEVELS, env, constant_policy(np.int32(env.action_space.n - 1)), 0)[1]
    assert ended.terminated[0] != ended.truncated[0]


def test_one_seed_gives_one_record_and_another_seed_another() -> None:
    env = harvestgym.make(SURVEY, Tmax=12)
    rule = policy_named(SURVEY, env, "expert")
    first, again, other = (record_episode(SURVEY, env, rule, seed) for seed in (3, 3, 4))
    for name, values in first.items():
        np.testing.assert_array_equal(values, again[name])
    assert (first["stock"] != other["stock"]).any()


def test_a_recording_says_what_run_says() -> None:
    """The notes of its page are the rows and the sentences of the evaluation of the same episode."""
    env = harvestgym.make(LEVELS, Tmax=6, final_price=0.0)
    notes = record_named(LEVELS, "none", 0, env).timeline.notes
    assert notes[0] == "return: 0.000" and notes[-1] == "the quota was 0 in every year"
    assert {note.partition(":")[0] for note in notes} > set(evaluate_id(LEVELS, "none", 1, env=env).columns)


def test_an_endless_episode_is_truncated_at_the_horizon() -> None:
    env = harvestgym.make(FORAGER, horizon=25)
    record, row = record_first(FORAGER, env, policy_named(FORAGER, env, "random"), 0)
    assert len(record["reward"]) == 26 and row.truncated[0] and not row.terminated[0]


def test_a_wrapped_environment_is_recorded_like_the_one_inside() -> None:
    env = harvestgym.make(SURVEY, Tmax=12)
    rule = policy_named(SURVEY, env, "expert")
    whole, limited = (record_named(SURVEY, rule, 3, each) for each in (env, TimeLimit(env, 5)))
    assert limited.env is env and len(limited.record["stock"]) == 6
    for name, values in limited.record.items():
        np.testing.assert_array_equal(values, whole.record[name][:6])


@pytest.mark.parametrize("id", ["fishing/logistic-v0", "forager/two-biome-v0"])
def test_the_expert_plays_inside_a_wrapper_that_keeps_the_spaces(id: str) -> None:
    found = record_named(id, "expert", 1, TimeLimit(harvestgym.make(id), 5))
    assert len(found.record["reward"]) == 6


def test_an_interface_that_divides_a_day_into_turns_is_refused() -> None:
    id = "farm/paid-looks-1x1-v0"
    with pytest.raises(ConfigError, match="got up to 7 turns a day; try interface='multidiscrete'"):
        record_named(id, "random", env=harvestgym.make(id, interface="discrete"))


@long
def test_a_farm_is_recorded_through_an_interface() -> None:
    """The actions of the farm are recorded, whose orders are drawn, and not the numbers of the interface."""
    id = "farm/bean-1x1-v0"
    season = record_named(id, "random", env=harvestgym.make(id, interface="box"))
    assert (season.record["orders/kind"] > 0).any() and len(season.timeline.actions) > 0
    assert season.result is not None
    assert season.record["reward"].sum() == pytest.approx(float(season.result.returns[0]), rel=1e-5)


@long
def test_a_named_recording_is_drawn_in_a_notebook() -> None:
    years = record_named(TIPPING, "msy", seed=2)
    env = years.env
    same = record_episode(TIPPING, env, policy_named(TIPPING, env, "msy"), 2)
    assert all(np.array_equal(years.record[name], same[name]) for name in same)
    assert years.picture(step=3, width=400).size[0] == 400
    with Image.open(BytesIO(methodcaller("_repr_png_")(years))) as last:
        assert np.array_equal(np.asarray(last), np.asarray(years.picture()))
    film = methodcaller("_repr_html_")(years.film(width=320, frames=5))
    start = "data:image/gif;base64,"
    with Image.open(BytesIO(base64.b64decode(film[film.index(start) + len(start) : -2]))) as frames:
        assert frames.n_frames == len(years.film(width=320, frames=5)) <= 7 and frames.size[0] == 320
