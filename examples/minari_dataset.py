"""Demonstrations as a Minari dataset, for offline learners that expect one.

    pip install minari
    harvestgym record farm/bean-1x1-v0 --episodes 100 --out bean.parquet
    python examples/minari_dataset.py bean.parquet bean-expert-v0

The second argument is a new folder with Minari's layout, so both `minari.MinariDataset(folder / "data")` and, with
`MINARI_DATASETS_PATH` set to its parent folder, `minari.load_dataset("bean-expert-v0")` read it. The `v0` at its end
is the version of the dataset, by Minari's convention. `recover_environment()` makes the environment with its overrides;
for a custom farm file Minari knows only the spaces. `read(folder)` returns the demonstrations again, bit for bit.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import jax
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode
from harvestgym.registry import spec as spec_of

FORMAT = "parquet"


def write(demonstrations: Demonstrations, path: str | Path) -> None:
    """Write a new folder atomically; the dataset's `recover_environment` makes the environment from its id."""
    path = Path(path).resolve()  # Minari joins a relative path twice
    if path.exists():
        raise ConfigError(f"{path}: expected a new folder, got an existing one; try another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as scratch:
        _write_data(demonstrations, Path(scratch) / path.name, _dataset_id(path.name))
        os.rename(Path(scratch) / path.name, path)


def _write_data(demonstrations: Demonstrations, path: Path, dataset_id: str) -> None:
    env = spec_of(demonstrations.id).make(**demonstrations.overrides)
    spec = _spec(demonstrations)
    data = path / "data"
    data.mkdir(parents=True)
    storage = MinariStorage.new(
        data, env.observation_space, env.action_space, spec, data_format=FORMAT, jpeg_encoding=False
    )
    about = {
        "dataset_id": dataset_id, "minari_version": minari.__version__, "algorithm_name": demonstrations.by,
        "harvestgym": {"id": demonstrations.id, "overrides": dict(demonstrations.overrides)},
    }  # fmt: skip
    storage.update_metadata(about | {"requirements": ["harvestgym"]})
    storage.update_episodes(_buffers(demonstrations))


def _spec(demonstrations: Demonstrations) -> Any:
    """Return the Gymnasium spec of the environment; None for a farm file, which may be missing on other machines."""
    if demonstrations.id.endswith((".yaml", ".yml")):
        return None
    spec = deepcopy(gymnasium.spec(demonstrations.id))
    spec.kwargs |= demonstrations.overrides
    return spec


def _dataset_id(name: str) -> str:
    plain = re.sub(r"[^-\w]", "-", name)
    return plain if re.search(r"-v\d+$", plain) else f"{plain}-v0"


def _buffers(demonstrations: Demonstrations) -> Iterator[EpisodeBuffer]:
    """Convert episodes to Minari's format; per-step numbers become lists, because Minari cannot read them as arrays."""
    for i, one in enumerate(demonstrations.episodes):
        yield EpisodeBuffer(
            id=i,
            seed=one.seed,
            observations=one.observations,
            actions=one.actions,
            rewards=one.rewards.tolist(),
            terminations=one.terminated.tolist(),
            truncations=one.truncated.tolist(),
            infos={name: values if values.ndim > 1 else [*values] for name, values in one.infos.items()},
        )


def read(path: str | Path) -> Demonstrations:
    """Read the episodes in a folder made by `write`; ConfigError for any other folder."""
    try:
        dataset = minari.MinariDataset(Path(path).resolve() / "data")
    except ValueError as error:
        raise ConfigError(f"{path}: expected a Minari dataset, got none: {error}") from None
    about = dataset.storage.metadata
    if "harvestgym" not in about:
        raise ConfigError(
            f"{path}: expected a dataset written by this program, got another one; try minari.MinariDataset"
        )
    seeds = [one.get("seed") for one in dataset.storage.get_episode_metadata(dataset.episode_indices)]
    episodes = [_episode(one, seed) for one, seed in zip(dataset, seeds, strict=True)]
    mine: Any = about["harvestgym"]
    return Demonstrations(mine["id"], str(about["algorithm_name"]), episodes, mine["overrides"])


def _episode(one: Any, seed: int | None) -> Episode:
    seen, done = jax.tree.map(np.asarray, (one.observations, one.actions))
    infos = {name: np.asarray(values) for name, values in one.infos.items()}
    return Episode(seen, done, one.rewards, one.terminations, one.truncations, infos, seed)


if __name__ == "__main__":
    source, folder = sys.argv[1:]
    write(read_demonstrations(source), folder)
    print(f"wrote {folder}")
