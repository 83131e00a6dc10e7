"""Compiled formulas over variables; stopping conditions read the state, and policies read the observation.

A comparison of a per-plot variable is true if it is true on every plot; for an order on one plot, only that plot
counts.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import check_value
from harvestgym.core.errors import ConfigError, check_name, locate_errors, mismatch, nearest
from harvestgym.core.pytree import Meta
from harvestgym.farm.formula_parser import FUNCTIONS, is_variable, parse_formula, place
from harvestgym.farm.spelling import DAY_UNIT, read_day

from .name_table import NameTable
from .observations import ObservationPlan, ObservedItem

Compiled = Any
"""A compiled formula: a tree of `Operation` over items and indices of reference values."""

ReferenceValues = tuple[Any, ...]
"""A formula's reference values, float32, from left to right; they are parameters of a farm or a policy."""

PlotIndex = tuple[int, Array] | None
"""A plot: its field's number, and its x and y, which may be traced; None for all plots."""

ReadItem = Callable[[ObservedItem, PlotIndex], tuple[Array, Any]]
"""A function that returns the numbers of an item, for a single plot if one is given, and which of them are known."""


def all_of(*parts: Any) -> Any:
    """Return elementwise whether all parts are true."""
    return reduce(jnp.logical_and, parts)


def any_of(*parts: Any) -> Any:
    """Return elementwise whether any part is true."""
    return reduce(jnp.logical_or, parts)


OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: jnp.isin,
    ast.NotIn: lambda numbers, values: ~jnp.isin(numbers, values),
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.Not: jnp.logical_not,
    ast.And: all_of,
    ast.Or: any_of,
}
OVER_PLOTS = (jnp.sum, jnp.mean, jnp.min, jnp.max)
"""The functions that read a per-plot variable on all plots, even for an order on one plot."""


@dataclass(frozen=True)
class Operation:
    """A function and its operands."""

    function: Callable[..., Any]
    parts: tuple[Compiled, ...]


