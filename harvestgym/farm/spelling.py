"""Accepted spellings of names and of days, and the merging of farm files that spell a name differently."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harvestgym.core.config import merge
from harvestgym.core.errors import mismatch, require, unknown
from harvestgym.core.yaml_io import read_file

NAMED_BY_USERS = ("terms", "constraints", "further", "presets", "history")
"""Entries of a farm file whose names the user chooses."""

DAY_UNIT = "int365"
"""The unit of days of the year, 1 to 365."""

_SHORT_FORMS: tuple[Callable[[str], str], ...] = (str, lambda v: v.replace("#", ""), lambda v: v.partition("#")[0])
"""How a name may be written, in upper or lower case: in full, without its `#`, or without its unit."""


@cache
def _read_words() -> Mapping[str, Any]:
    """Return the alternative names of actions and weights, and the months."""
    return read_file(Path(__file__).with_name("spelling.yaml"))


def resolve_spelling(what: str, name: Any, valid: Iterable[str], where: str) -> str:
    """Return the canonical form of `name`; if there is none, raise ConfigError with the nearest name."""
    known = list(valid)
    if name in known:
        return name
    for form in _SHORT_FORMS:
        same = [v for v in known if form(v).casefold() == str(name).casefold()]
        if len(same) == 1:
            return same[0]
    if (synonym := _read_words()["actions"].get(str(name))) in known:
        return synonym
    raise unknown(what, name, known, where)


def merge_farms(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the entries of `over` into `base`, group by group; an entry replaces another spelling of its name.

    Raises ConfigError for a name that is a spelling of several names in `base`.
    """
    out, others = dict(base), [name for name in base if name not in over]
    for name, value in over.items():
        same = [other for other in others if name not in base and _is_same(name, other)]
        require(len(same) <= 1, name, "the name of one entry", " and ".join(same), "one of them")
        (key,) = same or [name]
        others = [other for other in others if other != key]
        combine = merge if key in NAMED_BY_USERS else merge_farms
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = combine(out[key], value) if both else value
    return out


def _is_same(one: Any, other: Any) -> bool:
    """Return whether one of two names is a spelling of the other."""
    full, short = (str(one).casefold(), str(other).casefold()), (_list_forms(one), _list_forms(other))
    names = _read_words()["actions"] | _read_words()["weights"]
    return full[0] in short[1] or full[1] in short[0] or names.get(str(one), one) == names.get(str(other), other)


def _list_forms(name: Any) -> list[str]:
    return [form(str(name)).casefold() for form in _SHORT_FORMS]


def read_day(value: Any) -> Any:
    """Return the day of the year of a date, 2024-05-01, '1 May' or 'May 1', and any other value unchanged.

    The year of a date is ignored. Raises ConfigError for a day that does not exist in a 365-day year.
    """
    numbers = re.fullmatch(r"(?:\d{4}-)?(\d\d)-(\d\d)(?: 00:00:00)?", str(value))
    words = re.fullmatch(r"(\d\d?) ([A-Za-z]{3,9})|([A-Za-z]{3,9}) (\d\d?)", str(value).strip())
    if not numbers and not words:
        return value
    month, day = (numbers[1], numbers[2]) if numbers else (_find_month(words), words[1] or words[4])  # type: ignore[index]
    try:
        return datetime.date(2023, int(month), int(day)).timetuple().tm_yday  # 2023 has 365 days
    except ValueError:
        raise mismatch("", "a day of a 365-day year", repr(str(value))) from None


def list_days(first: Any, last: Any) -> list[datetime.date]:
    """Return each date from the first to the last, across the end of the year if necessary; [] for other values."""
    low, high = read_day(first), read_day(last)
    if low is first or high is last:
        return []
    days = range(low - 1, low + (high - low) % 365)
    return [datetime.date(2023, 1, 1) + datetime.timedelta(day % 365) for day in days]


def _find_month(words: Any) -> int:
    """Return the number of the month named in a date in words, 0 if there is none."""
    name = (words[2] or words[3]).casefold()
    return next((i for i, month in enumerate(_read_words()["months"], 1) if month.startswith(name)), 0)
