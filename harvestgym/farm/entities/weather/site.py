"""Sites: the weather included in the package, one YAML file per site: a table, monthly normals or a constant day."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from harvestgym.core import yaml_io
from harvestgym.core.config import Strict, require_one_of, validate
from harvestgym.core.errors import check_name
from harvestgym.farm.weather_data.normals import Normals, measure_normals
from harvestgym.farm.weather_data.table import WeatherTable, constant_table, read_table

FOLDER = Path(__file__).parent / "sites"
WindDirection = Literal["N", "NE", "E", "SE", "S", "SW", "W", "NW"]
WIND_DIRECTIONS: tuple[WindDirection, ...] = get_args(WindDirection)

_Share = Annotated[float, Field(ge=0)]


class SiteFile(Strict):
    """The YAML file of a site, with exactly one of `table`, `normals` and `constant`."""

    title: str
    source: str
    licence: str
    period: str | None = None
    latitude: Annotated[float | None, Field(ge=-90, le=90)] = None
    longitude: Annotated[float | None, Field(ge=-180, le=180)] = None
    altitude: float | None = None
    wind_from: dict[WindDirection, _Share] = {}
    """Relative frequencies of the directions from which the wind blows; 1 for a direction that is not listed."""
    table: str | None = None
    normals: Normals | None = None
    constant: dict[str, float] | None = None
    """The columns of a table in which every day is the same."""

    _one = require_one_of("table", "normals", "constant")


@dataclass(frozen=True)
class Site:
    """Weather at a location, to replay (from `table`, if there is one) or to generate (from `normals`)."""

    about: SiteFile
    table: WeatherTable | None

    @functools.cached_property
    def normals(self) -> Normals:
        """The site's monthly normals, either stated or computed from the table."""
        if self.about.normals is not None:
            return self.about.normals
        assert self.table is not None  # SiteFile: a site without normals has a table or a constant
        return measure_normals(self.table.days, self.table.start_day)

    @property
    def wind_rose(self) -> tuple[float, ...]:
        """Frequencies of the directions from which the wind blows, in the order of `WIND_DIRECTIONS`; they sum to 1."""
        shares = [self.about.wind_from.get(d, 1.0) for d in WIND_DIRECTIONS]
        return tuple(s / sum(shares) for s in shares)


def site_names() -> tuple[str, ...]:
    """Return the names of the sites included in the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load_site(name: str) -> Site:
    """Return the site with this name or the site in this YAML file; otherwise, ConfigError with the nearest name."""
    return read_site(Path(name)) if name.endswith(".yaml") else _load_shipped(name)


@functools.cache
def _load_shipped(name: str) -> Site:
    check_name("weather site", name, site_names())
    return read_site(FOLDER / f"{name}.yaml")


def read_site(path: Path) -> Site:
    """Read a site from a YAML file; its table is in the same folder."""
    about = validate(SiteFile, yaml_io.read_file(path), path.name)
    if about.table is not None:
        return Site(about, read_table(path.parent / about.table, name=about.table))
    if about.constant is not None:
        return Site(about, constant_table(path.name, about.constant))
    return Site(about, None)
