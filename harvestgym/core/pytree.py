"""Frozen dataclasses that are JAX pytrees with described fields: the subclasses of `Pytree`.

A field is a `var` (state), a `par` (parameter) or an `open_par` (parameters with names chosen by the user), all
traced, or a `static` (structure, part of the compiled program). Its description (public name, unit, range, labels,
meaning) is declared once, with the field; spaces, tables, schemas, axis labels and error messages are derived from it.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, Literal, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

PytreeT = TypeVar("PytreeT")

FieldKey = str | tuple[str, ...]
"""The public name of a field, or the public names of its entries along a leading axis."""
FieldKind = Literal["var", "par", "open", "static"]
Dtype = Literal["float", "int", "bool"]

WIDE = 1e9
"""The bound used for a range without a natural bound."""


@dataclass(frozen=True)
class Meta:
    """The description of one field.

    Attributes:
        keys: the public names, `name#unit` as in the paper. Several keys name the entries along a leading axis, such as
            the nutrients N, P, K, C in one array.
        axes: the names of the remaining axes; `("plot",)` denotes the two axes of a field's plots.
        low, high: the inclusive range of values.
        labels: the name of each value, if the field is an integer choice.
        hidden: whether the field is state that cannot be observed, such as future weather.
        settled: whether the value at the start of an episode is computed, so that a file cannot set it.
        endless: whether a parameter may be infinite, which means that it sets no limit.
        unknown: whether a parameter may be NaN, which means unknown.
        mistaken: another unit, in which values are often written by mistake, and its factor; such values are positive
            and below the range.
    """

    kind: FieldKind
    keys: tuple[str, ...]
    doc: str
    dtype: Dtype = "float"
    low: float = -math.inf
    high: float = math.inf
    labels: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    hidden: bool = False
    settled: bool = False
    endless: bool = False
    unknown: bool = False
    mistaken: tuple[str, float] | None = None

    @property
    def array_dtype(self) -> Any:
        """The NumPy type of the field's values."""
        return {"float": np.float32, "int": np.int32, "bool": np.bool_}[self.dtype]

    @property
    def stacked(self) -> bool:
        """Return whether the field has several keys along a leading axis."""
        return len(self.keys) > 1

    @property
    def unit(self) -> str:
        """The unit of the (first) key; empty for a count or a label."""
        return unit_of(self.keys[0])

    @property
    def is_open_above(self) -> bool:
        """Return whether the range has no explicit upper bound."""
        return self.high >= WIDE


def unit_of(key: str) -> str:
    """Return the unit part of a `name#unit` key."""
    return key.partition("#")[2]


def _describe(kind: FieldKind, key: FieldKey, doc: str, default: Any = MISSING, **more: Any) -> Any:
    """Return a dataclass field with its description; `more` contains additional attributes of `Meta`."""
    if labels := more.get("labels"):
        more |= {"dtype": "int", "low": 0, "high": len(labels) - 1}
    elif kind == "var" and more.get("dtype") == "bool":
        more |= {"low": 0, "high": 1}
    keys = (key,) if isinstance(key, str) else tuple(key)
    return dataclasses.field(default=default, metadata={"meta": Meta(kind, keys, doc, **more)})


def var(
    key: FieldKey, doc: str, *, low: float = 0.0, high: float = WIDE, axes: tuple[str, ...] = ("plot",), **more: Any
) -> Any:
    """Declare a state variable: traced, in `[low, high]`, observed under `key` unless hidden; per plot by default.

    `more` may contain `dtype`, `labels`, `hidden` and `settled` of `Meta`.
    """
    return _describe("var", key, doc, low=low, high=high, axes=axes, **more)


def par(key: FieldKey, doc: str, *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a parameter: traced (so that it can be vmapped, sampled per episode, differentiated) and read from YAML.

    `more` may contain `low`, `high`, `dtype`, `labels`, `endless`, `unknown`, `mistaken` and `axes` of `Meta`. A
    parameter with `axes` is an array that is created by a program and does not appear in files.
    """
    return _describe("par", key, doc, default, **more)


def open_par(key: str, doc: str, *, low: float = -math.inf, high: float = math.inf) -> Any:
    """Declare parameters whose names the user chooses: a dict from name to number (the targets of a cide)."""
    return _describe("open", key, doc, low=low, high=high)


def static(key: str, doc: str, *, low: float = -math.inf, high: float = math.inf, default: Any = MISSING) -> Any:
    """Declare structure: hashable, part of the compiled program, never traced; a count must lie in `[low, high]`."""
    return _describe("static", key, doc, default, low=low, high=high)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(var, par, open_par, static))
class Pytree:
    """Base class whose subclasses are frozen dataclasses and JAX pytrees; `static` fields are auxiliary data.

    JAX rebuilds instances without calling the constructor, so a constructor may validate its arguments although leaves
    may also be shapes or axes.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)
        fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
        fixed = tuple(f.name for f in fields if _is_static(f))
        traced = tuple(f.name for f in fields if not _is_static(f))
        keys = tuple(jax.tree_util.GetAttrKey(name) for name in traced)
        leaves, structure = _make_getter(traced), _make_getter(fixed)

        def restore(known: tuple[Any, ...], values: Iterable[Any]) -> Any:
            return rebuild(cls, (*zip(traced, values, strict=True), *zip(fixed, known, strict=True)))

        jax.tree_util.register_pytree_with_keys(
            cls,
            lambda made: (tuple(zip(keys, leaves(made), strict=True)), structure(made)),
            restore,
            lambda made: (leaves(made), structure(made)),
        )


def rebuild(cls: type[PytreeT], values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> PytreeT:
    """Make an instance of a pytree from all its fields, bypassing the constructor and its checks."""
    made = object.__new__(cls)
    made.__dict__.update(values)
    return made


def _make_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the named attributes of an object as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return (lambda made: (getattr(made, names[0]),)) if names else lambda _: ()


def _is_static(field: dataclasses.Field[Any]) -> bool:
    meta = field.metadata.get("meta")
    return meta is not None and meta.kind == "static"


def iterate_metas(cls: Any) -> Iterator[tuple[str, Meta]]:
    """Yield the `(field name, Meta)` of every described field of a pytree class or instance, in order."""
    for field in dataclasses.fields(cls):
        if "meta" in field.metadata:
            yield field.name, field.metadata["meta"]


def cut_to_32_bits(leaf: Any) -> Any:
    """Convert a leaf to a 32-bit JAX array if 64-bit mode is enabled: NumPy 1 would otherwise widen results."""
    if jnp.result_type(float) != np.float64:
        return leaf
    return jnp.asarray(leaf, {"float64": np.float32, "int64": np.int32}.get(str(jnp.result_type(leaf))))


def replace(obj: PytreeT, **changes: Any) -> PytreeT:
    """Return a copy of a pytree dataclass with some fields changed."""
    return dataclasses.replace(obj, **changes)  # pyright: ignore[reportArgumentType, reportCallIssue]


def replace_where(obj: PytreeT, where: Any, **changes: Any) -> PytreeT:
    """Return a copy of a pytree dataclass with some fields changed in the entries that `where` selects."""
    return replace(obj, **{name: jnp.where(where, value, getattr(obj, name)) for name, value in changes.items()})