class FormulaCompiler:
    """Compiles formulas to trees in which reference values are numbered from left to right.

    Attributes:
        names: the farm's names.
        functions: the functions that a formula may call in addition to `sum`, `mean`, `min`, `max` and `abs`; each
            takes all numbers of a variable and the variable's metadata.
        values: the reference values found so far, float32.
    """

    def __init__(self, names: NameTable, functions: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> None:
        self.names, self.functions = names, functions
        self.values: list[np.ndarray] = []

    def compile_any(self, formulas: Sequence[str], where: str) -> Compiled:
        """Combine formulas into one that is true if any of them is; without formulas, return None, which is never true.

        Raises:
            ConfigError: for a name or a value that does not exist on the farm, with its position in the text.
        """
        paths = [where] if len(formulas) == 1 else [f"{where} > {i}" for i in range(len(formulas))]
        found = tuple(self.compile(text, path) for text, path in zip(formulas, paths, strict=True))
        return Operation(any_of, found) if len(found) > 1 else next(iter(found), None)

    def compile(self, text: str, where: str) -> Compiled:
        """Compile a formula; raise the same errors as `compile_any`."""
        tree = parse_formula(text)

        def convert(node: Any, other: Any = None) -> Compiled:
            """Convert a node of the syntax tree; `other` is the node with which it is compared."""
            match node:
                case ast.Subscript() | ast.Name() if is_variable(getattr(node, "value", node)):
                    return find_one_item(self.names, node, path(node))
                case ast.Name() | ast.Constant() | ast.List():
                    self.values.append(self._encode(node, other, path(node)))
                    return len(self.values) - 1
                case ast.Call():
                    name, argument = ast.unparse(node.func), convert(node.args[0])
                    check_name("function", name, (*FUNCTIONS, *self.functions), path(node))
                    own = self.functions.get(name)
                    bound = partial(own, meta=argument.variable.meta) if own else getattr(jnp, name)
                    return Operation(bound, (argument,))
                case ast.Compare():
                    sides = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
                    each = [Operation(OPERATORS[type(op)], (convert(a, b), convert(b, a))) for a, op, b in sides]
                    return Operation(all_of, tuple(each)) if len(each) > 1 else each[0]
            parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            return Operation(OPERATORS[type(node.op)], tuple(map(convert, parts)))

        def path(node: Any) -> str:
            return f"{where}: {place(text, node)}"

        compiled = convert(tree)
        self._trace(compiled, path(tree))
        return compiled

    def _encode(self, node: Any, other: Any, where: str) -> np.ndarray:
        """Encode a value as numbers; a word is a label of the variable that it is compared with."""
        function = ast.unparse(other.func) if isinstance(other, ast.Call) else ""
        of = other.args[0] if function in FUNCTIONS else other
        given = [getattr(value, "id", getattr(value, "value", None)) for value in getattr(node, "elts", [node])]
        if not is_variable(getattr(of, "value", of)):
            codes = [self._check_number(value, where) for value in given]
        else:
            variable = find_one_item(self.names, of, where).variable
            inside = f"{where}: {self.names.shorten(variable.where, variable.key)}"
            allowed = _allow_comparison(variable.meta, function)
            if variable.meta.unit == DAY_UNIT:
                with locate_errors(f"{inside}: "):
                    given = [read_day(value) for value in given]
            codes = [check_value(allowed, value, inside) for value in given]
        return np.asarray(codes if isinstance(node, ast.List) else codes[0], np.float32)

    def _check_number(self, value: Any, where: str) -> float:
        if isinstance(value, (str, bool)):
            known = [self.names.shorten(variable.where, variable.key) for variable in self.names.variables]
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise mismatch(where, "a number or a variable", f"{value!r}{hint}")
        return float(value)

    def _trace(self, compiled: Compiled, where: str) -> None:
        """Trace a formula once; raise ConfigError if the shapes of its variables do not fit together."""
        try:
            jax.eval_shape(lambda: holds(compiled, self.values, lambda item, _: (jnp.zeros(item.shape), True)))
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        except (TypeError, ValueError):
            names = ", ".join(dict.fromkeys(item.variable.name for item in list_items(compiled)))
            raise mismatch(where, "variables of the same shape", names) from None


def find_named_items(names: NameTable, node: Any, where: str) -> list[ObservedItem]:
    """Return the items for a variable in a formula, or for a group of variables."""
    return names.observed(*names.split(node, where), where)[1]


def plan_observations(names: NameTable, listed: Sequence[str], where: str) -> ObservationPlan:
    """Plan how to observe a list of variables and groups, without duplicates."""
    found = [_find_whole_items(names, text, f"{where} > {i}") for i, text in enumerate(listed)]
    return ObservationPlan(tuple(dict.fromkeys(item for items in found for item in items)))


def _find_whole_items(names: NameTable, text: str, where: str) -> list[ObservedItem]:
    found = find_named_items(names, parse_formula(text), where)
    if any(item.at != item.plot for item in found):
        raise mismatch(where, "all numbers of a variable", repr(text), "it without the index")
    return found


def find_one_item(names: NameTable, node: Any, where: str) -> ObservedItem:
    """Return the item for a variable in a formula; raise ConfigError for a group of variables."""
    return names.select_one(find_named_items(names, node, where), ast.unparse(node), where)


def list_items(node: Compiled) -> list[ObservedItem]:
    """Return the items that a compiled formula reads."""
    if isinstance(node, Operation):
        return [item for part in node.parts for item in list_items(part)]
    return [node] if isinstance(node, ObservedItem) else []


def _allow_comparison(meta: Meta, function: str) -> Meta:
    """Return metadata for values that a function of a variable may be compared with; a mean of labels is numeric."""
    if function not in ("sum", "mean") and (meta.labels or meta.dtype == "bool"):
        return meta
    ends = {"low": -math.inf, "high": math.inf} if function == "sum" else {}
    return dataclasses.replace(meta, dtype="float", **ends)


def holds(node: Compiled, values: Sequence[Any], read: ReadItem, plot: PlotIndex = None, unknown: bool = False) -> Any:
    """Return whether a formula is true, on one plot if one is given; comparisons with unknown values give `unknown`.

    Inside `not`, they give the opposite of `unknown`, so that unknown values never trigger an order.
    """
    if isinstance(node, Operation) and node.function in (all_of, any_of, jnp.logical_not):
        inside = unknown ^ (node.function is jnp.logical_not)
        return node.function(*(holds(part, values, read, plot, inside) for part in node.parts))
    numbers, known = evaluate_formula(node, values, read, plot)
    true = jnp.asarray(numbers).astype(bool)
    return jnp.all(true if known is True else jnp.where(known, true, unknown))


def evaluate_formula(node: Compiled, values: Sequence[Any], read: ReadItem, plot: PlotIndex = None) -> tuple[Any, Any]:
    """Return the numbers for a part of a formula, and which of them are known; True if all are."""
    if isinstance(node, ObservedItem):
        return read(node, plot)
    if not isinstance(node, Operation):
        return values[node], True
    whole = node.function in OVER_PLOTS or isinstance(node.function, partial)
    at = None if whole else plot
    numbers, known = zip(*(evaluate_formula(part, values, read, at) for part in node.parts), strict=True)
    all_known = reduce(operator.and_, known)
    all_known = jnp.all(all_known) if whole and all_known is not True else all_known
    return node.function(*numbers), all_known
