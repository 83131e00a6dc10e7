"""Values as JSON and arrays, and back: plain data as it is, objects of harvestgym by their class and fields.

An object may say by a method `recipe()` how it is made: a dict of the arguments of its constructor, or of its
classmethod `from_recipe` if it has one. Classes of other packages are refused, in both directions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel

from .errors import ConfigError
from .loading import load_object

PACKAGES = ("harvestgym", "gymnasium")
"""Packages whose classes a file may name; of the second, only enumerations and wrappers."""


def encode_value(value: Any, arrays: list[np.ndarray], where: str = "value") -> Any:
    """Return `value` as JSON data and append its arrays to `arrays`.

    Raises ConfigError, under the path `where`, for an object of another package.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode_value(v, arrays, f"{where} > {i}") for i, v in enumerate(value)]
    kind, content = _described(value, arrays, where)
    return {"is": kind, "of": content}


def _described(value: Any, arrays: list[np.ndarray], where: str) -> tuple[str, Any]:
    """The kind of a value and its content; `_READERS` reads it back."""

    def members(items: Mapping[str, Any]) -> list[Any]:
        return [class_name(type(value)), {k: encode_value(v, arrays, f"{where} > {k}") for k, v in items.items()}]

    def array(value: Any) -> int:
        arrays.append(np.asarray(value))
        return len(arrays) - 1

    if _is_ours(value):
        if isinstance(value, type):
            return "class", class_name(value)
        if isinstance(value, Enum):
            return "enum", [class_name(type(value)), value.name]
        if hasattr(value, "recipe"):
            return "made", members(value.recipe())
        if isinstance(value, BaseModel):
            return "model", members({"data": value.model_dump(by_alias=True)})
        if hasattr(value, "_fields"):
            return "made", members(value._asdict())
        if dataclasses.is_dataclass(value):
            return "made", members({f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init})
    if isinstance(value, Mapping):
        return "dict", [
            [encode_value(k, arrays, where), encode_value(v, arrays, f"{where} > {k}")] for k, v in value.items()
        ]
    if type(value) is tuple:
        return "tuple", encode_value([*value], arrays, where)
    if isinstance(value, np.random.Generator) and isinstance(value.bit_generator, np.random.PCG64):
        return "generator", encode_value(dict(value.bit_generator.state), arrays, where)
    if isinstance(value, jax.Array) and is_key(value):
        return "key", [str(jax.random.key_impl(value)), array(jax.random.key_data(value))]
    if isinstance(value, jax.Array):
        return "device array", array(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return "array", array(value)
    if isinstance(value, np.generic):
        return "number", array(value)
    raise ConfigError(f"{where}: {type(value).__name__} lives in Python only and cannot be kept in a file")


def decode(data: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Return the value of JSON data and its arrays; ConfigError if it names a class that is not the project's."""
    if isinstance(data, list):
        return [decode(v, arrays) for v in data]
    if not isinstance(data, dict):
        return data
    kind, of = data["is"], data["of"]
    if kind in ("made", "model"):
        cls: Any = find_class(of[0])
        members = {k: decode(v, arrays) for k, v in of[1].items()}
        return cls.model_validate(members["data"]) if kind == "model" else getattr(cls, "from_recipe", cls)(**members)
    return _READERS[kind](of, arrays)


def _generator(state: dict[str, Any]) -> np.random.Generator:
    made = np.random.Generator(np.random.PCG64())
    made.bit_generator.state = state
    return made


_READERS: dict[str, Any] = {
    "class": lambda of, arrays: find_class(of),
    "enum": lambda of, arrays: find_class(of[0], Enum)[of[1]],
    "dict": lambda of, arrays: {decode(k, arrays): decode(v, arrays) for k, v in of},
    "tuple": lambda of, arrays: tuple(decode(of, arrays)),
    "generator": lambda of, arrays: _generator(decode(of, arrays)),
    "key": lambda of, arrays: jax.random.wrap_key_data(jnp.asarray(arrays[of[1]]), impl=of[0]),
    "device array": lambda of, arrays: jnp.asarray(arrays[of]),
    "array": lambda of, arrays: arrays[of],
    "number": lambda of, arrays: arrays[of][()],
}


def class_name(cls: type) -> str:
    """Return `module:Class`, by which a file names a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def find_class(name: str, base: type = object) -> Any:
    """Return the class that a file names: one of harvestgym, or a subclass of `base` of Gymnasium."""
    module, package = name.partition(":")[0], name.partition(".")[0]
    named = package in PACKAGES and all(map(str.isidentifier, module.split("."))) and not module.endswith(".py")
    found = load_object(name) if named else None
    ours = isinstance(found, type) and found.__module__ == module and issubclass(found, base)
    if not ours or (package != PACKAGES[0] and base is object):
        raise ConfigError(f"{name!r}: expected a class of {PACKAGES[0]}; the file is damaged, or of another version")
    return found


def _is_ours(value: Any) -> bool:
    cls = value if isinstance(value, type) else type(value)
    return cls.__module__.split(".")[0] in PACKAGES and "<" not in cls.__qualname__


def is_key(value: Any) -> bool:
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
