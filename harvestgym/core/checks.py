"""Checks of constructor arguments, which work like the checks of files: a pydantic model is derived from the class.

A dataclass inherits from `Checked`, or calls `check_fields(self)` in its `__post_init__`; other classes decorate their
`__init__` with `check_arguments`. The annotations, and the `par()` and `static()` fields of a pytree, define the
allowed values. Traced values are not checked, and JAX rebuilds pytrees without their constructor, so compiled programs
do not change.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Collection, Container, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar, Union

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, create_model

from harvestgym.core.xla.tracing import is_traced

from .config import Exact, Strict, check_number, check_numbers, validate
from .errors import ConfigError, check_name, nearest

if TYPE_CHECKING:
    from .pytree import Meta  # imports JAX

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_TAKEN_AS_THEY_ARE = (int, float, str, bool, types.NoneType, Any, object)


class _Given(Exact):
    """Constructor arguments of any type and name."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


def check_fields(made: Any, where: str = "") -> None:
    """Check every field of a dataclass instance; NumPy numbers and lists become Python numbers and tuples.

    A pytree keeps its values unchanged. Nested dataclasses that do not check themselves are also checked. A `check`
    method may yield additional error messages.

    Raises:
        ConfigError: listing every mistake with its path under `where`, by default the class name.
    """
    cls, place = type(made), where or type(made).__name__
    in_tree = any("meta" in field.metadata for field in dataclasses.fields(cls))
    given = {field.name: getattr(made, field.name) for field in dataclasses.fields(cls) if field.init}
    plain = {name: make_plain(value) for name, value in given.items()}
    validate(_make_field_schema(cls), plain, place)
    if not in_tree:
        for name, value in plain.items():
            object.__setattr__(made, name, value)
    for name, value in given.items():
        if dataclasses.is_dataclass(value) and not hasattr(value, "__post_init__"):
            check_fields(value, f"{place} > {name}")
    if hasattr(made, "check") and not any(map(is_traced, sys.modules["jax"].tree.leaves(made))):
        for mistake in made.check():
            raise ConfigError(f"{place}: {mistake}")


class Checked:
    """Base class of dataclasses that check their fields on construction."""

    def __post_init__(self) -> None:
        check_fields(self)


def check_data(cls: type, data: Mapping[str, Any], where: str) -> None:
    """Check the entries in a file for a dataclass, including unknown and missing names, before construction."""
    validate(_make_field_schema(cls), make_plain(dict(data)), where)


