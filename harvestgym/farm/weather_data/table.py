"""A weather table: consecutive days of observations, read from a CSV file or a data frame."""

from __future__ import annotations

import csv
import datetime
import difflib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.yaml_io import read_text

YEAR = 365
"""Days in a farm year: 29 February is left out, so that a day number is the same date every year."""

RainKind = Literal["mm", "occurrence"]
Body = list[list[Any]]

MISSING = frozenset({"", "na", "nan", "nat", "none", "null", "<na>"})
CODES = (-9999, -999, -99, 999, 9999)  # codes often used for missing values
ROUNDING = 0.051  # degC by which a mean may lie outside [Tmin, Tmax], because tables are rounded to a tenth


class Day(NamedTuple):
    """The weather on one day (scalars) or on n days (arrays of shape (n,)), float32.

    Attributes:
        t_min, t_max, t_mean: air temperature, degC; t_min <= t_mean <= t_max.
        humidity: mean relative humidity, % in [0, 100].
        wind: mean wind speed 2 m above the ground, m/s.
        rain: the day's rain, mm; or 1 on a day with rain and 0 otherwise, if the table has only flags.
    """

    t_min: Any
    t_max: Any
    t_mean: Any
    humidity: Any
    wind: Any
    rain: Any


class Column(NamedTuple):
    """A column of a table: its name in the paper, its unit and its range on Earth."""

    name: str
    unit: str
    low: float
    high: float


COLUMNS = (
    Column("Tmin", "degC", -90, 60),
    Column("Tmax", "degC", -90, 60),
    Column("T", "degC", -90, 60),
    Column("RH", "%", 0, 100),
    Column("U", "m/s, daily mean at 2 m", 0, 115),
    Column("Rain", "mm/day, or 0/1", 0, 1900),
)
"""The columns in the order of `Day`."""


