"""The validation card in its short form, and the published laws that it is measured by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pyet
import pytest

from harvestgym.evaluate.studies import card
from harvestgym.evaluate.studies.common import fao56, wofost
from harvestgym.farm.entities.plant import Plant

DAYS = np.arange(100, 300)
RNG = np.random.default_rng(0)
LOW = 12 + RNG.normal(0, 2, DAYS.size)
AIR = {
    "t_min": LOW, "t_max": LOW + 11, "t_mean": LOW + 5.5, "wind": np.full(DAYS.size, 2.0),
    "humidity": RNG.uniform(50, 80, DAYS.size),
}  # fmt: skip


def test_the_crops_are_what_is_published(tmp_path: Path) -> None:
    """Of bean on four soils every measure; what is outside is marked, and nothing is."""
    told: list[int] = []
    table, lengths, sources = card.run(16, tmp_path, told.append, crops=("bean",))
    assert told == [1]
    assert len(table.rows) == len(card.RANGED) + len(card.SHARES)
    assert not [row for row in table.rows if any(cell.endswith("!") for cell in row)], table.rows
    assert all(source for *_, source in sources.rows) and len(sources.rows) == len(card.RANGED) + 1
    assert [row[1] for row in lengths.rows] == list(card.GROWTH)
    kept = pyarrow.parquet.read_table(tmp_path / "card.parquet").to_pydict()
    young = np.asarray(kept["seed"]) + kept["grow"]
    np.testing.assert_array_equal(young, kept["to_flowers"])
    assert np.nanmax(young + kept["bloom"] + kept["fruit"] - kept["total"]) <= 0
    assert len(kept["yield"]) == len(card.CARD_SOILS) * 16 and np.nanmin(kept["yield"]) > 0
    assert (tmp_path / "card.png").stat().st_size > 0


def test_what_is_published_is_a_range_with_a_source() -> None:
    for crop, said in card.read_published().items():
        for name in card.RANGED:
            assert said[name]["low"] < said[name]["high"] and said[name]["source"], (crop, name)


FAO_56 = {
    "bean": ((20, 30, 30, 10), (0.5, 1.05, 0.9), (0.15, 1.0, 0.8), 0.4, 0.45),
    "corn": ((20, 35, 40, 30), (0.3, 1.2, 0.6), (0.15, 1.15, 0.5), 2.0, 0.55),
    "tomato": ((30, 40, 40, 25), (0.6, 1.15, 0.8), (0.15, 1.1, 0.7), 0.6, 0.4),
}
"""Lengths of stages, K_c, K_cb, height and depletion p of tables 11, 12, 17 and 22, as `pyfao56.tools.tables` has them
(green beans; maize for grain, harvested wet; tomato)."""


@pytest.mark.parametrize("crop", FAO_56)
def test_what_is_said_of_fao_56_is_in_its_tables(crop: str) -> None:
    said, (stages, kc, kcb, height, depletion) = card.read_published()[crop], FAO_56[crop]
    assert (tuple(said["stages"]), tuple(said["kc"]), tuple(said["kcb"])) == (stages, kc, kcb)
    assert said["height"]["low"] <= height <= said["height"]["high"]
    plant = Plant.written(crop)
    for stage in ("grow", "fruit"):
        assert plant[stage]["sensitivity_draught#%"]["value"] == pytest.approx(1 - depletion)
    first, slope = (plant["grow"][name]["value"] for name in ("Water_evapo_alpha_0", "Water_evapo_alpha_1#cm-1"))
    assert first == kcb[0] and first + slope * plant["size_max#cm"]["value"] == pytest.approx(kcb[1], rel=1e-4)


def test_penman_monteith_of_fao_56_example_18() -> None:
    """Uccle on 6 July: 3.9 mm; its vapour pressure comes from two humidities, here as the mean that gives the same."""
    low, high = np.asarray(12.3), np.asarray(21.5)
    humidity = 100 * 1.409 / ((fao56.vapour_pressure(low) + fao56.vapour_pressure(high)) / 2)
    got = fao56.reference(low, high, humidity, np.asarray(2.078), np.asarray(22.07), np.asarray(30.90), 100.1)
    assert float(got) == pytest.approx(3.88, abs=0.03)


def test_penman_monteith_is_that_of_pyet() -> None:
    index = pd.to_datetime("2001-01-01") + pd.to_timedelta(DAYS - 1, unit="D")
    series = {name: pd.Series(values, index) for name, values in AIR.items()}
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    wanted = pyet.pm_fao56(
        series["t_mean"], series["wind"], rs=pd.Series(sun, index), elevation=0.0, lat=np.radians(43.6),
        tmax=series["t_max"], tmin=series["t_min"], rh=series["humidity"],
    )  # fmt: skip
    clear = 0.75 * fao56.extraterrestrial(43.6, DAYS)
    got = fao56.reference(*(AIR[name] for name in ("t_min", "t_max", "humidity", "wind")), sun, clear)
    np.testing.assert_allclose(got, wanted, rtol=0.02)


def test_the_curve_of_the_crop_coefficient_is_that_of_figure_34() -> None:
    """Of 20, 30, 30 and 20 days, stretched to 200: level, rising, level, falling."""
    curve = fao56.coefficients(200, (20, 30, 30, 20), (0.2, 1.0, 0.6))
    assert (curve[:39] == 0.2).all() and (curve[101:159] == 1.0).all()
    assert curve[69] == pytest.approx(0.2 + 0.8 * 29.5 / 60) and curve[-1] == pytest.approx(0.6, abs=0.01)


def test_wofost_grows_maize_without_a_network() -> None:
    """A summer of 23 degC: it flowers after two to three months, ripens and gives some tons; a short one ends early."""
    pytest.importorskip("pcse")
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    vapour = fao56.actual_vapour(AIR["t_min"], AIR["t_max"], AIR["humidity"])
    days = AIR | {"radiation": sun, "vapour": vapour, "et0": np.full(DAYS.size, 4.0)}
    warm = days | {name: AIR[name] + 6 for name in ("t_min", "t_max", "t_mean")}
    found = wofost.maize(warm, int(DAYS[0]), 43.6)
    assert 45 < found.to_flowers < 90 < found.to_maturity < 180
    assert 0.4 < found.kg < 2.0 and 200 < found.transpired < 800
    short = wofost.maize({name: values[:60] for name, values in warm.items()}, int(DAYS[0]), 43.6)
    assert np.isnan(short.to_maturity) and short.transpired < found.transpired
