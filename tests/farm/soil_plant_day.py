"""A hand-made day for a soil and a plant: the air that a test says, the allocator, and one update of each."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import iterate_metas, replace
from harvestgym.farm.engine.field_day import allocate
from harvestgym.farm.entities.base import Board, Ledger, Place
from harvestgym.farm.entities.messages import Air, Message, Share
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.soil.soil import SoilState

from .messages import message


def field(
    shape: tuple[int, int] = (1, 1), scale: float = 1.0, targets: tuple[str, ...] = ("soil",),
    hosts: tuple[str, ...] = ("Plant-0",),
) -> Place:  # fmt: skip
    """Plots for one plant, or for other hosts."""
    spot = {"latitude": 45.0, "longitude": 0.0, "altitude": 50.0, "scale": scale}
    numbers: dict[str, Any] = {name: np.float32(value) for name, value in spot.items()}
    return Place(shape=shape, hosts=hosts, targets=targets, **numbers)


def draws(shape: tuple[int, int], value: float = 0.5) -> dict[str, jax.Array]:
    """Return the same uniform for every use."""
    return {use: jnp.full(shape, value, jnp.float32) for use in Plant.randomness}


def board(place: Place, reader: str, *said: tuple[str, Message]) -> Board:
    """Return the messages that `reader` reads this morning, by sender."""
    posts: dict[type[Message], dict[str, Message]] = {}
    for speaker, each in said:
        posts.setdefault(type(each), {})[speaker] = each
    return Board(place, posts, reader, float("inf"))


def said_today(
    plant: Plant, soil: Soil, states: tuple[Any, Any], place: Place, today: Air
) -> list[tuple[str, Message]]:
    """Air, Ground, Canopy, Need, Litter and the allocator's Share of a morning."""
    standing, earth = states
    ground = soil.ground(earth, place, board(place, "Soil-0"), {})
    dawn = [("Weather-0", today), ("Soil-0", ground)]
    morning = board(place, "Plant-0", *dawn)
    own = [say(standing, place, morning, {}) for say in (plant.canopy, plant.need, plant.litter)]
    share = allocate(jax.tree.map(lambda leaf: leaf[None], own[1]), ground, [0])
    return [*dawn, *(("Plant-0", message) for message in own), ("allocator", share)]


def live(
    plant: Plant, soil: Soil, states: tuple[Any, Any], place: Place, today: Air, uniforms: dict[str, jax.Array],
    others: tuple[Message, ...] = (),
) -> tuple[tuple[Any, Any], tuple[Ledger, Ledger]]:  # fmt: skip
    """Return a day of both; `others` is what further kinds say."""
    said = said_today(plant, soil, states, place, today) + [("other", message) for message in others]
    standing, booked = plant.update(states[0], place, board(place, "Plant-0", *said), uniforms)
    earth, spent = soil.update(states[1], place, board(place, "Soil-0", *said), uniforms)
    return (standing, earth), (booked, spent)


live_jit = jax.jit(live)
"""`live`, compiled once per shape of the field and kinds of others."""


def earth(
    soil: Soil, place: Place, water: float = 110.0, nutrients: float = 50.0, microlife: float = 100.0
) -> SoilState:
    """Return a soil with the same on every plot."""
    state = soil.init(jax.random.key(0), place)
    return replace(
        state,
        water=jnp.full(place.shape, water, jnp.float32), microlife=jnp.full(place.shape, microlife, jnp.float32),
        nutrients=jnp.full((4, *place.shape), nutrients, jnp.float32),
    )  # fmt: skip


def share_of(place: Place, water: float = 0.0, nutrients: float = 0.0) -> Share:
    """Return a share of nothing in particular."""
    return message(Share, place, water=water, nutrients=nutrients)


def check_ranges(state: Any) -> None:
    """Check that every variable is finite, of its declared type and within its declared range."""
    for name, meta in iterate_metas(type(state)):
        values = np.asarray(getattr(state, name))
        assert values.dtype == meta.array_dtype, name
        assert np.isfinite(values.astype(np.float64)).all(), f"{name} is not finite"
        assert (values >= meta.low).all() and (values <= meta.high).all(), f"{name} leaves its range"
