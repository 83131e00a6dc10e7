"""Waiting in text: `wait 14 days until water < 120 or weeds > 5`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from harvestgym.core.errors import check_name, mismatch, require

from .phrases import NUMBER, write_digits
from .view import Quantity, name_condition

UNLIMITED_WAIT = 30
"""Maximum number of steps of a `wait` without a number."""

LONGEST_WAIT = 400
"""Maximum number of steps of one `wait`."""

ANY_NEWS = "any news"
RIPE = "ripe"
"""Short for `stage is ripe`."""


COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "is": np.equal}
COMPARISONS |= {"below": COMPARISONS["<"], "above": COMPARISONS[">"], "=": COMPARISONS["is"], "==": COMPARISONS["is"]}
"""How a value is compared with a limit."""


class Limit(NamedTuple):
    """A limit on a quantity; it holds if it holds on any plot.

    Attributes:
        name: the quantity.
        sign: one of `COMPARISONS`; `is` with a code.
        limit: the number, or the index of the label.
        text: the condition as the player wrote it.
    """

    name: str
    sign: str
    limit: float
    text: str

    def holds(self, quantities: Mapping[str, Quantity]) -> bool:
        """Return whether it holds now."""
        with np.errstate(invalid="ignore"):
            return bool(np.any(COMPARISONS[self.sign](quantities[self.name].values, self.limit)))


class Wait(NamedTuple):
    """A request to let time pass.

    Attributes:
        steps: the maximum number of steps.
        conditions: the conditions.
        needed: how many of them must hold in the same step to end the wait, each on any plot.
        news: whether any event ends it.
    """

    steps: int
    conditions: tuple[Limit, ...] = ()
    needed: int = 1
    news: bool = False

    def find_reason(self, quantities: Mapping[str, Quantity]) -> str:
        """Return the conditions that hold; empty if they are not enough to end the wait."""
        held = [one.text for one in self.conditions if one.holds(quantities)]
        return " and ".join(held) if len(held) >= self.needed else ""


def parse_wait(text: str, unit: str, quantities: Mapping[str, Quantity]) -> Wait:
    """Parse what follows `wait`; ConfigError for anything other than steps and conditions."""
    length, condition, until = write_digits(text).partition("until")
    units = {unit: 1} | ({"week": 7} if unit == "day" else {})
    named = "|".join(units)
    length = re.sub(rf"\ban? (?={named})", "1 ", length.strip())
    found = re.fullmatch(rf"(?:for |at most |up to )?(\d+)? *(?:({named})s?)?,?(?: or)?", length)
    if found is None or not (until.strip() if condition else found[1]):
        raise mismatch("wait", f"a number of {unit}s or a condition", f"{text!r}; try: wait 7 {unit}s")
    steps = int(found[1]) * units.get(found[2], 1) if found[1] else UNLIMITED_WAIT
    near = min(max(steps, 1), LONGEST_WAIT)
    require(steps == near, "wait", f"1 to {LONGEST_WAIT} {unit}s", steps, f"wait {near}")
    joined = set(re.findall(r"\band\b|\bor\b|,", until))
    parts = [part.strip() for part in re.split(r"\band\b|\bor\b|,", until)] if until.strip() else []
    mixed = "and" in joined and (len(joined) > 1 or ANY_NEWS in parts)
    require(not mixed, "wait", f"conditions with `and`, or conditions and {ANY_NEWS} with `or`", repr(until.strip()))
    conditions = tuple(_parse_limit(part, quantities) for part in parts if part != ANY_NEWS)
    return Wait(steps, conditions, len(conditions) if "and" in joined else 1, ANY_NEWS in parts)


def _parse_limit(text: str, quantities: Mapping[str, Quantity]) -> Limit:
    fresh = {name: quantity for name, quantity in quantities.items() if quantity.fresh}
    if text == RIPE:
        stages = [name for name, quantity in fresh.items() if name.endswith("stage") and RIPE in quantity.labels]
        return _parse_limit(f"{stages[0]} is {RIPE}", quantities) if stages else _refuse(text, fresh)
    if text in fresh and not fresh[text].labels:
        return Limit(text, ">", 0.0, text)
    found = re.fullmatch(r"(.+?)\s*(<=?|>=?|\bis\b|==?|\bbelow\b|\babove\b)\s*(\S+)\s*\S*", text)
    if found is None:
        return _refuse(text, fresh)
    name, sign, limit = found.groups()
    check_name("wait until", name, fresh)
    if labels := fresh[name].labels:
        check_name(f"wait until {name} is", limit, labels)
        return Limit(name, "is", float(labels.index(limit)), text)
    if re.fullmatch(NUMBER, limit := limit.rstrip("%")) is None:
        return _refuse(text, fresh)
    return Limit(name, sign, float(limit), text)


def _refuse(text: str, fresh: Mapping[str, Quantity]) -> Limit:
    expected = f"a condition on {', '.join(fresh)}, or any news"
    raise mismatch("wait", expected, f"{text!r}; try: wait until {name_condition(fresh)}")
