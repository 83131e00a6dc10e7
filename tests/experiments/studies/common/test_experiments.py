"""Experiments predicted blind: published numbers that stay as they were frozen, and the measures of a response."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.common import experiments
from experiments.studies.common.yield_response import YieldResponse
from harvestgym.farm.entities.weather.site import site_names


def test_the_published_numbers_are_those_of_the_abstracts() -> None:
    said = experiments.read_experiments()
    assert said["bean"]["k_y"] == {
        "whole season": 1.28, "vegetative": 0.36, "flowering": 0.84, "yield formation": 0.8
    }  # fmt: skip
    assert said["corn"]["water_of_first_grain"] == pytest.approx(270 / 630, abs=5e-3)
    assert all(entry["site"] in site_names() and "doi:" in entry["source"] for entry in said.values())


def test_the_factor_of_several_deficits_is_the_slope_through_the_origin() -> None:
    found = [YieldResponse("whole season", d, 1.2 * d, 0.0) for d in (0.1, 0.2, 0.4)]
    found.append(YieldResponse("flowering", 0.3, 0.9, 0.0))
    assert experiments.average_factor(found, "whole season") == pytest.approx(1.2)
    assert experiments.average_factor(found, "flowering") == pytest.approx(3)


def test_yield_and_last_water_of_a_straight_response() -> None:
    deficit = np.array([0.0, 0.1, 0.3, 0.5])
    loss = 1.25 * deficit  # no yield at 20 % of the water
    assert experiments.interpolate_yield(deficit, loss, 0.2) == pytest.approx(0.75)
    assert experiments.find_last_water(deficit, loss) == pytest.approx(0.2)


def test_errors_are_relative_to_what_is_published() -> None:
    prediction = experiments.Prediction("bean", "K_y, whole season", 1.25, 1.0)
    assert prediction.error == pytest.approx(-0.2)
    assert experiments.tabulate_predictions([prediction]).rows[0][-1] == "-20"
