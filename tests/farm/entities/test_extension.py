"""A soil variable that stresses plants needs the soil and the plant only: no message and no other kind is edited."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.tree import par, pytree, replace
from harvestgym.farm.entities.base import Board, Draws, Place, publishes
from harvestgym.farm.entities.messages import Ground
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.parameters import Rate
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.response import Window
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.soil.soil import SoilState
from tests.farm.company import draws, earth, field, live_jit
from tests.farm.messages import air
from tests.farm.stands import stand

TOLERATED, SENSITIVITY = 2.0, 0.5
"""Salinity that a bean tolerates, g/L, and the exponent of each further g/L."""


@pytree
class SaltySoil(Soil):
    """A soil with salt in its water."""

    salinity: jnp.ndarray = par("salinity#g.L-1", "salt in the water of the soil", low=0, default=np.float32(0))

    @publishes(Ground)
    def ground(self, state: SoilState, place: Place, board: Board, draws: Draws) -> Ground:
        """Return the soil of this morning, with its salinity."""
        factors = {"salinity": jnp.full(place.shape, self.salinity)}
        return replace(super().ground(state, place, board, draws), factors=factors)


@pytree
class SaltRate(Rate):
    """A rate of growth that salt slows."""

    salinity: Window


def salt_sensitive(crop: Plant) -> Plant:
    window = Window(low=-np.inf, high=TOLERATED, sensitivity=SENSITIVITY)  # pyright: ignore[reportArgumentType]
    stages = {
        name: replace(getattr(crop, name), rate=SaltRate(**vars(getattr(crop, name).rate), salinity=window))
        for name in ("grow", "fruit")
    }
    return replace(crop, **stages)


@pytest.mark.parametrize(("salinity", "share"), [(0.0, 1.0), (TOLERATED, 1.0), (4.0, np.exp(-SENSITIVITY * 2.0))])
def test_a_soil_variable_slows_growth_by_the_window_of_the_plant(salinity: float, share: float) -> None:
    bean = salt_sensitive(Plant.named("bean"))
    bean = replace(bean, grow=replace(bean.grow, variance=np.float32(0)))
    place, state = field(), stand(1, Stage.GROW)

    def growth(salt: float) -> float:
        soil = SaltySoil(**vars(Soil.named("loam")), salinity=np.float32(salt))
        (after, _), _ = live_jit(bean, soil, (state, earth(soil, place)), place, air(), draws(place.shape))
        return float(after.size[0, 0] - state.size[0, 0])

    assert growth(salinity) / growth(0.0) == pytest.approx(share, rel=1e-4)


class LateBean(Plant):
    """A crop with the sets of its base."""


def test_a_subclass_takes_the_sets_of_its_base_by_name() -> None:
    made = LateBean.named("bean")
    assert type(made) is LateBean and made.size_max == Plant.named("bean").size_max
    assert LateBean.file() == Plant.file() and LateBean.sprites() == Plant.sprites()
