"""Units and limits that the messages of a farm share."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import pytree, var
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.entities.messages import KMH, NUTRIENTS, Load, Message, zero_values
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.family import list_notes
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_engine import FILE, farm
from tests.farm.messages import message
from tests.farm.ponds import REED, SPRING
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


@pytree
class Alarm(Message):
    """The loudness on each plot."""

    loud: jax.Array = var("loud", "loudness, 0 to 1", high=1)


@pytree
class Silence:
    """The plots without a bell."""

    rest: jax.Array = var("rest#day", "days without a sound")


@pytree
class Bell(Entity):
    """A bell that rings every day; it hears itself."""

    State: ClassVar[type] = Silence

    @publishes(Alarm)
    def ring(self, state: Silence, place: Place, board: Board, draws: Draws) -> Alarm:
        """Ring on all plots."""
        return message(Alarm, place, loud=1.0)

    def update(self, state: Silence, place: Place, board: Board, draws: Draws) -> tuple[Silence, Ledger]:
        return Silence(rest=state.rest + 1 - board.read_own(Alarm).loud), Ledger({}, {})


@pytree
class Sleeper(Entity):
    """Somebody who hears the bell."""

    State: ClassVar[type] = Silence

    def update(self, state: Silence, place: Place, board: Board, draws: Draws) -> tuple[Silence, Ledger]:
        return Silence(rest=state.rest + 1 - board.read_sum(Alarm).loud), Ledger({}, {})


def ringing(*more: Entity) -> FarmModel:
    return farm(SPRING, REED, Bell(), *more)


@pytest.mark.parametrize("attempt", ["first", "traced before"])
def test_a_message_of_a_custom_kind_that_nothing_reads_is_warned_of(attempt: str) -> None:
    """Also if JAX has the trace of the day from an earlier farm of the same structure."""
    said = "Bell-0 publishes Alarm, which nothing on its field reads"
    with pytest.warns(UserWarning, match=said) as warned:
        env = ringing()
    assert list_notes(env) == [said] and len(warned) == 1


def test_a_message_that_is_read_is_not_warned_of() -> None:
    assert list_notes(ringing(Sleeper())) == []


def test_the_check_also_names_messages_of_this_package() -> None:
    """Without a warning: a spring on its own is no mistake."""
    env = build(farm_spec({"fields": FILE["fields"]}, "test"), {"Field-0": [SPRING]})
    assert list_notes(env) == ["Spring-0 publishes Ground, which nothing on its field reads"]
