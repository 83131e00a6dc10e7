"""Write and read demonstrations as one Parquet file: a row per observation, columns for observation, action and info.

The first row of an episode is its reset, with zeros for action and reward. Each part of an observation, action or info
is a column; a part with a shape is a list, and the metadata of its column contains the shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.saving.parquet import read_column, read_parquet, write_parquet

from .episodes import Demonstrations, Episode

FORMAT = b"harvestgym demonstrations"
VERSION = 1

OBSERVATION, ACTION, INFO = "observation", "action", "info/"
STEP_FIELDS = {"reward": "rewards", "terminated": "terminated", "truncated": "truncated"}
"""Numeric columns of steps, with their fields in an `Episode`."""


def write(demonstrations: Demonstrations, path: Path) -> None:
    """Write a Parquet file that `read` and any table library can read."""
    first = demonstrations.episodes[0]
    about = {
        "version": VERSION, "id": demonstrations.id, "by": demonstrations.by,
        "overrides": dict(demonstrations.overrides),
        OBSERVATION: _list_paths(first.observations), ACTION: _list_paths(first.actions),
        "seeds": [episode.seed for episode in demonstrations.episodes],
    }  # fmt: skip
    parts = [_columns(episode, i) for i, episode in enumerate(demonstrations.episodes)]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    write_parquet(path, whole, {FORMAT: json.dumps(about)})


def read(path: Path) -> Demonstrations:
    """Read the episodes of a file; ConfigError if it does not contain demonstrations of this version."""
    table = read_parquet(path)
    about = read_about(table.schema, path)
    values = {name: read_column(table, name) for name in table.column_names}
    ends = np.flatnonzero(np.diff(values["episode"])) + 1
    spans = zip([0, *ends], [*ends, len(values["episode"])], about["seeds"], strict=True)
    episodes = [_episode({n: v[a:b] for n, v in values.items()}, about, seed) for a, b, seed in spans]
    return Demonstrations(about["id"], about["by"], episodes, about["overrides"])


def read_about(schema: Any, path: Path) -> dict[str, Any]:
    """Read the id, policy, overrides and seeds in the schema of a file; raises like `read`."""
    about = json.loads((schema.metadata or {}).get(FORMAT, b"{}"))
    if about.get("version") != VERSION:
        found = f"version {about['version']}" if about else "another table"
        raise ConfigError(f"{path}: expected demonstrations, version {VERSION}, got {found}")
    return about


def _list_paths(tree: Any) -> list[list[str | int]]:
    """List the path of each leaf: names in dicts, numbers in tuples."""
    found = jax.tree_util.tree_leaves_with_path(tree)
    return [[step.idx if hasattr(step, "idx") else step.key for step in way] for way, _ in found]


def _name(part: str, way: list[str | int]) -> str:
    return "/".join([part, *map(str, way)])


def _columns(episode: Episode, number: int) -> dict[str, np.ndarray]:
    rows = len(episode) + 1
    out = {"episode": np.full(rows, number, np.int32), "step": np.arange(rows, dtype=np.int32)}
    for part, tree, shift in ((OBSERVATION, episode.observations, lambda v: v), (ACTION, episode.actions, _shift)):
        pairs = zip(_list_paths(tree), jax.tree.leaves(tree), strict=True)
        out |= {_name(part, way): shift(np.asarray(leaf)) for way, leaf in pairs}
    out |= {name: _shift(getattr(episode, attr)) for name, attr in STEP_FIELDS.items()}
    return out | {f"{INFO}{name}": np.asarray(values) for name, values in episode.infos.items()}


def _shift(values: np.ndarray) -> np.ndarray:
    """Shift values of steps by one row, after the reset."""
    return np.concatenate([np.zeros_like(values[:1]), values])


def _episode(rows: Mapping[str, np.ndarray], about: Mapping[str, Any], seed: int | None) -> Episode:
    late = {attr: rows[name][1:] for name, attr in STEP_FIELDS.items()}
    infos = {name.removeprefix(INFO): values for name, values in rows.items() if name.startswith(INFO)}
    actions = {name: values[1:] for name, values in rows.items()}
    return Episode(
        _tree(about[OBSERVATION], OBSERVATION, rows),
        _tree(about[ACTION], ACTION, actions),
        **late,
        infos=infos,
        seed=seed,
    )


def _tree(paths: list[list[str | int]], part: str, rows: Mapping[str, np.ndarray]) -> Any:
    """Rebuild a pytree from its columns: names in paths become dicts, and numbers become tuples."""

    def below(way: list[str | int]) -> Any:
        if way in paths:
            return rows[_name(part, way)]
        steps = dict.fromkeys(other[len(way)] for other in paths if other[: len(way)] == way)
        if all(isinstance(step, int) for step in steps):
            return tuple(below([*way, step]) for step in steps)
        return {step: below([*way, step]) for step in steps}

    return below([])
