"""Columns of weather files: quantities and their ranges, conversion of units, and the likely unit of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import check_name, mismatch, unknown
from harvestgym.core.yaml_io import read_file


class Column(NamedTuple):
    """A quantity in a weather file: its name, its unit in this package and its range on Earth."""

    name: str
    unit: str
    low: float
    high: float
    about: str = ""


KNOWN: Mapping[str, Any] = read_file(Path(__file__).with_name("formats.yaml"))
CONVERSIONS: Mapping[str, Mapping[str, Sequence[float]]] = KNOWN["units"]
"""Factor and offset for the conversion from each unit, by the unit of the quantity in this package."""

QUANTITIES = {name: Column(name, **of) for name, of in KNOWN["quantities"].items()}
"""All quantities that are read: the columns, and those from which T and RH are computed."""

COLUMNS = tuple(QUANTITIES.values())[:6]
"""The columns of a weather table, in the order of `Day`."""

DATE, IGNORE = "Date", "ignore"
"""The meanings of columns without a quantity: the dates, and columns that are not read."""

MEANING = re.compile(r"(\w+)(?: (?!at )(.+?))?(?: at (\d+\.?\d*) m)?")


class Meaning(NamedTuple):
    """The quantity in a column, its unit there, and the height of a wind in m."""

    quantity: Column
    unit: str
    height: float

    def __str__(self) -> str:
        """Return the meaning as it is written in files."""
        return f"{self.quantity.name} {self.unit}" + f" at {self.height:g} m" * (self.height != 2)

    def convert(self, values: np.ndarray) -> np.ndarray:
        """Convert to the unit of the quantity, and wind to a height of 2 m."""
        factor, offset = CONVERSIONS[self.quantity.unit][self.unit]
        return (values * factor + offset) * (1 if self.height == 2 else wind_at_2m(1.0, self.height))


def parse_meaning(text: str, where: str, unit: str = "") -> Meaning:
    """Read a meaning such as `U km/h at 10 m`; `unit` replaces its unit. Raises ConfigError if it is unknown."""
    found = MEANING.fullmatch(text.strip())
    if found is None or found[1] not in QUANTITIES:
        raise unknown("quantity", found[1] if found else text, (*QUANTITIES, DATE, IGNORE), where)
    stated = MEANING.fullmatch(f"{found[1]} {unit}".strip()) or found
    quantity, unit = QUANTITIES[found[1]], stated[2] or found[2]
    unit, height = KNOWN["spellings"].get(unit, unit) or quantity.unit, float(stated[3] or found[3] or 2)
    check_name(f"unit of {quantity.name}", unit, CONVERSIONS[quantity.unit], where)
    if not 0.5 <= height <= 200 or (height != 2 and quantity.name != "U"):
        raise mismatch(where, "a height for U only, from 0.5 to 200 m", repr(text), "'U m/s at 10 m'")
    return Meaning(quantity, unit, height)


def wind_at_2m(speed: Any, height: float) -> Any:
    """Return the wind speed at 2 m, given a `speed` measured `height` m above short grass (FAO-56 eq. 47)."""
    return speed * (4.87 / math.log(67.8 * height - 5.42))


def guess_unit(quantity: Column, values: np.ndarray) -> str:
    """Return the likely unit of numbers that are declared to be in the unit of their quantity."""
    values = values[np.isfinite(values)]
    if not values.size:
        return quantity.unit
    low, middle, high = np.percentile(values, [2, 50, 98])
    likely = {
        "degC": [(low > 200 and high - low < 75, "K"), (high > 140, "0.1 degC"), (high > 60 or middle > 40, "degF")],
        "%": [(0 < values.max() <= 1, "fraction")],
        "m/s": [(middle > 5.5 or high > 10, "km/h")],
    }
    return next((unit for fits, unit in likely.get(quantity.unit, []) if fits), quantity.unit)
