"""Checks of weather tables: a number in its range in every cell, and consecutive days."""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError

Dates = Sequence[datetime.date] | None
MISSING = frozenset({"", "na", "nan", "nat", "none", "null", "<na>"})
CODES = (-9999, -999, -99, 999, 9999)  # common codes for missing values
ROUNDING = 0.051  # degC by which a mean may be outside [Tmin, Tmax], because tables are rounded to a tenth


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the paper, its field of `Day`, its unit and its range on Earth."""

    name: str
    field: str
    unit: str
    low: float
    high: float


COLUMNS = (
    Column("Tmin", "t_min", "degC", -90, 60),
    Column("Tmax", "t_max", "degC", -90, 60),
    Column("T", "t_mean", "degC", -90, 60),
    Column("RH", "humidity", "%", 0, 100),
    Column("U", "wind", "m/s, daily mean at 2 m", 0, 115),
    Column("Rain", "rain", "mm/day, or 0/1", 0, 1900),
)


class WeatherTableError(ConfigError):
    """A weather table that cannot be used."""


class MissingColumnError(WeatherTableError):
    """A required column is missing or repeated."""


class CellError(WeatherTableError):
    """A cell is empty, not a number, or out of range."""


class DateError(WeatherTableError):
    """The dates are not consecutive days."""


class EmptyTableError(WeatherTableError):
    """The table has no days."""


def check_header(name: str, header: Sequence[str]) -> None:
    """Raise MissingColumnError unless every column exists once."""
    twice = sorted({h for h in header if list(header).count(h) > 1})
    if twice:
        raise MissingColumnError(f"{name}: expected column {twice[0]!r} once, got it twice; try keeping one")
    for column in COLUMNS:
        if column.name not in header:
            others = sorted(set(header) - {known.name for known in COLUMNS})
            close = difflib.get_close_matches(column.name, others, n=1, cutoff=0.5)
            hint = f"; try renaming {close[0]!r}" if close else ""
            expected = f"expected a column {column.name!r} ({column.unit})"
            raise MissingColumnError(f"{name}: {expected}, got {', '.join(header)}{hint}")


def numbers(name: str, column: Column, cells: Sequence[Any], dates: Dates) -> np.ndarray:
    """Return the cells of a column as float64; CellError for a cell that is not a number in the column's range."""
    return np.array(list(_numbers(name, column, cells, dates)))


def _numbers(name: str, column: Column, cells: Sequence[Any], dates: Dates) -> Iterator[float]:
    for i, cell in enumerate(cells):
        value = _number(cell)
        place = _place(name, i, column.name, dates)
        if str(cell).strip().lower() in MISSING:
            raise CellError(f"{place}: expected a number ({column.unit}), got nothing; try filling every day")
        if value is None:
            raise CellError(f"{place}: expected a number ({column.unit}), got {cell!r}")
        if not column.low <= value <= column.high:
            expected = f"{column.unit} between {column.low:g} and {column.high:g}"
            hint = "; try replacing a code for a missing value" if value in CODES else ""
            raise CellError(f"{place}: expected {expected}, got {value:g}{hint}")
        yield value


def _number(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(value) else value


def _place(name: str, row: int, column: str, dates: Dates) -> str:
    date = f" ({dates[row].isoformat()})" if dates else ""
    return f"{name}: row {row + 1}{date}, column {column!r}"


def check_temperatures(name: str, values: dict[str, np.ndarray], dates: Dates) -> None:
    """Raise CellError unless Tmin <= T <= Tmax on every day, up to rounding."""
    low, high, mean = values["Tmin"], values["Tmax"], values["T"]
    for i in np.flatnonzero(low > high)[:1]:
        place = _place(name, int(i), "Tmin", dates)
        raise CellError(f"{place}: expected at most Tmax ({high[i]:g}), got {low[i]:g}; try swapping the columns")
    for i in np.flatnonzero((mean < low - ROUNDING) | (mean > high + ROUNDING))[:1]:
        place = _place(name, int(i), "T", dates)
        raise CellError(f"{place}: expected between Tmin ({low[i]:g}) and Tmax ({high[i]:g}), got {mean[i]:g}")


def check_flags(name: str, rain: np.ndarray, dates: Dates) -> None:
    """Raise CellError unless every value is 0 or 1."""
    for i in np.flatnonzero((rain != 0) & (rain != 1))[:1]:
        place = _place(name, int(i), "Rain", dates)
        raise CellError(f"{place}: expected 0 or 1 (rain='occurrence'), got {rain[i]:g}")


def consecutive_dates(name: str, cells: Sequence[Any]) -> list[datetime.date]:
    """Return the dates of the rows; DateError unless they are consecutive; 29 February may be missing."""
    dates: list[datetime.date] = []
    for i, cell in enumerate(cells):
        date = _date(cell)
        place = f"{name}: row {i + 1}, column 'Date'"
        if date is None:
            raise DateError(f"{place}: expected YYYY-MM-DD, got {str(cell)!r}")
        if dates and date not in _next(dates[-1]):
            expected = _next(dates[-1])[0]
            raise DateError(f"{place}: expected {expected} after {dates[-1]}, got {date}; try every day once, in "
                            "order")  # fmt: skip
        dates.append(date)
    return dates


def is_leap_day(date: datetime.date) -> bool:
    """Return whether it is 29 February."""
    return (date.month, date.day) == (2, 29)


def _date(cell: Any) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(str(cell).strip()[:10])  # a timestamp starts with its date
    except ValueError:
        return None


def _next(date: datetime.date) -> tuple[datetime.date, ...]:
    day = datetime.timedelta(days=1)
    following = date + day
    return (following, following + day) if is_leap_day(following) else (following,)
