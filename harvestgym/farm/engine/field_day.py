"""One day on one field: carry out orders in turn, publish messages by rank, share resources, update the entities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.random import uniforms
from harvestgym.core.xla.fusion import compute_once, traces_single_kernel
from harvestgym.farm.entities.base import Board, Draws, Ledger, Place, Posts
from harvestgym.farm.entities.messages import ALLOCATION_RANK, Ground, Need, Share

from .actions import Orders
from .state import FieldParams
from .variables import EntitySlot, FieldSlots

Rows = tuple[tuple[int, str, int], ...]
"""The actions on a field: for each, the entity's number, the method and the number of parameters."""

CarriedOut = tuple[Any, Ledger, Array]
"""The state after an action, its flows and whether it had an effect."""


def map_fields(function: Callable[..., Any], structures: Sequence[Hashable], *parts: Sequence[Any]) -> list[Any]:
    """Return `function(structure, *parts)` for each field.

    In a single kernel, fields that have equal structures and parts of equal shapes are stacked, and `function` is
    traced only once and mapped over them. This compiles much faster: with mapping, six such fields take three times as
    long as one; without it, they took sixteen times as long. Where XLA makes one kernel per operation, as in batches,
    the fields are not mapped, because stacking their arrays would take more kernels than it saves.
    """
    if not traces_single_kernel():
        return list(map(function, structures, *parts))
    alike: dict[Hashable, list[int]] = {}
    for i, (structure, *mine) in enumerate(zip(structures, *parts, strict=True)):
        leaves, tree = jax.tree.flatten(mine)
        shapes = tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
        alike.setdefault((structure, tree, shapes), []).append(i)
    out: dict[int, Any] = {}
    for members in alike.values():
        of_one, mine = partial(function, structures[members[0]]), [[part[i] for part in parts] for i in members]
        if len(members) == 1:
            out[members[0]] = of_one(*mine[0])
            continue
        together = jax.vmap(of_one)(*jax.tree.map(lambda *leaves: jnp.stack(leaves), *mine))
        for place, i in enumerate(members):
            out[i] = jax.tree.map(lambda leaf, place=place: leaf[place], together)
    return [out[i] for i in range(len(structures))]


@partial(jax.jit, static_argnames="structure", inline=True)
def simulate_day(
    orders: Orders,
    accepted: Array,
    structure: tuple[FieldSlots, Rows],
    kinds: Array,
    draws: list[Draws],
    params: FieldParams,
    states: tuple[Any, ...],
) -> tuple[tuple[Any, ...], list[Ledger], Array, dict[tuple[str, str], None]]:
    """Return tomorrow's states, the flows from actions and entities, which orders had an effect, and unread messages.

    `kinds` (rows,) are the order kinds of the actions on this field. The function is jitted and
    inlined only so that JAX caches its trace, which is needed several times at startup.
    """
    (field, rows), place = structure, params.place
    readers = {e for e, method, _ in rows if getattr(field.slots[e].kind, method).action.reads_board}
    read: set[Any] = set()
    morning = publish(field, params, states, draws, read) if readers else {}
    boards = {e: Board(place, morning, field.slots[e].name, float("inf"), read) for e in readers}

    follow = partial(_follow, rows, kinds, params, boards)
    now, (of_orders, effective) = jax.lax.scan(follow, jax.tree.map(jnp.asarray, tuple(states)), (orders, accepted))
    ledgers, new = jax.tree.map(lambda each: each.sum(0), of_orders), []
    posts = publish(field, params, now, draws, read)
    for e, slot in enumerate(field.slots):
        board = Board(place, posts, slot.name, float("inf"), read)
        state, ledger = params.entities[e].update(now[e], place, board, draws[e])
        new.append(state)
        ledgers.append(ledger)
    unread = ((f"{name} publishes {kind.__name__}", kind) for kind in posts if kind not in read for name in posts[kind])
    sentences = {(f"{who}, which nothing on its field reads", kind.__module__): None for who, kind in unread}
    return tuple(new), ledgers, effective, sentences


def _follow(
    rows: Rows, kinds: Array, params: FieldParams, boards: Mapping[int, Board], states: tuple[Any, ...], given: Any
) -> tuple[tuple[Any, ...], tuple[list[Ledger], Array]]:
    """Carry out an order if it is accepted; return the states, the flows of each action and whether it had an effect.

    `given` is a pair: the order, and whether it is accepted.
    """
    order, accepted = given
    now, ledgers, hit = list(states), [], jnp.asarray(False)
    for kind, (e, method, width) in zip(kinds, rows, strict=True):
        chosen, values = accepted & (order.kind == kind), [order.values[i] for i in range(width)]
        act = getattr(params.entities[e], method)
        act = partial(act, board=boards[e]) if act.action.reads_board else act
        carry_out = partial(_carry_out, act, params.place, order.plot, chosen, values)
        now[e], ledger, done = _only_if(chosen, carry_out, now[e])
        ledgers.append(ledger)
        hit = hit | done
    return compute_once(tuple(now)), (ledgers, hit)


