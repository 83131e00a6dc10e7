"""Read YAML into validated dataclasses; all mistakes are reported together, with path and nearest valid key.

The pydantic model is derived from the dataclass, which defines names, ranges and meanings. A number may be written
alone or with its source, `{value: 0.35, source: FAO-56 table 19}`; a group may also have a `source:`. A class may check
how its numbers fit together in a `check` method, which yields error messages.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails

from harvestgym.core.xla.tracing import is_traced

from . import yaml_io
from .errors import check_name, list_mistakes, look_up, mismatch, nearest, require
from .loading import LazyMapping

if TYPE_CHECKING:
    from .pytree import Meta

ConfiguredT = TypeVar("ConfiguredT")
ModelT = TypeVar("ModelT", bound=BaseModel)
Combine = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
"""A function that merges a base mapping and the mapping that extends it, given in this order."""

Sets = Mapping[str, dict[str, Any]]
"""The parameter sets of a kind by name."""

NOTES = ("source", "unit", "doc")

Hard = Annotated[str, Field(description="why a simple policy fails, and the trade-off; one or two sentences")]
"""The `hard` entry of an environment file."""

History = Annotated[dict[str, str], Field(description="what changed in each version, such as `v0: first version`")]
"""The `history` entry of an environment file."""

TUNED_FOLDER = "tuned"
"""The folder next to an environment file for the rules found by `harvestgym tune`."""

PLAIN_WORDS = {
    "valid tuple": "list",
    "valid list": "list",
    "valid string": "string",
    "valid dictionary": "mapping {name: value}",
    " after validation, not 0": "",
    " after validation": "",
}
"""Pydantic terms and their replacements in our messages."""

INT32 = np.iinfo(np.int32)
FLOAT32 = float(np.finfo(np.float32).max)


class Strict(BaseModel):
    """A frozen model that rejects unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)


class Exact(Strict):
    """A model without type conversion: "3" and yes are not numbers."""

    model_config = ConfigDict(strict=True)


def require_one_of(*names: str) -> Any:
    """Return a validator for a model in which exactly one of the given fields has a value."""

    def check(made: Any) -> Any:
        given = [name for name in names if getattr(made, name) is not None]
        if len(given) != 1:
            known, got = f"{', '.join(names[:-1])} and {names[-1]}", " and ".join(given) or "none"
            raise ValueError(f"expected exactly one of {known}, got {got}")
        return made

    return model_validator(mode="after")(check)


def validate(model: type[ModelT], data: Any, where: str) -> ModelT:
    """Return `data` as a `model` instance; ConfigError lists every mistake with its path under `where`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise list_mistakes(where, _explain(error.errors(), model, data)) from None


def _explain(errors: Iterable[ErrorDetails], model: type[BaseModel], data: Any) -> list[str]:
    """Return one line for each path with a mistake; if several forms are allowed, the line lists them all."""
    lines: dict[str, str] = {}
    for error in errors:
        path, reason = " > ".join(_path(error, data)) or "top", _reason(error, model)
        before = lines.get(path, "")
        if before.startswith("expected ") and reason.startswith("expected "):
            expected, got = before.rsplit(", got ", 1)
            other = reason.rsplit(", got ", 1)[0].removeprefix("expected ")
            reason = before if other in expected else f"{expected}, or {other}, got {got}"
        lines[path] = reason
    return [f"{path}: {reason}" for path, reason in lines.items()]


def _path(error: ErrorDetails, data: Any) -> list[str]:
    """Return the path to a mistake as a list of keys in the file, without pydantic's names for union members."""
    path, loc, missing = [], error["loc"], error["type"] == "missing"
    for i, part in enumerate(loc):
        inside = isinstance(data, Mapping) and part in data
        listed = isinstance(data, (list, tuple)) and isinstance(part, int)
        if not (inside or listed or (missing and i == len(loc) - 1)):
            continue
        path.append(str(part))
        data = data[part] if inside or (listed and part < len(data)) else None  # type: ignore[operator,index]
    return path


