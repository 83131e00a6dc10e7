"""What a stopping condition's mapping is given, and how a Python function becomes one.

The paper's mappings take a Range: `lambda x: x.value`. One that JAX can trace is compiled; one that cannot (it
branches on values, it calls other libraries) is called in Python once a day, by the farm that a person holds.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.tree import Meta
from harvestgym.farm.engine.conditions import OPERATORS
from harvestgym.farm.engine.observations import ObservedItem
from harvestgym.farm.engine.variables import Variable

from .names import Names

ON_HOST: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
    "in": lambda x, v: np.isin(x, v), "ni": lambda x, v: ~np.isin(x, v),
}  # fmt: skip
SECOND = {"not in": "ni", "=": "=="}
"""Second spellings of operators."""


class Seen:
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
        if isinstance(other, Seen):
            return other.array
        if not isinstance(other, str):
            return other
        check_name("value", other, self._meta.labels, self._meta.keys[0])
        return self._meta.labels.index(other)

    def __getitem__(self, at: Any) -> Seen:
        return Seen(self.array[at], self._meta)

    def __jax_array__(self) -> jax.Array:
        return jnp.asarray(self.array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.array, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "array":
            raise AttributeError(name)
        return getattr(self.array, name)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Seen, *others: Any) -> Any:
        return getattr(self.array, name)(*(self._code(other) for other in others))

    return method


FORWARDED = (
    "eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv",
    "floordiv", "mod", "pow", "and", "rand", "or", "ror", "neg", "abs", "invert", "bool", "float", "int", "len",
)  # fmt: skip
for _name in FORWARDED:
    setattr(Seen, f"__{_name}__", _forward(f"__{_name}__"))
Seen.__hash__ = object.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True)
class Traced:
    """A function of a `Seen` as one of the flat numbers that a condition reads."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    meta: Meta

    def __call__(self, numbers: jax.Array) -> Any:
        out = self.function(Seen(numbers.reshape(self.shape), self.meta))
        return out.array if isinstance(out, Seen) else out


@dataclass(frozen=True, eq=False)
class Hosted:
    """A whole condition called in Python: 1 where `operator(function(seen), value)`, else 0."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    meta: Meta
    operator: str
    value: Any

    def __call__(self, numbers: jax.Array) -> jax.Array:
        told = jax.ShapeDtypeStruct((), np.float32)
        return jax.pure_callback(self.test, told, numbers, vmap_method="sequential")

    def test(self, numbers: Any) -> np.float32:
        """The truth of the condition for some numbers, of NumPy."""
        dtype = {"int": np.int32, "bool": np.bool_}.get(self.meta.dtype, np.float32)
        out = self.function(Seen(np.asarray(numbers).reshape(self.shape).astype(dtype), self.meta))
        return np.float32(np.all(ON_HOST[self.operator](out.value if isinstance(out, Seen) else out, self.value)))


class _Probe:
    """Something whose value is itself: what a mapping that changes nothing gives back."""

    @property
    def value(self) -> _Probe:
        return self


def _changes_nothing(function: Callable[[Any], Any]) -> bool:
    probe = _Probe()
    try:
        return function is builtins.id or function(probe) is probe
    except Exception:  # whatever a person's function makes of it
        return False


def condition(event: Any, names: Names, where: str) -> dict[str, Any]:
    """An event `(observation, mapping, operator, value)` in the form of a farm file, its mapping made ready."""
    if not isinstance(event, (tuple, list)) or len(event) != 4:
        raise ConfigError(f"{where}: wanted (observation, mapping, operator, value), found {event!r}")
    observation, mapping, sign, value = event
    if isinstance(value, (tuple, set, frozenset)):
        value = list(value) if isinstance(value, tuple) else sorted(value, key=str)
    ref, sign = names.ref(observation, where), str(SECOND.get(sign, sign))
    check_name("operator", sign, OPERATORS, where)
    made = {"observation": list(ref), "mapping": mapping, "operator": sign, "value": value}
    if not callable(mapping):
        return made
    if _changes_nothing(mapping):
        return made | {"mapping": "value"}
    return made | _compiled(mapping, sign, value, _look(names, ref, where), where)


def _look(names: Names, ref: Sequence[Any], where: str) -> ObservedItem:
    found: Any = names.tree[(ref[0], ref[1])][ref[2]]
    for step in ref[3]:
        found = found[step] if isinstance(step, str) else found
    if not isinstance(found, Variable):
        raise ConfigError(
            f"{where}: {'/'.join(map(str, ref[:3]))} is several variables; name one of {', '.join(found)}"
        )
    plots = [step for step in ref[3] if not isinstance(step, str)]
    return ObservedItem(found, plots[0] if plots else None)


def _compiled(function: Callable[[Any], Any], sign: str, value: Any, look: ObservedItem, where: str) -> dict[str, Any]:
    shape = look.variable.shape if look.plot is None else look.variable.shape[:-2]
    numeric = int(value) if isinstance(value, bool) else value
    for mapping in (Traced(function, shape, look.variable.meta), function):
        try:
            seen = jax.ShapeDtypeStruct((look.size,), jnp.float32)
            jax.eval_shape(lambda x: jnp.all(OPERATORS[sign](jnp.asarray(mapping(x)), _coded(numeric, look))), seen)  # noqa: B023
            hash(mapping)
            return {"mapping": mapping, "value": numeric}
        except Exception:  # whatever a person's function may raise: it is called in Python instead
            continue
    hosted = Hosted(function, shape, look.variable.meta, sign, value)
    try:
        hosted.test(np.full(look.size, look.variable.meta.low, np.float32))
    except Exception as error:
        raise ConfigError(
            f"{where}: the mapping {getattr(function, '__name__', function)!r} fails "
            f"({type(error).__name__}: {error}); wanted a function of a value or an array, such as lambda x: x.value"
        ) from None
    return {"mapping": hosted, "operator": "==", "value": 1.0}


def _coded(value: Any, look: ObservedItem) -> np.ndarray:
    """A reference value as numbers; words that are no labels cannot be compiled."""
    labels = look.variable.meta.labels
    each = value if isinstance(value, (list, tuple)) else [value]
    codes = [labels.index(v) if isinstance(v, str) else v for v in each]
    return np.asarray(codes if isinstance(value, (list, tuple)) else codes[0], np.float32)
