"""Units and limits that the messages of a farm share."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.messages import KMH, NUTRIENTS, Load, zero_values
from harvestgym.farm.entities.plant import Plant
from tests.farm.messages import message
from tests.farm.soil_plant_day import field


def test_a_metre_a_second_is_36_hundred_metres_an_hour() -> None:
    assert KMH * 1000 == 60 * 60
    assert NUTRIENTS == ("N", "P", "K", "C")


def test_a_repulsion_beyond_its_bound_is_refused() -> None:
    """Up to 20, so that the number of pests that it keeps away stays finite."""
    key = "pest_repulsive_effect#float"
    assert float(Plant.named({"extends": "bean", key: 20.0}).repulsion) == 20.0
    for beyond in (20.5, -20.5):
        with pytest.raises(ConfigError, match=key):
            Plant.named({"extends": "bean", key: beyond})


def test_messages_add_up_and_fill_their_shapes() -> None:
    place = field((2, 3), hosts=("Plant-0", "Weeds-0"))
    one, two = (message(Load, place, pests=number) for number in (1.0, 2.0))
    total: Any = one + two
    np.testing.assert_array_equal(total.pests, jnp.full((2, 2, 3), 3.0))
    assert not zero_values(Load, place.sizes).pests.any() and jax.tree.leaves(one.whole(place.sizes))[0].shape == (
        2,
        2,
        3,
    )
