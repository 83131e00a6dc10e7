"""Facility: the scarecrow that farmers put up and take away, the hedge, and what both do to the others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.facility.facility import Facility, FacilityState
from harvestgym.farm.entities.messages import Structures
from harvestgym.testing.entity import check_entity
from tests.farm.one_field import make_farm
from tests.farm.soil_plant_day import board, field

BASE, HEDGE = Facility.named("base_facility"), Facility.named("hedge")
PLACE = field((2, 2))


def said(facility: Facility, scarecrow: int) -> Structures:
    state = FacilityState(scarecrow=jnp.int32(scarecrow))
    return facility.structures(state, PLACE, board(PLACE, "Facility-0"), {})


def farm(*sets: Any) -> FarmModel:
    return make_farm([*(("Facility", which) for which in sets), ("Birds", "base_bird")], (2, 1))


def order(name: str, entity: str = "Facility-0", **parameters: Any) -> tuple[Any, ...]:
    return ("BasicFarmer-0", "Field-0", entity, name, parameters)


@pytest.mark.parametrize(("scarecrow", "deterred"), [(0, 0), (1, 4), (2, 10)])
def test_what_a_scarecrow_keeps_away(scarecrow: int, deterred: int) -> None:
    assert float(said(BASE, scarecrow).deterred) == float(said(HEDGE, scarecrow).deterred) == deterred


def test_only_a_hedge_lures() -> None:
    bare, hedge = said(BASE, 2), said(HEDGE, 0)
    assert float(bare.bird_lure) == float(bare.insect_lure) == 0.0
    assert (float(hedge.bird_lure), float(hedge.insect_lure)) == (4.0, 2.0)


def test_several_facilities_add_up() -> None:
    posts = (("Facility-0", said(BASE, 1)), ("Facility-1", said(HEDGE, 2)))
    heard = board(PLACE, "Birds-0", *posts).read_sum(Structures)
    assert [float(n) for n in (heard.deterred, heard.bird_lure, heard.insect_lure)] == [14.0, 4.0, 2.0]


def test_an_order_has_an_effect_where_it_changes_something() -> None:
    env = farm("base_facility", "hedge")
    step = jax.jit(env.day)
    state = env.initial(jax.random.key(0), env.params)
    assert int(state.fields[0][0].scarecrow) == 0
    todo = [
        (order("remove_scarecrow"), 0, False, 0),
        (order("put_scarecrow", type="basic"), 1, True, 4),
        (order("put_scarecrow", type="basic"), 1, False, 4),
        (order("put_scarecrow", type="advanced"), 2, True, 10),
        (order("put_scarecrow", type="basic"), 1, True, 4),
        (order("remove_scarecrow"), 0, True, 0),
        (order("remove_scarecrow"), 0, False, 0),
        (order("put_scarecrow", "Facility-1", type="basic"), 0, True, 4),
        (order("put_scarecrow", type="basic"), 1, True, 8),
    ]
    drawn = []
    for action, stands, effective, deterred in todo:
        state, report = step(jax.random.key(0), state, env.actions.encode([action], env.schedule), env.params)
        assert int(state.fields[0][0].scarecrow) == stands, action
        assert bool(state.effective.any()) == effective, action
        drawn.append((float(report.tally["birds#nb"]), deterred))
    free = drawn[0][0]
    assert 4 < free <= 12, "of the 12 that a hedge allows, by the same key each day"
    assert [birds for birds, _ in drawn] == [max(free - deterred, 0) for _, deterred in drawn]


def test_the_actions_of_a_field_take_no_plot_and_the_types_that_there_are() -> None:
    env = farm("base_facility")
    assert [(a.name, a.plot, [p.key for p in a.parameters]) for a in Facility.actions] == [
        ("put_scarecrow", False, ["type"]),
        ("remove_scarecrow", False, []),
    ]
    assert env.actions.size == 1 + 2 + 1
    with pytest.raises(ConfigError, match="advanced"):
        env.actions.encode([order("put_scarecrow", type="advance")], env.schedule)


def test_a_stronger_scarecrow_of_ones_own() -> None:
    own = Facility.named({"extends": "hedge", "scarecrow_strength": {"basic": 7}, "bird_lure#nb": 1})
    assert float(said(own, 1).deterred) == 7.0 and float(said(own, 2).deterred) == 10.0
    assert float(said(own, 1).bird_lure) == 1.0
    with pytest.raises(ConfigError, match="basic"):
        Facility.named({"scarecrow_strength": {"basik": 7}})


def test_keeps_the_contract() -> None:
    check_entity(HEDGE, days=12)
