"""The configuration of `ForagerEnv`, and the world built from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harvestgym.core.errors import ConfigError

from .kinds import Factory, ForagerObject, Kind, TableObject, check_color
from .observations import Hint
from .world import Edge, Region, World

Observation = np.ndarray


@dataclass(frozen=True)
class ForagerConfig:
    """The world and the observations of a `ForagerEnv`.

    Attributes:
        size: the side of the world, or (width, height).
        object_types: the kinds by name: a class or function that makes an object, or a `Kind`.
        observation_mode: `objects` bool (rows, columns, kinds), channels in the order of the sorted names;
            `colors` uint8 (rows, columns, 3); `world` bool (height, width, kinds + 1), the agent last;
            `compass` and `scalar` as in `observations`.
        aperture: how many rows (north to south) and columns (west to east) the agent sees; odd.
        seed: an integer from 0 to 2^64 - 1.
        edge: `torus`, or `wall`: the agent stays, and the outside is one more channel.
        capacity: how many objects may be away from where the world put them; beyond it an object pays and stays.
        hint: (shown, every): the biome is shown in the first `shown` of `every` steps; observations are then
            dicts of `view` and `hint`.
    """

    size: int | tuple[int, int]
    object_types: Mapping[str, Factory | Kind]
    observation_mode: str = "objects"
    aperture: int | tuple[int, int] = 3
    seed: int = 0
    edge: Edge = "torus"
    capacity: int = 2**22
    hint: Hint = (0, 0)


def build_world(config: ForagerConfig) -> World:
    """Return the world of a config, with nothing in it yet."""
    size = config.size
    width, height = (size, size) if isinstance(size, int | np.integer) else tuple(size)
    kinds = tuple(_kind(name, config.object_types[name]) for name in sorted(config.object_types))
    return World(width, height, kinds, (Region(0, 0, width, height),), edge=config.edge, capacity=config.capacity)


def _kind(name: str, factory: Factory | Kind) -> Kind:
    if isinstance(factory, Kind):
        return dataclasses.replace(factory, name=name)
    if not callable(factory):
        raise ConfigError(f"object_types[{name!r}]: expected a class or function that makes an object, or a Kind, "
                          f"got {factory!r}")  # fmt: skip
    thing = factory()
    thing.name = name
    custom = type(thing).regen_delay is not ForagerObject.regen_delay or thing.target_location is not None
    if isinstance(thing, TableObject) and type(thing).reward is TableObject.reward and not custom:
        row = dataclasses.replace(thing.row, name=name, blocking=thing.blocking, collectable=thing.collectable,
                                  lasts=thing.lasts, rests=thing.rests)  # fmt: skip
        return row if thing.color is None else dataclasses.replace(row, colors=(check_color(thing.color, name),))
    return thing.to_kind()
