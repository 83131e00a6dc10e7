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
from harvestgym.core.yaml_io import read_file
from harvestgym.farm.entities.plant import Plant


def test_the_crops_are_what_is_published(tmp_path: Path) -> None:
    """Of bean on four soils every measure; what is outside is marked, and nothing is."""
    reported: list[int] = []
    calibrated, predicted, responses, blind, lengths, sources = card.run(16, tmp_path, reported.append, crops=("bean",))
    assert reported == [1]
    rows = [*calibrated.rows, *predicted.rows]
    assert len(calibrated.rows) == len(card.CALIBRATED) and len(rows) == len(card.RANGED) + len(card.SHARES)
    assert not [row for row in rows if any(cell.endswith("!") for cell in row)], rows
    assert {row[2] for row in responses.rows if row[1] == "whole season"} == {"predicted"}
    assert [row[1] for row in blind.rows] == [f"K_y, {period}" for period in PERIODS]
    assert all(source for *_, source in sources.rows) and len(sources.rows) == len(card.RANGED) + 2
    assert len(responses.rows) == sum(len(openings) for openings in OPENINGS.values())
    assert [row[1] for row in lengths.rows] == list(card.GROWTH)
    kept = pyarrow.parquet.read_table(tmp_path / "card.parquet").to_pydict()
    young = np.asarray(kept["seed"]) + kept["grow"]
    np.testing.assert_array_equal(young, kept["to_flowers"])
    assert np.nanmax(young + kept["bloom"] + kept["fruit"] - kept["total"]) <= 0
    assert len(kept["yield"]) == len(card.CARD_SOILS) * 16 and np.nanmin(kept["yield"]) > 0
    assert (tmp_path / "card.png").stat().st_size > 0


FROZEN = ("2026-11-22", "9a92ecd883ba0682")
"""The date of the ranges and a digest of their numbers: a new range needs a new date."""


def test_the_ranges_are_those_of_their_date() -> None:
    numbers = {
        crop: {name: [said[name]["low"], said[name]["high"]] for name in card.RANGED}
        | {name: value for name, value in said["k_y"].items() if name != "source"}
        | {name: said[name] for name in ("stages", "kcb", "kc")}
        for crop, said in card.read_published().items()
    }
    digest = hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]
    assert (str(read_file(card.RANGES_FILE)["frozen"]), digest) == FROZEN


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
