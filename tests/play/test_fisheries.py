"""Fisheries played by a user: quotas in units of biomass, surveys, and rivals on the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.play.start_session import FishingSession, start_session

YEARS = 5
LOGISTIC, SURVEY, LEVELS = "fishing/logistic-v0", "fishing/logistic-survey-v0", "fishing/logistic-levels-v0"
DRIVER, SPECIES, EFFORT = "fishing/driver-v0", "fishing/three-species-v0", "fishing/logistic-effort-v0"


def start(id: str, seed: int = 1, years: int = YEARS) -> FishingSession:
    session = start_session(id, seed, years)
    assert isinstance(session, FishingSession)
    return session


def test_a_quota_is_the_catch_where_it_is_kept_and_there_is_enough() -> None:
    session = start(LOGISTIC)
    rewards = [session.fish([amount]) for amount in (0.0, 0.03, 0.1)]
    assert rewards == pytest.approx([0.0, 0.03, 0.1], abs=1e-6)
    assert session.total == pytest.approx(0.13, abs=1e-6) and session.time == 3 and not session.over
    np.testing.assert_allclose(session.record["catch"].ravel(), [0.0, *rewards], atol=1e-6)


def test_the_survey_is_the_stock_where_it_has_no_error() -> None:
    exact, noisy = start(LOGISTIC), start(SURVEY)
    for session in (exact, noisy):
        session.fish([0.05])
    stock = exact.record["stock"].ravel()[-1]
    assert exact.survey[0] == pytest.approx(stock, rel=1e-5)
    assert noisy.survey[0] != pytest.approx(noisy.record["stock"].ravel()[-1], rel=1e-3)


def test_what_the_surveys_saw_replaces_the_stocks_in_the_beliefs() -> None:
    session = start(SURVEY)
    session.fish([0.05])
    beliefs = session.beliefs
    assert beliefs is not None
    np.testing.assert_array_equal(beliefs["stock"].ravel(), session.record["seen"].ravel())
    np.testing.assert_array_equal(beliefs["catch"], session.record["catch"])


@pytest.mark.parametrize(
    ("id", "question"),
    [(LOGISTIC, "Quota: catch to allow"), (EFFORT, "Share of the stock to catch"),
     (DRIVER, "Effort to reduce the pressure on the stock")],
)  # fmt: skip
def test_the_question_is_that_of_the_control(id: str, question: str) -> None:
    session = start(id)
    assert session.question == question
    assert session.drives == (id == DRIVER)
    assert session.allows_catch == (id == LOGISTIC)


def test_levels_are_the_only_choices_and_others_are_a_fine_grid() -> None:
    levels, grid = start(LEVELS).choices, start(LOGISTIC).choices
    assert len(levels) == start(LEVELS).env.action_space.n and (np.diff(levels) > 0).all() and levels[0] == 0
    assert len(grid) == 201 and grid[0] == 0 and np.allclose(np.diff(grid), grid[1])


def test_every_level_can_be_chosen() -> None:
    session = start(LEVELS, years=1)
    for level in session.choices[:3]:
        one = start(LEVELS, years=1)
        one.fish([float(level)])
        assert one.over


def test_several_stocks_have_a_decision_each() -> None:
    session = start(SPECIES)
    targets = session.env.units.targets
    assert len(session.survey) == 3 and 1 <= targets <= 3
    session.fish([0.0] * targets)
    with pytest.raises(ConfigError, match=f"expected {targets} numbers"):
        session.fish([0.0] * (targets + 1))


@pytest.mark.parametrize("amount", [-0.1, 100.0, float("nan"), float("inf")])
def test_an_impossible_quota_is_refused_and_no_year_passes(amount: float) -> None:
    session = start(LOGISTIC)
    with pytest.raises(ConfigError, match="quota: expected 1 numbers from 0 to"):
        session.fish([amount])
    assert session.time == 0 and session.total == 0


def test_the_optimum_is_a_rival_only_where_surveys_are_exact() -> None:
    assert "sdp-finite" in start(LOGISTIC).rivals and "sdp-finite" not in start(SURVEY).rivals


@pytest.mark.parametrize("id", [LOGISTIC, LEVELS])
def test_doing_nothing_is_a_rival_that_catches_nothing(id: str) -> None:
    session = start(id)
    assert "none" in session.rivals
    env = session.env
    np.testing.assert_array_equal(env.units.wanted(session.idle), [0.0])


def test_the_end_is_final() -> None:
    session = start(LOGISTIC, years=2)
    session.fish([0.0]), session.fish([0.0])
    assert session.over and session.columns
    with pytest.raises(ConfigError, match="episode: expected a running episode, got one that has ended"):
        session.fish([0.0])
