"""Dates of the rows of a weather file, in one column or in several."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harvestgym.core.errors import mismatch

DATES = {"date", "time", "datetime", "timestamp", "day", "year-doy", "yrday"}
DATE_PARTS = {"year": "year", "yr": "year", "month": "month", "mo": "month", "day": "day", "dy": "day", "doy": "doy"}
"""Names, in lower case, of columns that contain dates or parts of dates."""

CENTURY = 35
"""The largest two-digit year that belongs to this century, as in DSSAT."""

LONGEST_GAP = 36525
"""Minimum number of days between two rows for which the date counts as a mistake."""


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
