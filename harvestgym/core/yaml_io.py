"""Strict YAML: safe loading, no repeated keys, `1e-3` is a number, and errors report the file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from .errors import ConfigError, mismatch, require

_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's C parser, which is about eight times faster, if the installed PyYAML includes it."""


DEEPEST = 100
"""Maximum nesting depth in a file."""


class _Loader(_Safe):
    """A SafeLoader that rejects repeated keys and reads floats as in YAML 1.2."""


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = True) -> dict[Any, Any]:
    seen: dict[Any, int] = {}
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, list):
            raise yaml.MarkedYAMLError(None, None, f"expected a key that is not a list, got {key}", key_node.start_mark)
        line = key_node.start_mark.line + 1
        if key in seen:
            problem = f"expected key {key!r} once, got it on lines {seen[key]} and {line}; try keeping one"
            raise yaml.MarkedYAMLError(None, None, problem, key_node.start_mark)
        seen[key] = line
    return dict(_Safe.construct_mapping(loader, node, deep=deep))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
# read the `=` in a condition as text
_Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)
_NUMBER = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+0123456789."))


def parse(text: str, where: str = "<text>") -> Any:
    """Return the value of YAML text; raise ConfigError with `where` and the line if it is malformed."""
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        if "maximum nesting depth" in str(error.problem):  # from the C parser of PyYAML 6.0.4
            raise _too_deep(where) from None
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark else ""
        tabs = mark is not None and "\t" in "".join(text.splitlines()[mark.line : mark.line + 1])
        hint = " (YAML is indented with spaces, never tabs)" if tabs else ""
        raise ConfigError(f"{where}{line}: {error.problem}{hint}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: {error}") from None
    except RecursionError:
        raise _too_deep(where) from None
    require(value is not None, where, "a mapping", "an empty file")
    _check_depth(value, where)
    return value


def _check_depth(value: Any, where: str, left: int = DEEPEST) -> None:
    """Raise ConfigError if a value has more than `left` levels of nesting."""
    if not left:
        raise _too_deep(where)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_depth(part, where, left - 1)


def _too_deep(where: str) -> ConfigError:
    return mismatch(where, f"at most {DEEPEST} levels of nesting", "more")


def to_line(value: Any) -> str:
    """Return a value as a single line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=2**30)
    return text.removesuffix("\n").removesuffix("\n...")


def read_file(path: Path) -> Any:
    """Return the value of a YAML file; raise ConfigError if it is missing, empty or malformed."""
    return parse(read_text(path), str(path))


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file; raise ConfigError if it is missing or in another encoding."""
    require(path.is_file(), path, "a file", "a folder" if path.is_dir() else "none", "another name or folder")
    try:
        return path.read_text(encoding)
    except UnicodeDecodeError as error:
        raise mismatch(path, "UTF-8", f"{error.reason} at byte {error.start}", "saving it as UTF-8") from None
