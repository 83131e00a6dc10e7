"""Values as written in farm files: plots, intervals, and lists of values to draw from."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, model_serializer

from harvestgym.core.config import Strict
from harvestgym.core.errors import mismatch

from .spelling import list_days


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
