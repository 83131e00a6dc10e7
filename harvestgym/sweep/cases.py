"""Cases: pieces of work as frozen data that can be sent to another process, and identified by a hash of their content.

A case refers to the function that runs it by a string. Cases with the same `batch_key` run together, as one batch. The
hash of a case covers the user files that it names (a farm file, `file.py:function`) and the files named in those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from harvestgym.core.config import Strict, locate_tuned
from harvestgym.core.errors import MAX_SEED, ConfigError, mismatch
from harvestgym.core.loading import load_object
from harvestgym.core.yaml_io import read_file
from harvestgym.registry import FARM_SUFFIXES

SOURCES = (".py", ".yaml", ".csv")
"""Suffixes of those files of the package that affect results."""

ROW_COLUMNS = ("episode", "return", "length", "terminated", "truncated")
"""The columns of every row, in addition to the labels of its case and the columns of the family."""

CLASS_KEY = "case"
"""The key of the class name in the JSON form of a case."""


class SweepCase(Strict):
    """A piece of work as data; a subclass has fields with JSON values, and names the function that runs it.

    `runner` is the `module:function` of a function `run(cases) -> list of columns`. It receives cases of this class
    with the same `batch_key`, and returns a mapping for each case, from names to arrays with one entry per row. The
    rows of a case must not depend on the other cases of the call.
    """

    runner: ClassVar[str]

    @property
    def batch_key(self) -> Hashable:
        """The key shared by all cases of a batch; by default, each case is a separate batch."""
        return self.text

    @property
    def size(self) -> int:
        """The number of rows of work in the case, which limits how many cases fit in a batch."""
        return 1

    @property
    def labels(self) -> dict[str, Any]:
        """The columns that identify the case in a table, the same in all rows."""
        return dict(flatten_labels(self.model_dump(mode="json", exclude_none=True)))

    @property
    def files(self) -> list[Path]:
        """The user files on which the case depends; if they change, its results are not reused."""
        return []

    @cached_property
    def text(self) -> str:
        """The case as JSON text; default values are omitted, so that a new field does not change old cases."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({CLASS_KEY: f"{type(self).__module__}:{type(self).__qualname__}"} | data, sort_keys=True)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 hash of the case, the contents of its files, and the package."""
        parts = [read_package_version(), self.text, *(hash_file(path) for path in self.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy the case with some fields changed and validated, without its cached text."""
        return type(self).model_validate(self.model_dump() | dict(update or {}))

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SweepCase) and self.text == other.text

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read a case of any class from its JSON text."""
        data = json.loads(text)
        return load_object(data.pop(CLASS_KEY), cls).model_validate(data)

    def __str__(self) -> str:
        """Describe the case in one short line."""
        return ", ".join(f"{name} {value}" for name, value in self.labels.items())


class EpisodeCase(SweepCase):
    """Episodes of a policy on an id, as `harvestgym.evaluate.run.evaluate_id` runs them.

    Attributes:
        id: an id, or the path of your own farm, fishery or forager file.
        overrides: keyword arguments of `harvestgym.make`, as JSON values.
        policy: the name of a policy of the id, or `file.py:function` or `module:function` of a function that receives
            the id and the environment, and returns a `Policy`, or a pair of a wrapped environment and its policy.
        seed: seed of the first episode; with a split, its index within the seeds of the split.
        episodes: number of episodes.
        split: train or test split of the held-out protocol.
        groups: the paths of overrides that have a name together, by this name, which is an additional column.
        chosen: the names of the values in such columns, if they have names.
    """

    runner: ClassVar[str] = "harvestgym.evaluate.episode_runner:run_episode_cases"

    id: str
    overrides: dict[str, JsonValue] = {}
    policy: str = "expert"
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    episodes: int = Field(default=100, ge=1)
    split: Literal["train", "test"] | None = None
    groups: dict[str, list[str]] = {}
    chosen: dict[str, str] = {}

    @property
    def batch_key(self) -> Hashable:
        """The id, policy, split and names of the overrides, but not their values, which rarely change the structure."""
        names = tuple(name for name, _ in flatten_labels(self.overrides))
        return self.id, self.policy, self.split, names

    @property
    def size(self) -> int:
        return self.episodes

    @property
    def labels(self) -> dict[str, Any]:
        named: dict[str, Any] = {"id": self.id, "policy": self.policy, "seed": self.seed}
        named |= {} if self.split is None else {"split": self.split}
        named |= (changed := dict(flatten_labels(self.overrides)))
        for name, paths in self.groups.items():
            values = [changed[path] for path in paths if path in changed]
            named[name] = values[0] if len(values) == 1 else ", ".join(map(str, values))
        return named | self.chosen

    @property
    def shown(self) -> set[str]:
        """The labels that a summary shows: the name of a group stands for its paths."""
        return {*self.labels}.difference(*self.groups.values()) | {*self.groups}

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.id, self.policy)


class CallCase(SweepCase):
    """A call of a function with JSON arguments; the function returns columns: arrays with one entry per row.

    Attributes:
        function: `module:function` or `file.py:function`.
        arguments: its keyword arguments.
    """

    runner: ClassVar[str] = "harvestgym.sweep.batches:run_calls"

    function: str
    arguments: dict[str, Any] = {}

    @property
    def labels(self) -> dict[str, Any]:
        return dict(flatten_labels(self.arguments))

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.function)


def flatten_labels(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each leaf, sorted by path; a list or a changed set (`extends`) is JSON text."""
    for name, value in sorted(tree.items()):
        path = f"{above}{name}"
        if isinstance(value, Mapping) and "extends" not in value:
            yield from flatten_labels(value, f"{path}/")
        else:
            yield path, json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | Mapping) else value


@cache
def read_package_version() -> str:
    """Return the package version with a hash of its sources, because results are reused only with the same sources."""
    root, found = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in SOURCES):
        found.update(str(path.relative_to(root)).encode())
        found.update(path.read_bytes())
    return f"{version('harvestgym')}+{found.hexdigest()[:12]}"


def split_target(name: str) -> tuple[str, str]:
    """Split `file.py:function` into file and function; for other names the function is empty."""
    path, colon, function = name.rpartition(":")
    return (path, f"{colon}{function}") if path.endswith(".py") else (name, "")


def is_file_name(path: str) -> bool:
    """Return whether a name has the suffix of a file with Python code, a farm, a fishery or a forager."""
    return path.endswith((".py", *FARM_SUFFIXES))


def resolve_name(name: str, folder: Path) -> str:
    """Resolve a file name, with or without `:function`, relative to a folder; other names are returned unchanged."""
    path, function = split_target(name)
    return f"{folder / path}{function}" if is_file_name(path) else name


def list_user_files(*names: str) -> list[Path]:
    """List the files among ids and policies, and the files named in YAML files: parents, tables, classes, rules.

    Missing files are also listed. The files named in a missing or damaged file are unknown and not listed.
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
    """Return the SHA-256 of a file; raise ConfigError if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise mismatch(path, "a file", error.strerror, "another name or folder") from None
