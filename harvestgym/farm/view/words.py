"""Words for a farm's keys, values and entities, used in pictures, replays and the game (`harvestgym play`)."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path
from typing import Any

from harvestgym.core.pytree import Meta
from harvestgym.core.view.timeline import Record
from harvestgym.core.yaml_io import read_file
from harvestgym.farm.engine.model import FarmModel

_WORDS = read_file(Path(__file__).with_name("words.yaml"))

FUTILE: dict[str, str] = _WORDS["futile"]
"""Words for an order without effect, by action, where the reason is known."""

ARRIVALS: dict[str, Any] = _WORDS["arrivals"]
"""The numbers per plot whose rise from 0 counts as an event, and how it is reported."""

CHANGES: dict[str, str] = _WORDS["changes"]
"""Words for the change to a stage; for other stages, the name of the stage."""

NO_UNITS = ("", "nb", "bin", "int5", "int365")
"""Suffixes after the # in the keys of counts and codes."""


def key_label(key: str) -> str:
    """Return the key without its unit: `rain/amount` for `rain/amount#mm`."""
    return re.sub(r"#[^/]*", "", key)


def key_words(key: str) -> str:
    """Return the key in words: `rain amount` for `rain/amount#mm`."""
    return re.sub("[/_]", " ", key_label(key))


def key_unit(key: str) -> str:
    """Return the unit of a key; empty for a count."""
    unit = key.partition("#")[2].partition("/")[0]
    return "" if unit in NO_UNITS else unit


def unit_words(unit: str, number: str) -> str:
    """Return a unit in words: `days` (one `day`), `km/h`, `g/m²`; others unchanged."""
    if unit == "day":
        return "day" if number == "1" else "days"
    return re.sub(r"^(\w+)\.(\w+)-1$", r"\1/\2", unit).replace("m2", "m²")


def number_text(value: float | str, unit: str = "") -> str:
    """Return a number to four significant digits with its unit, or a word unchanged."""
    return value if isinstance(value, str) else f"{value:.4g} {unit}".strip()


def code_labels(meta: Meta) -> tuple[str, ...]:
    """Return the meanings of the numbers 0, 1, ... in a variable that holds codes."""
    return ("no", "yes") if meta.dtype == "bool" else meta.labels


def value_text(value: Any, meta: Meta) -> str:
    """Return the value of a variable as text: a number, or the label that it stands for."""
    labels = code_labels(meta)
    return labels[int(value)] if labels else f"{round(float(value), 2):g}"


def say_cause(label: str, detail: str = "") -> str:
    """Return a cause of death in words: `pests while growing` for `grow: pests`, with `detail` after the cause."""
    stage, _, factor = label.rpartition(": ")
    return " ".join(filter(None, (_WORDS["factors"].get(factor, factor), detail, _WORDS["times"].get(stage, stage))))


def date_words(day_of_year: float) -> str:
    """Return the date for a day of the year (1 is 1 January); empty if the day is unknown."""
    if not math.isfinite(day_of_year):
        return ""
    date = datetime.date(2001, 1, 1) + datetime.timedelta(days=int(day_of_year) - 1)
    return f"{date.day} {date:%B}"


def date_of_step(env: FarmModel, record: Record, step: int) -> str:
    """Return the date of a step in a record; empty if it is unknown."""
    calendar = (v.name for v in env.variables if v.key == "day#int365" and v.name in record)
    return next((date_words(float(record[name][step])) for name in calendar), "")
