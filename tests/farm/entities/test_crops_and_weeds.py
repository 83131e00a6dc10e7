"""Functions of crops and weeds: shortages, eq. (5), stomata, and light that passes other leaves."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.crops_and_weeds import (
    add_factors,
    compute_shortages,
    stomatal_opening,
    transmitted_light,
    unshaded_light,
    water_threshold,
)
from harvestgym.farm.entities.messages import Canopy, Ground
from tests.farm.messages import message
from tests.farm.soil_plant_day import board, field

CLAY = {"capacity": 180.0, "wilting": 110.0}
"""Half a metre of clay, in L."""


def test_the_threshold_of_drought_is_a_share_of_the_way_to_capacity() -> None:
    """Eq. (5): 0 waits for the wilting point, 1 wants a full soil; a tenth of 70 L above 110 L is 117 L."""
    found = [float(water_threshold(jnp.float32(d), *map(jnp.float32, (110, 180)))) for d in (0.0, 0.1, 0.5, 1.0)]
    assert found == pytest.approx([110, 117, 145, 180])


def test_shortages_are_grams_a_plant_and_a_share_of_the_water_for_plants() -> None:
    """Four plants ask 20 g of what there are 8 g of: 3 g each are missing. Of 70 L, 14 are short at 131 L."""
    soil = message(Ground, field(), water=131.0, nutrients=jnp.asarray([8.0, 20, 40, 0])[:, None, None], **CLAY)
    found = compute_shortages(jnp.full((4, 1, 1), 20.0), jnp.full((1, 1), 4), jnp.full((1, 1), 145.0), soil)
    assert list(found) == ["N", "P", "K", "C", "water"]
    assert [float(value[0, 0]) for value in found.values()] == pytest.approx([3, 0, -5, 5, 0.2])
    half = compute_shortages(jnp.full((4, 1, 1), 20.0), jnp.full((1, 1), 0.5), jnp.full((1, 1), 145.0), soil)
    assert float(half["N"][0, 0]) == pytest.approx(24), "2 weeds a square metre are half of one on a quarter of it"


def test_where_nothing_stands_the_surplus_is_that_of_the_plot() -> None:
    soil = message(Ground, field(), water=180.0, nutrients=8.0, **CLAY)
    found = compute_shortages(jnp.zeros((4, 1, 1)), jnp.zeros((1, 1)), jnp.full((1, 1), 110.0), soil)
    assert [float(value[0, 0]) for value in found.values()] == [-8, -8, -8, -8, -1]


def test_stomata_close_from_the_threshold_to_the_wilting_point() -> None:
    """K_s of FAO-56 eq. (84): 1 in wet soil, 0 at the wilting point, a straight line between them."""
    found = stomatal_opening(jnp.asarray([0.0, 0.1, 0.2, 0.4, 9.0]), jnp.float32(0.4))
    np.testing.assert_allclose(found, [0, 0.25, 0.5, 1, 1], rtol=1e-6)
    np.testing.assert_array_equal(stomatal_opening(jnp.asarray([0.0, -1.0, 3.0]), jnp.float32(0.0)), [0, 0, 1])
    assert np.isfinite(jax.grad(stomatal_opening, argnums=1)(jnp.float32(0.0), jnp.float32(0.0)))


def canopy(shade: float, height: float) -> Canopy:
    return message(Canopy, field(), shade=shade, height=height)


def test_a_canopy_takes_the_share_of_light_of_its_share_of_the_height() -> None:
    """Nearly all that it shades if it is much taller, half of it between equals, a quarter if a third as tall."""
    for (shade, above, below), left in {(0.8, 1e4, 1): 0.2, (0.8, 60, 60): 0.6, (0.6, 20, 60): 0.85}.items():
        found = transmitted_light(canopy(shade, above), canopy(0, below))
        assert float(found[0, 0]) == pytest.approx(left, abs=1e-4)
    assert float(transmitted_light(canopy(0, 0), canopy(0, 0))[0, 0]) == 1.0
    assert float(transmitted_light(canopy(1, 0.01), canopy(1, 0))[0, 0]) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("shade", [0.3, 1.0])
def test_two_canopies_do_not_take_more_light_than_they_shade(shade: float) -> None:
    """The shares that each takes from the other add up to the shade, at all heights."""
    for one, other in itertools.combinations_with_replacement((0.5, 2.0, 30.0, 250.0), 2):
        taken = [1 - transmitted_light(canopy(shade, a), canopy(shade, b)) for a, b in ((one, other), (other, one))]
        assert float((taken[0] + taken[1])[0, 0]) == pytest.approx(shade, rel=1e-5)


def test_light_passes_one_canopy_after_another() -> None:
    hosts = {"Plant-0": canopy(0.5, 40), "Plant-1": canopy(0.8, 40), "Weeds-0": canopy(0.4, 120)}
    place = replace(field(), hosts=tuple(hosts))
    found = unshaded_light(board(place, "Plant-0", *hosts.items()))
    assert float(jnp.asarray(found)[0, 0]) == pytest.approx((1 - 0.8 / 2) * (1 - 0.4 * 3 / 4), rel=1e-5)
    alone = board(replace(place, hosts=("Plant-0",)), "Plant-0", ("Plant-0", hosts["Plant-0"]))
    assert unshaded_light(alone) == 1


def test_a_factor_of_the_soil_becomes_a_driver_of_its_own_name() -> None:
    soil = replace(message(Ground, field()), factors={"salinity": jnp.float32(4.0)})
    drivers = {"temperature": jnp.float32(20.0)}
    assert add_factors(drivers, soil) == {"temperature": 20.0, "salinity": 4.0}
    with pytest.raises(ConfigError, match="whose name no driver has, got 'salinity'; try 'soil_salinity'"):
        add_factors({"salinity": jnp.float32(0.0)}, soil)
