"""A soil variable that stresses plants needs the soil and the plant only: no message and no other kind is edited."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import par, replace, static
from harvestgym.farm import Farm, Field, Weather
from harvestgym.farm.entities.base import Board, Draws, Place, publishes
from harvestgym.farm.entities.messages import Ground
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.parameters import GrowSurvival, Rate
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import CAUSES, GROWTH_FACTORS, PlantState
from harvestgym.farm.entities.response import Window
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.soil.soil import SoilState
from tests.farm.messages import air
from tests.farm.soil_plant_day import draws, earth, field, live_jit
from tests.farm.stands import stand
from tests.long_form import long

TOLERATED, SENSITIVITY = 2.0, 0.5
"""Salinity that a bean tolerates, g/L, and the exponent of each further g/L."""


class SaltySoil(Soil):
    """A soil with salt in its water."""

    salinity: jnp.ndarray = par("salinity#g.L-1", "salt in the water of the soil", low=0, default=np.float32(0))
    factor: str = static("factor", "name by which plants respond to the salt", default="salinity")

    @publishes(Ground)
    def ground(self, state: SoilState, place: Place, board: Board, draws: Draws) -> Ground:
        """Return the soil of this morning, with its salinity."""
        factors = {self.factor: jnp.full(place.shape, self.salinity)}
        return replace(super().ground(state, place, board, draws), factors=factors)


class SaltRate(Rate):
    """A rate of growth that salt slows."""

    salinity: Window


class SaltSurvival(GrowSurvival):
    """A chance to live that salt lowers."""

    salinity: Window


def salt_sensitive(crop: Plant) -> Plant:
    window = Window(low=-np.inf, high=TOLERATED, sensitivity=SENSITIVITY)  # pyright: ignore[reportArgumentType]
    return replace(crop, rate=SaltRate(**vars(crop.rate), salinity=window))


def salt_mortal(crop: Plant) -> Plant:
    window = Window(low=-np.inf, high=TOLERATED, sensitivity=50.0)  # pyright: ignore[reportArgumentType]
    return replace(crop, grow=replace(crop.grow, survive=SaltSurvival(**vars(crop.grow.survive), salinity=window)))


def live_in_salt(crop: Plant, salt: float, **made: Any) -> tuple[PlantState, PlantState]:
    """Return a growing stand in the morning and in the evening of a day on a salty soil."""
    place, state = field(), stand(1, Stage.GROW)
    soil = SaltySoil(**vars(Soil.named("loam")), salinity=np.float32(salt), **made)
    (after, _), _ = live_jit(crop, soil, (state, earth(soil, place)), place, air(), draws(place.shape))
    return state, after


@pytest.mark.parametrize(("salinity", "share"), [(0.0, 1.0), (TOLERATED, 1.0), (4.0, np.exp(-SENSITIVITY * 2.0))])
def test_a_soil_variable_slows_growth_by_the_window_of_the_plant(salinity: float, share: float) -> None:
    bean = salt_sensitive(Plant.named("bean"))
    bean = replace(bean, variance=np.float32(0))
    (morning, salty), (_, plain) = live_in_salt(bean, salinity), live_in_salt(bean, 0.0)
    gained = [float(after.size[0, 0] - morning.size[0, 0]) for after in (salty, plain)]
    assert gained[0] / gained[1] == pytest.approx(share, rel=1e-4)
    if share < 1:
        assert GROWTH_FACTORS[int(salty.limiting_factor[0, 0])] == "strain"
        assert float(salty.limiting_exponent[0, 0]) == pytest.approx(-np.log(share))


@long
def test_a_death_by_a_soil_variable_counts_as_strain() -> None:
    _, dead = live_in_salt(salt_mortal(Plant.named("bean")), 4.0)
    assert int(dead.stage[0, 0]) == Stage.DEAD and CAUSES[int(dead.cause_of_death[0, 0])] == "grow: strain"
    assert float(dead.death_exponent[0, 0]) == pytest.approx(100)


def test_a_soil_variable_without_its_window_or_its_name_is_refused() -> None:
    bean = salt_sensitive(Plant.named("bean"))
    with pytest.raises(
        ConfigError, match=r"SaltRate: expected a driver for the window 'salinity', got sodium, .*; try"
    ):
        live_in_salt(bean, 4.0, factor="sodium")
    with pytest.raises(ConfigError, match=r"expected a factor whose name no driver has, got 'frost'"):
        live_in_salt(bean, 4.0, factor="frost")


class LateBean(Plant):
    """A crop with the sets of its base."""


def test_a_subclass_takes_the_sets_of_its_base_by_name() -> None:
    made = LateBean.named("bean")
    assert type(made) is LateBean and made.size_max == Plant.named("bean").size_max
    assert LateBean.file() == Plant.file() and LateBean.sprites() == Plant.sprites()
    place, shape = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}, {"length#nb": 1, "width#nb": 1}
    model = Farm([Field(place, shape, [(Weather, "lille"), (Soil, "loam"), (LateBean, "bean")])]).model
    assert len(jax.tree.leaves(made)) > 9 and type(model.params.fields[0].entities[2]) is LateBean
