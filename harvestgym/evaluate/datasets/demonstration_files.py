"""Demonstrations on disk, as a Parquet file.

The file has a row per observation, and columns for observation, action and info. The first row of an episode
is its reset, with zeros for action and reward. Each part of an observation, action or info has its own column; an array
is stored as a list, and its shape in the metadata of the column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.errors import check_suffix, require
from harvestgym.core.saving.files import read_column, read_parquet, write_parquet
from harvestgym.evaluate.export import check_new

from .episodes import Demonstrations, Episode

SUFFIX = ".parquet"

FORMAT = b"harvestgym demonstrations"
VERSION = 2

OBSERVATION, ACTION, INFO = "observation", "action", "info/"
STEP_FIELDS = ("reward", "rewards"), ("terminated", "terminated"), ("truncated", "truncated")
"""The columns with one value per step, and the corresponding fields of `Episode`."""


def write_demonstrations(demonstrations: Demonstrations, path: str | Path) -> Path:
    """Write episodes to a new Parquet file (extra `data`); ConfigError if it exists, or if there are no episodes."""
    path = check_suffix(Path(path), SUFFIX)
    check_new(path)
    require(demonstrations.episodes, path, "at least one episode", "none")
    path.parent.mkdir(parents=True, exist_ok=True)
    first = demonstrations.episodes[0]
    about = {
        "version": VERSION, "id": demonstrations.id, "by": demonstrations.by,
        "overrides": dict(demonstrations.overrides),
        OBSERVATION: _name_columns(OBSERVATION, first.observations), ACTION: _name_columns(ACTION, first.actions),
        "seeds": [episode.seed for episode in demonstrations.episodes],
    }  # fmt: skip
    parts = [_make_columns(episode, i, about) for i, episode in enumerate(demonstrations.episodes)]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    write_parquet(path, whole, {FORMAT: json.dumps(about)})
    return path


def read_demonstrations(path: str | Path) -> Demonstrations:
    """Read episodes from a Parquet file; raise ConfigError if there are none."""
    path = check_suffix(Path(path), SUFFIX)
    table = read_parquet(path)
    about = read_about(table.schema, path)
    values = {name: read_column(table, name) for name in table.column_names}
    ends = np.flatnonzero(np.diff(values["episode"])) + 1
    spans = zip([0, *ends], [*ends, len(values["episode"])], about["seeds"], strict=True)
    episodes = [_make_episode({n: v[a:b] for n, v in values.items()}, about, seed) for a, b, seed in spans]
    about["overrides"].pop("allow", None)  # only the caller can allow code
    return Demonstrations(about["id"], about["by"], episodes, about["overrides"])


def read_about(schema: Any, path: Path) -> dict[str, Any]:
    """Read the id, policy, overrides and seeds in the schema of a Parquet file.

    Raises ConfigError if the file does not contain demonstrations of this version.
    """
    about = json.loads((schema.metadata or {}).get(FORMAT, b"{}"))
    found = f"version {about['version']}" if about else "another table"
    require(about.get("version") == VERSION, path, f"demonstrations, version {VERSION}", found)
    return about


def _name_columns(part: str, tree: Any) -> Any:
    """Return the tree with each leaf replaced by the name of its column."""

    def name(way: Any, leaf: Any) -> str:
        return "/".join(filter(None, (part, jax.tree_util.keystr(way, simple=True, separator="/"))))

    return jax.tree_util.tree_map_with_path(name, tree)


def _make_columns(episode: Episode, number: int, about: Mapping[str, Any]) -> dict[str, np.ndarray]:
    rows = len(episode) + 1
    steps = [*zip(jax.tree.leaves(about[ACTION]), jax.tree.leaves(episode.actions), strict=True)]
    steps += [(name, getattr(episode, field)) for name, field in STEP_FIELDS]
    seen = zip(jax.tree.leaves(about[OBSERVATION]), jax.tree.leaves(episode.observations), strict=True)
    return {
        "episode": np.full(rows, number, np.int32),
        "step": np.arange(rows, dtype=np.int32),
        **dict(seen),
        **{name: np.concatenate([np.zeros_like(values[:1]), values]) for name, values in steps},
        **{f"{INFO}{name}": np.asarray(values) for name, values in episode.infos.items()},
    }


def _make_episode(rows: Mapping[str, np.ndarray], about: Mapping[str, Any], seed: int | None) -> Episode:
    steps = {name: values[1:] for name, values in rows.items()}
    return Episode(
        _fill_tree(about[OBSERVATION], rows),
        _fill_tree(about[ACTION], steps),
        **{field: steps[name] for name, field in STEP_FIELDS},
        infos={name.removeprefix(INFO): values for name, values in rows.items() if name.startswith(INFO)},
        seed=seed,
    )


def _fill_tree(names: Any, rows: Mapping[str, np.ndarray]) -> Any:
    """Replace the column names in a tree with their values; lists, the JSON form of tuples, become tuples again."""
    if isinstance(names, str):
        return rows[names]
    if isinstance(names, dict):
        return {key: _fill_tree(below, rows) for key, below in names.items()}
    return tuple(_fill_tree(below, rows) for below in names)
