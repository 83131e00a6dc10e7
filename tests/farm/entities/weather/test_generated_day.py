"""A day of the generator by hand, from parameters and draws that are easy to follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import iterate_metas, replace
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.day_source import DRAWS, DRIZZLE, DRY, MEMORY, RAIN, UNKNOWN, Climate
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data.normals import NODES, REACH
from harvestgym.farm.weather_data.table import Day

LEVEL, EFFECT, SPREAD = np.array([5.0, 15, 60, 2]), np.array([1.0, -2, 20, 0.5]), np.array([2.0, 3, 8, 0.6])
OFFSET, AMOUNTS = 0.7, 1 + np.arange(NODES) ** 1.5
CHANCES = np.array([[0.2, 0.1], [0.5, 0.3], [0.8, 0.6], [0.4, 0.25]])
CARRY = np.diag([0.5, 0.4, 0.3, 0.2]) + 0.1 * np.eye(4, k=1)
SHOCK = np.diag([0.6, 0.7, 0.8, 0.9]) + 0.2 * np.eye(4, k=-1)
MIDDLE = 16
"""The middle of January."""


def climate_of(**changes: Any) -> Climate:
    """Return the same climate in all months, or what a test changes of it."""
    tables = {
        "chances": np.tile(CHANCES, (12, 1, 1)),
        "amounts": np.tile(AMOUNTS, (12, 1)),
        "level": np.tile([*LEVEL, OFFSET], (12, 1)),
        "rainy": np.tile(EFFECT, (12, 1)),
        "spread": np.tile(SPREAD, (12, 1)),
        "carry": CARRY,
        "shock": SHOCK,
        "start": SHOCK,
        "lasting": np.zeros(4),
    }
    return Climate(**{n: jnp.asarray(v, jnp.float32) for n, v in (tables | changes).items()})


def uniform(z: float) -> float:
    """Return the probability below a standard normal quantile."""
    return math.erfc(-z / math.sqrt(2)) / 2


_next = jax.jit(Climate.next)


def day(
    rain: Sequence[float] = (0.99, 0.5),
    normals: Any = (0, 0, 0, 0),
    memory: Sequence[float] = (0,) * MEMORY,
    number: int = MIDDLE,
    **changes: Any,
) -> tuple[Day, np.ndarray]:
    """Return the weather after `memory`; `rain` are the uniforms of rain, `normals` the quantiles of departures."""
    draws = jnp.asarray([*rain, *map(uniform, normals)], jnp.float32)
    found, after = _next(climate_of(**changes), jnp.asarray(memory, jnp.float32), number, draws)
    return Day(*(float(v) for v in found)), np.asarray(after, float)


def wind_of(mean: float, spread: float, departure: float) -> float:
    """Wilson and Hilferty (1931): the cube root of a gamma variable of shape k is normal, of variance 1 / (9 k)."""
    shape = (mean / spread) ** 2
    return mean * (1 - 1 / (9 * shape) + departure / (3 * math.sqrt(shape))) ** 3


@pytest.mark.parametrize(("first", "effect", "sky"), [(0.9, 0, DRY), (0.7, 0, DRIZZLE), (0.5, 1, RAIN)])
def test_a_day_by_hand(first: float, effect: int, sky: int) -> None:
    """After a rainy day with its departures; the mean is above the middle of the range, the wind is gamma."""
    past, shocks = np.array([1.0, -0.5, 0.3, 0.4]), np.array([1.0, 0.5, -1.0, -0.6])
    found, after = day((first, 0.5), shocks, (RAIN, *past, 0))
    departure = CARRY @ past + SHOCK @ shocks
    low, high, humidity, _ = LEVEL + effect * EFFECT + SPREAD * departure
    assert (found.t_min, found.t_max) == pytest.approx((low, high), rel=1e-4)
    assert found.t_mean == pytest.approx((low + high) / 2 + OFFSET, rel=1e-4)
    assert found.humidity == pytest.approx(humidity, rel=1e-4)
    assert found.wind == pytest.approx(wind_of(LEVEL[3] + effect * EFFECT[3], SPREAD[3], departure[3]), rel=1e-4)
    assert after == pytest.approx([sky, *departure, 0], abs=1e-5)


def test_the_lasting_anomaly_is_renewed_by_a_part_on_dry_days() -> None:
    """By the draw that would set the amount of rain, for the next day; of one standard deviation, 1/180 is lost."""
    warm, share = (DRY, 0, 0, 0, 0, 1.0), np.array([0.5, 0.25, 0, 0])
    found, after = day((0.99, uniform(2)), memory=warm, lasting=share)
    assert after[-1] == pytest.approx(179 / 180 + 2 * math.sqrt(1 - (179 / 180) ** 2), rel=1e-4)
    assert (found.t_min, found.t_max) == pytest.approx(LEVEL[:2] + SPREAD[:2] * share[:2], rel=1e-4)
    assert day((0.0, uniform(2)), memory=warm, lasting=share)[1][-1] == 1.0, "rain"
    assert not after[1:-1].any() and found.humidity == pytest.approx(LEVEL[2])


@pytest.mark.parametrize("before", [DRY, DRIZZLE, RAIN, UNKNOWN])
def test_rain_follows_the_day_before(before: int) -> None:
    """Below the chance of a rainy day it rains, below that of a wet day it drizzles."""
    wet, rainy = CHANCES[before]
    draws = (0.0, rainy - 0.01, rainy + 0.01, wet - 0.01, wet + 0.01, 0.999)
    found = [int(day((u, 0.5), memory=(before, 0, 0, 0, 0, 0))[1][0]) for u in draws]
    assert found == [RAIN, RAIN, DRIZZLE, DRIZZLE, DRY, DRY]


def test_what_has_no_chance_never_comes() -> None:
    assert day((0.0, 0.5), chances=np.zeros((12, 4, 2)))[1][0] == DRY


def rain(u: float, first: float) -> float:
    return day((first, u))[0].rain


def test_amounts_follow_the_table_at_the_quantile_of_the_draw() -> None:
    """Nodes are an eighth of a standard deviation apart; between them the table is straight."""
    assert REACH / ((NODES - 1) / 2) == 0.125
    middle = (NODES - 1) // 2
    assert rain(0.5, 0.0) == pytest.approx(AMOUNTS[middle], rel=1e-5)
    assert rain(uniform(-1), 0.0) == pytest.approx(AMOUNTS[middle - 8], rel=1e-4)
    between = 0.6 * AMOUNTS[middle + 4] + 0.4 * AMOUNTS[middle + 5]
    assert rain(uniform(0.55), 0.0) == pytest.approx(between, rel=1e-4)
    assert AMOUNTS[0] < rain(0.0, 0.0) < AMOUNTS[1], "the smallest draw is within the table"
    assert rain(1.0, 0.0) == pytest.approx(AMOUNTS[-1], rel=1e-5), "a draw rounded up to 1 is its end"


def test_drizzle_is_uniform_on_a_log_scale() -> None:
    assert [rain(u, 0.15) for u in (0.0, 0.5)] == pytest.approx([0.1, math.sqrt(0.1)], rel=1e-5)
    assert rain(1 - 2.0**-24, 0.15) == pytest.approx(1.0, rel=1e-5)
    assert rain(0.5, 0.99) == 0.0


def test_levels_are_straight_between_the_middles_of_months() -> None:
    """16 January is the middle of a month of 31 days; a day is a thirty-first of the way from it, or back."""
    level = np.tile([*LEVEL, OFFSET], (12, 1))
    level[1, 2] += 31
    level[11, 2] -= 31
    found = [day(level=level, number=n)[0].humidity for n in (1, 15, 16, 17, 31, 32)]
    wanted = LEVEL[2] + np.array([-15, -1, 0, 1, 15, 31 * (0.5 + 0.5 / 28)])
    assert found == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("number", "month"), [(1, 0), (31, 0), (32, 1), (59, 1), (60, 2), (365, 11)])
def test_a_day_has_the_figures_of_its_month(number: int, month: int) -> None:
    spread = np.tile(SPREAD, (12, 1))
    spread[month] *= 2
    wide, usual = (
        day(normals=(1, 0, 0, 0), number=number, spread=s)[0].t_min for s in (spread, np.tile(SPREAD, (12, 1)))
    )
    assert wide - usual == pytest.approx(SPREAD[0] * 0.6, rel=1e-3)


def test_nights_stay_half_a_degree_below_days_and_the_mean_between_them() -> None:
    """However much a departure would turn them round."""
    found, _ = day(normals=(4, -4, 0, 0))
    assert found.t_max - found.t_min == pytest.approx(0.5, abs=1e-4)
    assert found.t_mean == pytest.approx(found.t_max, abs=1e-4), "0.7 above the middle would be beyond it"
    cool = np.tile([*LEVEL, -99.0], (12, 1))
    found, _ = day(level=cool)
    assert found.t_mean == found.t_min == pytest.approx(5.0)


def test_humidity_stays_between_that_of_a_desert_and_saturation() -> None:
    wide = np.tile(SPREAD * 10, (12, 1))
    assert [day(normals=(0, 0, z, 0), spread=wide)[0].humidity for z in (-4, 4)] == [5.0, 100.0]


def test_a_gentle_wind_keeps_its_mean_and_spread() -> None:
    """Of 0.5 m/s with a third of it as spread, over evenly spaced quantiles; and it never blows backwards."""
    level, spread = np.tile([*LEVEL[:3], 0.5, OFFSET], (12, 1)), np.tile([*SPREAD[:3], 0.5 / 3], (12, 1))
    z = np.array([-3.0, -1.5, 0, 1.5, 3.0])
    gentle: dict[str, Any] = {"level": level, "spread": spread, "shock": np.eye(4)}
    found = [day(normals=(0, 0, 0, value), **gentle)[0].wind for value in z]
    assert found == pytest.approx([wind_of(0.5, 0.5 / 3, value) for value in z], rel=1e-4)
    assert (np.diff(found) > 0).all()
    gusty = gentle | {"spread": np.tile([*SPREAD[:3], 2.0], (12, 1))}
    assert day(normals=(0, 0, 0, -4), **gusty)[0].wind == 0.0


def test_the_first_memory_is_an_unknown_sky_and_drawn_departures() -> None:
    z = np.array([1.0, -1.0, 0.5, 0.0])
    draws = jnp.asarray([0.3, uniform(-0.7), *map(uniform, z)], jnp.float32)
    found = climate_of().first(1, draws)
    assert found.shape == (MEMORY,) == (6,) and draws.shape == (DRAWS,) and found.dtype == jnp.float32
    np.testing.assert_allclose(found, [UNKNOWN, *(SHOCK @ z), -0.7], atol=1e-5)


def test_every_draw_is_within_reach() -> None:
    """The values for uniforms in [0, 1) stay below 5.42; a draw of 0 would be infinite."""
    ends = jnp.asarray([[0.5, 0.5, *[u] * 4] for u in (0.0, 1 - 2.0**-24)], jnp.float32)
    plain = climate_of(start=np.eye(4))
    found = np.stack([plain.first(1, draws)[1:-1] for draws in ends])
    assert (np.abs(found) < 5.42).all() and (np.abs(found) > 5.2).all()


def test_tables_of_a_wrong_shape_are_named() -> None:
    assert list(climate_of().check()) == []
    for name, meta in iterate_metas(Climate):
        wrong = replace(climate_of(), **{name: jnp.zeros((2, 2))})
        messages = list(wrong.check())
        assert len(messages) == 1 and messages[0].startswith(f"{name}: expected an array of shape ("), meta


@pytest.mark.parametrize("name", ["montpellier", "lille"])
def test_a_site_is_within_the_limits_of_the_parameters(name: str) -> None:
    climate = compute_climate(load_site(name).normals)
    for field, meta in iterate_metas(Climate):
        values = np.asarray(getattr(climate, field))
        assert (values >= meta.low).all() and (values <= meta.high).all(), field
