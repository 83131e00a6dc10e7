"""A weather table: days of observations, read from a file or a data frame."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError, check_each_name, check_name, map_all, mismatch, nearest, require
from harvestgym.core.yaml_io import to_line

from .columns import (
    COLUMNS,
    DATE,
    IGNORE,
    QUANTITIES,
    Meaning,
    guess_unit,
    is_date,
    is_leap_day,
    parse_meaning,
    read_dates,
)
from .estimates import derive_quantities, fill_days, longest_run
from .formats import OWN, Sheet, parse_number, read_sheet

YEAR = 365
"""Days in a farm year: 29 February is left out, so that a day number is the same date every year."""

RainKind = Literal["mm", "occurrence"]
RainOption = Literal["auto", "mm", "occurrence"]

MISSING = frozenset({"", "na", "nan", "nat", "none", "null", "<na>"})
CODES = (-9999, -999, -99, 999, 9999)  # numbers often used as codes for missing values
ROUNDING = 0.051  # degC by which a mean may lie outside [Tmin, Tmax], because tables are rounded to a tenth
NEEDED = ("Tmin", "Tmax", "Rain")
"""The columns that every file must have; the others can be computed or estimated."""
MOST_FILLED = 100
"""Maximum number of days per year that may be estimated."""

FILLING = "fill: 10 in a farm file, which estimates up to 10 days a year, and RH and U"

NO_COLUMNS: Mapping[str, str] = MappingProxyType({})


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


@dataclass(frozen=True)
class WeatherTable:
    """Consecutive days of observed weather, without 29 February.

    Attributes:
        name: origin of the table, for error messages.
        days: arrays of shape (n,), float32, read-only; NaN for a missing value in a record that was not filled.
        start_day: day of the year of the first row, 1 to 365.
        start_year: calendar year of the first row; None for a table without dates.
        rain_kind: whether `days.rain` is an amount in mm or a flag (1 for rain, 0 for none).
        altitude: altitude of the station in m; NaN if the file does not state it.
        format: the format of the file; empty for our own tables.
        origins: the columns of the file that were read, each with its quantity and unit.
        unused: the other columns of the file.
    """

    name: str
    days: Day
    start_day: int = 1
    start_year: int | None = None
    rain_kind: RainKind = "mm"
    altitude: float = np.nan
    format: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    unused: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.days.rain)

    @property
    def calendar_years(self) -> list[int]:
        """The calendar years that are complete in the table."""
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
            expected = f"years that are complete in the table ({', '.join(map(str, known)) or 'none: it has no dates'})"
            raise mismatch(self.name, expected, ", ".join(map(str, missing)))
        starts = (1 - self.start_day) % YEAR + YEAR * (np.asarray(sorted(set(years))) - known[0])
        rows = (starts[:, None] + np.arange(YEAR)).ravel()
        return replace(self, days=Day(*(_frozen(v[rows]) for v in self.days)), start_day=1, start_year=min(years))

    def find_date(self, row: int) -> datetime.date | None:
        """Return the date of a row; None for a table without dates."""
        if self.start_year is None:
            return None
        years, day = divmod(self.start_day - 1 + row, YEAR)
        return (datetime.date(2001, 1, 1) + datetime.timedelta(day)).replace(year=self.start_year + years)

    def describe_gaps(self, most: int = 3) -> list[str]:
        """Describe the days with missing values, by column, with the dates of the first `most` gaps."""
        found: dict[str, list[str]] = {}
        for column, values in zip(COLUMNS, self.days, strict=True):
            if len(rows := np.flatnonzero(np.isnan(values))):
                text = f"on {len(rows)} of {len(self)} days ({self.name_days(rows, most)})"
                found.setdefault(text, []).append(column.name)
        return [f"no {', '.join(names)} {text}" for text, names in found.items()]

    def name_days(self, rows: np.ndarray, most: int) -> str:
        """Name rows by their dates, or by their numbers in a table without dates; the first `most` runs of them."""
        gaps = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        ends = [[str(self.find_date(int(row)) or f"row {row + 1}") for row in (gap[0], gap[-1])] for gap in gaps]
        listed = [" to ".join(dict.fromkeys(pair)) for pair in ends[:most]]
        return ", ".join([*listed, f"{len(gaps) - most} more gaps"] if len(gaps) > most else listed)


def read_table(
    source: Any,
    rain: RainOption = "auto",
    name: str = "",
    columns: Mapping[str, str] = NO_COLUMNS,
    fill: int | None = None,
) -> WeatherTable:
    """Read days without gaps; see `read_record` for the files and for the other arguments.

    Args:
        fill: with None, a missing value is an error. With a number, the longest run of calendar years is used in which
        temperature and rain are each missing on at most this many days a year, and gaps are filled with estimates
        (`fill_days`).
    """
    record = read_record(source, rain, name, columns)
    if fill is not None:
        return fill_record(record, fill)
    if gaps := record.describe_gaps():
        raise mismatch(record.name, "values on every day", ", ".join(gaps), FILLING)
    return record


def fill_record(record: WeatherTable, most: int) -> WeatherTable:
    """Return the longest run of calendar years with at most `most` missing days per needed column; gaps are filled."""
    require(0 <= most <= MOST_FILLED, "fill", f"a number of days per year from 0 to {MOST_FILLED}", most)
    require(record.start_year is not None, record.name, "dates, which `fill` needs", "none", "a column Date")
    first, whole = (1 - record.start_day) % YEAR, record.calendar_years
    rows = np.stack(record.days)[:, first : first + YEAR * len(whole)]
    lacking = np.isnan(rows[[0, 1, 5]]).reshape(len(NEEDED), -1, YEAR).sum(axis=2).max(axis=0)
    years = longest_run([year for year, count in zip(whole, lacking, strict=True) if count <= most])
    expected = f"a calendar year with at most {most} missing days each of Tmin, Tmax and Rain"
    require(years, record.name, expected, "none", "a larger fill, another station, or docs/weather.md")
    chosen = record.of_years(years)
    return replace(chosen, days=Day(*map(_frozen, fill_days(np.stack(chosen.days).astype(float)))))


def read_record(
    source: Any, rain: RainOption = "auto", name: str = "", columns: Mapping[str, str] = NO_COLUMNS
) -> WeatherTable:
    """Read a file in one of `formats.FORMATS`, or a CSV file or a data frame with our columns; gaps are NaN.

    Our columns are `Tmin,Tmax,T,RH,U,Rain`, in the units of `COLUMNS`. Dates are in one column (`Date`, `time` …) or
    the index of the frame, in `YEAR` and `DOY`, or in `YEAR`, `MO` and `DY`; without dates the first row is 1 January.
    A name may state another unit, as in `U (km/h at 10 m)`. Rows for 29 February are skipped, because the farm's year
    has 365 days.

    Args:
        source: the path of the file, or the frame.
        rain: with "auto", a Rain column that contains only 0 and 1, and at least one 1, is read as the paper's
        occurrence flag, and any other Rain column as mm/day; "mm" and "occurrence" set this explicitly.
        name: replaces the name of the file in messages.
        columns: meanings of columns by name, such as `{"wind": "U km/h at 10 m", "Clouds": "ignore", "when": "Date"}`.

    Raises:
        ConfigError: names the file, row and column; rows are counted from 1, without the header.
    """
    check_name("kind of rain", rain, ("auto", "mm", "occurrence"))
    name = name or ("data frame" if hasattr(source, "columns") else Path(source).name)
    return _check_sheet(name, read_sheet(source, name, columns), columns, rain)


def constant_table(name: str, day: Mapping[str, float]) -> WeatherTable:
    """Return a one-year table in which every day has the values in `day`, by column."""
    stated = {column: OWN[column] for column in day if column in OWN}
    return _check_sheet(name, Sheet("", {column: [value] * YEAR for column, value in day.items()}, OWN), stated, "mm")


def _check_sheet(name: str, sheet: Sheet, columns: Mapping[str, str], rain: RainOption) -> WeatherTable:
    """Return the table with the cells of a sheet; raise ConfigError for the first invalid one."""
    dated, meanings = _choose_columns(name, sheet, columns)
    require(all(map(len, sheet.cells.values())), name, "at least one row below the header", "none")
    dates = read_dates(name, {column: sheet.cells[column] for column in dated})

    def check(column: str, wrong: np.ndarray, expected: Callable[[Any], str]) -> None:
        """Raise ConfigError for the first row that is wrong; the message says what was expected."""
        for i in np.flatnonzero(wrong)[:1]:
            date = f" ({dates[i].isoformat()})" if dates else ""
            raise ConfigError(f"{name}: row {i + 1}{date}, column {column!r}: expected {expected(i)}")

    found = map_all(lambda c, m: _read_numbers(check, name, c, m, sheet, c in columns), meanings, meanings.values())
    days = Day(*derive_quantities(dict(zip((m.quantity.name for m in meanings.values()), found, strict=True))))
    kind = _check_days(check, days, rain)
    if dates is not None and all(map(is_leap_day, dates)):
        raise mismatch(name, "at least one day other than 29 February", "none")
    days = days._replace(t_mean=np.clip(days.t_mean, days.t_min, days.t_max))
    origins = {column: str(meaning) for column, meaning in meanings.items()}
    unused = [column for column in sheet.cells if column not in {*meanings, *dated}]
    return WeatherTable(name, *_place_days(days, dates), kind, sheet.altitude, sheet.format, origins, unused)


def _choose_columns(name: str, sheet: Sheet, columns: Mapping[str, str]) -> tuple[list[str], dict[str, Meaning]]:
    """Return the columns with dates, and the meanings of the columns to read; ConfigError for an unknown column."""
    check_each_name("column", columns, sheet.cells, f"{name}: columns")
    dated: list[str] = []
    meanings: dict[str, Meaning] = {}
    for column in sheet.cells:
        plain, unit = re.fullmatch(r"(.*?)\s*(?:[(\[](.*)[)\]])?", column, re.DOTALL).groups("")  # pyright: ignore
        text = columns.get(column, sheet.columns.get(plain))
        if text == DATE or (text is None and is_date(plain)):
            dated.append(column)
        elif text is None and not sheet.format:
            hint = f"{nearest(plain, [*OWN, DATE])}, or columns: {to_line({column: IGNORE})}"
            raise mismatch(name, "a known column", f"{column!r}{hint}")
        elif text not in (None, IGNORE):
            meanings[column] = parse_meaning(text, f"{name}: column {column!r}", "" if column in columns else unit)
    _check_quantities(name, sheet, [meaning.quantity.name for meaning in meanings.values()])
    return dated, meanings


def _check_quantities(name: str, sheet: Sheet, found: Sequence[str]) -> None:
    """Raise ConfigError unless the needed quantities occur, and no quantity occurs twice."""
    for quantity in (*NEEDED, *found):
        column, number = QUANTITIES[quantity], "no" if quantity not in found else "several"
        expected = f"a column {quantity!r} ({column.unit}{column.about})"
        got = f"{number} among {', '.join(sheet.cells)}"
        require(found.count(quantity) == 1, name, expected, got, "the option `columns`")


def _read_numbers(
    check: Callable[..., None], name: str, column: str, meaning: Meaning, sheet: Sheet, stated: bool
) -> np.ndarray:
    """Return the cells of a column in the unit of its quantity, as float64; ConfigError for a number out of range.

    Numbers that seem to be in another unit are an error, unless the caller has `stated` their unit or they were
    converted.
    """
    cells, of = sheet.cells[column], meaning.quantity
    raw = np.array([parse_number(cell) for cell in cells], np.float64)
    text = np.isnan(raw) & [str(cell).strip().lower() not in MISSING for cell in cells]
    check(column, text, lambda i: f"a number ({meaning.unit}), got {cells[i]!r}")
    values = meaning.convert(np.where(raw == sheet.missing, np.nan, raw))
    likely = guess_unit(of, values) if meaning.unit == of.unit and not stated else of.unit
    if likely != of.unit:
        low, high = np.nanmin(values), np.nanmax(values)
        got = f"expected {of.name} in {of.unit}, got {low:g} to {high:g}, probably in {likely}"
        hint = f"try columns: {to_line({column: f'{of.name} {likely}'})} to convert it, or '{meaning}' if it is correct"
        raise ConfigError(f"{name}: column {column!r}: {got}; {hint}")

    def expected(i: int) -> str:
        hint = "; try replacing a code for a missing value" if raw[i] in CODES else ""
        return f"{of.name} from {of.low:g} to {of.high:g} {of.unit}{of.about}, got {values[i]:g}{hint}"

    check(column, ~(np.isnan(values) | (values >= of.low) & (values <= of.high)), expected)
    return values


def _check_days(check: Callable[..., None], days: Day, rain: RainOption) -> RainKind:
    """Return the kind of rain; raise ConfigError for the first day whose values contradict one another."""
    low, high, mean, wet = days.t_min, days.t_max, days.t_mean, days.rain
    check("Tmin", low > high, lambda i: f"at most Tmax ({high[i]:g}), got {low[i]:g}; try swapping the columns")
    beyond = (mean < low - ROUNDING) | (mean > high + ROUNDING)
    check("T", beyond, lambda i: f"between Tmin ({low[i]:g}) and Tmax ({high[i]:g}), got {mean[i]:g}")
    flags = np.isin(wet, (0, 1)) | np.isnan(wet)
    kind = ("occurrence" if flags.all() and (wet == 1).any() else "mm") if rain == "auto" else rain
    if kind == "occurrence":
        check("Rain", ~flags, lambda i: f"0 or 1 (rain='occurrence'), got {wet[i]:g}")
    return kind


def _place_days(days: Day, dates: list[datetime.date] | None) -> tuple[Day, int, int | None]:
    """Return consecutive days without 29 February, with NaN where there is no row, and the first day and year."""
    if dates is None:
        return Day(*map(_frozen, days)), 1, None
    kept = [i for i, date in enumerate(dates) if not is_leap_day(date)]
    numbers = np.array([YEAR * dates[i].year + dates[i].replace(year=2001).timetuple().tm_yday for i in kept])
    placed = np.full((len(days), numbers[-1] - numbers[0] + 1), np.nan)
    placed[:, numbers - numbers[0]] = np.stack(days)[:, kept]
    return Day(*map(_frozen, placed)), int(numbers[0] - 1) % YEAR + 1, dates[kept[0]].year


def _frozen(values: np.ndarray) -> np.ndarray:
    out = values.astype(np.float32)
    out.setflags(write=False)
    return out
