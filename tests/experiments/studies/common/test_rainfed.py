"""Rain-fed maize here and in WOFOST: the kept reference fits the seasons of the farm, and the models agree so far."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.common import rainfed

LEAST_CORRELATION = {"to_flowers": 0.7, "total": 0.4, "grain": 0.8, "water": 0.85}
MOST_BIAS = {"to_flowers": 10, "total": 10, "grain": 0.15, "water": 45}
"""Days, days, kg and mm; docs/validation.md has the values themselves."""


@pytest.fixture(scope="module")
def record() -> rainfed.SeasonRecord:
    return rainfed.grow_rainfed_maize()


def test_the_reference_is_of_the_same_days(record: rainfed.SeasonRecord) -> None:
    """Otherwise: python -m experiments.make_wofost_reference."""
    reference, weather = rainfed.read_reference(), rainfed.describe_weather(record)
    assert len(reference["site"]) == 20 and set(reference["site"]) == set(rainfed.RAINFED_SITES)
    np.testing.assert_allclose(weather["t_mean"], reference["t_mean"], atol=0.05)
    np.testing.assert_allclose(weather["rain"], reference["rain"], atol=2)


def test_the_models_agree_as_documented(record: rainfed.SeasonRecord) -> None:
    pairs = rainfed.compare_models(rainfed.measure_rainfed(record), rainfed.read_reference())
    for pair in pairs:
        assert pair.known.sum() >= 18, pair.name
        assert pair.correlation > LEAST_CORRELATION[pair.name], pair.name
        assert abs(pair.bias) < MOST_BIAS[pair.name], pair.name
    assert len(rainfed.tabulate_models(pairs).rows) == len(rainfed.RAINFED_MEASURES)


def test_statistics_of_a_pair_with_one_unknown_season() -> None:
    pair = rainfed.ModelPair("grain", np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 6, 8]))
    assert pair.known.tolist() == [True, True, True, False]
    assert pair.bias == -2 and pair.correlation == pytest.approx(1)
    assert pair.error == pytest.approx(np.sqrt(14 / 3))
