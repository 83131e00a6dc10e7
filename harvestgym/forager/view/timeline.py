"""A recorded episode in words and tables: the path of the forager, its collisions, its rewards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harvestgym.core.view.timeline import DoneAction, Record, Timeline, Track
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.world import ACTION_NAMES

DOCS = {
    "x#cell": "column of the forager, eastwards",
    "y#cell": "row of the forager, northwards",
    "action": "where it wanted to go",
    "collided": "what it met",
    "collected": "objects taken so far",
    "reward_rate": "running mean reward of a step",
    "biome": "the region it stands in",
    "biome_regret": "worth of a cell of the best region less that of the one it is in",
}


def timeline(env: Forager, record: Record) -> Timeline:
    """Return the steps of a record, as `record_episode` makes it; the view is in the picture only."""
    return Timeline(
        when=[f"step {step}" for step in range(len(record["reward"]))],
        watcher="",
        record=record,
        tracks=tuple(_track(env, name) for name in DOCS if name in record),
        first=("reward_rate", "biome"),
        actions=tuple(_meetings(env, record)),
        gains=_gains(env, record),
        costs={},
    )


def _track(env: Forager, name: str) -> Track:
    codes = {
        "action": dict(enumerate(ACTION_NAMES)),
        "collided": {-1: "nothing", **dict(enumerate(env.world.names))},
        "biome": {i: region.name for i, region in enumerate(env.world.regions)},
    }
    label, _, unit = name.partition("#")
    return Track(name, "life", label, unit, DOCS[name], codes=codes.get(name, {}))


def _meetings(env: Forager, record: Record) -> Iterator[DoneAction]:
    for step in np.flatnonzero(record["collided"] >= 0):
        what = f"went {ACTION_NAMES[int(record['action'][step])]}, met {env.world.names[int(record['collided'][step])]}"
        yield DoneAction(int(step), "the forager", what, note=f"reward {record['reward'][step]:g}")


def _gains(env: Forager, record: Record) -> dict[str, np.ndarray]:
    """Return the rewards by the kind that paid them; as one where a kind pays later than it is met."""
    if any(kind.pays_after for kind in env.world.kinds):
        return {"reward": record["reward"]}
    pays = {name: np.where(record["collided"] == i, record["reward"], 0) for i, name in enumerate(env.world.names)}
    return {name: values for name, values in pays.items() if values.any()} or {"reward": record["reward"]}