def _reason(error: ErrorDetails, model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        *inside, key = error["loc"]
        return f"expected a known key, got {key!r}{nearest(key, _keys_at(model, inside))}"
    if error["type"] == "missing":
        return "expected a value, got nothing"
    text = re.sub(r"^[A-Z][a-z]+ should (be|have)", "expected", error["msg"].removeprefix("Value error, "))
    for technical, plain in PLAIN_WORDS.items():
        text = text.replace(technical, plain)
    text = re.sub(r" or instance of [A-Z][A-Za-z]*", "", re.sub(r"^[A-Z][a-z]+ should", "expected to", text))
    return text if ", got " in text else f"{text}, got {error['input']!r}{_nearest_choice(error)}"


def _nearest_choice(error: ErrorDetails) -> str:
    """Return a hint with the nearest choice, if one of several words was expected."""
    choices = re.findall("'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
    hint = nearest(error["input"], choices) if error["type"] == "literal_error" else ""
    return "" if hint.startswith("; try one of") else hint


def _keys_at(model: Any, loc: Iterable[int | str]) -> list[str]:
    for part in loc:
        fields = getattr(model, "model_fields", {})
        match = [f for n, f in fields.items() if part in (n, f.alias)]
        if match:
            model = _inner_model(match[0].annotation)
    fields = getattr(model, "model_fields", {})
    return [f.alias or n for n, f in fields.items()]


def _inner_model(annotation: Any) -> Any:
    candidates = [annotation, *typing.get_args(annotation)]
    deeper = [a for c in candidates for a in typing.get_args(c)]
    models = [c for c in candidates + deeper if isinstance(c, type) and issubclass(c, BaseModel)]
    return models[0] if models else None


def _unwrapped(value: Any) -> Any:
    noted = isinstance(value, Mapping) and "value" in value and set(value) <= {"value", *NOTES}
    return value["value"] if noted else value


_NUMBER_WORDS = {"bool": "True or False", "int": "a whole number", "float": "a number"}
_NUMPY_KINDS = {"bool": "b", "int": "iu", "float": "iuf"}


_ONE_NUMBER = (int, float, np.generic)


def check_number(meta: Meta, value: Any) -> Any:
    """Return a number from a file, with or without a source, if the parameter allows it; raise ValueError otherwise."""
    return check_numbers(meta, _unwrapped(value), kinds=_ONE_NUMBER)


def check_numbers(meta: Meta, value: Any, *, kinds: tuple[type, ...] = (*_ONE_NUMBER, tuple, np.ndarray)) -> Any:
    """Return a number or an array unchanged if the parameter allows its values; raise ValueError otherwise.

    Values from files, constructors and overrides are all checked here. Values traced by JAX are not checked.
    """
    if is_traced(value):
        return value
    numbers = np.asarray(value) if isinstance(value, kinds) else None
    if numbers is None or numbers.dtype.kind not in _NUMPY_KINDS[meta.dtype] or not numbers.size:
        hint = {bool: ", not yes/no/true/false", str: " without quotes"}.get(type(value), "")
        raise ValueError(f"expected {_NUMBER_WORDS[meta.dtype]}{hint}")
    if meta.stacked and len(meta.keys) not in (numbers.shape[:1] + numbers.shape[-1:]):
        raise ValueError(f"expected {len(meta.keys)} numbers ({', '.join(meta.keys)})")
    free = meta.endless & np.isinf(numbers) | meta.unknown & np.isnan(numbers)
    if not np.all(np.isfinite(numbers) | free):
        raise ValueError("expected a number, not NaN" if meta.endless else "expected a finite number")
    most = int(INT32.max) if meta.dtype == "int" else FLOAT32
    low, high = max(meta.low, -most), min(meta.high, most)
    given, slack = numbers.astype(float), 1e-7 * (meta.dtype == "float")  # float32(0.99) is above 0.99
    if not np.all((given >= low - slack * abs(low)) & (given <= high + slack * abs(high)) | free):
        hint, least = "", np.min(numbers)
        if meta.mistaken and 0 < least < meta.low:
            unit, factor = meta.mistaken
            hint = f", got {least:g}, which looks like {unit}; try {factor * least:g}"
        raise ValueError(f"expected {_describe_range(meta, high)}{hint}")
    return value


def _describe_range(meta: Meta, high: float) -> str:
    """Return a description of a closed range."""
    endless = ", or an infinite one" if meta.endless else ""
    if math.isinf(meta.low):
        return f"a number within ±{high:.2g}" if math.isinf(meta.high) else f"a number of at most {high:g}{endless}"
    if math.isinf(meta.high) and meta.dtype == "float":
        return f"a number of at least {meta.low:g}"
    most = f"{high:.10g}" if meta.dtype == "int" else f"{high:g}"
    return f"a number from {meta.low:g} to {most}{endless}"


@functools.cache
def make_schema(cls: type) -> type[BaseModel]:
    """Derive a pydantic model from the `par()` metadata of a parameter class."""
    fields: dict[str, Any] = {}
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        meta: Meta | None = field.metadata.get("meta")
        if meta is None:
            fields[field.name] = (make_schema(hints[field.name]), ...)
        elif meta.kind == "par":
            default = ... if field.default is dataclasses.MISSING else field.default
            for i, key in enumerate(meta.keys):
                kind = _number(dataclasses.replace(meta, keys=(key,)))
                fields[f"{field.name}_{i}"] = (kind, Field(default, alias=key))
        elif meta.kind == "open":
            kind = dict[str, _number(meta)]  # pyright: ignore[reportInvalidTypeArguments]
            fields[field.name] = (kind, Field(..., alias=meta.keys[0]))
    fields |= {note: (str | None, None) for note in NOTES}
    return create_model(cls.__name__, __base__=Strict, **fields)


def _number(meta: Meta) -> Any:
    """Return the pydantic type for a parameter in a file: a number with or without a source."""
    if meta.labels:
        return Annotated[typing.Literal[meta.labels], BeforeValidator(_unwrapped)]
    return Annotated[Any, PlainValidator(functools.partial(check_number, meta))]


def build_params(cls: type[ConfiguredT], data: Any, where: str) -> ConfiguredT:
    """Build an instance of a parameter class from a mapping; leaves are float32/int32 NumPy values.

    Raises ConfigError with all invalid numbers or, if there are none, the errors from `check`.
    """
    mistakes: list[str] = []
    made = _instance(cls, validate(make_schema(cls), data, where), "", mistakes)
    if mistakes:
        raise list_mistakes(where, mistakes)
    return made


def _instance(cls: type[ConfiguredT], model: BaseModel, path: str, mistakes: list[str]) -> ConfiguredT:
    hints, fields = typing.get_type_hints(cls), dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    values: dict[str, Any] = {}
    for field in fields:
        meta: Meta | None = field.metadata.get("meta")
        if meta is None:
            inner = getattr(model, field.name)
            values[field.name] = _instance(hints[field.name], inner, f"{path}{field.name} > ", mistakes)
        elif meta.kind == "par":
            raw = [getattr(model, f"{field.name}_{i}") for i in range(len(meta.keys))]
            values[field.name] = _leaf(raw, meta)
        elif meta.kind == "open":
            values[field.name] = {name: _leaf([v], meta) for name, v in getattr(model, field.name).items()}
    # The constructor is not called, because its checks do not know the path in the file.
    made = object.__new__(cls)
    vars(made).update({field.name: field.default for field in fields} | values)
    mistakes += [f"{path}{mistake}" for mistake in getattr(made, "check", tuple)()]
    return made


def _leaf(raw: list[Any], meta: Meta) -> np.ndarray:
    if meta.labels:
        raw = [meta.labels.index(r) for r in raw]
    return np.asarray(raw if meta.stacked else raw[0], meta.array_dtype)


def read_written_sets(path: Path) -> Sets:
    """Read the sets of a kind before `extends:` is resolved: all sets in its file, and one per file in a folder.

    The folder of `plant.yaml` is `plant_sets`, next to it. A file in it is named after its set and is read when the set
    is first used.
    """
    own, folder = yaml_io.read_file(path), path.with_name(f"{path.stem}_sets")
    if not isinstance(own, dict) or not all(isinstance(entries, dict) for entries in own.values()):
        raise mismatch(path, "a mapping from set names to parameters", type(own).__name__)
    files = [file for file in sorted(folder.glob("*.yaml")) if file.stem not in own]
    makers = {name: functools.partial(own.__getitem__, name) for name in own}
    return LazyMapping(makers | {file.stem: functools.partial(_read_mapping, file) for file in files})


def _read_mapping(file: Path) -> dict[str, Any]:
    data = yaml_io.read_file(file)
    require(isinstance(data, dict), file, "a mapping", type(data).__name__)
    return data


def read_sets(path: Path) -> dict[str, dict[str, Any]]:
    """Read the parameter sets of a kind by name, with every `extends:` resolved."""
    sets = read_written_sets(path)
    return {name: _resolve_set(name, sets, path) for name in sets}


def _resolve_set(name: str, sets: Sets, path: Path) -> dict[str, Any]:
    def read(name: str, child: str) -> Mapping[str, Any]:
        return look_up("set", name, sets, f"{path} > {child} > extends")

    return resolve_extends(name, read)


def resolve_extends(
    name: str, read: Callable[[str, str], Mapping[str, Any]], combine: Combine | None = None, seen: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the mapping `name`, merged into the mapping that it `extends:`, recursively.

    Args:
        name: the name of the mapping.
        read: returns the mapping for a name as written; its second argument is the name that extends it, or "".
        combine: as in `Combine`, by default `merge`.
        seen: the chain of names that extend this one, used to detect cycles.
    """
    if name in seen:
        cycle = " -> ".join(Path(each).stem for each in (*seen, name))
        raise mismatch("extends", "no cycle", cycle, "removing one `extends`")
    data = dict(read(name, seen[-1] if seen else ""))
    if "extends" not in data:
        return data
    base = resolve_extends(data.pop("extends"), read, combine, (*seen, name))
    return (combine or merge)(base, data)


def read_extended(path: Path, what: str, combine: Combine | None = None) -> dict[str, Any]:
    """Read a YAML file, merged into the file that it `extends:`, recursively; error messages call it a `what`.

    A file extends another file in its folder (`base`) or a registered id of its family (`farm/corn-1x1-v0`).
    """

    def read(name: str, child: str) -> dict[str, Any]:
        file = Path(name)
        data = _read_mapping(file)
        if "extends" not in data:
            return data
        base = look_up(what, data["extends"], _list_bases(file.parent, what), f"{file.name} > extends")
        return data | {"extends": str(base)}

    return resolve_extends(str(path), read, combine)


def _list_bases(folder: Path, what: str) -> dict[str, Path]:
    """Return the files that a file in a folder can extend, by name: the files in the folder and the registered ids."""
    family = {"fishery": "fishing"}.get(what, what)
    ids = (Path(__file__).parents[1] / family / "catalogue").glob("*-v[0-9]*.yaml")
    return {path.stem: path for path in folder.glob("*.yaml")} | {f"{family}/{path.stem}": path for path in ids}


def locate_tuned(path: Path) -> Path:
    """Return the path of the tuned rule that belongs to an environment file."""
    return path.parent / TUNED_FOLDER / path.name


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the entries of `over` into `base`, group by group."""
    out = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = merge(out[key], value) if both else value
    return out


def choose_set(path: Path, which: str | Mapping[str, Any], kind: str) -> tuple[str, dict[str, Any]]:
    """Return the name of the set that `which` names or extends (the first by default) and the resulting entries."""
    sets = read_written_sets(path)
    name = which if isinstance(which, str) else which.get("extends", next(iter(sets)))
    check_name(f"{kind} set", name, sets)
    changes = {} if isinstance(which, str) else {k: v for k, v in which.items() if k != "extends"}
    return name, merge(_resolve_set(name, sets, path), changes)