def _carry_out(
    act: Callable[..., Any], place: Place, plot: Array, chosen: Array, values: list[Array], state: Any
) -> CarriedOut:
    """Return the state after an action on a plot, or on all for (-1, -1), its flows and whether it had an effect."""
    x, y = np.indices(place.shape, np.int32)
    aim = (plot[0] < 0) | ((x == plot[0]) & (y == plot[1]))  # for each row: a shared value would be kept in memory
    result = act(state, place, chosen & aim, *values)
    same = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), result.state, state)
    return same, result.ledger, jnp.any(result.done)


def _only_if(chosen: Array, carry_out: Callable[[Any], CarriedOut], state: Any) -> CarriedOut:
    """Return `carry_out(state)`, whose result if not chosen is the state, and zeros for the rest.

    A farm on its own skips what is not chosen; a batch computes everything. On an accelerator, a branch would wait for
    the host.
    """
    if jax.default_backend() != "cpu":
        return carry_out(state)
    none = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(carry_out, state)[1:])
    return jax.lax.cond(chosen, carry_out, lambda state: (state, *none), state)


def publish(
    field: FieldSlots, params: FieldParams, states: Sequence[Any], draws: list[Draws], read: set[Any] | None = None
) -> Posts:
    """Return all messages on a field in one day, by rank, including the allocator's share.

    The kinds of the messages that the publishers read are added to `read`.
    """
    publishers = [(message, e, method) for e, s in enumerate(field.slots) for message, method in s.kind.published]
    posts: Posts = {}
    for rank in sorted({message.rank for message, _, _ in publishers} | {ALLOCATION_RANK}):
        of_rank: Posts = {}
        for message, e, method in publishers:
            if message.rank == rank:
                board = Board(params.place, posts, field.slots[e].name, rank, read)
                made = getattr(params.entities[e], method)(states[e], params.place, board, draws[e])
                of_rank.setdefault(message, {})[field.slots[e].name] = compute_once(made)
        if rank == ALLOCATION_RANK and field.hosts:
            board = Board(params.place, posts, "the allocator", rank, read)
            of_rank[Share] = {"allocator": compute_once(_shared(field, board))}
        posts |= of_rank
    return posts


def _shared(field: FieldSlots, board: Board) -> Share:
    return allocate(board.read_hosts(Need), board.read_one(Ground), [s.kind.priority for s in field.hosts])


@partial(jax.jit, static_argnames="fields", inline=True)
def draw_day(key: Array, fields: tuple[FieldSlots, ...]) -> list[list[Draws]]:
    """Return today's uniforms for every entity on every field, drawn at once and sliced by entity and use.

    It is jitted for the same reason as `simulate_day`.
    """
    shapes = [[(slot.stream, _shapes(slot)) for slot in field.slots] for field in fields]
    counts: dict[str, int] = {}
    for stream, uses in itertools.chain(*shapes):
        counts[stream] = max(counts.get(stream, 0), sum(map(math.prod, uses.values())))
    flat = uniforms(key, counts)
    return [[_sliced(flat[stream], uses) for stream, uses in of_field] for of_field in shapes]


def _shapes(slot: EntitySlot) -> dict[str, tuple[int, ...]]:
    """Return the shape of the uniforms for each use."""
    sizes = dict(slot.sizes)
    return {use: sum((sizes[a] for a in axes), ()) for use, axes in slot.kind.randomness.items()}


def _sliced(flat: Array, shapes: Mapping[str, tuple[int, ...]]) -> Draws:
    out, start = {}, 0
    for use, shape in shapes.items():
        stop = start + math.prod(shape)
        out[use], start = flat[start:stop].reshape(shape), stop
    return out


def allocate(needs: Need, ground: Ground, priorities: Sequence[int]) -> Share:
    """Serve the hosts in order of priority; hosts of equal priority share in proportion to their requests.

    The hosts and the soil use the same result, so the balance closes for any kinds of entities on the field.
    Water is limited to the amount that the soil holds above the wilting point. Only the microlife's fraction of the
    nutrient demand is requested from the soil (section 4.3), limited by the stock.

    Args:
        needs: stacked along the host axis: water (host, length, width), nutrients (host, 4, length, width).
        ground: the water and nutrients of the plots.
        priorities: the static priority of each host.
    """
    water = _by_priority(needs.water, ground.extractable, priorities)
    nutrients = _by_priority(needs.nutrients * ground.microlife, ground.nutrients, priorities)
    return Share(water=water, nutrients=jnp.moveaxis(nutrients, 0, 1))


def _by_priority(asked: Array, stock: Array, priorities: Sequence[int]) -> Array:
    """Sum in a Python loop over the few hosts: XLA can fuse plain additions with the code that uses the sums."""
    given = list(asked)
    for level in sorted(set(priorities), reverse=True):
        equals = [host for host, priority in enumerate(priorities) if priority == level]
        total = reduce(jnp.add, [given[host] for host in equals])
        short = total > stock
        part = jnp.where(short, stock / jnp.where(short, total, 1.0), 1.0)  # of the requests that the stock can cover
        for host in equals:
            given[host] = given[host] * part
        stock = jnp.maximum(stock - reduce(jnp.add, [given[host] for host in equals]), 0.0)
    return jnp.stack(given)
