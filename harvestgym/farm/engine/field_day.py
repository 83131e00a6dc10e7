"""The day of one field after the orders: its entities draw, publish rank by rank, share, and update themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from harvestgym.core.random import uniforms
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place
from harvestgym.farm.entities.messages import ALLOCATION_RANK, Ground, Message, Need, Share

from .allocation import allocate
from .variables import EntitySlot, FieldSlots

Posts = dict[type[Message], dict[str, Message]]


@partial(jax.jit, static_argnames="field", inline=True)
def simulate_day(
    key: jax.Array, field: FieldSlots, place: Place, entities: tuple[Entity, ...], states: list[Any]
) -> tuple[tuple[Any, ...], list[Ledger]]:
    """Return the states of tomorrow, and what crossed the boundary through each entity.

    Jitted, and put in line, only so that JAX remembers the trace: a start needs it several times.
    """
    draws = _draws(key, field)
    posts = publish(field, entities, states, place, draws)
    new, ledgers = [], []
    for e, slot in enumerate(field.slots):
        board = Board(place, posts, slot.name, float("inf"))
        state, ledger = entities[e].update(states[e], place, board, draws[e])
        new.append(state)
        ledgers.append(ledger)
    return tuple(new), ledgers


def publish(
    field: FieldSlots, entities: tuple[Entity, ...], states: list[Any], place: Place, draws: list[Draws]
) -> Posts:
    """Return all messages of a field on one day, rank by rank, the allocator's share among them."""
    speakers = [(message, e, method) for e, s in enumerate(field.slots) for message, method in s.kind.published]
    posts: Posts = {}
    for rank in sorted({message.rank for message, _, _ in speakers} | {ALLOCATION_RANK}):
        said: Posts = {}
        for message, e, method in speakers:
            if message.rank == rank:
                board = Board(place, posts, field.slots[e].name, rank)
                spoken = getattr(entities[e], method)(states[e], place, board, draws[e])
                said.setdefault(message, {})[field.slots[e].name] = spoken
        if rank == ALLOCATION_RANK and field.hosts:
            said[Share] = {"allocator": _shared(field, place, posts)}
        posts |= said
    return posts


def _shared(field: FieldSlots, place: Place, posts: Posts) -> Share:
    board = Board(place, posts, "the allocator", ALLOCATION_RANK)
    return allocate(board.by_host(Need), board.one(Ground), [s.kind.priority for s in field.hosts])


def _draws(key: jax.Array, field: FieldSlots) -> list[Draws]:
    """Return the uniforms of the day of every entity of a field, drawn at once and sliced by entity and use."""
    shapes = {slot.stream: _shapes(slot) for slot in field.slots}
    counts = {name: sum(int(np.prod(shape)) for shape in uses.values()) for name, uses in shapes.items()}
    flat = uniforms(key, counts)
    return [_sliced(flat[name], uses) for name, uses in shapes.items()]


def _shapes(slot: EntitySlot) -> dict[str, tuple[int, ...]]:
    """Return the shape of the uniforms of each use."""
    sizes = dict(slot.sizes)
    return {use: sum((sizes[a] for a in axes), ()) for use, axes in slot.kind.randomness.items()}


def _sliced(flat: jax.Array, shapes: Mapping[str, tuple[int, ...]]) -> Draws:
    out, start = {}, 0
    for use, shape in shapes.items():
        stop = start + int(np.prod(shape))
        out[use], start = flat[start:stop].reshape(shape), stop
    return out
