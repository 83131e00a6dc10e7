"""Events `(observation, mapping, operator, value)` and any-of(all-of) formulas of them.

Stopping rules read them from the state, policies from what the farmer sees; both are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ConfigError, unknown
from ..core.tree import Meta
from .layout import FieldSlots, Variable, find_variables
from .observe import Look
from .spec import AnyOfAll, Condition

Read = Callable[[Look], jax.Array]

MAPPINGS: dict[str, Callable[..., Any]] = {
    "value": lambda x: x, "sum": jnp.sum, "mean": jnp.mean, "min": jnp.min, "max": jnp.max,
}  # fmt: skip
OPERATORS: dict[str, Callable[[jax.Array, Any], jax.Array]] = {
    "==": lambda x, v: x == v,
    "!=": lambda x, v: x != v,
    "<=": lambda x, v: x <= v,
    ">=": lambda x, v: x >= v,
    "<": lambda x, v: x < v,
    ">": lambda x, v: x > v,
    "in": lambda x, v: jnp.isin(x, v),
    "ni": lambda x, v: ~jnp.isin(x, v),
}
"""`ni` is «not in»."""


@dataclass(frozen=True)
class Event:
    """The structure of a condition: what is looked at, the mapping and the operator; its value is a parameter."""

    look: Look
    mapping: Callable[..., Any]
    operator: str

    @property
    def by_plot(self) -> bool:
        """Whether it can be asked of each plot alone."""
        return self.look.variable.per_plot and self.look.plot is None and self.mapping is MAPPINGS["value"]

    def test(self, value: Any, numbers: jax.Array) -> jax.Array:
        """Whether it occurs on each of the numbers that its mapping leaves of what is seen."""
        return OPERATORS[self.operator](self.mapping(numbers), jnp.asarray(value))

    def holds(self, value: Any, read: Read) -> jax.Array:
        """Whether the event occurs (on every seen entry, if several are seen)."""
        return jnp.all(self.test(value, read(self.look)))


AnyOf = tuple[tuple[Event, ...], ...]
Values = tuple[tuple[Any, ...], ...]
"""The reference values of a formula, float32, in its order."""


def occurs(formula: AnyOf, values: Values, read: Read) -> jax.Array:
    """Whether any of the groups holds in all its events; an empty formula never does."""
    pairs = [list(zip(group, of_group, strict=True)) for group, of_group in zip(formula, values, strict=True)]
    groups = [jnp.all(jnp.stack([event.holds(v, read) for event, v in pair])) for pair in pairs if pair]
    return jnp.any(jnp.stack(groups)) if groups else jnp.asarray(False)


def compile_conditions(
    formula: AnyOfAll, fields: Sequence[FieldSlots], table: Sequence[Variable], where: str
) -> tuple[AnyOf, Values]:
    """The events of a formula and their values, every name checked."""
    compiled = [[_event(c, fields, table, where) for c in group] for group in formula]
    events = tuple(tuple(event for event, _ in group) for group in compiled)
    return events, tuple(tuple(value for _, value in group) for group in compiled)


def _event(
    condition: Condition, fields: Sequence[FieldSlots], table: Sequence[Variable], where: str
) -> tuple[Event, np.ndarray]:
    found, plot = find_variables(fields, table, *condition.observation)
    if len(found) != 1:
        raise ConfigError(f"{where}: {condition.observation} is several variables; name one")
    if condition.operator not in OPERATORS:
        raise unknown("operator", condition.operator, OPERATORS, where)
    value = _encoded(condition.value, found[0].meta, f"{where}: {found[0].name}")
    several = condition.operator in ("in", "ni")
    if several != isinstance(value, tuple):
        wanted = "a list" if several else "a single value"
        raise ConfigError(f"{where}: {condition.operator!r} wants {wanted}, found {condition.value!r}")
    event = Event(Look(found[0], plot), _mapping(condition.mapping, where), condition.operator)
    return event, np.asarray(value, np.float32)


def _mapping(mapping: Any, where: str) -> Callable[..., Any]:
    if callable(mapping):
        return mapping
    if mapping not in MAPPINGS:
        raise unknown("mapping", mapping, MAPPINGS, where)
    return MAPPINGS[mapping]


def _encoded(value: Any, meta: Meta, where: str) -> float | tuple[float, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(float(_encoded(v, meta, where)) for v in value)  # pyright: ignore[reportArgumentType]
    if isinstance(value, str):
        if value not in meta.labels:
            raise unknown("value", value, meta.labels, where)
        return float(meta.labels.index(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{where}: wanted a number or a label, found {value!r}")
    return float(value)