@dataclass(frozen=True)
class WeatherTable:
    """Consecutive days of observed weather, without 29 February.

    Attributes:
        name: origin of the table, for error messages.
        days: arrays of shape (n,), float32, read-only.
        start_day: day of the year of the first row, 1 to 365.
        start_year: calendar year of the first row; None for a table without dates.
        rain_kind: whether `days.rain` is an amount in mm or a flag (1 for rain, 0 for none).
    """

    name: str
    days: Day
    start_day: int = 1
    start_year: int | None = None
    rain_kind: RainKind = "mm"

    def __len__(self) -> int:
        return len(self.days.rain)

    @property
    def calendar_years(self) -> list[int]:
        """The calendar years that the table contains completely."""
        if self.start_year is None:
            return []
        first = self.start_year + (self.start_day > 1)
        return list(range(first, first + (len(self) - (1 - self.start_day) % YEAR) // YEAR))

    def of_years(self, years: Sequence[int]) -> WeatherTable:
        """Select the rows of these calendar years, in chronological order and joined without gaps.

        Raises ConfigError for a year that is not complete in the table.
        """
        known = self.calendar_years
        if missing := [year for year in years if year not in known] or (not years and ["none"]):
            raise ConfigError(
                f"{self.name}: expected years that the table has from 1 January to 31 December "
                f"({', '.join(map(str, known)) or 'none: it has no dates'}), got {', '.join(map(str, missing))}"
            )
        starts = (1 - self.start_day) % YEAR + YEAR * (np.asarray(sorted(set(years))) - known[0])
        rows = (starts[:, None] + np.arange(YEAR)).ravel()
        return replace(self, days=Day(*(_frozen(v[rows]) for v in self.days)), start_day=1, start_year=min(years))


def read_table(
    source: str | os.PathLike[str] | Any, rain: RainKind | Literal["auto"] = "auto", name: str = ""
) -> WeatherTable:
    """Read a table from a CSV file or a data frame with the paper's columns `Tmin,Tmax,T,RH,U,Rain`.

    A `Date` column (ISO), or a datetime index of the frame, is optional: without dates the first row is 1 January. Rows
    for 29 February are skipped, because the farm's year has 365 days. Other columns are ignored. With `rain="auto"`, a
    Rain column that contains only 0 and 1, with at least one 1, is taken as the paper's occurrence flag, and any other
    Rain column as mm/day; "mm" and "occurrence" set this explicitly. A ConfigError names the file, row and column; rows
    are counted from 1, without the header.
    """
    check_name("kind of rain", rain, ("auto", "mm", "occurrence"))
    if isinstance(source, str | os.PathLike):
        name = name or Path(source).name
        header, body = _from_csv(Path(source), name)
    else:
        name = name or "data frame"
        header, body = _from_frame(source)
    _check_header(name, header)
    return _check_cells(name, dict(zip(header, body, strict=True)), rain)


def constant_table(name: str, day: Mapping[str, float]) -> WeatherTable:
    """Return a one-year table in which every day has the values in `day`, by column."""
    _check_header(name, list(day))
    return _check_cells(name, {column: [value] * YEAR for column, value in day.items()}, "mm")


def _check_header(name: str, header: Sequence[str]) -> None:
    """Raise ConfigError unless every column exists exactly once."""
    for twice in sorted({h for h in header if list(header).count(h) > 1}):
        raise ConfigError(f"{name}: expected column {twice!r} once, got it twice; try keeping one")
    for column in COLUMNS:
        if column.name not in header:
            others = sorted(set(header) - {known.name for known in COLUMNS})
            close = difflib.get_close_matches(column.name, others, n=1, cutoff=0.5)
            hint = f"; try renaming {close[0]!r}" if close else ""
            expected = f"expected a column {column.name!r} ({column.unit})"
            raise ConfigError(f"{name}: {expected}, got {', '.join(header)}{hint}")


def _check_cells(name: str, body: dict[str, list[Any]], rain: RainKind | Literal["auto"]) -> WeatherTable:
    """Return the table with the columns in `body`; ConfigError for the first invalid cell."""
    dates = _read_dates(name, body["Date"]) if "Date" in body else None
    check = partial(_check_rows, name, dates)
    low, high, mean, humidity, wind, wet = (_read_numbers(check, column, body[column.name]) for column in COLUMNS)
    if not len(wet):
        raise ConfigError(f"{name}: expected at least one row below the header, got none")
    check("Tmin", low > high, lambda i: f"at most Tmax ({high[i]:g}), got {low[i]:g}; try swapping the columns")
    beyond = (mean < low - ROUNDING) | (mean > high + ROUNDING)
    check("T", beyond, lambda i: f"between Tmin ({low[i]:g}) and Tmax ({high[i]:g}), got {mean[i]:g}")
    kind = _rain_kind(wet) if rain == "auto" else rain
    if kind == "occurrence":
        check("Rain", (wet != 0) & (wet != 1), lambda i: f"0 or 1 (rain='occurrence'), got {wet[i]:g}")
    keep = np.array([not _is_leap_day(date) for date in dates] if dates else np.ones(len(wet), bool))
    if not keep.any():
        raise ConfigError(f"{name}: expected at least one day other than 29 February, got none")
    days = Day(low, high, np.clip(mean, low, high), humidity, wind, wet)
    return WeatherTable(name, Day(*(_frozen(values[keep]) for values in days)), *_start(dates), kind)


def _check_rows(
    name: str, dates: Sequence[datetime.date] | None, column: str, wrong: np.ndarray, expected: Callable[[Any], str]
) -> None:
    """Raise ConfigError, saying what was expected, for the first invalid row."""
    for i in np.flatnonzero(wrong)[:1]:
        date = f" ({dates[i].isoformat()})" if dates else ""
        raise ConfigError(f"{name}: row {i + 1}{date}, column {column!r}: expected {expected(i)}")


def _read_numbers(check: Callable[..., None], column: Column, cells: Sequence[Any]) -> np.ndarray:
    """Return the cells of a column as float64, checking that each is in the column's range."""
    values = np.array([_number(cell) for cell in cells], np.float64)

    def expected(i: int) -> str:
        if np.isnan(values[i]):
            empty = str(cells[i]).strip().lower() in MISSING
            return f"a number ({column.unit}), got {'nothing; try filling every day' if empty else repr(cells[i])}"
        hint = "; try replacing a code for a missing value" if values[i] in CODES else ""
        return f"{column.unit} between {column.low:g} and {column.high:g}, got {values[i]:g}{hint}"

    check(column.name, ~((values >= column.low) & (values <= column.high)), expected)
    return values


def _number(cell: Any) -> float:
    """Return a cell as a number; NaN if it is not a number."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def _read_dates(name: str, cells: Sequence[Any]) -> list[datetime.date]:
    """Return the dates of the rows, which must be consecutive days; 29 February may be missing."""
    dates: list[datetime.date] = []
    for i, cell in enumerate(cells):
        place, day = f"{name}: row {i + 1}, column 'Date'", datetime.timedelta(days=1)
        try:
            date = datetime.date.fromisoformat(str(cell).strip()[:10])  # a timestamp starts with its date
        except ValueError:
            raise ConfigError(f"{place}: expected YYYY-MM-DD, got {str(cell)!r}") from None
        following = dates[-1] + day if dates else date
        if date != following and not (_is_leap_day(following) and date == following + day):
            expected = f"expected {following} after {dates[-1]}, got {date}"
            raise ConfigError(f"{place}: {expected}; try every day once, in order")
        dates.append(date)
    return dates


def _is_leap_day(date: datetime.date) -> bool:
    return (date.month, date.day) == (2, 29)


def _start(dates: list[datetime.date] | None) -> tuple[int, int | None]:
    if dates is None:
        return 1, None
    first = next(d for d in dates if not _is_leap_day(d))
    return first.replace(year=2001).timetuple().tm_yday, first.year  # 2001 has no 29 February


def _rain_kind(rain: np.ndarray) -> RainKind:
    return "occurrence" if np.isin(rain, (0, 1)).all() and rain.any() else "mm"


def _frozen(values: np.ndarray) -> np.ndarray:
    out = values.astype(np.float32)
    out.setflags(write=False)
    return out


def _from_csv(path: Path, name: str) -> tuple[list[str], Body]:
    try:
        lines = [line for line in csv.reader(io.StringIO(read_text(path, "utf-8-sig"))) if line]
    except csv.Error as error:
        raise ConfigError(f"{path}: expected a CSV file, got {error}") from None
    if not lines:
        raise ConfigError(f"{name}: expected a header and a row per day, got an empty file")
    header, rows = [h.strip() for h in lines[0]], lines[1:]
    if len(header) == 1 and (found := sorted(set(";\t|") & set(header[0]))):
        raise ConfigError(f"{name}: expected commas between the cells, got {found[0]!r}; try saving with commas")
    for i, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise ConfigError(f"{name}: row {i}: expected {len(header)} cells, as in the header, got {len(row)}")
    return header, [[row[j] for row in rows] for j in range(len(header))]


def _from_frame(frame: Any) -> tuple[list[str], Body]:
    header = [str(c) for c in frame.columns]
    if len(set(header)) < len(header):  # _check_header will refuse it: a repeated name does not select a single column
        return header, [[] for _ in header]
    body = [list(frame[c]) for c in frame.columns]
    index = getattr(frame, "index", None)
    if index is not None and hasattr(index, "dayofyear") and "Date" not in header:
        return [*header, "Date"], [*body, list(index)]
    return header, body
