"""Values as JSON and arrays, and back: plain data, and the project's own classes by their fields. Nothing is run.

A class of the project may say how it is made by a method `recipe()`, a dict of the arguments of its constructor, or
of its classmethod `from_recipe` if it has one. Classes from elsewhere are refused, in both directions.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel

from .errors import ConfigError

ROOTS = ("harvestgym", "gymnasium")
"""Packages whose classes a file may name; of the second, only enumerations."""

Arrays = list[np.ndarray]


def encode(value: Any, arrays: Arrays, where: str = "value") -> Any:
    """`value` as JSON data; its arrays are appended to `arrays`. ConfigError, with its place, for what is no data."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(v, arrays, f"{where} > {i}") for i, v in enumerate(value)]
    for kind, (test, write, _) in _KINDS.items():
        if test(value):
            return {"is": kind, "of": write(value, arrays, where)}
    raise ConfigError(f"{where}: {type(value).__name__} lives in Python only and cannot be kept in a file")


def decode(data: Any, arrays: Sequence[np.ndarray]) -> Any:
    """The value of JSON data and its arrays; ConfigError if it names a class that is not the project's."""
    if isinstance(data, list):
        return [decode(v, arrays) for v in data]
    if not isinstance(data, dict):
        return data
    return _KINDS[data["is"]][2](data["of"], arrays)


def class_name(cls: type) -> str:
    """`module:Class`, by which a file names a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def class_named(name: str) -> type:
    """The class of the project that a file names; ConfigError if it is none."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module) if module.split(".")[0] in ROOTS else None
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise ConfigError(f"{name!r}: wanted a class of {ROOTS[0]}; the file is damaged, or of another version")
    if module.split(".")[0] != ROOTS[0] and not issubclass(found, Enum):
        raise ConfigError(f"{name!r}: wanted a class of {ROOTS[0]}")
    return found


def _ours(value: Any) -> bool:
    cls = value if isinstance(value, type) else type(value)
    return cls.__module__.split(".")[0] in ROOTS and "<" not in cls.__qualname__


def _is_record(value: Any) -> bool:
    named = isinstance(value, tuple) and hasattr(value, "_fields")
    return _ours(value) and not isinstance(value, type) and (named or dataclasses.is_dataclass(value))


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _array(value: Any, arrays: Arrays, where: str) -> int:
    arrays.append(np.asarray(value))
    return len(arrays) - 1


def _key(value: Any, arrays: Arrays, where: str) -> list[Any]:
    return [str(jax.random.key_impl(value)), _array(jax.random.key_data(value), arrays, where)]


def _pairs(value: Mapping[Any, Any], arrays: Arrays, where: str) -> list[list[Any]]:
    return [[encode(k, arrays, where), encode(v, arrays, f"{where} > {k}")] for k, v in value.items()]


def _unpaired(data: Any, arrays: Sequence[np.ndarray]) -> dict[Any, Any]:
    return {decode(k, arrays): decode(v, arrays) for k, v in data}


def _made(value: Any, arrays: Arrays, where: str) -> list[Any]:
    name = class_name(type(value))
    return [name, {k: encode(v, arrays, f"{where} > {k}") for k, v in value.recipe().items()}]


def _remade(data: Any, arrays: Sequence[np.ndarray]) -> Any:
    cls: Any = class_named(data[0])
    return getattr(cls, "from_recipe", cls)(**{k: decode(v, arrays) for k, v in data[1].items()})


def _record(value: Any, arrays: Arrays, where: str) -> list[Any]:
    fields = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value) if f.init]
    return [class_name(type(value)), {n: encode(getattr(value, n), arrays, f"{where} > {n}") for n in fields}]


def _model(value: BaseModel, arrays: Arrays, where: str) -> list[Any]:
    return [class_name(type(value)), encode(value.model_dump(by_alias=True), arrays, where)]


def _generator(value: np.random.Generator, arrays: Arrays, where: str) -> Any:
    return encode(dict(value.bit_generator.state), arrays, where)


def _regenerated(data: Any, arrays: Sequence[np.ndarray]) -> np.random.Generator:
    made = np.random.Generator(np.random.PCG64())
    made.bit_generator.state = decode(data, arrays)
    return made


def _fields_of(data: Any, arrays: Sequence[np.ndarray]) -> Any:
    return class_named(data[0])(**{name: decode(v, arrays) for name, v in data[1].items()})


_Write = Callable[[Any, Arrays, str], Any]
_Read = Callable[[Any, Sequence[np.ndarray]], Any]
_KINDS: dict[str, tuple[Callable[[Any], bool], _Write, _Read]] = {
    "enum": (
        lambda v: isinstance(v, Enum) and _ours(v),
        lambda v, arrays, where: [class_name(type(v)), v.name],
        lambda data, arrays: class_named(data[0])[data[1]],  # pyright: ignore[reportIndexIssue]
    ),
    "class": (lambda v: isinstance(v, type) and _ours(v), lambda v, a, w: class_name(v), lambda d, a: class_named(d)),
    "made": (lambda v: _ours(v) and not isinstance(v, type) and hasattr(v, "recipe"), _made, _remade),
    "record": (_is_record, _record, _fields_of),
    "model": (
        lambda v: isinstance(v, BaseModel) and _ours(v),
        _model,
        lambda data, arrays: class_named(data[0]).model_validate(decode(data[1], arrays)),  # type: ignore[attr-defined]
    ),
    "key": (
        _is_key, _key, lambda data, arrays: jax.random.wrap_key_data(jnp.asarray(arrays[data[1]]), impl=data[0]),
    ),
    "device": (lambda v: isinstance(v, jax.Array), _array, lambda at, arrays: jnp.asarray(arrays[at])),
    "array": (lambda v: isinstance(v, np.ndarray) and v.dtype != object, _array, lambda at, arrays: arrays[at]),
    "number": (lambda v: isinstance(v, np.generic), _array, lambda at, arrays: arrays[at][()]),
    "generator": (
        lambda v: isinstance(v, np.random.Generator) and isinstance(v.bit_generator, np.random.PCG64),
        _generator,
        _regenerated,
    ),
    "tuple": (
        lambda v: type(v) is tuple,
        lambda v, arrays, where: encode([*v], arrays, where),
        lambda data, arrays: tuple(decode(data, arrays)),
    ),
    "dict": (lambda v: isinstance(v, Mapping), _pairs, _unpaired),
}  # fmt: skip
"""Each kind of value: which it is, how it is written, how it is read. The first that fits is taken."""
