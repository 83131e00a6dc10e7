"""Calibration from several starts: each is the fit of its seed, on any engine, and the best comes first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.calibrate import Series, curves, fit, fitted
from harvestgym.evaluate.calibration_cases import CalibrationCase, fit_from_starts
from harvestgym.sweep import SweepCase

from .reeds import reeds

STORE, THIRST = "Field-0/Reed-0/cumulated_water#L", "Field-0/Reed-0/thirst#L.day-1"
RANGE = (0.1, 2.0)
DAYS = np.arange(1, 8)
STARTS, SEASONS, GENERATIONS = 3, 2, 3


@pytest.fixture
def case() -> Iterator[CalibrationCase]:
    """Yield the search of the thirst of a reed from its store, in a farm that is registered for the test."""
    name = "test/reeds-v0"
    registry.register(name, "tests.evaluate.reeds:reeds")
    farm = reeds()
    made = curves(farm, fitted(farm, {THIRST: 0.5}), [STORE], seasons=SEASONS, days=int(DAYS[-1]))[STORE]
    series = {STORE: (DAYS.tolist(), made[DAYS].tolist())}
    yield CalibrationCase(
        id=name, free={THIRST: RANGE}, series=series, seasons=SEASONS, generations=GENERATIONS, seed=5
    )
    registry.unregister(name)


def test_starts_are_fits_of_their_seeds_and_the_best_comes_first(case: CalibrationCase, tmp_path: Path) -> None:
    found = fit_from_starts(case, STARTS, tmp_path)
    series = [Series(STORE, DAYS, np.asarray(case.series[STORE][1], np.float32))]
    seeds = range(case.seed, case.seed + STARTS)
    alone = [fit(reeds(), case.free, series, None, SEASONS, 0, generations=GENERATIONS, start_seed=s) for s in seeds]
    assert [one.values for one in found] == [one.values for one in sorted(alone, key=lambda one: one.loss)]
    assert len({one.values[THIRST] for one in found}) == STARTS and found[0].loss < found[-1].loss
    assert found[0].rmse == pytest.approx(alone[[one.loss for one in alone].index(found[0].loss)].rmse)
    assert float(found[0].params.fields[0].entities[1].thirst) == pytest.approx(found[0].values[THIRST])
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    assert len(files) == STARTS and [one.values for one in fit_from_starts(case, STARTS, tmp_path)] == [
        one.values for one in found
    ]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")} == files


def test_a_start_is_data(case: CalibrationCase) -> None:
    assert SweepCase.from_text(case.text) == case
    with pytest.raises(ValidationError, match="free"):
        CalibrationCase(id=case.id, free={}, series=case.series)
    wrong = case.model_copy(update={"free": {"Field-0/Reed-0/thirst": RANGE}})
    with pytest.raises(ConfigError, match="try 'thirst#L.day-1'"):
        fit_from_starts(wrong, 1)
