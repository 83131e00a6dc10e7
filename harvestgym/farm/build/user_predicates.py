"""Python functions as mappings of stopping conditions.

The mappings of the Farm-Gym paper take a Range: `lambda x: x.value`. One that JAX can trace is compiled; one that
cannot (it branches on values, it calls other libraries) is called in Python once a day, in a `Farm` only.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.tree import Meta
from harvestgym.farm.engine.conditions import (
    OPERATORS,
    CompiledCondition,
    check_reference,
    encode_reference,
    find_one_item,
    map_conditions,
    trace_event,
)
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.schema import AnyOfAll, ConditionSpec


class LabelledArray:
    """A value of the farm as a mapping sees it: an array that has a `value` and compares with the labels' words."""

    def __init__(self, array: Any, meta: Meta) -> None:
        self.array, self._meta = array, meta

    @property
    def value(self) -> Any:
        """The number, word or array; in compiled code a labelled value stays one that compares with words."""
        if not isinstance(self.array, (np.ndarray, np.generic)):
            return self if self._meta.labels else self.array
        array = np.asarray(self._meta.labels)[self.array.astype(int)] if self._meta.labels else self.array
        return array if array.shape else array.item()

    def _code(self, other: Any) -> Any:
        if isinstance(other, LabelledArray):
            return other.array
        if not isinstance(other, str):
            return other
        check_name("value", other, self._meta.labels, self._meta.keys[0])
        return self._meta.labels.index(other)

    def __getitem__(self, at: Any) -> LabelledArray:
        return LabelledArray(self.array[at], self._meta)

    def __jax_array__(self) -> jax.Array:
        return jnp.asarray(self.array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.array, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "array":
            raise AttributeError(name)
        return getattr(self.array, name)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: LabelledArray, *others: Any) -> Any:
        return getattr(self.array, name)(*(self._code(other) for other in others))

    return method


FORWARDED = (
    "eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv",
    "floordiv", "mod", "pow", "and", "rand", "or", "ror", "neg", "abs", "invert", "bool", "float", "int", "len",
)  # fmt: skip
for _name in FORWARDED:
    setattr(LabelledArray, f"__{_name}__", _forward(f"__{_name}__"))
LabelledArray.__hash__ = object.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True)
class Traced:
    """A function of a `LabelledArray` as one of the flat numbers that a condition reads."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    meta: Meta

    def __call__(self, numbers: jax.Array) -> Any:
        out = self.function(LabelledArray(numbers.reshape(self.shape), self.meta))
        return out.array if isinstance(out, LabelledArray) else out


@dataclass(frozen=True, eq=False)
class Hosted:
    """A whole condition called in Python: 1 where `operator(function(seen), value)`, else 0."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    meta: Meta
    operator: str
    value: Any

    def __call__(self, numbers: jax.Array) -> jax.Array:
        truth = jax.ShapeDtypeStruct((), np.float32)
        return jax.pure_callback(self.test, truth, numbers, vmap_method="sequential")

    def test(self, numbers: Any) -> np.float32:
        """Return the truth of the condition for some numbers, of NumPy."""
        array = np.asarray(numbers).reshape(self.shape).astype(self.meta.array_dtype)
        out = self.function(LabelledArray(array, self.meta))
        return np.float32(
            np.all(OPERATORS[self.operator](out.value if isinstance(out, LabelledArray) else out, self.value, np))
        )


class _Probe:
    """Something whose value is itself: what a mapping that changes nothing gives back."""

    @property
    def value(self) -> _Probe:
        return self


def _changes_nothing(function: Callable[[Any], Any]) -> bool:
    probe = _Probe()
    try:
        return function is builtins.id or function(probe) is probe
    except Exception:  # a user's function may raise anything
        return False


def prepare_predicates(formula: AnyOfAll, variables: Sequence[Variable], where: str) -> list[list[ConditionSpec]]:
    """Compile each Python mapping of a formula in canonical names, or else wrap it to be called on the host."""
    return map_conditions(lambda condition, path: _prepare(condition, variables, path), formula, where)


def _prepare(condition: ConditionSpec, variables: Sequence[Variable], where: str) -> ConditionSpec:
    function, sign, value = condition.mapping, condition.operator, condition.value
    if not callable(function):
        return condition
    check_reference(condition, where)
    if _changes_nothing(function):
        return condition.model_copy(update={"mapping": "value"})
    item = find_one_item(variables, condition.observation, where)
    meta = item.variable.meta
    numeric = condition.model_copy(update={"value": int(value) if isinstance(value, bool) else value})
    for mapping in (Traced(function, item.shape, meta), function):
        try:
            trace_event(CompiledCondition(item, mapping, sign), encode_reference(numeric, meta, where), where)
            return numeric.model_copy(update={"mapping": mapping})
        except ConfigError:  # it cannot be compiled: it is called in Python instead
            continue
    hosted = Hosted(function, item.shape, meta, sign, value)
    try:
        hosted.test(np.full(item.size, meta.low, np.float32))
    except Exception as error:  # a user's function may raise anything
        raise ConfigError(
            f"{where}: expected a function of a value or an array, got {getattr(function, '__name__', function)!r}, "
            f"which fails ({type(error).__name__}: {error}); try one such as lambda x: x.value"
        ) from None
    return condition.model_copy(update={"mapping": hosted, "operator": "==", "value": 1.0})
