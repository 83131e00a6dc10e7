"""The held-out protocol: a training and a test split of every id (`splits.yaml`).

Three things are held out: seeds of every id, blocks of years (up to whole decades) where weather is replayed from a
table, and the sites and soils that an id draws at random. Weather generators, fisheries and foraging worlds have no
years; for these, a different seed gives a different season.

The file also lists the core suite (`suite`). It is frozen: `digest` is its SHA-256, which results cite, and code in
`sealed` cannot reach the test split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
from jax import Array

from harvestgym.core import yaml_io
from harvestgym.core.config import Strict, merge, validate
from harvestgym.core.env import Env
from harvestgym.core.errors import look_up, mismatch, require, warn_user
from harvestgym.core.wrappers import unwrapped
from harvestgym.registry import spec as spec_of

FILE = Path(__file__).with_name("splits.yaml")
BLOCKS = 3
"""Number of different block numbers (0, 1, 2), which repeat over the years; the file lists those of each split."""


_SEALED: ContextVar[bool] = ContextVar("sealed", default=False)


class SuiteItem(Strict):
    """The entry of an id of the core suite: the number of its test seasons, what it tests, and limits.

    A limit is the largest mean over seasons of a column of costs, such as `cost_nitrate`.
    """

    seasons: int
    tests: str
    limits: dict[str, float] = {}


class SplitFile(Strict):
    """The entry of a split in the file."""

    doc: str
    seeds: tuple[int, int]
    years: dict[str, list[int]] = {}
    blocks: list[int] = []
    sites: list[str] = []
    ids: dict[str, dict[str, Any]] = {}
    suite: dict[str, SuiteItem] = {}


@dataclass(frozen=True)
class Split:
    """One split of one id.

    Attributes:
        overrides: keyword arguments of `harvestgym.make` (and `gymnasium.make`) that exclude the data of the other
        split.
        seeds: the seeds of the split.
    """

    id: str
    name: str
    overrides: Mapping[str, Any]
    seeds: range

    def make(self, **more: Any) -> Env[Any, Any]:
        """Make the environment of this split, with additional overrides."""
        check_open(self.name)
        return spec_of(self.id).make(**merge(dict(self.overrides), more))

    def seed(self, number: int) -> int:
        """Return seed `number` of this split, counted from 0; raise ConfigError beyond the last one."""
        check_open(self.name)
        require(0 <= number < len(self.seeds), self.name, f"a seed from 0 to {len(self.seeds) - 1}", number)
        return self.seeds[number]

    def key(self, number: int) -> Array:
        """Return the random key of seed `number`."""
        return jax.random.key(self.seed(number))


def list_splits() -> list[str]:
    """List the names of the splits."""
    return list(_read_splits())


def list_suite() -> dict[str, SuiteItem]:
    """Return the ids of the core suite with their entries."""
    return _read_splits()["test"].suite


def digest() -> str:
    """Return the SHA-256 of `splits.yaml`, with Unix line endings."""
    return hashlib.sha256(FILE.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


@contextmanager
def sealed() -> Iterator[None]:
    """Raise ConfigError if the block, such as a search or a training run, uses the test split.

    Also a decorator. It guards against mistakes, not against intent: it does not apply to other threads and processes
    that the block starts, and plain seeds are not checked.
    """
    before = _SEALED.set(True)
    try:
        yield
    finally:
        _SEALED.reset(before)


def check_open(name: str) -> None:
    """Raise ConfigError if `name` is the test split and the caller is in `sealed`."""
    if name == "test" and _SEALED.get():
        raise mismatch("split", "'train' within a search or training", "'test', which is for reporting")


def split(id: str, name: str) -> Split:
    """Return a split of an id or a farm file; raise ConfigError for an unknown name."""
    file, seeds = _read_split(name)
    weathers = _select_years(id, file)
    return Split(id, name, merge(file.ids.get(id, {}), {"entities": weathers} if weathers else {}), seeds)


def split_sites(id: str, name: str) -> Split:
    """Return a split of a one-field farm in which each season draws one of the split's weather sites.

    The site, which sets the latitude and altitude, is not observed. Both splits have the same spaces.
    """
    file, seeds = _read_split(name)
    context = {"every": "episode", "shown": [], "draws": {"Field-0": [_locate(site) for site in file.sites]}}
    return Split(id, name, {"entities": {"Weather-0": file.sites[0]}, "context": context}, seeds)


def _locate(site: str) -> dict[str, Any]:
    """Return a weather site and its location, as one of the choices of a context."""
    from harvestgym.farm.entities.weather.site import load_site

    about = load_site(site).about
    place = {"latitude#°": about.latitude, "longitude#°": about.longitude, "altitude#m": about.altitude}
    return {"Weather-0": site} | place


def make(id: str, name: str, **more: Any) -> Env[Any, Any]:
    """Make the environment of an id in one of the splits."""
    return split(id, name).make(**more)


@cache
def _read_splits() -> dict[str, SplitFile]:
    found = yaml_io.read_file(FILE)
    return {name: validate(SplitFile, entry, f"{FILE.name} > {name}") for name, entry in found.items()}


def _read_split(name: str) -> tuple[SplitFile, range]:
    """Return the entry of a split and its seeds; raise ConfigError for an unknown name."""
    file = look_up("split", name, _read_splits())
    check_open(name)
    return file, range(file.seeds[0], file.seeds[1] + 1)


def select_blocks(years: Sequence[int], blocks: Sequence[int]) -> list[int]:
    """Select the years in these blocks, which are numbered 0, 1, 2, 0, 1, 2 … from the first year.

    A block is a third of the years, at most a decade and at least a year.
    """
    size = min(max(len(years) // BLOCKS, 1), 10)
    return [year for i, year in enumerate(years) if i // size % BLOCKS in blocks]


def _select_years(id: str, file: SplitFile) -> dict[str, Any]:
    """Return the weather entities of a farm that replay held-out years, limited to the years of this split."""
    if spec_of(id).entry_point.startswith(("harvestgym.fishing.", "harvestgym.forager.")):
        return {}  # without making the environment
    farm: Any = unwrapped(spec_of(id).make())
    if farm.family != "harvestgym.farm.family":
        return {}
    from harvestgym.farm.engine.variables import number_repeats
    from harvestgym.farm.entities.weather.weather import load_recorded_years

    found = {}
    for field, of_field in farm.spec.fields.items():
        names = number_repeats([kind for kind, _ in of_field.entities])
        for name, (kind, which) in zip(names, of_field.entities, strict=True):
            if kind == "Weather" and (mine := _years_of_set(which, file, f"{id}: {field}/{name}")):
                base = {"extends": which} if isinstance(which, str) else dict(which)
                found[f"{field}/{name}"] = base | {"years": mine}
    for path, options in (farm.spec.context.draws if farm.spec.context else {}).items():
        for which in _list_drawn_weather(path, options):
            if load_recorded_years(which)[0] is not None:
                _warn_of_shared_days(f"{id}: context > draws > {path}", f"generated weather, got {which!r}")
    return found


def _list_drawn_weather(path: str, options: Any) -> list[Any]:
    """List the weather sets that a context draws for an entity, or for an entity of a field."""
    if not isinstance(options, list):
        return []
    if path.rpartition("/")[2].startswith("Weather"):
        return options
    fields = [option for option in options if isinstance(option, Mapping)]
    return [which for option in fields for key, which in option.items() if key.startswith("Weather")]


def _years_of_set(which: Any, file: SplitFile, where: str) -> list[int]:
    """Return the recorded years of a weather set that are in this split; [] if it generates its days.

    Warns if the recorded years cannot be divided among the splits; then all splits replay all of them.
    """
    from harvestgym.farm.entities.weather.weather import load_recorded_years

    years, site = load_recorded_years(which)
    if years is None:
        return []
    files = _read_splits().values()
    listed = [year for of in files for year in of.years.get(site or "", [])]
    sides = [[year for year in years if year in of.years.get(site or "", [])] for of in files]
    if not set(years) <= set(listed) or not all(sides):
        sides = [select_blocks(years, of.blocks) for of in files]
    if not all(sides):
        _warn_of_shared_days(where, f"at least two recorded years with dates, got {years or 'none'}")
        return []
    return sides[list(files).index(file)]


def _warn_of_shared_days(where: str, expected: str) -> None:
    said = f"{where}: expected {expected}; training and test replay the same days"
    warn_user(f"{said}; try a table with more years, or `generate: true`")
