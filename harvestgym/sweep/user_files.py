"""The user files that a case names: a farm file, `file.py:function`, and the files that these name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harvestgym.core.config import locate_tuned
from harvestgym.core.errors import ConfigError
from harvestgym.core.yaml_io import read_file
from harvestgym.registry import FARM_SUFFIXES


def split_target(name: str) -> tuple[str, str]:
    """Split `file.py:function` into file and function; for other names the function is empty."""
    path, colon, function = name.rpartition(":")
    return (path, f"{colon}{function}") if path.endswith(".py") else (name, "")


def is_file_name(path: str) -> bool:
    """Return whether a name is a file name: of Python code, a farm, a fishery or a forager."""
    return path.endswith((".py", *FARM_SUFFIXES))


def resolve_name(name: str, folder: Path) -> str:
    """Return the name of a file, with or without `:function`, relative to a folder; other names unchanged."""
    path, function = split_target(name)
    return f"{folder / path}{function}" if is_file_name(path) else name


def list_user_files(*names: str) -> list[Path]:
    """List the files among ids and policies, and the files that YAML files name: parents, tables, classes, rules.

    A missing file is listed, but the files that a missing or damaged file names are not known.
    """
    found: dict[Path, None] = {}
    waiting = [Path(path) for path, _ in map(split_target, names) if is_file_name(path)]
    while waiting:
        path = waiting.pop(0)
        if path not in found:
            found[path] = None
            waiting += list(_list_named_files(path))
    return list(found)


def _list_named_files(path: Path) -> Iterator[Path]:
    """Yield the files that a YAML file names, and the tuned rule that belongs to it."""
    if path.suffix not in FARM_SUFFIXES or not path.is_file():
        return
    try:
        texts = set(_iterate_texts(read_file(path)))
    except ConfigError:
        return
    names = {file for text in texts for file in (split_target(text)[0], f"{text}{path.suffix}")}
    candidates = [path.parent / name for name in sorted(names) if 0 < len(name) < 256 and "\n" not in name]
    yield from (file for file in (*candidates, locate_tuned(path)) if file.is_file())


def _iterate_texts(data: Any) -> Iterator[str]:
    """Yield all strings in the data of a file, except keys."""
    if isinstance(data, str):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _iterate_texts(part)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file; ConfigError if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{path}: expected a file, got {error.strerror}; try another name or folder") from None
