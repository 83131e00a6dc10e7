"""The configuration of `ForagerEnv`, and the world built from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_fields
from harvestgym.core.errors import check_name, mismatch

from .object_kinds import Factory, ForagerObject, Kind
from .observations import MODES, Hint, check_aperture, check_sides
from .world import Capacity, Edge, Region, Side, World

Observation = np.ndarray


@dataclass(frozen=True)
class ForagerConfig:
    """The world and the observations of a `ForagerEnv`.

    Attributes:
        size: the side length of the world, or (width, height).
        object_types: the kinds by name: a class or function that makes an object, or a `Kind`.
        observation_mode: `objects` is bool (rows, columns, kinds), with the channels in the order of the sorted names;
            `images` is the same, enlarged to uint8 (84, 84, kinds) with values 0 and 255; `colors` is uint8 (rows,
            columns, 3); `world` is bool (height, width, kinds + 1), with the agent last; `compass` and `scalar` as in
            `observations`.
        aperture: the numbers of rows (north to south) and columns (west to east) that the agent sees, both odd.
        seed: an integer from 0 to 2^64 - 1.
        edge: `torus`, or `wall`, which stops the agent and adds a channel for the outside.
        capacity: maximum number of objects that may be away from their original cells. At the limit, other objects
            cannot be collected and give no reward. An episode takes at most `memory["most_bytes"]`, about 180 bytes
            per object (0.75 GB by default), and up to `capacity` Python objects; a warning appears when the table grows
            to half the limit.
        hint: (shown, every): the biome is shown in the first `shown` of `every` steps; observations are then
            dicts of `view` and `hint`.
    """

    size: Side | tuple[Side, Side]
    object_types: Mapping[str, Any]
    observation_mode: str = "objects"
    aperture: Side | tuple[Side, Side] = 3
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    edge: Edge = "torus"
    capacity: Capacity = 2**22
    hint: Hint = (0, 0)

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("observation_mode", self.observation_mode, MODES, "ForagerConfig")

    def find_aperture(self, world: World) -> tuple[int, int]:
        """Return the aperture as (rows, columns); raise ConfigError unless both are odd and within the world."""
        return check_aperture(self.aperture, world)


class TranslatedConfig(ForagerConfig):
    """A configuration made by this package, whose view may be larger than the world and then repeats cells."""

    def find_aperture(self, world: World) -> tuple[int, int]:
        """Return the aperture as (rows, columns); raise ConfigError unless both are odd."""
        return check_sides(self.aperture)


def build_world(config: ForagerConfig) -> World:
    """Return the world of a configuration, without objects."""
    size = config.size
    width, height = (size, size) if isinstance(size, int | np.integer) else tuple(size)
    kinds = tuple(_kind(name, config.object_types[name]) for name in sorted(config.object_types))
    return World(width, height, kinds, (Region(0, 0, width, height),), edge=config.edge, capacity=config.capacity)


def _kind(name: str, factory: Factory | Kind) -> Kind:
    if isinstance(factory, Kind):
        return dataclasses.replace(factory, name=name)
    where = f"object_types[{name!r}]"
    try:
        thing = factory()
    except TypeError as error:
        raise mismatch(where, "a class or function without arguments, or a Kind", f"{factory!r}: {error}") from error
    if not isinstance(thing, ForagerObject):
        raise mismatch(where, "a class or function that makes a ForagerObject", f"one that makes {thing!r}")
    thing.name = name
    return thing.to_kind()
