"""The scene of a fishery says what the record says, no more, and nothing that lies ahead."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from harvestgym.core.view.scene import Chart, Map, Scene, Words
from harvestgym.evaluate.record import record_episode
from harvestgym.fishing import FishingEnv, control
from harvestgym.fishing.analysis.dynamic_programming import find_optimum
from harvestgym.fishing.analysis.reference_points import find_fixed_points, find_folds, find_reference_point
from harvestgym.fishing.family import make, scene
from harvestgym.fishing.view.stock_maps import COHORT_YEARS
from harvestgym.gym.env import GymEnv
from harvestgym.render.canvas import to_rgb
from harvestgym.render.svg import to_svg
from harvestgym.render.text import to_text
from tests.fishing.recovery import make_recovery
from tests.load_script import script
from tests.long_form import long
from tests.render.golden import differs
from tests.render.test_canvas import overlaps

Record = dict[str, np.ndarray]


def made_up(env: Any, years: int = 12) -> Record:
    """Return a record of stocks, catches and actions that differ from year to year and from stock to stock."""
    stocks, targets, rng = env.params.law.stocks, env.units.targets, np.random.default_rng(0)
    stock = rng.uniform(0.2, 1.1, (years + 1, stocks))
    kept = {"stock": stock, "biomass": stock.mean(1), "seen": rng.uniform(0.2, 1.1, (years + 1, env.units.seen))}
    kept |= {"catch": rng.uniform(0, 0.2, (years + 1, targets)), "rate": rng.uniform(0, 0.4, (years + 1, targets))}
    kept |= {"reward": rng.normal(size=years + 1), "action": rng.uniform(-1, 1, (years + 1, targets))}
    kept["quota"] = kept["catch"]
    kept |= {"driver": rng.uniform(0.1, 0.3, years + 1)} if hasattr(env, "shows_driver") else {}
    return {name: np.asarray(values, np.float32) for name, values in kept.items()}


def chart(seen: Scene, begins: str) -> Chart:
    return next(p for p in seen.panels if isinstance(p, Chart) and p.title.startswith(begins))


def words_of(seen: Scene) -> str:
    return "\n".join(line for p in seen.panels if isinstance(p, Words) for line in p.lines)


SCENES = {
    "fishing-survey": lambda: scene(env := make("logistic-survey-v0", Tmax=20), made_up(env), 12),
    "fishing-patches": lambda: scene(env := make("patches-v0"), made_up(env), 12),
    "fishing-ages": lambda: scene(env := make("walleye-v0"), made_up(env), 12),
}


@pytest.mark.parametrize("name", SCENES)
def test_pictures_are_what_they_were(name: str) -> None:
    assert not differs(name, SCENES[name]()), "python -m tests.render.golden, if it was meant to change"


def test_a_golden_picture_would_show_a_lower_stock() -> None:
    env = make("patches-v0")
    record = made_up(env)
    record["stock"][12] *= 0.5
    assert differs("fishing-patches", scene(env, record, 12))


IDS = ("logistic-random-v0", "patches-v0", "three-species-drift-v0", "walleye-v0", "driver-v0")


@pytest.mark.parametrize("name", IDS)
def test_a_picture_is_drawn_of_the_past_alone_and_changes_nothing(name: str) -> None:
    env = make(name, levels=13 if name == "logistic-random-v0" else 0)
    record = made_up(env)
    if env.units.levels:
        record["action"] = np.arange(13, dtype=np.int32)
    for values in record.values():
        values.flags.writeable = False
    so_far = {key: values[:8] for key, values in record.items()}
    assert to_svg(scene(env, record, 7)) == to_svg(scene(env, so_far, 7))
    assert to_svg(scene(env, record, 7)) != to_svg(scene(env, record, 8))
    first, last = (to_rgb(scene(env, record, step), 480) for step in (0, 12))
    assert first.shape == last.shape and first.dtype == np.uint8
    assert not overlaps(scene(env, record, 12)), "words lie on one another"
    assert "the fishery begins" in to_text(scene(env, record, 0))


def test_charts_draw_the_record_and_the_theory() -> None:
    env = make("logistic-survey-v0", Tmax=20)
    record, point = made_up(env), find_reference_point(env.params.law)
    seen = scene(env, record, 9)
    stock, catch, rate = (chart(seen, title) for title in ("Stock", "Catch", "Harvest rate"))
    assert np.array_equal(stock.lines[0].values, record["biomass"][:10])
    assert np.array_equal(stock.lines[1].values, record["seen"][:10, 0]) and stock.lines[1].style == "dots"
    assert np.array_equal(catch.lines[0].values[1:], record["catch"][1:10, 0]) and np.isnan(catch.lines[0].values[0])
    assert stock.levels == pytest.approx({"K": 1.0, "B_MSY": point.stock, "0.2 K": 0.2})
    assert catch.levels == pytest.approx({"MSY": point.catch})
    assert rate.levels == pytest.approx({"at MSY": point.rate})
    assert f"{record['biomass'][9]:.2f} K" in words_of(seen) and f"caught: {record['catch'][9, 0]:.2f}" in words_of(
        seen
    )


def test_who_follows_the_optimum_takes_what_the_optimum_would_take() -> None:
    env = make("logistic-v0", Tmax=20)
    solution = find_optimum(env)
    assert solution is not None
    record = record_episode("fishing/logistic-v0", env, control.follow_solution(env, solution), 3)
    caught, best = chart(scene(env, record, 20), "Catch").lines
    assert best.label == "catch that the optimum would take"
    # The policy reads its table at what was seen, which the bound of observations keeps, hence not to the last digit.
    np.testing.assert_allclose(best.values[1:], caught.values[1:], atol=2e-4)


def test_every_catch_of_the_optimum_lies_within_the_axis() -> None:
    """The rule leaves a stock far above the target, and the optimum would take much more."""
    env = make("logistic-v0", Tmax=20)
    record = record_episode("fishing/logistic-v0", env, control.quota(env, 0.01), 3)
    catch = chart(scene(env, record, 20), "Catch")
    assert catch.ends is not None and catch.ends[1] > np.nanmax(catch.lines[1].values) > 0


@pytest.mark.parametrize(
    ("name", "label"),
    [("logistic-v0", "expected for the optimum"), ("logistic-survey-v0", "bound (exact surveys)")],
)
def test_the_optimum_of_exact_surveys_is_a_bound_where_surveys_have_errors(name: str, label: str) -> None:
    env = make(name)
    assert list(chart(scene(env, made_up(env), 8), "Discounted").levels) == [label]


@pytest.mark.parametrize(("share", "zone"), [(0.3, "critical"), (0.6, "cautious"), (0.9, "healthy")])
def test_the_zones_are_those_of_fisheries_and_oceans_canada(share: float, zone: str) -> None:
    env = make("logistic-random-v0")
    record = made_up(env)
    record["biomass"][5] = share * float(env.params.b_msy)
    assert f"{share:.2f} B_MSY: {zone} zone" in words_of(scene(env, record, 5))


@long
def test_tipping_points_and_folds_are_where_the_law_has_them() -> None:
    may, driver, hidden = (
        make("may-v0"),
        make("driver-v0"),
        make_recovery(drift={"a": {"rate": 0.001, "limit": 0.5}}),
    )
    law: Any = driver.params.law
    tip = chart(scene(may, made_up(may), 3), "Stock").levels["tipping point"]
    point = next(p for p in find_fixed_points(may.params.law) if abs(p.slope) > 1)
    assert tip == pytest.approx(point.stock) and float(may.params.law(jnp.float32(tip))) == pytest.approx(tip, abs=1e-4)
    fold = chart(scene(driver, made_up(driver), 3), "Consumption").levels["fold"]
    assert fold == pytest.approx(0.2134, abs=1e-4) and fold in [f.a for f in find_folds(law)]
    record = made_up(hidden)
    drifts = chart(scene(hidden, record, 3), "Consumption").lines[0].values
    np.testing.assert_allclose(drifts, 0.2 + 0.001 * np.arange(4), rtol=1e-5)


def test_fish_are_as_many_as_the_stock() -> None:
    env = make("patches-v0")
    record = made_up(env)
    sea = next(p for p in scene(env, record, 6).panels if isinstance(p, Map))
    fish = [m for m in sea.marks if not isinstance(m.what, str) and m.what.name == "fish"]
    caught = [m for m in sea.marks if not isinstance(m.what, str) and m.what.name == "caught"]
    for i in range(5):
        here = lambda marks: sum((m.size / 0.95) ** 2 for m in marks if int(m.at[0]) // 2 == i)  # noqa: B023, E731
        assert here(fish) == pytest.approx(10 * record["stock"][6, i], abs=0.02)
        assert here(caught) == pytest.approx(10 * record["catch"][6, i], abs=0.04)


def test_a_year_class_moves_down_a_diagonal() -> None:
    """A lone cohort, one year older each year, is a lone diagonal of bubbles whose areas are its biomass."""
    env = make("walleye-v0")
    law: Any = env.params.law
    record = made_up(env)
    record["stock"][:] = 0
    record["stock"][np.arange(13), np.arange(13)] = 1.0
    ages = next(p for p in scene(env, record, 12).panels if isinstance(p, Map))
    discs = {(int(m.at[0]), int(m.at[1])): m.size for m in ages.marks if m.what == "disc"}
    weight = np.asarray(law.weight)
    shown = [age for age in range(13) if (age, age) in discs]
    assert set(discs) == {(age, age) for age in shown} and len(shown) >= 11 and ages.shape == (COHORT_YEARS, law.ages)
    area = np.array([discs[age, age] ** 2 for age in shown]) * np.max(weight * np.asarray(law.unfished))
    np.testing.assert_allclose(area, np.minimum(weight[shown], area.max()), rtol=1e-5)


def test_the_class_of_the_seed_offers_the_same_pictures() -> None:
    assert FishingEnv.metadata["render_modes"] == GymEnv(make("logistic-v0")).metadata["render_modes"]


def test_the_end_of_a_fishery_is_described() -> None:
    env = make("three-species-v0")
    record = made_up(env)
    record["biomass"][5] = 0.04
    assert "which ends the fishery" in words_of(scene(env, record, 5)) and "over" not in words_of(scene(env, record, 4))


@pytest.mark.parametrize("id", ["fishing/ricker-v0", pytest.param("fishing/tipping-v0", marks=long)])
def test_the_pictures_of_the_pages_are_of_the_fisheries_of_today(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them once showed a policy that nothing here gives; a season is what it was on any day it is drawn."""
    tool = script("tools/make_pictures.py")
    kept = tool.FOLDER / f"{id.replace('/', '-')}.png"
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    made = tool.draw(id, importlib.import_module("harvestgym.fishing.family"))
    with Image.open(made) as now, Image.open(kept) as then:
        away = np.abs(np.asarray(now.convert("RGB"), int) - np.asarray(then.convert("RGB"), int)).max(-1)
    assert (away > 64).mean() < 0.005, "if it was meant to change: python tools/make_pictures.py fishing, and look"
