"""Calibration: parameters come back from a series that they made, and a measured maize from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.calibrate import Series, curves, find_parameter, find_watched, fit, fitted, read_series
from harvestgym.evaluate.run import policy_named
from tests.script import script

from .reeds import reeds

TOLERANCE = 0.05


@pytest.fixture(scope="module")
def maize() -> Any:
    """Return the example of the docs as a module."""
    return script("examples/calibrate_maize.py")


def test_parameters_of_a_plant_come_back_from_the_heights_that_they_made(maize: Any) -> None:
    """Within 5 %, from the range of the example, on the days on which heights were measured."""
    env, days = maize.farm("1877"), maize.height("1877").day
    truth = {"Field-0/Plant-0/size_max#cm": 190.0, "Field-0/Plant-0/grow/rate/intercept": 0.6}
    expert, free = policy_named(maize.ID, env, "expert"), {path: maize.FREE[path] for path in truth}
    curve = curves(env, fitted(env, truth), [maize.HEIGHT], expert, days=maize.DAYS)[maize.HEIGHT]
    found = fit(env, free, [Series(maize.HEIGHT, days, curve[days])], expert, members=10, generations=25)
    for path, value in truth.items():
        assert found.values[path] == pytest.approx(value, rel=TOLERANCE) != pytest.approx(found.before[path], rel=0.2)
    assert found.rmse[maize.HEIGHT] < 2 < found.rmse_before[maize.HEIGHT]


def test_the_measured_maize_was_smaller_and_later_than_the_corn_of_the_file(maize: Any) -> None:
    """Parameters fitted to one year help in the next: at most a third of the error on 1877, less than half on 1878."""
    values = {
        "Field-0/Plant-0/size_max#cm": 207.9, "Field-0/Plant-0/grow/rate/intercept": 0.483,
        "Field-0/Plant-0/seed/sprout/age_seed/low": 11.8,
    }  # fmt: skip
    for year, share in (("1877", 1 / 3), ("1878", 1 / 2)):
        env, series = maize.farm(year), maize.height(year)
        assert maize.error(env, fitted(env, values), series) < share * maize.error(env, env.params, series)


def test_several_series_and_entries_are_fitted_at_once() -> None:
    """The spring flows evenly in the mean, so that the reed's store identifies its thirst and the spring the rest."""
    env = reeds()
    water, store = "Field-0/Spring-0/available_Water#L", "Field-0/Reed-0/cumulated_water#L"
    truth = {"Field-0/Spring-0/flow#L.day-1": 2.0, "Field-0/Reed-0/thirst#L.day-1": 0.7}
    made = curves(env, fitted(env, truth), [water, store], seasons=4, days=20)
    series = [Series(name, np.arange(0, 21, 4), made[name][::4]) for name in (water, store)]
    found = fit(env, dict.fromkeys(truth, (0.1, 4.0)), series, seasons=4, generations=40)
    assert found.values == pytest.approx(truth, rel=0.02)
    assert set(found.rmse) == {water, store} and max(found.rmse.values()) < 0.2


def test_series_are_read_from_a_file(tmp_path: Path, maize: Any) -> None:
    series = maize.height("1878")
    assert len(series.day) == 16 and series.day[0] == 8 and series.value.max() == pytest.approx(157.1)
    path = tmp_path / "days.csv"
    path.write_text("day,a,b\n0,1,\n3,2.5,7\n", encoding="utf-8")
    a, b = read_series(path, {"a": "x/y/a", "b": "x/y/b"})
    assert a.day.tolist() == [0, 3] and b.day.tolist() == [3] and b.value.tolist() == [7]
    with pytest.raises(ConfigError, match="column"):
        read_series(path, {"c": "x/y/c"})
    with pytest.raises(ConfigError, match="got none"):
        read_series(path, {"b": "x/y/b"}, day="0")


def test_paths_that_lead_nowhere_are_told_with_the_nearest() -> None:
    env = reeds()
    with pytest.raises(ConfigError, match="try 'thirst#L.day-1'"):
        find_parameter(env, "Field-0/Reed-0/thirst")
    with pytest.raises(ConfigError, match="group of parameters"):
        find_parameter(env, "Field-0/Reed-0/grow/thirst")
    with pytest.raises(ConfigError, match="expected a path"):
        find_watched(env, "size#cm")
