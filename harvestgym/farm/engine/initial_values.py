"""Initial values of state variables: fixed, or redrawn at each reset."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import check_value
from harvestgym.core.errors import ConfigError, mismatch
from harvestgym.core.pytree import Meta, replace
from harvestgym.core.random import keys_for
from harvestgym.farm.spelling import EachPlot, Interval

from .field_day import map_fields
from .name_table import walk_tree
from .state import FarmParams, FieldParams
from .variables import FieldSlots, Variable


@dataclass(frozen=True)
class InitialValue:
    """A variable and the type of its initial value: one of several choices, or any number in an interval.

    A choice is a number or an array with a number for each plot. If `each` is True, each plot draws its own value.
    """

    variable: Variable
    between: bool
    each: bool = False

    def draw(self, key: Array, values: Array) -> Array:
        """Draw the value for an episode, broadcast to the plots; `values` are the choices or the two bounds."""
        shape = self.variable.shape if self.each else ()
        if self.between and self.variable.meta.dtype != "float":
            drawn = jax.random.randint(key, shape, jnp.int32(values[0]), jnp.int32(values[1]) + 1, jnp.int32)
        elif self.between:
            drawn = jax.random.uniform(key, shape, jnp.float32, values[0], values[1])
        else:
            at = jax.random.randint(key, shape, jnp.int32(0), jnp.int32(len(values)), jnp.int32)
            drawn = jnp.asarray(values)[at]
        return jnp.broadcast_to(drawn, self.variable.shape)

    @partial(jax.jit, static_argnums=0, inline=True)
    def put(self, key: Array, values: Array, state: Any) -> Any:
        """Draw the value and write it into the entity's `state`; jitted like `field_day.simulate_day`."""
        leaf = getattr(state, self.variable.attr)
        value = self.draw(key, values).astype(leaf.dtype)
        new = value if self.variable.index is None else leaf.at[self.variable.index].set(value)
        return replace(state, **{self.variable.attr: new})


def draw_initial_states(
    key: Array, fields: Sequence[FieldSlots], starts: Sequence[InitialValue], params: FarmParams
) -> tuple[tuple[Any, ...], ...]:
    """Return the states of all entities before the first day."""
    streams = [[slot.stream for slot in field.slots] for field in fields]
    given = [f"{streams[s.variable.field][s.variable.entity]}/{s.variable.key}" for s in starts]
    settle = [[f"{stream}/settle" for stream in of_field] for of_field in streams]
    keys = _draw_keys(key, tuple(dict.fromkeys(itertools.chain(*streams, given, *settle))))
    init_keys, settle_keys = ([[keys[name] for name in of_field] for of_field in uses] for uses in (streams, settle))
    structures = [field.structure for field in fields]
    states = [list(of_field) for of_field in map_fields(_init_field, structures, init_keys, params.fields)]
    for start, name, choices in zip(starts, given, params.starts, strict=True):
        f, e = start.variable.field, start.variable.entity
        states[f][e] = start.put(keys[name], choices, states[f][e])
    return tuple(map_fields(_settle_field, structures, settle_keys, params.fields, states))


@partial(jax.jit, static_argnums=1, inline=True)
def _draw_keys(key: Array, names: tuple[str, ...]) -> dict[str, Array]:
    """Return the key for each name; jitted like `field_day.simulate_day`."""
    return dict(zip(names, keys_for(key, names), strict=True))


@partial(jax.jit, static_argnums=0, inline=True)
def _init_field(field: FieldSlots, keys: list[Array], params: FieldParams) -> tuple[Any, ...]:
    """Return a field's first states; jitted like `field_day.simulate_day`."""
    return tuple(entity.init(key, params.place) for entity, key in zip(params.entities, keys, strict=True))


@partial(jax.jit, static_argnums=0, inline=True)
def _settle_field(field: FieldSlots, keys: list[Array], params: FieldParams, states: list[Any]) -> tuple[Any, ...]:
    """Complete the states of a field after its initial values are set, and remove JAX's weak types."""
    parts = zip(params.entities, keys, states, strict=True)
    settled = [entity.settle(key, state, params.place) for entity, key, state in parts]
    return tuple(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), settled))


def compile_initial_values(
    init: Mapping[str, Any], variables: Sequence[Variable], fields: Sequence[FieldParams], where: str
) -> list[tuple[InitialValue, Any]]:
    """Compile initial values `field: entity: variable: values`, given in canonical names; `where` is for errors."""
    table = {(*v.where, v.key): v for v in variables}
    out: list[tuple[InitialValue, Any]] = []
    for field, entity, key, values in walk_tree(init):
        variable = table[field, entity, key]
        of_field = fields[variable.field]
        most = of_field.entities[variable.entity].limits(of_field.place).get(variable.attr, variable.meta.high)
        out.append(_compile_value(variable, values, most, f"{where} > {field} > {entity} > {key}"))
    return out


def check_starts(starts: Sequence[tuple[InitialValue, Any]], fields: Sequence[FieldParams], where: str) -> None:
    """Raise ConfigError if an entity would discard an initial value because of its other initial values."""
    for f, e in dict.fromkeys((s.variable.field, s.variable.entity) for s, _ in starts):
        mine = {s.variable.attr: (s.variable, v) for s, v in starts if (s.variable.field, s.variable.entity) == (f, e)}
        for attr, mistake in fields[f].entities[e].check_start({name: values for name, (_, values) in mine.items()}):
            variable = mine[attr][0]
            raise ConfigError(f"{where} > {' > '.join(variable.where)} > {variable.key}: {mistake}")


def _compile_value(variable: Variable, value: Any, most: float, where: str) -> tuple[InitialValue, Any]:
    each, between = isinstance(value, EachPlot), isinstance(getattr(value, "each", value), Interval)
    given = getattr(value, "each", value)
    given = list(given.ends) if between else [given] if any(isinstance(row, list) for row in given) else list(given)
    if each and not variable.per_plot:
        raise mismatch(where, "no `each`, because the variable has no plots", "one")
    allowed = dataclasses.replace(variable.meta, high=float(f"{most:.6g}"))  # a limit may be a rounded float32
    drawn = np.asarray([_read_choice(allowed, one, variable, each, where) for one in given], np.float32)
    if not drawn.size or (between and drawn[0] > drawn[1]):
        raise mismatch(where, "values, or an interval with low <= high", given)
    return InitialValue(variable, between, each), drawn


def _read_choice(allowed: Meta, given: Any, variable: Variable, each: bool, where: str) -> Any:
    """Return a number, or the number of each plot from lists of the field's shape."""
    if not isinstance(given, list):
        return check_value(allowed, given, where)
    length, width = variable.shape if variable.per_plot and not each else (0, 0)
    if [len(row) if isinstance(row, list) else 0 for row in given] != [width] * length:
        hint = f"{length} lists (x) of {width} values (y), one for each plot" if length else "no list inside a list"
        raise mismatch(where, hint, given)
    rows = enumerate(given)
    return [[check_value(allowed, one, f"{where} > {x} > {y}") for y, one in enumerate(row)] for x, row in rows]
