"""WOFOST in a made-up summer: maize grows without a network, and less where it is dry."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.studies.common import fao56, wofost

DAYS = np.arange(100, 300)
RNG = np.random.default_rng(0)
LOW = 12 + RNG.normal(0, 2, DAYS.size)
SILT = wofost.WofostSoil(0.32, 0.17, 1.5)
AIR = {
    "t_min": LOW, "t_max": LOW + 11, "t_mean": LOW + 5.5, "wind": np.full(DAYS.size, 2.0),
    "humidity": RNG.uniform(50, 80, DAYS.size),
}  # fmt: skip


MAIZE = 2
GRID, YEAR = 31031, 2000
"""Place and year of a campaign in pcse's demonstration database, used to look up the crop."""

VARIETY = 2619
"""A variety of maize in the database."""


def read_demonstration() -> dict[str, Any]:
    """Read the maize of the database that is in the pcse wheel."""
    import pcse
    from pcse.tests import db_input

    dump = Path(pcse.__file__).parent / "tests" / "test_data" / "pcse_dump.sql"
    with closing(sqlite3.connect(":memory:")) as base:
        base.row_factory = lambda cursor, row: namedtuple("Row", [column[0] for column in cursor.description])(*row)
        base.executescript(dump.read_text(encoding="utf-8"))
        base.execute("update crop_calendar set variety_no = ? where crop_no = ?", (VARIETY, MAIZE))
        return db_input.fetch_cropdata(base, GRID, YEAR, MAIZE)


def _make_summer(rain: float) -> dict[str, np.ndarray]:
    """Return a summer of 23 degC with this much rain each day, mm."""
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    vapour = fao56.actual_vapour(AIR["t_min"], AIR["t_max"], AIR["humidity"])
    days = AIR | {"radiation": sun, "vapour": vapour, "et0": np.full(DAYS.size, 4.0)}
    warmer = {name: AIR[name] + 6 for name in ("t_min", "t_max", "t_mean")}
    return days | warmer | {"rain": np.full(DAYS.size, rain)}


def test_wofost_grows_maize_without_a_network() -> None:
    """A summer of 23 degC: it flowers after two to three months, ripens and gives some tons; a short one ends early."""
    pytest.importorskip("pcse")
    maize = wofost.WofostCrop(read_demonstration(), "maize", "grain maize")
    warm = _make_summer(4.0)
    found = wofost.grow(maize, warm, int(DAYS[0]), 43.6, SILT)
    assert 30 < found.to_flowers < 90 and found.to_flowers + 20 < found.to_maturity < 180
    assert 0.4 < found.kg < 2.0 and 100 < found.transpired < 800 and 20 < found.evaporated < 400
    dry = wofost.grow(maize, warm | {"rain": np.zeros(DAYS.size)}, int(DAYS[0]), 43.6, SILT)
    assert dry.to_flowers == found.to_flowers and dry.kg < 0.7 * found.kg and dry.transpired < found.transpired
    assert dry.transpired + dry.evaporated < 1000 * SILT.depth * (SILT.capacity - SILT.wilting) + 1
    short = wofost.grow(maize, {name: values[:40] for name, values in warm.items()}, int(DAYS[0]), 43.6, SILT)
    assert np.isnan(short.to_maturity) and short.transpired < found.transpired


def test_an_irrigation_adds_its_water_and_the_soil_starts_as_full_as_it_should() -> None:
    pytest.importorskip("pcse")
    maize, ground = (
        wofost.WofostCrop(read_demonstration(), "maize", "grain maize"),
        SILT._replace(depth=0.75, filled=0.4),
    )
    first, day = int(DAYS[0]), 20
    dry, watered = (
        wofost.simulate_water(maize, _make_summer(0.0), first, 43.6, ground, irrigation)
        for irrigation in ({}, {first + day: 30.0})
    )
    assert dry[0] == pytest.approx(0.17 + 0.4 * 0.15, abs=0.003)
    assert watered[:day] == pytest.approx(dry[:day])
    gained = 1000 * ground.depth * (watered - dry)[day + 1]
    assert 26 < gained <= 30.01  # the wet surface evaporates more on that day
