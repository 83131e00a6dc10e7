"""A weather table: consecutive days of observations, read from a CSV file or a data frame."""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from harvestgym.core.errors import unknown
from harvestgym.farm.weather_data import table_checks
from harvestgym.farm.weather_data.day import YEAR, Day
from harvestgym.farm.weather_data.table_checks import COLUMNS, CellError, EmptyTableError, WeatherTableError

RainKind = Literal["mm", "occurrence"]
Body = list[list[Any]]


class Frame(Protocol):
    """The used part of a data frame (such as pandas): its columns by name."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return the cells of a column, in order."""


@dataclass(frozen=True)
class WeatherTable:
    """Consecutive days of observed weather, without 29 February.

    Attributes:
        name: its origin, for errors.
        days: arrays of shape (n,), float32, read-only.
        start_day: day of the year of the first row, 1 to 365.
        start_year: its calendar year; None for a table without dates.
        rain_kind: whether `days.rain` is an amount in mm, or 1 for rain and 0 for none.
    """

    name: str
    days: Day
    start_day: int = 1
    start_year: int | None = None
    rain_kind: RainKind = "mm"

    def __len__(self) -> int:
        return len(self.days.rain)

    @property
    def years(self) -> int:
        """The number of complete years."""
        return len(self) // YEAR

    @property
    def day_of_year(self) -> np.ndarray:
        """The day of the year of each row, 1 to 365; int32."""
        return ((self.start_day - 1 + np.arange(len(self))) % YEAR + 1).astype(np.int32)

    @property
    def calendar_years(self) -> list[int]:
        """The calendar years that the table contains completely."""
        if self.start_year is None:
            return []
        first = self.start_year + (self.start_day > 1)
        return list(range(first, first + (len(self) - (1 - self.start_day) % YEAR) // YEAR))

    def of_years(self, years: Sequence[int]) -> WeatherTable:
        """Select the rows of these calendar years, in order of time, joined without gaps.

        Raises WeatherTableError for a year that the table does not contain completely.
        """
        known = self.calendar_years
        if missing := [year for year in years if year not in known] or (not years and ["none"]):
            raise WeatherTableError(
                f"{self.name}: expected years that the table has from 1 January to 31 December "
                f"({', '.join(map(str, known)) or 'none: it has no dates'}), got {', '.join(map(str, missing))}"
            )
        starts = (1 - self.start_day) % YEAR + YEAR * (np.asarray(sorted(set(years))) - known[0])
        rows = (starts[:, None] + np.arange(YEAR)).ravel()
        return replace(self, days=Day(*(_frozen(v[rows]) for v in self.days)), start_day=1, start_year=min(years))


def read_table(
    source: str | os.PathLike[str] | Frame, rain: RainKind | Literal["auto"] = "auto", name: str = ""
) -> WeatherTable:
    """Read the table of a CSV file or a data frame with the paper's columns `Tmin,Tmax,T,RH,U,Rain`.

    `Date` (ISO; or a datetime index of the frame) is optional: without it the first row is 1 January. Rows
    of 29 February are skipped, because the farm's year has 365 days. Other columns are ignored. With `rain="auto"`, a
    Rain column that contains only 0 and 1, with at least one 1, is the paper's occurrence flag, and any other is
    mm/day; "mm" and "occurrence" set this explicitly. A `WeatherTableError` names file, row and column; rows count
    from 1, without the header.
    """
    if rain not in ("auto", "mm", "occurrence"):
        raise unknown("kind of rain", rain, ("auto", "mm", "occurrence"))
    if isinstance(source, str | os.PathLike):
        name = name or Path(source).name
        header, body = _from_csv(Path(source), name)
    else:
        name = name or "data frame"
        header, body = _from_frame(source)
    table_checks.check_header(name, header)
    return _checked(name, dict(zip(header, body, strict=True)), rain)


def constant_table(name: str, day: Day) -> WeatherTable:
    """Return a table of a year in which every day is `day`."""
    return WeatherTable(name, Day(*(_frozen(np.full(YEAR, value)) for value in day)))


def _checked(name: str, body: dict[str, list[Any]], rain: RainKind | Literal["auto"]) -> WeatherTable:
    dates = table_checks.consecutive_dates(name, body["Date"]) if "Date" in body else None
    values = {c.name: table_checks.numbers(name, c, body[c.name], dates) for c in COLUMNS}
    if not len(values["Rain"]):
        raise EmptyTableError(f"{name}: expected at least one row below the header, got none")
    table_checks.check_temperatures(name, values, dates)
    kind = _rain_kind(values["Rain"]) if rain == "auto" else rain
    if kind == "occurrence":
        table_checks.check_flags(name, values["Rain"], dates)
    values["T"] = np.clip(values["T"], values["Tmin"], values["Tmax"])
    keep = np.array([not table_checks.is_leap_day(d) for d in dates] if dates else [True] * len(values["T"]))
    if not keep.any():
        raise EmptyTableError(f"{name}: expected a day other than 29 February, got none")
    days = Day(**{c.field: _frozen(values[c.name][keep]) for c in COLUMNS})
    return WeatherTable(name, days, *_start(dates), kind)


def _start(dates: list[datetime.date] | None) -> tuple[int, int | None]:
    if dates is None:
        return 1, None
    first = next(d for d in dates if not table_checks.is_leap_day(d))
    return first.replace(year=2001).timetuple().tm_yday, first.year  # 2001 has no 29 February


def _rain_kind(rain: np.ndarray) -> RainKind:
    return "occurrence" if np.isin(rain, (0, 1)).all() and rain.any() else "mm"


def _frozen(values: np.ndarray) -> np.ndarray:
    out = values.astype(np.float32)
    out.setflags(write=False)
    return out


def _from_csv(path: Path, name: str) -> tuple[list[str], Body]:
    if not path.is_file():
        raise WeatherTableError(f"{path}: expected a file, got none; try another name or folder")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except UnicodeDecodeError as error:
        raise WeatherTableError(f"{path}: expected UTF-8, got {error.reason} at byte {error.start}; try saving it as "
                                "UTF-8") from None  # fmt: skip
    except csv.Error as error:
        raise WeatherTableError(f"{path}: expected a CSV file, got {error}") from None
    if not lines:
        raise EmptyTableError(f"{name}: expected a header and a row per day, got an empty file")
    header, rows = [h.strip() for h in lines[0]], lines[1:]
    if len(header) == 1 and (found := sorted(set(";\t|") & set(header[0]))):
        raise WeatherTableError(f"{name}: expected commas between the cells, got {found[0]!r}; try saving with commas")
    for i, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise CellError(f"{name}: row {i}: expected {len(header)} cells, as in the header, got {len(row)}")
    return header, [[row[j] for row in rows] for j in range(len(header))]


def _from_frame(frame: Frame) -> tuple[list[str], Body]:
    header = [str(c) for c in frame.columns]
    if len(set(header)) < len(header):  # check_header will refuse it: a repeated name does not select a single column
        return header, [[] for _ in header]
    body = [list(frame[c]) for c in frame.columns]
    index = getattr(frame, "index", None)
    if index is not None and hasattr(index, "dayofyear") and "Date" not in header:
        return [*header, "Date"], [*body, list(index)]
    return header, body
