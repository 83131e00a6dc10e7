"""Conversion of Python objects to farm descriptions, and of descriptions to YAML text."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from harvestgym.core.errors import ConfigError, mismatch
from harvestgym.farm.formula_parser import FUNCTIONS, parse_formula
from harvestgym.farm.schema import FarmSpec

NOT_IN_A_FILE = "not in a file"
"""The key that stands for a parameter set that was made in Python and that no file can represent."""

LINE_LENGTH = 90
"""Maximum number of characters in a list written on one line."""


class NotInFileError(ConfigError):
    """An error for a parameter that only a program can set."""


def name_kind(cls: type) -> str:
    """Return the name of a class in a farm file: its own name if it is built-in, and `module:Class` otherwise."""
    ours = cls.__module__.startswith("harvestgym.farm.")
    return cls.__name__ if ours else f"{cls.__module__}:{cls.__qualname__}"


def write_parameters(component: Any) -> dict[str, Any]:
    """Return the parameters of a farmer, rule, term or entity in the form of a farm file, without defaults."""
    out: dict[str, Any] = {}
    for field in dataclasses.fields(component):
        meta, value = field.metadata.get("meta"), getattr(component, field.name)
        place = f"{type(component).__name__} > {field.name}"
        if meta is None:
            out[field.name] = write_parameters(value)
        elif meta.kind == "open":
            out[meta.keys[0]] = {name: float(v) for name, v in value.items()}
        elif meta.kind == "static" or meta.axes:
            got = f"{type(value).__name__}, which only Python code can set"
            raise NotInFileError(f"{place}: expected a value that a file can contain, got a {got}")
        elif np.ndim(value) > int(meta.stacked):
            expected = f"{len(meta.keys)} numbers" if meta.stacked else "a number"
            raise mismatch(place, expected, f"an array of shape {np.shape(value)}")
        elif field.default is dataclasses.MISSING or not np.array_equal(value, field.default):
            pairs = zip(meta.keys, np.atleast_1d(value).tolist(), strict=True)
            out |= {key: meta.labels[int(v)] if meta.labels else v for key, v in pairs}
    return out


def write_set(component: Any) -> dict[str, Any]:
    """Return the result of `write_parameters`, or the reason why no file can represent the parameters."""
    try:
        return write_parameters(component)
    except NotInFileError as error:
        return {NOT_IN_A_FILE: str(error)}


def write_component(component: Any) -> dict[str, Any]:
    """Return a farmer, rule or term in the form of a farm file."""
    return {"kind": name_kind(type(component))} | write_set(component)


def write_farm(spec: FarmSpec) -> str:
    """Return a farm as YAML; raise ConfigError if a part of it exists only in Python code."""
    calls = (node for text in spec.rules.terminal_conditions for node in ast.walk(parse_formula(text)))
    if any(isinstance(node, ast.Call) and ast.unparse(node.func) not in FUNCTIONS for node in calls):
        raise mismatch("rules > terminal_conditions", "formulas as strings", "a Python function")
    return to_yaml(_plain(spec.model_dump(by_alias=True, exclude_defaults=True), "farm"))


def _plain(value: Any, where: str) -> Any:
    """Convert a value to plain values that YAML can represent, with plots as `'(0, 1)'`."""
    if isinstance(value, Mapping):
        if NOT_IN_A_FILE in value:
            raise mismatch(where, "a set from a file", value[NOT_IN_A_FILE])
        _check_class(value.get("kind"), where)
        return {str(key): _plain(inner, f"{where} > {key}") for key, inner in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(i, (int, np.integer)) for i in value):
        return str(tuple(int(i) for i in value))
    if isinstance(value, (list, tuple)):
        _check_class(value[0] if value else None, where)
        return [_plain(inner, f"{where} > {i}") for i, inner in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise mismatch(where, "a plain value", type(value).__name__, "the name of a file")


def _check_class(kind: Any, where: str) -> None:
    if isinstance(kind, str) and ":" in kind and ("<locals>" in kind or kind.startswith("__main__")):
        raise mismatch(where, "a class at the top of a module", repr(kind), "moving it to a module")


def to_yaml(data: Any) -> str:
    """Return readable YAML: keys in order, one per line, so that lines can be deleted; short lists on one line."""
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110)


class _Dumper(yaml.SafeDumper):
    """Safe dumper with the line layout of the paper's files."""


def _in_a_line(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    short = len(str(data)) < LINE_LENGTH and not any(isinstance(item, list | dict) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=short or None)


def _in_lines(dumper: yaml.SafeDumper, data: dict[Any, Any]) -> yaml.Node:
    node = dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=not data)
    for _, below in node.value:
        if below.tag == "tag:yaml.org,2002:null":
            below.value = ""  # `harvest:`, as in the paper
    return node


_Dumper.add_representer(list, _in_a_line)
_Dumper.add_representer(dict, _in_lines)
