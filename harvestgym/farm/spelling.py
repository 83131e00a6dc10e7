"""Accepted spellings of names, days, plots and intervals, and merging of farm files that spell a name differently."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, model_serializer

from harvestgym.core.config import Strict, merge
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


def parse_plot(value: Any) -> Any:
    """Parse a plot, written `'(0, 1)'` as in the paper or `[0, 1]` as in YAML.

    Raises ConfigError for half of a plot, which results if YAML splits an unquoted plot at its comma.
    """
    if isinstance(value, str) and value.count("(") != value.count(")"):
        raise mismatch("", "a plot in quotes inside […]", repr(value), "'(0, 1)'")
    if isinstance(value, str) and value.strip().startswith("("):
        parts = [part.strip() for part in value.strip(" ()").split(",")]
        return tuple(int(p) if p.removeprefix("-").isdecimal() else p for p in parts)
    return value


def parse_interval(value: Any) -> Any:
    """Parse `(1, 10)` (a string in YAML, a pair in Python) as an interval, and a single value as a list."""
    if isinstance(value, range) or hasattr(value, "tolist"):  # a NumPy array
        value = list(value) if isinstance(value, range) else value.tolist()
    if isinstance(value, tuple):
        if len(value) == 2 and (days := list_days(*value)):
            return days
        pair = len(value) == 2 and not any(isinstance(end, (str, bool)) for end in value)
        return dict(zip(("low", "high"), value, strict=True)) if pair else list(value)
    if isinstance(value, str) and value.strip().startswith("("):
        ends = [end.strip() for end in value.strip(" ()").split(",")]
        if len(ends) != 2:
            raise ValueError("expected an interval (low, high), in quotes if inside {…}")
        return list_days(*ends) or dict(zip(("low", "high"), ends, strict=True))
    return value if isinstance(value, (list, dict, Strict)) else [value]


class Interval(Strict):
    """Interval from which any number may be drawn."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both bounds; a bound that is a whole number is returned as an integer."""
        low, high = (int(end) if end.is_integer() else end for end in (self.low, self.high))
        return low, high

    @model_serializer
    def _serialize(self) -> Any:
        # pydantic below 2.10 calls this for every member of a union, including lists
        return str(self.ends) if isinstance(self, Interval) else self


ValueSpec = Annotated[
    Interval | list[Any],
    BeforeValidator(parse_interval),
    WithJsonSchema({"description": "a value, a list of values to choose from, or an interval '(low, high)'"}),
]


class EachPlot(Strict):
    """Values, or an interval, from which a number is drawn for each plot."""

    each: ValueSpec


StartSpec = Annotated[
    Interval | EachPlot | list[Any],
    BeforeValidator(parse_interval),
    WithJsonSchema(
        {"description": "a value, a list of choices, an interval '(low, high)', {each: choices}, or a value per plot"}
    ),
]
