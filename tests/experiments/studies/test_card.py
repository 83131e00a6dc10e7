"""The validation card in its short form, and the published ranges that it is measured by."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import card
from experiments.studies.common.yield_response import OPENINGS, PERIODS
from harvestgym.farm.entities.plant import Plant
from tests.long_form import long


def test_the_crops_are_what_is_published(tmp_path: Path) -> None:
    """Of bean on four soils every measure; what is outside is marked, as on the page: a little too little water."""
    reported: list[int] = []
    calibrated, predicted, responses, blind, lengths, sources = card.run(16, tmp_path, reported.append, crops=("bean",))
    assert reported == [1]
    rows = [*calibrated.rows, *predicted.rows]
    assert len(calibrated.rows) == len(card.CALIBRATED)
    assert len(rows) == len(card.RANGED) + len(card.SHARES) + len(card.UNRANGED)
    outside = {row[2] for row in rows if any(cell.endswith("!") for cell in row)}
    assert outside <= {"evapotranspiration, mm", "sowing to flowers, days"}, rows
    assert {row[2] for row in responses.rows if row[1] == "whole season"} == {"predicted"}
    assert [row[1] for row in blind.rows] == [f"K_y, {period}" for period in PERIODS]
    assert all(source for *_, source in sources.rows) and len(sources.rows) == len(card.RANGED) - 1 + 2
    assert len(responses.rows) == sum(len(openings) for openings in OPENINGS.values())
    assert [row[1] for row in lengths.rows] == list(card.GROWTH)
    kept = pyarrow.parquet.read_table(tmp_path / "card.parquet").to_pydict()
    young = np.asarray(kept["seed"]) + kept["grow"]
    np.testing.assert_array_equal(young, kept["to_flowers"])
    assert np.nanmax(young + kept["bloom"] + kept["fruit"] - kept["total"]) <= 0
    assert len(kept["yield"]) == len(card.CARD_SOILS) * 16 and np.nanmin(kept["yield"]) > 0
    assert (tmp_path / "card.png").stat().st_size > 0


@long
@pytest.mark.parametrize("crop", card.FIELD_CROPS)
def test_a_field_crop_lacks_nothing_and_uses_the_water_of_fao_56(crop: str) -> None:
    """The page marks the measures outside their ranges; this checks that the crop ripens and is fed and watered."""
    found = card.measure_seasons(crop, card.run_crop(crop, 4, 11))
    assert found["ripened"].mean() >= 75
    assert np.nanmin(found["yield"]) > 0 and np.nanmin(found["nitrogen"]) > 1
    assert 0.6 < np.nanmean(found["single"]) < 1.4
    assert (np.nanmean(found["warmth_to_flowers"], -1) < np.nanmean(found["warmth"], -1)).all()


def test_measures_of_a_season_that_is_written_down() -> None:
    """A crop that grows for three days, flowers for one, fruits for two and is harvested, at 20 degC."""
    stage = np.array([2, 2, 2, 3, 4, 4, 5, 0, 0])
    days = stage.size
    record = {
        "stage": stage, "kg": np.eye(days)[7] * 0.5, "size": np.linspace(1, 50, days), "nitrogen": np.arange(days) / 2,
        "transpired": np.full(days, 2.0), "evaporated": np.full(days, 1.0), "t_min": np.full(days, 15.0),
        "t_mean": np.full(days, 20.0), "t_max": np.full(days, 25.0), "humidity": np.full(days, 60.0),
        "wind": np.full(days, 10.0), "rain": np.zeros(days), "day": np.arange(105, 105 + days),
    }  # fmt: skip
    places = len(card.list_places("potato"))
    found = card.measure_seasons("potato", {n: np.broadcast_to(v, (places, 1, days)) for n, v in record.items()})
    base = Plant.named("potato").clock.base
    wanted = {
        "to_flowers": 3, "total": 7, "height": 0.5, "yield": 0.5, "water": 21, "nitrogen": 4, "ripened": 100,
        "warmth_to_flowers": 3 * (20 - base), "warmth": 7 * (20 - base), "fruit": 2,
    }  # fmt: skip
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], np.full((places, 1), value), err_msg=name)


FROZEN = {"2026-11-22": "9a92ecd883ba0682", "2026-11-28": "8609ee4123a295dd"}
"""A digest of the numbers of each date: a new range needs a new date."""


def test_the_ranges_are_those_of_their_date() -> None:
    numbers: dict[str, dict[str, object]] = {}
    for crop, said in card.read_published().items():
        ranges = {name: [said[name]["low"], said[name]["high"]] for name in card.RANGED if name in said}
        responses = {name: value for name, value in said.get("k_y", {}).items() if name != "source"}
        where = {n: said[n] for n in ("sown", "sites", "rainfed") if n in said and crop in card.FIELD_CROPS}
        coefficients = {name: said[name] for name in ("stages", "kcb", "kc")}
        numbers.setdefault(str(said["frozen"]), {})[crop] = ranges | responses | where | coefficients
    texts = {date: json.dumps(crops, sort_keys=True) for date, crops in numbers.items()}
    assert {date: hashlib.sha256(text.encode()).hexdigest()[:16] for date, text in texts.items()} == FROZEN


def test_what_is_published_is_a_range_with_a_source() -> None:
    for crop, said in card.read_published().items():
        names = [name for name in card.RANGED if name in said]
        assert len(names) >= 5, crop
        for name in names:
            assert said[name]["low"] < said[name]["high"] and said[name]["source"], (crop, name)


FAO_56 = {
    "bean": ((20, 30, 30, 10), (0.5, 1.05, 0.9), (0.15, 1.0, 0.8), 0.4, 0.45),
    "corn": ((20, 35, 40, 30), (0.3, 1.2, 0.6), (0.15, 1.15, 0.5), 2.0, 0.55),
    "tomato": ((30, 40, 40, 25), (0.6, 1.15, 0.8), (0.15, 1.1, 0.7), 0.6, 0.4),
    "carrots": ((30, 40, 60, 20), (0.7, 1.05, 0.95), (0.15, 0.95, 0.85), 0.3, 0.35),
    "winter_wheat": ((30, 140, 40, 30), (0.7, 1.15, 0.25), (0.15, 1.1, 0.15), 1.0, 0.55),
    "spring_barley": ((20, 25, 60, 30), (0.3, 1.15, 0.25), (0.15, 1.1, 0.15), 1.0, 0.55),
    "soybean": ((20, 35, 60, 25), (0.5, 1.15, 0.5), (0.15, 1.1, 0.3), 0.75, 0.5),
    "potato": ((30, 35, 50, 30), (0.5, 1.15, 0.75), (0.15, 1.1, 0.65), 0.6, 0.35),
    "sunflower": ((25, 35, 45, 25), (0.35, 1.1, 0.35), (0.15, 1.1, 0.25), 2.0, 0.45),
    "sugar_beet": ((50, 40, 50, 40), (0.35, 1.2, 0.7), (0.15, 1.15, 0.5), 0.5, 0.55),
    "sorghum": ((20, 35, 40, 30), (0.3, 1.05, 0.55), (0.15, 1.0, 0.35), 1.5, 0.55),
    "chickpea": ((20, 30, 60, 40), (0.4, 1.0, 0.35), (0.15, 0.95, 0.25), 0.4, 0.5),
}
"""Lengths of stages, K_c, K_cb, height and depletion p of tables 11, 12, 17 and 22, as `pyfao56.tools.tables` has them
(green beans; maize for grain, harvested wet; wheat sown in November; the lengths of chickpea are those of lentil)."""


@pytest.mark.parametrize("crop", FAO_56)
def test_what_is_said_of_fao_56_is_in_its_tables(crop: str) -> None:
    said, (stages, kc, kcb, height, depletion) = card.read_published()[crop], FAO_56[crop]
    assert (tuple(said["stages"]), tuple(said["kc"]), tuple(said["kcb"])) == (stages, kc, kcb)
    assert said["height"]["low"] <= height <= said["height"]["high"]
    plant = Plant.written(crop)
    assert plant["grow"]["sensitivity_draught#%"]["value"] == pytest.approx(1 - depletion)
    first, slope = (plant["grow"][name]["value"] for name in ("Water_evapo_alpha_0", "Water_evapo_alpha_1#cm-1"))
    assert first == kcb[0] and first + slope * plant["size_max#cm"]["value"] == pytest.approx(kcb[1], rel=1e-4)
