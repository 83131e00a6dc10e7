"""Contract test for entities: run an entity with others for some days and report the first violation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import Meta, iterate_metas
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.field_day import draw_day, publish
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.engine.variables import EntitySlot, limit_range
from harvestgym.farm.entities.base import Board, Entity
from harvestgym.farm.entities.messages import meta_shape
from harvestgym.farm.schema import farm_spec

SHAPE = (3, 2)


def check_entity(entity: Entity, company: Sequence[Entity] = (), days: int = 30, seed: int = 0) -> None:
    """Run an entity on a 3 x 2 field with random orders, and check the rules that apply to every kind.

    Args:
        entity: an instance (a parameter set) of the kind to test.
        company: other entities that the entity needs on its field, such as a soil for a plant.
        days, seed: the length and random seed of the run.

    Raises:
        AssertionError: at the first violation. State fields must be described and keep their shapes and dtypes,
            values must be finite and in their declared ranges, actions must only affect the plots they target,
            and flows across the boundary must equal the change in the amounts held.
        ConfigError: if the entity needs a message that no entity in `company` publishes.
    """
    _check_class(type(entity))
    model = _field_with(entity, company)
    slot = model.fields[0].slots[0]
    state = model.initial(jax.random.key(seed), model.params)
    _check_state(slot, state.fields[0][0], "init")
    _check_actions(model, slot, state)
    _check_days(model, slot, state, days, seed)


def _check_class(kind: type[Entity]) -> None:
    assert dataclasses.is_dataclass(kind), f"{kind.__name__} is not a dataclass; make it a subclass of Entity"
    state = getattr(kind, "State", None)
    assert state is not None and dataclasses.is_dataclass(state), f"{kind.__name__}.State is not a subclass of Pytree"
    described = {name for name, _ in iterate_metas(state)}
    bare = [f.name for f in dataclasses.fields(state) if f.name not in described]
    assert not bare, f"{kind.__name__}.State: {', '.join(bare)} not described; declare them with var()"


def _field_with(entity: Entity, company: Sequence[Entity]) -> FarmModel:
    place = {"latitude#°": 45.0, "longitude#°": 0.0, "altitude#m": 100.0}
    shape = {"length#nb": SHAPE[0], "width#nb": SHAPE[1]}
    field = {"localization": place, "shape": shape, "entities": [["checked", "checked"]]}
    return build(farm_spec({"fields": {"Field-0": field}}, "check_entity"), {"Field-0": [entity, *company]})


def _check_state(slot: EntitySlot, state: Any, when: str) -> None:
    name = f"{slot.kind.__name__}.State"
    assert type(state) is slot.kind.State, f"after {when}: expected a {name}, got {type(state).__name__}"
    for attr, meta in iterate_metas(slot.kind.State):
        leaf = jnp.asarray(getattr(state, attr))
        expected = meta_shape(meta, dict(slot.sizes))
        assert leaf.shape == expected, f"after {when}: {name}.{attr} expected shape {expected}, got {leaf.shape}"
        dtype = meta.array_dtype
        assert leaf.dtype == dtype, f"after {when}: {name}.{attr} expected {dtype.__name__}, got {leaf.dtype}"
        _check_range(np.asarray(leaf), limit_range(meta), f"after {when}: {name}.{attr}")


def _check_range(values: np.ndarray, meta: Meta, where: str) -> None:
    values = values.astype(np.float64)
    assert np.isfinite(values).all(), f"{where} is not finite"
    inside = (values >= meta.low - 1e-5 * abs(meta.low)) & (values <= meta.high + 1e-5 * abs(meta.high))
    assert inside.all(), f"{where} is outside [{meta.low:g}, {meta.high:g}]: {values[~inside][0]:g}"


def _check_actions(model: FarmModel, slot: EntitySlot, state: FarmState) -> None:
    place, entities = model.params.fields[0].place, model.params.fields[0].entities
    nowhere, draws = jnp.zeros(SHAPE, bool), draw_day(jax.random.key(0), model.fields)[0]
    posts = publish(model.fields[0], model.params.fields[0], state.fields[0], draws)
    board = {"board": Board(place, posts, slot.name, float("inf"))}
    for action in slot.kind.actions:
        where = f"{slot.kind.__name__}.{action.method}"
        values = [jnp.float32(0.0)] * len(action.parameters)
        read = board if action.reads_board else {}
        result = getattr(entities[0], action.method)(state.fields[0][0], place, nowhere, *values, **read)
        assert not np.any(result.done), f"{where} reports an effect on plots that it did not target"
        for a, b in zip(jax.tree.leaves(state.fields[0][0]), jax.tree.leaves(result.state), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{where} changes plots that it did not target")


def _check_days(model: FarmModel, slot: EntitySlot, state: FarmState, days: int, seed: int) -> None:
    day = jax.jit(model.day)
    rng = np.random.default_rng(seed)
    for t in range(days):
        orders = model.actions.orders(jnp.asarray(rng.integers(model.actions.size)))
        after, report = day(jax.random.fold_in(jax.random.key(seed), t), state, orders, model.params)
        _check_state(slot, after.fields[0][0], f"day {t + 1}")
        _check_balance(model, state, after, report.flows[0], t + 1)
        state = after


def _check_balance(model: FarmModel, before: FarmState, after: FarmState, flows: dict[str, Any], t: int) -> None:
    entities = model.params.fields[0].entities
    for substance in sorted({s for e, m in zip(entities, before.fields[0], strict=True) for s in e.holds(m)}):
        then, now = (held(entities, s.fields[0], substance) for s in (before, after))
        crossed = sum(np.asarray(f, np.float64) for n, f in flows.items() if n.startswith(f"{substance}:"))
        scale = 1.0 + np.abs(then) + np.abs(now)
        worst = float(np.max(np.abs(now - then - crossed) / scale))
        assert worst < 1e-5, f"day {t}: the change in the amount of {substance} differs from its flows by {worst:.2g}"


def held(entities: Sequence[Entity], states: Sequence[Any], substance: str) -> np.ndarray:
    """Return the amount of a substance held by the entities of a field, per plot, in float64."""
    amounts = [e.holds(s) for e, s in zip(entities, states, strict=True)]
    return np.sum([np.asarray(a[substance], np.float64) for a in amounts if substance in a], axis=0)
