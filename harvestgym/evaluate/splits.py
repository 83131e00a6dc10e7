"""The held-out protocol: an id as training may see it, and as results are reported on it (`splits.yaml`).

What is held out are seeds for every id, years of the weather where days are replayed from a table, and, where an id
draws its site and its soil, sites and soils. A generator of weather, a fishery or a world has no years: another seed
is another season there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax

from harvestgym.core import yaml_io
from harvestgym.core.config import Strict, merge, validate
from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.registry import spec as spec_of

FILE = Path(__file__).with_name("splits.yaml")


class SplitFile(Strict):
    """What the file says of a split."""

    doc: str
    seeds: tuple[int, int]
    years: dict[str, list[int]] = {}
    ids: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Split:
    """One side of the protocol for one id.

    Attributes:
        overrides: keyword arguments of `harvestgym.make` (and `gymnasium.make`) that hold the other side out.
        seeds: the seeds that belong to it.
    """

    id: str
    name: str
    overrides: Mapping[str, Any]
    seeds: range

    def make(self, **more: Any) -> Env[Any, Any]:
        """The environment of this side, with further overrides."""
        return spec_of(self.id).make(**merge(dict(self.overrides), more))

    def seed(self, number: int) -> int:
        """Seed `number` of this side, counted from 0; ConfigError beyond its last."""
        if not 0 <= number < len(self.seeds):
            raise ConfigError(f"{self.name}: wanted a seed from 0 to {len(self.seeds) - 1}, found {number}")
        return self.seeds[number]

    def key(self, number: int) -> jax.Array:
        """The random key of seed `number`."""
        return jax.random.key(self.seed(number))


def names() -> list[str]:
    """The splits there are."""
    return list(_files())


def split(id: str, name: str) -> Split:
    """The split of an id, or of the path of a farm file; ConfigError for an unknown name."""
    check_name("split", name, names())
    file = _files()[name]
    overrides = file.ids.get(id, {})
    weathers = _weathers(id, file.years)
    low, high = file.seeds
    return Split(id, name, merge(overrides, {"entities": weathers} if weathers else {}), range(low, high + 1))


def make(id: str, name: str, **more: Any) -> Env[Any, Any]:
    """The environment of an id as one of the splits has it."""
    return split(id, name).make(**more)


@cache
def _files() -> dict[str, SplitFile]:
    found = yaml_io.read(FILE)
    return {name: validate(SplitFile, said, f"{FILE.name} > {name}") for name, said in found.items()}


def _weathers(id: str, years: Mapping[str, list[int]]) -> dict[str, Any]:
    """For each weather of a farm that replays a table with held-out years: its set with the years of this side."""
    if not spec_of(id).entry_point.startswith("harvestgym.farm."):
        return {}
    from harvestgym.farm.engine.variables import number_repeats
    from harvestgym.farm.entities.weather import Weather

    farm: Any = spec_of(id).make()
    found = {}
    for field, of_field in farm.spec.fields.items():
        names = number_repeats([kind for kind, _ in of_field.entities])
        for name, (kind, which) in zip(names, of_field.entities, strict=True):
            said = Weather.written(which)["settings"] if kind == "Weather" else {}
            if said.get("site") in years and not said.get("generate"):
                base = {"extends": which} if isinstance(which, str) else dict(which)
                found[f"{field}/{name}"] = base | {"years": years[said["site"]]}
    return found
