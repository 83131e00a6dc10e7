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

from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.tree import Meta
from harvestgym.farm.schema import AnyOfAll, Condition

from .observations import ObservedItem
from .variables import FieldSlots, Variable, encoded, find_variables

Read = Callable[[ObservedItem], jax.Array]

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

    look: ObservedItem
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
    """The events of a formula and their values, every name checked and every mapping tried."""
    compiled = [
        [_event(c, fields, table, f"{where} > {i} > {j}") for j, c in enumerate(group)]
        for i, group in enumerate(formula)
    ]
    events = tuple(tuple(event for event, _ in group) for group in compiled)
    return events, tuple(tuple(value for _, value in group) for group in compiled)


def _event(
    condition: Condition, fields: Sequence[FieldSlots], table: Sequence[Variable], where: str
) -> tuple[Event, np.ndarray]:
    try:
        found, plot = find_variables(fields, table, *condition.observation)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if len(found) != 1:
        raise ConfigError(f"{where}: {condition.observation} is several variables; name one")
    check_name("operator", condition.operator, OPERATORS, where)
    value = _reference(condition, found[0].meta, f"{where}: {found[0].name}")
    event = Event(ObservedItem(found[0], plot), _mapping(condition.mapping, where), condition.operator)
    if callable(condition.mapping):
        _try(event, value, where)
    return event, value


def _mapping(mapping: Any, where: str) -> Callable[..., Any]:
    if callable(mapping):
        return mapping
    check_name("mapping", mapping, MAPPINGS, where)
    return MAPPINGS[mapping]


def _try(event: Event, value: np.ndarray, where: str) -> None:
    """Trace a mapping of the user's own, once; ConfigError if it cannot be a part of compiled code."""
    seen = jax.ShapeDtypeStruct((event.look.size,), jnp.float32)
    try:
        hash(event)
        jax.eval_shape(
            lambda numbers: jnp.all(OPERATORS[event.operator](jnp.asarray(event.mapping(numbers)), value)), seen
        )
    except Exception as error:  # whatever a person's function may raise
        name = getattr(event.mapping, "__name__", repr(event.mapping))
        raise ConfigError(
            f"{where}: the mapping {name!r} cannot be compiled ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}); wanted a function of an array of {event.look.size} in jax.numpy "
            f"without branches on its values, or one of {', '.join(MAPPINGS)}"
        ) from None


def _reference(condition: Condition, meta: Meta, where: str) -> np.ndarray:
    """What a condition compares with, as numbers."""
    value, several = condition.value, condition.operator in ("in", "ni")
    if several != isinstance(value, (list, tuple)) or (several and not value):
        wanted = "a list of values" if several else "a single value"
        raise ConfigError(f"{where}: {condition.operator!r} wants {wanted}, found {value!r}")
    codes = [encoded(v, meta, where) for v in value] if several else encoded(value, meta, where)
    return np.asarray(codes, np.float32)
