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
from harvestgym.farm.schema import AnyOfAll, ConditionSpec

from .observations import ObservedItem, find_items
from .variables import Variable, encode_label

ValueReader = Callable[[ObservedItem], jax.Array]


def keep_value(x: Any) -> Any:
    """Return the numbers as they are (mapping `value`)."""
    return x


MAPPINGS: dict[str, Callable[..., Any]] = {
    "value": keep_value, "sum": jnp.sum, "mean": jnp.mean, "min": jnp.min, "max": jnp.max,
}  # fmt: skip
OPERATORS: dict[str, Callable[..., Any]] = {
    "==": lambda x, v, xp=jnp: x == v,
    "!=": lambda x, v, xp=jnp: x != v,
    "<=": lambda x, v, xp=jnp: x <= v,
    ">=": lambda x, v, xp=jnp: x >= v,
    "<": lambda x, v, xp=jnp: x < v,
    ">": lambda x, v, xp=jnp: x > v,
    "in": lambda x, v, xp=jnp: xp.isin(x, v),
    "ni": lambda x, v, xp=jnp: ~xp.isin(x, v),
}
"""The operators of conditions, in compiled code and (with `xp=numpy`) on the host; `ni` is "not in"."""

SECOND_SPELLINGS = {"not in": "ni", "=": "=="}
"""Second spellings of operators."""


@dataclass(frozen=True)
class CompiledCondition:
    """The structure of a condition: what is looked at, the mapping and the operator; its value is a parameter."""

    item: ObservedItem
    mapping: Callable[..., Any]
    operator: str

    @property
    def by_plot(self) -> bool:
        """Return whether it can be asked of each plot alone."""
        return self.item.variable.per_plot and self.item.plot is None and self.mapping is keep_value

    def test(self, value: Any, numbers: jax.Array) -> jax.Array:
        """Return whether it occurs on each of the numbers that its mapping leaves of what is seen."""
        return OPERATORS[self.operator](self.mapping(numbers), jnp.asarray(value))

    def holds(self, value: Any, read: ValueReader) -> jax.Array:
        """Return whether the event occurs (on every seen entry, if several are seen)."""
        return jnp.all(self.test(value, read(self.item)))


Formula = tuple[tuple[CompiledCondition, ...], ...]
ReferenceValues = tuple[tuple[Any, ...], ...]
"""The reference values of a formula, float32, in its order."""


def occurs(formula: Formula, values: ReferenceValues, read: ValueReader) -> jax.Array:
    """Return whether any of the groups holds in all its events; an empty formula never does."""
    pairs = [list(zip(group, of_group, strict=True)) for group, of_group in zip(formula, values, strict=True)]
    groups = [jnp.all(jnp.stack([event.holds(v, read) for event, v in pair])) for pair in pairs if pair]
    return jnp.any(jnp.stack(groups)) if groups else jnp.asarray(False)


def map_conditions(function: Callable[[ConditionSpec, str], Any], formula: AnyOfAll, where: str) -> list[list[Any]]:
    """Return the result of a function for each condition of a formula and its path, in the form of the formula."""
    return [
        [function(condition, f"{where} > {i} > {j}") for j, condition in enumerate(group)]
        for i, group in enumerate(formula)
    ]


def compile_conditions(formula: AnyOfAll, variables: Sequence[Variable], where: str) -> tuple[Formula, ReferenceValues]:
    """Return the events of a formula in canonical names and their values, every mapping tried."""
    compiled = map_conditions(lambda condition, path: _compile_condition(condition, variables, path), formula, where)
    events = tuple(tuple(event for event, _ in group) for group in compiled)
    return events, tuple(tuple(value for _, value in group) for group in compiled)


def _compile_condition(
    condition: ConditionSpec, variables: Sequence[Variable], where: str
) -> tuple[CompiledCondition, np.ndarray]:
    item = find_one_item(variables, condition.observation, where)
    value = encode_reference(condition, item.variable.meta, f"{where}: {item.variable.name}")
    if not callable(condition.mapping):
        check_name("mapping", condition.mapping, MAPPINGS, where)
        return CompiledCondition(item, MAPPINGS[condition.mapping], condition.operator), value
    event = CompiledCondition(item, condition.mapping, condition.operator)
    trace_event(event, value, where)
    return event, value


def find_one_item(variables: Sequence[Variable], reference: Sequence[Any], where: str) -> ObservedItem:
    """Return the one item of an observation in canonical names; ConfigError for a group of variables."""
    found = find_items(variables, reference)
    if len(found) != 1:
        keys = ", ".join(item.variable.key for item in found)
        raise ConfigError(f"{where}: expected one variable, got {'/'.join(reference[:3])}; try one of {keys}")
    return found[0]


def trace_event(event: CompiledCondition, value: np.ndarray, where: str) -> None:
    """Trace an event with a user's mapping once; ConfigError if it cannot be a part of compiled code."""
    numbers = jax.ShapeDtypeStruct((event.item.size,), jnp.float32)
    try:
        hash(event)
        jax.eval_shape(lambda x: jnp.all(OPERATORS[event.operator](jnp.asarray(event.mapping(x)), value)), numbers)
    except Exception as error:  # a user's function may raise anything
        name = getattr(event.mapping, "__name__", repr(event.mapping))
        raise ConfigError(
            f"{where}: expected a function of an array of {event.item.size} in jax.numpy without branches on its "
            f"values, got {name!r}, which cannot be compiled ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}); try one of {', '.join(MAPPINGS)}"
        ) from None


def encode_reference(condition: ConditionSpec, meta: Meta, where: str) -> np.ndarray:
    """Return the reference value of a condition as numbers."""
    check_reference(condition, where)
    value, whole = condition.value, condition.mapping in ("value", "min", "max")
    codes = [encode_label(v, meta, where, whole) for v in (value if isinstance(value, list) else [value])]
    return np.asarray(codes if isinstance(value, list) else codes[0], np.float32)


def check_reachable(formula: Formula, values: ReferenceValues, where: str) -> None:
    """Raise ConfigError for a reference value outside the range of what it is compared with."""
    for i, (group, numbers) in enumerate(zip(formula, values, strict=True)):
        for j, (event, number) in enumerate(zip(group, numbers, strict=True)):
            meta, kept = event.item.variable.meta, (keep_value, jnp.mean, jnp.min, jnp.max)
            if event.mapping in kept and not np.all((number >= meta.low) & (number <= meta.high)):
                raise ConfigError(
                    f"{where} > {i} > {j}: {event.item.variable.name}: expected a value within its range "
                    f"[{meta.low:g}, {meta.high:g}], got {number.tolist()}"
                )


def check_reference(condition: ConditionSpec, where: str) -> None:
    """Raise ConfigError unless the operator is known and the reference value is a list exactly where it needs one."""
    check_name("operator", condition.operator, OPERATORS, where)
    value, several = condition.value, condition.operator in ("in", "ni")
    if several != isinstance(value, list) or (several and not value):
        expected = "a list of values" if several else "a single value"
        raise ConfigError(f"{where}: expected {expected} for {condition.operator!r}, got {value!r}")
