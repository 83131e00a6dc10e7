"""Sessions of the three families without a page: they equal the episodes of Gymnasium."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets import demonstration_files
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.start_session import FishingSession, ForagerSession, start_session
from tests.long_form import long

FARM, PAID = "farm/bean-1x1-v0", "farm/paid-looks-1x1-v0"
DAYS = 6


def farmer(id: str = FARM, seed: int = 3) -> FarmSession:
    session = start_session(id, seed, DAYS)
    assert isinstance(session, FarmSession)
    return session


@pytest.fixture(scope="module")
def season() -> FarmSession:
    """Return a season with water on the second day, its last day to come."""
    session = farmer()
    for day in range(DAYS - 1):
        if day == 1:
            session.order(0, (0, 0), (3, 0))
        session.end_day()
    return session


def test_a_season_by_hand_equals_gymnasium(season: FarmSession) -> None:
    env = gymnasium.make(FARM, rules={"horizon#day": DAYS})
    obs, _ = env.reset(seed=3)
    seen, rewards = [obs], []
    for day in range(DAYS - 1):
        obs, reward, *_ = env.step(4 if day == 1 else 0)
        seen.append(obs)
        rewards.append(reward)
    np.testing.assert_array_equal(season.episode.observations, np.stack(seen))
    np.testing.assert_array_equal(season.rewards, rewards)


def test_known_values_are_the_observed_ones(season: FarmSession) -> None:
    labels = season.env.plan.labels
    observed = dict(zip(labels, season.obs.tolist(), strict=True))
    water = season.value(0, "available_Water#L")
    assert water is not None and water[0, 0] == pytest.approx(observed["Field-0/Soil-0/available_Water#L/(0, 0)"])
    assert season.value(0, "microlife_health_index#%") is None
    known = {fact.name: fact for fact in season.facts(0, (0, 0))}
    stage = ("none", "seed", "grow")[int(observed["Field-0/Plant-0/stage/(0, 0)"])]
    assert known["Bean stage"].value.strip() == stage and known["Bean stage"].age == 0
    hidden = season.beliefs["Field-0/Soil-0/microlife_health_index#%"]
    assert np.isnan(hidden).all() and np.isfinite(season.beliefs["Field-0/Plant-0/stage"]).all()


def test_the_goal_names_gains_costs_and_ends(season: FarmSession) -> None:
    wanted = {
        "0.002 points lost for each intervention",
        "1 point for each kg harvested",
        "0.01 points when a plant moves to its next stage",
        "A season has at most 6 days, and ends early if bean stage is harvested or dead",
    }
    assert wanted <= set(season.goal)
    lost = ["points lost" in sentence for sentence in season.goal[:-1]]
    assert lost == sorted(lost), "what gives points comes first"
    assert "0.0001 points lost at the end for each litre of water" in season.goal, (
        "the farm has no fertilizer or poison"
    )


def test_accounts_sum_to_the_score(season: FarmSession) -> None:
    assert sum(season.accounts.values()) == pytest.approx(season.total, abs=1e-6)
    assert season.accounts["intervention cost"] == pytest.approx(-0.002)


def test_an_order_says_what_it_costs_now_and_at_the_end() -> None:
    """The cost at the end is of the water or the fertilizer that the order uses, as the score charges it."""
    season, grower = start_session(FARM, 3, 1), start_session("farm/full-1x1-v0", 0, 1)
    assert isinstance(season, FarmSession) and isinstance(grower, FarmSession)
    assert season.say(season.order(0, (0, 0), (4, 0))) == "water 20 L at (0, 0), costs 0.002, and 0.002 at the end"
    season.end_day()
    assert season.accounts["resource"] == pytest.approx(-0.002)
    for order in map(grower.env.actions.order, range(1, grower.env.actions.size)):
        text = grower.say(order)
        assert ("at the end" in text) == bool(re.search("water|scatter", text)), text


@long  # tests/farm/engine/test_observation_requests.py has the costs
def test_an_observation_costs_once_and_is_remembered() -> None:
    session = farmer(PAID)
    assert session.value(0, "available_Water#L") is None
    assert session.look([0]) == pytest.approx(0.003)
    with pytest.raises(ConfigError, match="expected one request per day"):
        session.look([1])
    session.order(0, (0, 0), (1, 0))
    session.end_day()
    session.end_day()
    ages = {fact.name: fact.age for fact in session.facts(0, (0, 0))}
    assert ages == {"Soil available Water": 2}
    weeds = next(variable for variable in session.env.variables if variable.where[1] == "Weeds-0")
    assert session.yesterday == [] and session.label(weeds).startswith("Weeds ")
    assert session.accounts["observation cost"] == pytest.approx(-0.003)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda s: s.order(0, (5, 5), (0, 0)), r"expected a plot among \[\(0, 0\)\]"),
        (lambda s: s.order(9), "expected an action from 0 to 1"),
        (lambda s: s.order(-1), "expected an action from 0 to 1"),
        (lambda s: s.order(0, (0, 0), (7, 0)), "a choice for each of"),
        (lambda s: s.order(0, (0, 0), ()), "a choice for each of"),
        (lambda s: [s.order(0, (0, 0), (1, 0)) for _ in range(2)], "at most 1 per day"),
        (lambda s: s.remove(4), "expected an order"),
        (lambda s: s.look([0]), "expected a farm with paid observations"),
    ],
)
def test_a_mistake_raises_and_no_day_passes(season: FarmSession, mistake: object, words: str) -> None:
    before = season.total, season.time
    with pytest.raises(ConfigError, match=words):
        mistake(season)  # type: ignore[operator]
    assert (season.total, season.time) == before
    season.orders.clear()


def test_a_season_is_saved_as_a_demonstration(season: FarmSession, tmp_path: Path) -> None:
    paths = [season.save(tmp_path), season.save(str(tmp_path))]
    assert len(set(paths)) == 2 and all(path.parent == tmp_path for path in paths)
    kept = demonstration_files.read_demonstrations(paths[0])
    assert (kept.id, kept.by, kept.overrides) == (FARM, "human", {"rules": {"horizon#day": DAYS}})
    (episode,) = kept.episodes
    assert episode.seed == 3 and list(episode.actions) == [0, 4, 0, 0, 0]
    np.testing.assert_array_equal(episode.rewards, season.rewards)
    np.testing.assert_array_equal(episode.observations, season.episode.observations)


def test_rivals_play_the_same_weather(season: FarmSession) -> None:
    """The same actions give the same rewards."""
    idle = start_session(FARM, 3, DAYS)
    assert isinstance(idle, FarmSession)
    while not idle.over:
        idle.end_day()
    assert season.rivals == ["expert", "none"]
    np.testing.assert_array_equal(season.rival("none").rewards, idle.rewards)
    with pytest.raises(ConfigError, match="expected a running season"):
        idle.order(0, (0, 0), (0, 0))
    with pytest.raises(ConfigError, match="expected a running episode"):
        idle.end_day()


def test_years_of_a_fishery() -> None:
    session = start_session("fishing/logistic-v0", 1, 5)
    assert isinstance(session, FishingSession) and session.rivals == ["expert", "sdp-finite", "none"]
    while not session.over:
        session.fish([0.05])
    left = float(session.last["biomass"])
    assert session.time == 5 and session.total == pytest.approx(0.25 + left), "the last year pays for the stock"
    assert session.rival("sdp-finite").total > session.total
    for wrong in ([], [-1.0], [float("nan")], [0.1, 0.1]):
        with pytest.raises(ConfigError, match="expected 1 numbers"):
            session.fish(wrong)


def test_steps_of_a_forager() -> None:
    session = start_session("forager/two-biome-v0", 0)
    assert isinstance(session, ForagerSession) and session.rivals == ["expert"]
    at = [(int(session.last["x#cell"]), int(session.last["y#cell"]))]
    for way in ("north", "east", "south", "west"):
        session.go(way)
        at.append((int(session.last["x#cell"]), int(session.last["y#cell"])))
    moved = np.diff(np.array(at), axis=0)
    np.testing.assert_array_equal(moved, [(0, 1), (1, 0), (0, -1), (-1, 0)])
    assert len(session.rival("expert").rewards) == 4
    with pytest.raises(ConfigError, match="norht.*north"):
        session.go("norht")


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(ConfigError, match="bean-1x1-v0"):
        start_session("farm/bean-1x1-v9")
