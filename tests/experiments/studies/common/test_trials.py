"""Trials: all cases run through the same seasons, under orders that are numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.studies.common.trials import (
    MAY,
    WATER,
    WATERING_MINUTES,
    Case,
    TreatmentOrder,
    Yields,
    crop_of,
    find_water_level,
    make_trial_farm,
    run_seasons,
    soil_of,
    watch_harvest,
)
from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import DayReport, FarmState

DAYS, SEASONS, SEED = 12, 3, 5
LITRES = (0.25, 0.5)
"""Daily amounts that the soil can hold for the whole time."""

ENTITIES: list[tuple[str, Any]] = [("Weather", "dry"), ("Soil", "clay"), ("Plant", "bean")]


@pytest.fixture(scope="module")
def farm() -> FarmModel:
    """Return a short season of beans on clay where it never rains."""
    return make_trial_farm(ENTITIES, days=DAYS)


def water_always(litres: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Water also what does not stand, so that every day counts."""
    return [(WATER, litres > 0, (litres, WATERING_MINUTES))]


def watch_soil(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    return {
        "water": soil_of(state).water.sum(), "date": state.fields[0][0].day,
        "crops": jnp.sum(crop_of(state).stage == crop_of(state).stage),
    }  # fmt: skip


@pytest.fixture(scope="module")
def record(farm: FarmModel) -> dict[str, np.ndarray]:
    """Return the soil under three amounts of water, the first of them twice."""
    cases = [Case({"litres": a}, farm, jnp.float32(a)) for a in (0.0, 0.0, *LITRES)]
    return run_seasons(cases, water_always, watch_soil, SEASONS, SEED)


def test_every_case_has_every_season_and_day(record: dict[str, np.ndarray]) -> None:
    assert {values.shape for values in record.values()} == {(4, SEASONS, DAYS)}


def test_cases_of_one_treatment_have_the_same_seasons(record: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(record["water"][0], record["water"][1])


def test_water_stays_in_the_soil_and_more_of_it_the_more_is_given(record: dict[str, np.ndarray]) -> None:
    dry, _, moist, wet = record["water"]
    assert (dry[:, -1] < moist[:, -1]).all() and (moist[:, -1] < wet[:, -1]).all()
    assert (wet - dry <= LITRES[1] * np.arange(1, DAYS + 1) + 1e-3).all(), "no more than was poured"


def test_fewer_seasons_are_not_other_ones(farm: FarmModel, record: dict[str, np.ndarray]) -> None:
    again = run_seasons([Case({}, farm, jnp.float32(0.0))] * 4, water_always, watch_soil, SEASONS, SEED)
    np.testing.assert_array_equal(again["water"][0], record["water"][0])
    other = run_seasons([Case({}, farm, jnp.float32(0.0))] * 4, water_always, watch_soil, SEASONS, SEED + 1)
    assert (other["water"][0] != record["water"][0]).any()


def test_farms_of_different_structure_are_refused(farm: FarmModel) -> None:
    other = make_trial_farm([*ENTITIES, ("Pollinators", "bee")], days=DAYS)
    cases = [Case({}, farm, 1.0), Case({}, other, 1.0)]
    with pytest.raises(ConfigError, match="farms of one structure"):
        run_seasons(cases, water_always, watch_harvest, 1, 0)


def test_a_trial_begins_on_its_day_with_one_plot(farm: FarmModel, record: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(record["date"], np.broadcast_to(MAY + 1 + np.arange(DAYS), record["date"].shape))
    assert (record["crops"] == 1).all() and int(farm.params.horizon) == DAYS


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_water_levels_lie_between_wilting_and_capacity(farm: FarmModel, share: float) -> None:
    """A share of the extractable water, linear in the share; a field of one square metre holds as many mm as litres."""
    low, level, high = (float(find_water_level(farm, at)) for at in (0.0, share, 1.0))
    assert 0 < low <= level <= high and level == pytest.approx(low + share * (high - low), rel=1e-5)


def test_yields_are_ordered_by_the_levels_of_the_labels() -> None:
    """Groups are concatenated in their order; each harvest belongs to its case."""
    no_farm: Any = None
    cases = [Case({"crop": c, "litres": a}, no_farm, a) for c in ("bean", "corn") for a in (1, 2, 3)]
    found = Yields(cases, np.arange(12.0).reshape(2, 3, 2))
    assert found.levels == {"crop": ["bean", "corn"], "litres": [1, 2, 3]}
    for at, case in enumerate(found.cases):
        where = [found.levels[name].index(case.labels[name]) for name in ("crop", "litres")]
        np.testing.assert_array_equal(found.kg[tuple(where)], [2 * at, 2 * at + 1])
