"""Encode values as JSON data and decode them: plain data is unchanged, the rest is `{"is": kind, "of": content}`.

A harvestgym object is encoded as its class and arguments: the result of `recipe()`, for its classmethod `from_recipe`,
or else its fields, for its constructor. Arrays are encoded as npy files in base64. Classes from other packages are
rejected, in both directions.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.errors import mismatch
from harvestgym.core.loading import load_object
from harvestgym.core.random import is_key

PACKAGES = ("harvestgym", "gymnasium")
"""Packages whose classes can be encoded; for the second package, only enumerations."""

READ_FROM = re.compile(r"harvestgym\.(core|gym|farm|fishing|forager)(\.\w+)*|gymnasium\.vector\.vector_env")
"""Modules whose classes a file may name; their constructors start no program and write no file."""


def encode_value(value: Any, where: str = "value") -> Any:
    """Return `value` as JSON data; ConfigError, with the path `where`, for an object from another package."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode_value(v, f"{where} > {i}") for i, v in enumerate(value)]
    if type(value) is dict and "is" not in value and all(type(k) is str for k in value):
        return {k: encode_value(v, f"{where} > {k}") for k, v in value.items()}
    kind, content = _describe_value(value, where)
    return {"is": kind, "of": encode_value(content, where)}


def decode_value(data: Any) -> Any:
    """Return the value encoded by JSON data; raise ConfigError if it names a class from another package."""
    if isinstance(data, list):
        return [decode_value(v) for v in data]
    if not isinstance(data, dict):
        return data
    if "is" not in data:
        return {k: decode_value(v) for k, v in data.items()}
    return _MAKERS[data["is"]](decode_value(data["of"]))


def _describe_value(value: Any, where: str) -> tuple[str, Any]:
    """Return the kind of a value and the JSON data from which it can be rebuilt."""
    cls = value if isinstance(value, type) else type(value)
    if cls.__module__.split(".")[0] in PACKAGES and "<" not in cls.__qualname__:
        if isinstance(value, type):
            return "class", class_name(cls)
        if isinstance(value, Enum):
            return "enum", [class_name(cls), value.name]
        if (arguments := _find_arguments(value)) is not None:
            return "object", {"class": class_name(cls), **arguments}
    if isinstance(value, Mapping):
        return "dict", [list(item) for item in value.items()]
    if type(value) is tuple:
        return "tuple", list(value)
    if isinstance(value, np.random.Generator) and isinstance(value.bit_generator, np.random.PCG64):
        return "generator", dict(value.bit_generator.state)
    if isinstance(value, Array) and is_key(value):
        return "key", [str(jax.random.key_impl(value)), np.asarray(jax.random.key_data(value))]
    if isinstance(value, Array):
        return "device array", np.asarray(value)
    if isinstance(value, np.generic):
        return "number", np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        file = io.BytesIO()
        np.save(file, value, allow_pickle=False)
        return "array", base64.b64encode(file.getvalue()).decode()
    raise mismatch(where, "a value that can be saved", type(value).__name__)


_DESCRIBE: dict[str, Callable[[Any], dict[str, Any]]] = {
    "recipe": lambda value: value.recipe(),
    "model_dump": lambda value: value.model_dump(by_alias=True),
    "_asdict": lambda value: value._asdict(),
    "__dataclass_fields__": lambda value: {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init},
}
"""Functions that return the arguments for rebuilding an object, by the attribute that the object needs for it.

Every class named in a file has one of these attributes.
"""


def _find_arguments(value: Any) -> dict[str, Any] | None:
    """Return the arguments for rebuilding a harvestgym object; None if it has none."""
    return next((describe(value) for name, describe in _DESCRIBE.items() if hasattr(value, name)), None)


def _make_object(content: dict[str, Any]) -> Any:
    cls = find_class(content.pop("class"))
    if not any(hasattr(cls, name) for name in _DESCRIBE):
        raise mismatch(class_name(cls), "a class that can be saved", "another class")
    return getattr(cls, "from_recipe", cls)(**content)


def _make_generator(state: dict[str, Any]) -> np.random.Generator:
    made = np.random.Generator(np.random.PCG64())
    made.bit_generator.state = state
    return made


def class_name(cls: type) -> str:
    """Return the name of a class as used in files, `module:Class`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def find_class(name: str, base: type = object) -> Any:
    """Return the class that a file names: a harvestgym class, or a Gymnasium subclass of `base`."""
    module, package = name.partition(":")[0], name.partition(".")[0]
    found = load_object(name) if READ_FROM.fullmatch(module) else None
    ours = isinstance(found, type) and found.__module__ == module and issubclass(found, base)
    if not ours or (package != PACKAGES[0] and base is object):
        raise mismatch(repr(name), f"a {PACKAGES[0]} class", "none", "an intact file from this version")
    return found


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "class": find_class,
    "enum": lambda of: find_class(of[0], Enum)[of[1]],
    "object": _make_object,
    "dict": dict,
    "tuple": tuple,
    "generator": _make_generator,
    "key": lambda of: jax.random.wrap_key_data(jnp.asarray(of[1]), impl=of[0]),
    "device array": jnp.asarray,
    "number": lambda array: array[()],
    "array": lambda text: np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False),
}
