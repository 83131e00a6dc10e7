"""Conversion of the Farm-Gym paper's stopping conditions, `(observation, mapping, operator, value)`, to formulas.

A mapping is a name or a Python function of a Range, such as `lambda x: x.value`. A function that JAX can trace is
compiled. Other functions (those that branch on values or call other libraries) are called in Python once a day, and
work only in a `Farm`.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import check_value
from harvestgym.core.errors import check_name, mismatch, require
from harvestgym.core.pytree import Meta
from harvestgym.farm.engine.formula_compiler import OPERATORS
from harvestgym.farm.formula_parser import FUNCTIONS, parse_formula
from harvestgym.farm.paper.observation_items import write_variable

SIGN_TEXTS = ("==", "!=", "<=", ">=", "<", ">", "in", "not in")
SEVERAL = ("in", "not in")
SPELLINGS = {"ni": "not in", "=": "=="}
"""The paper's operator spellings."""


def read_conditions(given: Any, where: str) -> tuple[list[str], dict[str, Predicate]]:
    """Convert groups of conditions to text, with `and` within a group; also return the Python functions named in it.

    Text is also accepted, and anything else raises ConfigError.
    """
    functions: dict[str, Predicate] = {}
    groups, texts = [given] if isinstance(given, str) else _list(given, where, "lists of conditions"), []
    for i, group in enumerate(groups):
        path = f"{where} > {i}"
        events = [] if isinstance(group, str) else enumerate(_list(group, path, "one condition or more"))
        read = [_read_event(event, functions, f"{path} > {j}") for j, event in events]
        texts.append(group if isinstance(group, str) else " and ".join(read))
    return texts, functions


def _read_event(event: Any, functions: dict[str, Predicate], where: str) -> str:
    if not isinstance(event, Sequence) or len(event) != 4:
        raise mismatch(where, "(observation, mapping, operator, value)", repr(event))
    observation, mapping, sign, value = event
    name = write_variable(observation, where)
    where, sign = f"{where}: {name}", str(SPELLINGS.get(sign, sign))
    check_name("operator", sign, SIGN_TEXTS, where)
    values = _list_values(value, sign in SEVERAL, where)
    if callable(mapping) and not _changes_nothing(mapping):
        functions[function := f"function_{len(functions)}"] = Predicate(mapping, sign, values)
        return f"{function}({name})"
    if not callable(mapping) and mapping not in ("id", "value"):
        check_name("mapping", mapping, ("value", *FUNCTIONS), where)
        name = f"{mapping}({name})"
    texts = [each if isinstance(each, str) and each.isidentifier() else repr(each) for each in values]
    listed = f"[{', '.join(texts)}]" if sign in SEVERAL else texts[0]
    return f"{name} {sign} {listed}"


def _list(given: Any, where: str, what: str) -> Sequence[Any]:
    require(isinstance(given, (list, tuple)), where, f"a list of {what}", repr(given))
    return given


def _list_values(value: Any, several: bool, where: str) -> list[Any]:
    """Return a condition's reference values: a single value, or the values of a list for `in`."""
    value = value.tolist() if hasattr(value, "tolist") else value
    listed = isinstance(value, (list, tuple, set, frozenset, range))
    given = sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value) if listed else [value]
    require(listed == several and given, where, "a list of values" if several else "a single value", repr(value))
    for wrong in (each for each in given if not isinstance(each, (str, numbers.Real))):
        raise mismatch(where, "a number or a label", repr(wrong))
    return given


class Range:
    """A value on a farm as passed to a mapping: an array with an attribute `value`; it can be compared with labels."""

    def __init__(self, array: Any, meta: Meta) -> None:
        self.array, self._meta = array, meta

    @property
    def value(self) -> Any:
        """The number, word or array; in compiled code, a labelled value stays a Range, for comparisons with words."""
        if not isinstance(self.array, (np.ndarray, np.generic)):
            return self if self._meta.labels else self.array
        array = np.asarray(self._meta.labels)[self.array.astype(int)] if self._meta.labels else self.array
        return array if array.shape else array.item()

    def __eq__(self, other: Any) -> Any:
        return self.array == self._code(other)

    def __ne__(self, other: Any) -> Any:
        return self.array != self._code(other)

    __hash__ = object.__hash__

    def _code(self, other: Any) -> Any:
        return check_value(self._meta, other, self._meta.keys[0]) if isinstance(other, str) else other

    def __getitem__(self, at: Any) -> Range:
        return Range(self.array[at], self._meta)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.array, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "array":
            raise AttributeError(name)
        return getattr(self.array, name)


class Predicate:
    """A condition with a Python function, `operator(function(seen), values)`, for use as a function in a formula.

    Attributes:
        is_traced: whether it is compiled; a function that JAX cannot trace is called in Python.
    """

    def __init__(self, function: Callable[[Any], Any], sign: str, values: Sequence[Any]) -> None:
        self.function, self.values, self.is_traced = function, values, True
        self._several = sign in SEVERAL
        self._operator = type(parse_formula(f"x.x {sign} {'[0]' if self._several else 0}").ops[0])

    def __call__(self, numbers: Array, meta: Meta) -> Array:
        """Evaluate the condition for a variable's numbers, in compiled code if possible, otherwise in Python."""
        for argument in (Range(numbers, meta), numbers):
            try:
                out = self.function(argument)
                found = jnp.asarray(out.array if isinstance(out, Range) else out)
                anything = dataclasses.replace(meta, dtype="float", low=-math.inf, high=math.inf)
                codes = [check_value(anything, int(v) if isinstance(v, bool) else v, "") for v in self.values]
                return self._compare(OPERATORS, found, np.asarray(codes, np.float32))
            except Exception:  # a user's function may raise anything
                continue
        self.is_traced = False
        return self._call_python(numbers, meta)

    def _compare(self, operators: Mapping[type, Callable[..., Any]], found: Any, values: Any) -> Any:
        return operators[self._operator](found, values if self._several else values[0])

    def _call_python(self, seen: Array, meta: Meta) -> Array:
        on_host = OPERATORS | {ast.In: np.isin, ast.NotIn: lambda x, values: ~np.isin(x, values)}

        def test(numbers: Any) -> np.float32:
            out = self.function(Range(np.asarray(numbers).astype(meta.array_dtype), meta))
            return np.float32(np.all(self._compare(on_host, out.value if isinstance(out, Range) else out, self.values)))

        try:
            test(np.full(seen.shape, meta.low, np.float32))
        except Exception as error:  # a user's function may raise anything
            name = getattr(self.function, "__name__", self.function)
            got = f"{name!r}, which fails ({type(error).__name__}: {error}); try one such as lambda x: x.value"
            raise mismatch("", "a function of a value or an array", got) from None
        return jax.pure_callback(test, jax.ShapeDtypeStruct((), np.float32), seen, vmap_method="sequential")


def _changes_nothing(function: Callable[[Any], Any]) -> bool:
    probe = Range(None, Meta("var", ("any",), "a labelled value, which is a Range", labels=("any",)))
    try:
        return function is builtins.id or function(probe) is probe
    except Exception:  # a user's function may raise anything
        return False
