"""WOFOST 7.2, the Wageningen crop model, with the water and weather of a season; needs pcse (extra `dev`).

The crop parameters are those of the repository of WOFOST's authors, github.com/ajwdewit/WOFOST_crop_parameters, branch
wofost72, from which pcse itself reads them; a clone of it replaces the network.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.farm.entities.soil import Soil

YEAR = 2000
"""Year in which the made-up seasons begin."""

AIR_FILLED = 0.2
"""Water that a soil holds above field capacity until it drains, as a fraction of its volume."""


class Season(NamedTuple):
    """Days from sowing to flowering and maturity, grain (kg dry mass), mm transpired and mm evaporated from the soil.

    A stage that is not reached within the given days is NaN.
    """

    to_flowers: float
    to_maturity: float
    kg: float
    transpired: float
    evaporated: float


class WofostSoil(NamedTuple):
    """A freely draining soil, at field capacity unless `filled` says otherwise.

    Attributes:
        capacity, wilting: water at field capacity and at the wilting point, as fractions of the volume.
        depth: depth of soil that roots can reach, m.
        filled: the extractable water at the start, as a fraction (0 to 1) of its maximum.
    """

    capacity: float
    wilting: float
    depth: float
    filled: float = 1.0

    @property
    def soil(self) -> dict[str, float]:
        """Return the WOFOST soil parameters."""
        fractions = {"SMFCF": self.capacity, "SMW": self.wilting, "SM0": self.capacity + AIR_FILLED, "CRAIRC": 0.06}
        return fractions | {"RDMSOL": 100 * self.depth, "K0": 10.0, "SOPE": 10.0, "KSUB": 10.0}

    @property
    def site(self) -> dict[str, float]:
        """Return the WOFOST site parameters: the initial water, cm, and no run-off."""
        water = 100 * self.depth * self.filled * (self.capacity - self.wilting)
        return {"WAV": water, "SMLIM": self.capacity, "IFUNRN": 0, "NOTINF": 0, "SSI": 0, "SSMAX": 0}


class WofostCrop(NamedTuple):
    """A crop: all its parameters, as pcse reads them, and the names that select a set."""

    parameters: Any
    crop: str
    variety: str


def read_parameters(folder: Path) -> Any:
    """Read the parameters of all crops in a clone of the repository."""
    with _quiet():
        from pcse.input import YAMLCropDataProvider

        return YAMLCropDataProvider(fpath=str(folder), force_reload=True)


def grow(crop: WofostCrop, days: Mapping[str, np.ndarray], first: int, latitude: float, ground: WofostSoil) -> Season:
    """Return a season of a crop that is sown on the first day and gets water from soil and rain.

    Args:
        crop: the crop.
        days: a value per day: `t_min`, `t_max`, `t_mean` (degC), `wind` (m/s at 2 m), `vapour` (kPa), `radiation`
            (MJ.m-2), `et0` and `rain` (mm).
        first: day of the year of the first day.
        latitude: degrees, north positive.
        ground: the soil.
    """
    start = _date(first)
    with _quiet():
        model = _grown(crop, days, start, latitude, ground, {})
    daily, found = model.get_output(), model.get_summary_output()[0]
    return Season(
        to_flowers=_days(start, found["DOA"]),
        to_maturity=_days(start, found["DOM"]),
        kg=float(found["TWSO"]) / 10_000,
        transpired=10 * float(np.nansum([day["TRA"] or 0.0 for day in daily])),
        evaporated=10 * float(found["CEVST"]),
    )


def simulate_water(
    crop: WofostCrop, days: Mapping[str, np.ndarray], first: int, latitude: float, ground: WofostSoil,
    irrigation: Mapping[int, float],
) -> np.ndarray:  # fmt: skip
    """Return the mean water content of the soil on each day, as a fraction of the volume; see `grow`.

    `irrigation` is in mm by day of the year. The season may be shorter than `days`, because it ends with maturity.
    """
    with _quiet():
        cm = {_date(day): amount / 10 for day, amount in irrigation.items()}
        daily = _grown(crop, days, _date(first), latitude, ground, cm).get_output()
    return np.array([day["WWLOW"] or np.nan for day in daily], float) / (100 * ground.depth)


def describe_soil(which: Any) -> WofostSoil:
    """Return the soil of a parameter set of the farm, at field capacity."""
    soil = Soil.named(which)
    return WofostSoil(float(soil.max_water_capacity) / 1000, float(soil.wilting_point) / 1000, float(soil.depth))


def find_root_depth(crop: WofostCrop) -> float:
    """Return the greatest root depth of the crop, m."""
    crop.parameters.set_active_crop(crop.crop, crop.variety)
    return crop.parameters["RDMCR"] / 100


def _date(day: int) -> datetime.date:
    return datetime.date(YEAR, 1, 1) + datetime.timedelta(day - 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore the warnings of pcse 6, which uses an old traitlets API and leaves files open."""
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        yield


def _days(start: datetime.date, reached: datetime.date | None) -> float:
    return float("nan") if reached is None else float((reached - start).days)


def _grown(
    crop: WofostCrop, days: Mapping[str, np.ndarray], start: datetime.date, latitude: float, ground: WofostSoil,
    irrigation: Mapping[datetime.date, float],
) -> Any:  # fmt: skip
    from pcse.base import ParameterProvider
    from pcse.models import Wofost72_WLP_CWB

    parameters = ParameterProvider(sitedata=ground.site, soildata=ground.soil, cropdata=crop.parameters)
    weather, calendar = _weather(days, start, latitude), _calendar(crop, start, len(days["et0"]), irrigation)
    model = Wofost72_WLP_CWB(parameters, weather, calendar)
    model.run_till_terminate()
    return model


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


def _calendar(
    crop: WofostCrop, start: datetime.date, days: int, irrigation: Mapping[datetime.date, float]
) -> list[dict[datetime.date, Any]]:
    sown = {
        "crop_name": crop.crop, "variety_name": crop.variety, "crop_start_date": start, "crop_start_type": "sowing",
        "crop_end_date": start + datetime.timedelta(days - 2), "crop_end_type": "earliest", "max_duration": days,
    }  # fmt: skip
    table = [{day: {"amount": amount, "efficiency": 1.0}} for day, amount in irrigation.items()]
    watered = {"event_signal": "irrigate", "name": "irrigation", "comment": "cm", "events_table": table}
    return [{start: {"CropCalendar": sown, "TimedEvents": [watered] if table else None, "StateEvents": None}}]
