"""WOFOST 7.2, the Wageningen crop model, with the water and weather of a season; needs pcse (extra `dev`).

The pcse wheel includes a demonstration database with the crop parameters of the European monitoring service, so no
network is needed. Grain maize is the only one of our crops in it (its field beans are faba beans, for dry seed).
"""

from __future__ import annotations

import datetime
import sqlite3
import warnings
from collections import namedtuple
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAIZE = 2
GRID, YEAR = 31031, 2000
"""The place and year of a campaign in the database, used to look up the crop."""

VARIETY = 2619
"""The maize variety in the database whose seasons are on average as long as the farm's (chosen by dates alone)."""

AIR_FILLED = 0.2
"""Water that a soil holds above field capacity until it drains, as a fraction of its volume."""


class Season(NamedTuple):
    """Days from sowing to flowers and to maturity, grain (kg dry mass), mm transpired and mm evaporated from the soil.

    A stage that is not reached within the given days is NaN.
    """

    to_flowers: float
    to_maturity: float
    kg: float
    transpired: float
    evaporated: float


class WofostSoil(NamedTuple):
    """A freely draining soil at field capacity.

    Attributes:
        capacity, wilting: water at field capacity and at the wilting point, as fractions of the volume.
        depth: depth of soil that roots can reach, m.
    """

    capacity: float
    wilting: float
    depth: float

    @property
    def soil(self) -> dict[str, float]:
        """Return the WOFOST soil parameters."""
        fractions = {"SMFCF": self.capacity, "SMW": self.wilting, "SM0": self.capacity + AIR_FILLED, "CRAIRC": 0.06}
        return fractions | {"RDMSOL": 100 * self.depth, "K0": 10.0, "SOPE": 10.0, "KSUB": 10.0}

    @property
    def site(self) -> dict[str, float]:
        """Return the WOFOST site parameters: the initial water, cm, and no run-off."""
        water = 100 * self.depth * (self.capacity - self.wilting)
        return {"WAV": water, "SMLIM": self.capacity, "IFUNRN": 0, "NOTINF": 0, "SSI": 0, "SSMAX": 0}


def maize(days: Mapping[str, np.ndarray], first: int, latitude: float, ground: WofostSoil) -> Season:
    """Return a season of grain maize that is sown on the first day and gets water from soil and rain.

    Args:
        days: a value per day: `t_min`, `t_max`, `t_mean` (degC), `wind` (m/s at 2 m), `vapour` (kPa), `radiation`
            (MJ.m-2), `et0` and `rain` (mm).
        first: day of the year of the first day.
        latitude: degrees, north positive.
        ground: the soil.
    """
    start = datetime.date(YEAR, 1, 1) + datetime.timedelta(first - 1)
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, ResourceWarning):  # pcse 6 uses an old traitlets API and leaves files open
            warnings.simplefilter("ignore", kind)
        model = _grown(days, start, latitude, ground)
    daily, found = model.get_output(), model.get_summary_output()[0]
    return Season(
        to_flowers=_days(start, found["DOA"]),
        to_maturity=_days(start, found["DOM"]),
        kg=float(found["TWSO"]) / 10_000,
        transpired=10 * float(np.nansum([day["TRA"] or 0.0 for day in daily])),
        evaporated=10 * float(found["CEVST"]),
    )


def _days(start: datetime.date, reached: datetime.date | None) -> float:
    return float("nan") if reached is None else float((reached - start).days)


def _grown(days: Mapping[str, np.ndarray], start: datetime.date, latitude: float, ground: WofostSoil) -> Any:
    from pcse.base import ParameterProvider
    from pcse.models import Wofost72_WLP_CWB

    parameters = ParameterProvider(sitedata=ground.site, soildata=ground.soil, cropdata=_crop())
    weather, calendar = _weather(days, start, latitude), _calendar(start, len(days["et0"]))
    model = Wofost72_WLP_CWB(parameters, weather, calendar)
    model.run_till_terminate()
    return model


def _crop() -> dict[str, Any]:
    import pcse
    from pcse.tests import db_input

    dump = Path(pcse.__file__).parent / "tests" / "test_data" / "pcse_dump.sql"
    with closing(sqlite3.connect(":memory:")) as base:
        base.row_factory = lambda cursor, row: namedtuple("Row", [column[0] for column in cursor.description])(*row)
        base.executescript(dump.read_text(encoding="utf-8"))
        base.execute("update crop_calendar set variety_no = ? where crop_no = ?", (VARIETY, MAIZE))
        return db_input.fetch_cropdata(base, GRID, YEAR, MAIZE)


def _weather(days: Mapping[str, np.ndarray], start: datetime.date, latitude: float) -> Any:
    from pcse.base import WeatherDataContainer, WeatherDataProvider

    provider = WeatherDataProvider()
    for i in range(len(days["et0"])):
        now = {name: float(values[i]) for name, values in days.items()}
        day = start + datetime.timedelta(i)
        et0 = now["et0"] / 10
        kept = WeatherDataContainer(
            LAT=latitude, LON=0.0, ELEV=0.0, DAY=day, IRRAD=1e6 * now["radiation"], TMIN=now["t_min"],
            TMAX=now["t_max"], TEMP=now["t_mean"], VAP=10 * now["vapour"], RAIN=now["rain"] / 10,
            WIND=now["wind"], E0=et0, ES0=et0, ET0=et0,
        )  # fmt: skip
        provider._store_WeatherDataContainer(kept, day)
    return provider


def _calendar(start: datetime.date, days: int) -> list[dict[datetime.date, Any]]:
    crop = {
        "crop_name": "maize", "variety_name": "grain maize", "crop_start_date": start, "crop_start_type": "sowing",
        "crop_end_date": start + datetime.timedelta(days - 2), "crop_end_type": "earliest", "max_duration": days,
    }  # fmt: skip
    return [{start: {"CropCalendar": crop, "TimedEvents": None, "StateEvents": None}}]
