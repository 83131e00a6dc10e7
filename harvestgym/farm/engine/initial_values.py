"""How a game starts: initial values put into the entities' default state, drawn anew at each reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import ConfigError, unknown
from harvestgym.core.tree import replace
from harvestgym.farm.schema import Interval

from .variables import FieldSlots, Variable, encoded, find_entity, find_field


@dataclass(frozen=True)
class InitialValue:
    """Which variable gets an initial value, and how: one of several choices, or any number in between."""

    variable: Variable
    between: bool

    def draw(self, key: jax.Array, values: jax.Array) -> jax.Array:
        """The value of an episode, broadcast to the plots; `values` are the choices or the two ends."""
        if self.between and self.variable.meta.dtype != "float":
            drawn = jax.random.randint(key, (), jnp.int32(values[0]), jnp.int32(values[1]) + 1)
        elif self.between:
            drawn = jax.random.uniform(key, (), jnp.float32, values[0], values[1])
        else:
            drawn = jnp.asarray(values)[jax.random.randint(key, (), 0, len(values))]
        return jnp.broadcast_to(drawn, self.variable.shape)

    def put(self, key: jax.Array, values: jax.Array, state: Any) -> Any:
        """`state` of the entity with the value drawn into it."""
        leaf = getattr(state, self.variable.attr)
        value = self.draw(key, values).astype(leaf.dtype)
        new = value if self.variable.index is None else leaf.at[self.variable.index].set(value)
        return replace(state, **{self.variable.attr: new})


def starts_of(
    init: Mapping[str, Any],
    fields: Sequence[FieldSlots],
    table: Sequence[Variable],
    limits: Callable[[int, int], Mapping[str, float]],
) -> list[tuple[InitialValue, Any]]:
    """The starting conditions of a file `field: entity: variable: value, list or interval`, with values.

    `limits` gives, for a field and an entity, the most that parameters allow some fields of its state.
    """
    out: list[tuple[InitialValue, Any]] = []
    for field, of_field in init.items():
        f = find_field(fields, field, "rules > init")
        for entity, values in of_field.items():
            e = find_entity(fields[f], entity, f"rules > init > {field}")
            mine = {v.key: v for v in table if (v.field, v.entity) == (f, e) and not v.derived}
            for key, value in values.items():
                where = f"rules > init > {field} > {entity}"
                if key not in mine:
                    raise unknown("variable", key, mine, where)
                _check_open(mine[key], [k for k, v in mine.items() if not v.meta.settled], f"{where} > {key}")
                most = limits(f, e).get(mine[key].attr, mine[key].meta.high)
                out.append(_start(mine[key], value, most, f"{where} > {key}"))
    return out


def _check_open(variable: Variable, others: Sequence[str], where: str) -> None:
    if variable.meta.settled:
        kind, _, _ = variable.where[1].rpartition("-")
        raise ConfigError(
            f"{where}: {kind} finds this at the start of a game itself, and would overrule a value given here; "
            f"leave it out, and give one of {', '.join(others)}"
        )


def _start(variable: Variable, value: Any, most: float, where: str) -> tuple[InitialValue, Any]:
    between = isinstance(value, Interval)
    given = [value.low, value.high] if between else list(value)
    drawn = np.asarray([_checked(variable, v, most, where) for v in given], np.float32)
    if not drawn.size or (between and drawn[0] > drawn[1]):
        raise ConfigError(f"{where}: wanted values, or an interval with low <= high; found {given}")
    return InitialValue(variable, between), drawn


def _checked(variable: Variable, value: Any, most: float, where: str) -> float:
    meta = variable.meta
    number = encoded(value, meta, where)
    if isinstance(value, str):
        return number
    if meta.dtype != "float" and value != int(value):
        raise ConfigError(f"{where}: wanted a whole number, found {value!r}")
    if not meta.low <= value <= most * (1 + 1e-6):
        raise ConfigError(f"{where}: wanted a number in [{meta.low:g}, {most:g}], found {value!r}")
    return number
