"""Rain-fed crops here and in WOFOST: the kept reference fits the seasons of the farm, and a pair has its statistics."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.common import rainfed
from tests.long_form import long

CROPS = list(rainfed.list_rainfed())


def test_every_crop_of_wofost_has_its_seasons() -> None:
    """Otherwise: python -m experiments.make_wofost_reference PARAMETERS."""
    reference = rainfed.read_reference()
    assert list(reference) == CROPS
    for crop, seasons in reference.items():
        sites, counts = np.unique(seasons["site"], return_counts=True)
        assert set(sites) == set(rainfed.list_rainfed()[crop].sites), crop
        assert counts.sum() == rainfed.SEASONS and len(set(counts)) == 1, crop
        assert np.isfinite(seasons["yield"]).all() and (seasons["water"] > 0).all(), crop


@pytest.mark.parametrize("crop", [CROPS[0], *(pytest.param(crop, marks=long) for crop in CROPS[1:])])
def test_the_reference_is_of_the_same_days(crop: str) -> None:
    """Otherwise: python -m experiments.make_wofost_reference PARAMETERS."""
    record = rainfed.grow_rainfed(crop)
    reference, weather = rainfed.read_reference()[crop], rainfed.describe_weather(record)
    np.testing.assert_allclose(weather["t_mean"], reference["t_mean"], atol=0.05)
    np.testing.assert_allclose(weather["rain"], reference["rain"], atol=2)
    pairs = rainfed.compare_models(rainfed.measure_rainfed(record, 1.0), reference)
    assert len(rainfed.tabulate_models({crop: pairs}).rows) == len(rainfed.RAINFED_MEASURES)


def test_a_table_without_a_known_season() -> None:
    nothing = np.full(2, np.nan)
    (row,) = rainfed.tabulate_models({"corn": [rainfed.ModelPair("total", nothing, np.ones(2))]}).rows
    assert row == ("corn", "sowing to ripe, days", "0", "", "", "", "", "")


def test_statistics_of_a_pair_with_one_unknown_season() -> None:
    pair = rainfed.ModelPair("grain", np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 6, 8]))
    assert pair.known.tolist() == [True, True, True, False]
    assert pair.bias == -2 and pair.correlation == pytest.approx(1)
    assert pair.error == pytest.approx(np.sqrt(14 / 3))