def check_arguments(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Decorate an `__init__` (or a function) to raise ConfigError for arguments that its annotations do not allow.

    Arguments without annotations are not checked. An unknown name raises TypeError with the nearest valid name.
    """
    signature = inspect.signature(function)
    named = function.__qualname__.removesuffix(".__init__")
    known = [p.name for p in signature.parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())

    @functools.wraps(function)
    def checked(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        wrong = [name for name in kwargs if name not in known and not open_ended]
        if wrong:
            raise TypeError(f"{named}: expected a known argument, got {wrong[0]!r}{nearest(wrong[0], known[1:])}")
        given = signature.bind(*args, **kwargs).arguments
        schema = _make_argument_schema(function)
        place = type(args[0]).__name__ if named != function.__qualname__ else named
        names = [str(field.alias) for field in schema.model_fields.values()]
        validate(schema, {name: make_plain(given[name]) for name in names if name in given}, place)
        return function(*args, **kwargs)

    return checked


def check_value(meta: Meta, value: Any, where: str) -> float:
    """Return a number, or the index of a label, if the described field allows it; otherwise raise ConfigError."""
    if meta.labels and isinstance(value, str):
        check_name("value", value, meta.labels, where)
        return float(meta.labels.index(value))
    if meta.dtype == "bool" and value in (0, 1):
        return float(value)
    try:
        return float(check_number(dataclasses.replace(meta, keys=meta.keys[:1]), make_plain(value)))
    except ValueError as error:
        of_labels = meta.labels and meta.dtype == "int"
        expected = f"expected one of {', '.join(meta.labels)}" if of_labels else error
        raise ConfigError(f"{where}: {expected}, got {value!r}") from None


def make_plain(value: Any) -> Any:
    """Convert NumPy and concrete JAX numbers to Python numbers, and lists to tuples; return other values unchanged."""
    if is_traced(value):
        return value
    jax = sys.modules.get("jax")
    if isinstance(value, np.generic | np.ndarray) or (jax is not None and isinstance(value, jax.Array)):
        array = np.asarray(value)
        return array.item() if array.ndim == 0 and array.dtype.kind != "O" else array
    if type(value) in (list, tuple):
        return tuple(make_plain(item) for item in value)
    return {key: make_plain(item) for key, item in value.items()} if type(value) is dict else value


# -- schemas ---------------------------------------------------------------------------------------------------


@functools.cache
def _make_field_schema(cls: type) -> type[Strict]:
    """Derive a pydantic model from the fields of a dataclass."""
    fields, hints, missing = dataclasses.fields(cls), _read_hints(cls), dataclasses.MISSING
    metas = {field.name: field.metadata.get("meta") for field in fields if field.init}
    optional = {f.name for f in fields if f.default is not missing or f.default_factory is not missing}
    allowed = {name: _allow_value(meta, hints.get(name)) for name, meta in metas.items()}
    return _make_model(cls.__name__, allowed, optional)


def _read_hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; empty for a local class whose annotations cannot be resolved."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError:
        return {}


@functools.cache
def _make_argument_schema(function: Callable[..., Any]) -> type[Strict]:
    """Derive a pydantic model from the annotated arguments of a function."""
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    named = [p.name for p in parameters if p.name in hints and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return _make_model(function.__qualname__, {name: _allow_type(hints[name]) for name in named}, named)


def _make_model(name: str, allowed: Mapping[str, Any], optional: Container[str]) -> type[Strict]:
    fields: Any = {
        f"{key}_": (kind, Field(None if key in optional else ..., alias=key)) for key, kind in allowed.items()
    }
    return create_model(name, __base__=_Given, **fields)


def _allow_value(meta: Meta | None, hint: Any) -> Any:
    """Return the pydantic type for a field of a pytree or a plain dataclass."""
    if meta is None or meta.kind == "var":
        return Any if meta is not None or hint is None else _allow_type(hint)
    if meta.kind == "static":
        bounds: dict[str, Any] = {"ge": meta.low, "le": meta.high} if math.isfinite(meta.low) else {}
        return Annotated[Any if hint is None else _allow_type(hint), Field(**bounds)]
    check = functools.partial(check_numbers, meta)
    if meta.kind == "open":
        return dict[str, Annotated[Any, PlainValidator(check)]]
    return Annotated[Any, PlainValidator(check)]


def _allow_type(hint: Any) -> Any:
    """Return the pydantic type for an annotation; an object must be an instance of its class, not a mapping."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(_allow_type(args[0]), *args[1:])]
    if origin in (Union, types.UnionType):
        return Union[tuple(_allow_type(arg) for arg in args)]  # noqa: UP007
    if origin is tuple:
        return tuple[tuple(arg if arg is ... else _allow_type(arg) for arg in args)]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return Mapping[tuple(_allow_type(arg) for arg in args)]  # type: ignore[index]
    if hint in _TAKEN_AS_THEY_ARE or origin is Literal:
        return hint
    if isinstance(origin, type) and issubclass(origin, Collection):
        return _require(lambda value: isinstance(value, origin) and not isinstance(value, str | bytes), "a list")
    if origin is Callable or getattr(origin or hint, "_is_protocol", False):
        return _require(callable, "a function or another callable")
    cls = origin or hint
    return _require(lambda value: isinstance(value, cls), f"an object of the class {cls.__name__}")


def _require(holds: Callable[[Any], bool], expected: str) -> Any:
    """Return a pydantic type that accepts values for which `holds` is true and leaves them unchanged."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(f"expected {expected}")
        return value

    return Annotated[Any, BeforeValidator(check)]
