"""Part B of the protocol: farms move to a place without other changes, and the sealed years stay sealed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from experiments.reality import places, sealed, years, years_page
from experiments.reality.places import Place
from experiments.reality.travelling import Season, build_fast, make_travelling_family, measure_season
from experiments.reality.years import OPENED, OTHERS, RESULTS, TRAVELLING, Farm, Seasons, compare, draw_seasons
from harvestgym import registry
from harvestgym.core.episode import episode_keys
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.policies.rule_numbers import make_rule_families
from harvestgym.farm.weather_data.table import YEAR
from tests.long_form import long

BEAN = "bean-1x1-v0"

measured = pytest.mark.skipif(not places.DATA.is_dir(), reason="the measured data are next to the clone")


def load_seattle(*chosen: int) -> Place:
    """Return recorded years of Seattle as a place."""
    site = load_site("seattle")
    assert site.table is not None and site.about.latitude and site.about.altitude
    days = np.stack([np.asarray(v) for v in site.table.of_years(list(chosen)).days], axis=1)
    rose = np.asarray(site.wind_rose, np.float32)
    return Place("seattle", site.about.latitude, site.about.altitude, days.reshape(len(chosen), YEAR, -1), rose)


@long
def test_a_farm_moved_to_recorded_years_is_the_farm_with_these_years() -> None:
    farm, keys = Farm.load(BEAN), episode_keys(jax.random.key(3), 4)
    env: Any = registry.spec(f"farm/{BEAN}").make(entities={"Weather-0": {"extends": "seattle", "years": [2013]}})
    expected = evaluate(env, policy_named(f"farm/{BEAN}", env, "expert"), keys, 4, farm.steps).returns
    zeros = np.zeros(4, int)
    build = lambda numbers, place: make_rule_families(farm.env)["expert"].build(numbers)  # noqa: E731
    seasons = Seasons(farm, (load_seattle(2013),), zeros, zeros, keys, build)
    family = make_rule_families(farm.env)["expert"]
    moved = seasons.run_rules(family, [family.start])[0]
    np.testing.assert_allclose(moved, expected, rtol=1e-5)
    elsewhere = load_seattle(2013)._replace(latitude=33.0)
    assert np.abs(
        Seasons(farm, (elsewhere,), zeros, zeros, keys, build).run_rules(family, [family.start]) - moved
    ).max()


def test_years_follow_one_another_and_the_first_follows_the_last() -> None:
    place = load_seattle(2012, 2013, 2014)
    np.testing.assert_array_equal(place.follow(2, 400)[:YEAR], place.years[2])
    np.testing.assert_array_equal(place.follow(2, 400)[YEAR:], place.years[0])


def test_shares_become_the_numbers_of_the_expert_at_home_and_earlier_dates_in_a_warmer_place() -> None:
    farm = Farm.load("polyculture-3x4-v0")
    mild, hot = (load_seattle(2013)._replace(years=load_seattle(2013).years + shift) for shift in (0, 6))
    home, away = measure_season(farm.env, mild), measure_season(farm.env, hot)
    assert home.days > away.days + 10 and home.first == 130
    family, _ = make_travelling_family(farm.env, home)
    expert = make_rule_families(farm.env)["expert"].start
    numbers = {name: home.to_number(name, share) for name, share in family.start.items()}
    assert numbers == pytest.approx(expert, rel=1e-3)
    sowing = "3 sow: Weather-0.day#int365 <"
    assert home.first < away.to_number(sowing, family.start[sowing]) < numbers[sowing]


def test_the_shares_of_water_lie_between_the_wilting_point_and_the_capacity() -> None:
    season = Season(125, 80, wilting=110, capacity=180)
    name = "2 watering_discrete: Soil-0.available_Water#L <"
    assert [season.to_number(name, share) for share in (0, 0.5, 1)] == [110, 145, 180]
    assert season.to_number("4 remove: every#day", 0.001) == 1
    assert season.to_number("3 remove: Weeds-0.grow#nb >", 6) == 6


def test_a_policy_built_fast_is_the_policy_of_the_family() -> None:
    family, rng = make_rule_families(Farm.load("paid-looks-1x1-v0").env)["expert"], np.random.default_rng(1)
    make = build_fast(family)
    for _ in range(5):
        numbers = family.decode(rng.random(len(family.numbers)))
        parts = jax.tree.map(np.testing.assert_allclose, make(numbers), family.build(numbers).traced())
        assert len(family.numbers) == 7 and not jax.tree.leaves(parts)


def test_seasons_are_shared_equally_among_places_and_years() -> None:
    farm, at = Farm.load(BEAN), [load_seattle(2012, 2013), load_seattle(2014)]
    drawn = draw_seasons(farm, at, 24, lambda numbers, place: NotImplemented, 1)
    assert np.bincount(drawn.place).tolist() == [12, 12]
    assert np.bincount(drawn.year[drawn.place == 0]).tolist() == [6, 6] and not drawn.year[drawn.place == 1].any()


def test_a_ratio_has_an_interval_over_years_and_needs_a_rule_that_earns() -> None:
    own = np.repeat([[1.0], [2.0], [3.0]], 20, axis=1)
    same, half = compare(own, own), compare(own * [[0.5], [1.0], [1.0]], own)
    assert same["mean"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert half["mean"] and half["mean"]["low"] == 0.5 and half["mean"]["value"] == pytest.approx(5.5 / 6)
    assert half["worst tenth"] and half["worst tenth"]["value"] == pytest.approx(0.5)
    assert compare(own, -own) == {"mean": None, "worst tenth": None}


def test_sealed_years_are_logged_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(years, "OPENED", tmp_path / "opened.log")
    monkeypatch.setattr(places, "read_lirf", lambda: (_ for _ in ()).throw(OSError("absent")))
    with pytest.raises(OSError, match="absent"):
        years.open_sealed("means")
    assert sealed.VERSIONS[-1] in (tmp_path / "opened.log").read_text()


@measured
def test_the_development_years_of_maricopa_are_nine_and_not_sealed() -> None:
    assert not set(places.DEVELOPMENT) & set(places.SEALED)
    place = places.read_maricopa(places.DEVELOPMENT)
    assert place.years.shape == (9, YEAR, 6) and np.isfinite(place.years).all()
    assert 36 < place.years[:, 150:240, 1].mean() < 42  # degC, the daily maximum in summer


def test_generated_years_have_the_monthly_means_that_they_are_made_from() -> None:
    record = load_seattle(2012, 2013, 2014, 2015)
    means = places.average_months(record)
    made = record._replace(years=places.draw_years(places.estimate_climate(means, 47.5, 132), "made"))
    for name, value in places.average_months(made).items():
        if name in ("t_min", "t_max", "t_mean"):
            np.testing.assert_allclose(value, means[name], atol=1.0)
    assert sum(places.average_months(made)["rain"]) == pytest.approx(sum(means["rain"]), rel=0.15)


def test_the_kept_results_are_of_the_frozen_protocol_and_the_page_shows_them() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert kept["protocol"] in sealed.VERSIONS and kept["protocol"] in OPENED.read_text(encoding="utf-8")
    assert list(kept["ids"]) == [*TRAVELLING, *OTHERS]
    for id, found in kept["ids"].items():
        for rules in found["places"].values():
            assert ("travelling" in rules) == (id in TRAVELLING)
            assert rules["own"]["of own"]["mean"] is None or rules["own"]["of own"]["mean"]["value"] == 1
    rows = {name: years_page.make_table(name, {id: f["places"][name] for id, f in kept["ids"].items()}).rows
            for name in years_page.PLACES}  # fmt: skip
    page = (years_page.DOCS / years_page.PAGE).read_text(encoding="utf-8")
    assert all(f"| {row[0]} | " + " | ".join(row[1:4]) in page for table in rows.values() for row in table)
