"""Columns of weather files: quantities and their ranges, conversion of units, the likely unit of numbers, and dates."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
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

DATES = {"date", "time", "datetime", "timestamp", "day", "year-doy", "yrday"}
DATE_PARTS = {"year": "year", "yr": "year", "month": "month", "mo": "month", "day": "day", "dy": "day", "doy": "doy"}
"""Names, in lower case, of columns that contain dates or parts of dates."""

CENTURY = 35
"""The largest two-digit year that belongs to this century, as in DSSAT."""

LONGEST_GAP = 36525
"""Minimum number of days between two rows for which the date counts as a mistake."""


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


def is_date(column: str) -> bool:
    """Return whether a column with this name contains dates or parts of dates."""
    return column.lower() in DATES | set(DATE_PARTS)


def is_leap_day(date: datetime.date) -> bool:
    """Return whether a date is 29 February, which the farm's year does not have."""
    return (date.month, date.day) == (2, 29)


def read_dates(name: str, cells: Mapping[str, Sequence[Any]]) -> list[datetime.date] | None:
    """Return the dates of the rows, in order; None if there are none, or only a column `Day` that counts the rows."""
    if not cells:
        return None
    if len(cells) == 1 and all(re.fullmatch(r"\d{1,4}", str(cell).strip()) for cell in next(iter(cells.values()))):
        return _check_count(name, next(iter(cells.items())))
    dates: list[datetime.date] = []
    for i, text in enumerate(_join_parts(name, cells), 1):
        place = f"{name}: row {i}, column {' '.join(map(repr, cells))}"
        date = _parse_date(text)
        if date is None:
            got = repr(text) + f", but {text[:4]} has no day 366" * text.endswith("-366")
            raise mismatch(
                place, "a date, YYYY-MM-DD, DD.MM.YYYY or YYYY-DDD", got, "another format, or removing the row"
            )
        if dates and not 0 < (date - dates[-1]).days < LONGEST_GAP:
            raise mismatch(place, f"a day after {dates[-1]}", date, "one row per day, in order")
        dates.append(date)
    return dates


def _check_count(name: str, column: tuple[str, Sequence[Any]]) -> None:
    """Raise ConfigError unless the cells count the rows from 0 or 1."""
    numbers = np.array([int(cell) for cell in column[1]])
    expected = min(numbers[0], 1) + np.arange(len(numbers))
    for i in np.flatnonzero(numbers != expected)[:1]:
        place, hint = f"{name}: row {i + 1}, column {column[0]!r}", "a column with dates, YYYY-MM-DD"
        raise mismatch(place, str(expected[i]), numbers[i], hint)


def _join_parts(name: str, cells: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield a text such as 2012-02-28 or 2012-059 for each row."""
    parts = {DATE_PARTS.get(column.lower(), "date"): [str(cell).strip() for cell in of] for column, of in cells.items()}
    if len(cells) == 1:
        return iter(next(iter(parts.values())))
    if {"year", "doy"} == set(parts):
        return (f"{year}-{day:0>3}" for year, day in zip(parts["year"], parts["doy"], strict=True))
    if {"year", "month", "day"} == set(parts) and len(cells) == 3:
        return (f"{y}-{m:0>2}-{d:0>2}" for y, m, d in zip(parts["year"], parts["month"], parts["day"], strict=True))
    expected = "one column with dates, or YEAR and DOY, or YEAR, MO and DY"
    raise mismatch(name, expected, ", ".join(cells), "removing one, or columns: {NAME: ignore}")


def _parse_date(text: str) -> datetime.date | None:
    """Return the date in YYYY-MM-DD, YYYYMMDD, DD.MM.YYYY, YYYY-DDD, YYYYDDD or YYDDD; DDD is a day of the year."""
    try:
        if found := re.fullmatch(r"(\d{4})([-/]?)(\d\d)\2(\d\d)(?:[T ].*)?", text):
            return datetime.date(int(found[1]), int(found[3]), int(found[4]))
        if found := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", text):
            return datetime.date(int(found[3]), int(found[2]), int(found[1]))
        if found := re.fullmatch(r"(\d{4}|\d\d)-?(\d{3})", text):
            year = int(found[1]) + (0 if len(found[1]) == 4 else 2000 if int(found[1]) <= CENTURY else 1900)
            date = datetime.date(year, 1, 1) + datetime.timedelta(int(found[2]) - 1)
            return date if date.year == year else None
    except (ValueError, OverflowError):
        pass
    return None
