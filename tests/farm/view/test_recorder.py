"""The flows of a recorded season: those of the days that were recorded, found by carrying out its orders again."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.evaluate.record import record_named
from tests.long_form import long

RAIN, HELD = "Field-0/Weather-0/rain/amount#mm", ("/available_Water#L", "/cumulated_water#L")


@pytest.mark.parametrize("id", ["farm/bean-1x1-v0", pytest.param("farm/paid-looks-1x1-v0", marks=long)])
def test_the_flows_are_those_of_the_recorded_days(id: str) -> None:
    """Each day, the rain is the one that was drawn, and all flows are the change in what the soil and plants hold."""
    season = record_named(id, "expert", seed=2)
    record, flows = season.record, season.flows
    water = {name.partition(":")[2]: litres for name, litres in flows.items() if name.startswith("Field-0/water:")}
    looking = np.diff(record["info/day"]) == 0
    assert looking.any() == season.env.asks
    rain = np.where(looking, 0.0, record[RAIN][:-1])  # on plots of 1 m2
    np.testing.assert_allclose(water["rain#L"][1:, 0, 0], rain, rtol=1e-5)
    assert water["watering#L"].sum() > 0 and water["transpiration#L"].sum() < 0
    held = np.sum(
        [litres for name, litres in record.items() if name.startswith("Field-0/") and name.endswith(HELD)], axis=0
    )
    np.testing.assert_allclose(np.sum([*water.values()], axis=0)[1:], np.diff(held, axis=0), atol=1e-3)
    assert {len(values) for values in flows.values()} == {len(record["reward"])}
    assert flows["Field-0/N:leaching#g"].sum() < 0


def test_other_families_have_no_flows() -> None:
    assert record_named("fishing/logistic-v0", "msy").flows == {}
