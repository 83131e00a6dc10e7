"""Waiting in text: `wait 14 days until water < 120 or weeds > 5`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from harvestgym.core.errors import check_name, mismatch

from .view import Quantity

ANY_NEWS = "any news"
RIPE = "ripe"
"""Short for `stage is ripe`."""


class Limit(NamedTuple):
    """A limit of a quantity; it holds if it holds on any plot.

    Attributes:
        name: the quantity.
        sign: `<` or `>` with a number, `is` with a code.
        limit: the number, or the index of the label.
        text: the condition as the player wrote it.
    """

    name: str
    sign: str
    limit: float
    text: str

    def holds(self, quantities: Mapping[str, Quantity]) -> bool:
        """Return whether it holds now."""
        values = quantities[self.name].values
        with np.errstate(invalid="ignore"):
            found = {"<": values < self.limit, ">": values > self.limit, "is": values == self.limit}[self.sign]
        return bool(np.any(found))


class Wait(NamedTuple):
    """A request to let time pass.

    Attributes:
        steps: the number of steps; None without a limit.
        conditions: the conditions; it ends when one of them holds.
        news: whether any event ends it.
    """

    steps: int | None
    conditions: tuple[Limit, ...]
    news: bool

    def find_reason(self, quantities: Mapping[str, Quantity]) -> str:
        """Return the first condition that holds; empty if none does."""
        return next((one.text for one in self.conditions if one.holds(quantities)), "")


def parse_wait(text: str, unit: str, quantities: Mapping[str, Quantity]) -> Wait:
    """Parse what follows `wait`; ConfigError for anything else than steps and conditions."""
    length, _, until = text.lower().partition("until")
    found = re.fullmatch(rf"(?:for )?(\d+)?\s*(?:{unit}s?)?", length.strip())
    if found is None or not (found[1] or until.strip()):
        raise mismatch("wait", f"a number of {unit}s or a condition", f"{text!r}; try: wait 7 {unit}s")
    parts = [part.strip() for part in re.split(r"\bor\b|,", until) if part.strip()]
    conditions = tuple(_parse_limit(part, quantities) for part in parts if part != ANY_NEWS)
    if found[1] and not int(found[1]) > 0:
        raise mismatch("wait", f"at least 1 {unit}", found[1])
    return Wait(int(found[1]) if found[1] else None, conditions, ANY_NEWS in parts)


def _parse_limit(text: str, quantities: Mapping[str, Quantity]) -> Limit:
    fresh = {name: quantity for name, quantity in quantities.items() if quantity.fresh}
    if text == RIPE:
        stages = [name for name, quantity in fresh.items() if name.endswith("stage") and RIPE in quantity.labels]
        return _parse_limit(f"{stages[0]} is {RIPE}", quantities) if stages else _refuse(text, fresh)
    if text in fresh and not fresh[text].labels:
        return Limit(text, ">", 0.0, text)
    found = re.fullmatch(r"(.+?)\s*(<=?|>=?|\bis\b|=+|\bbelow\b|\babove\b)\s*(\S+)\s*\S*", text)
    if found is None:
        return _refuse(text, fresh)
    name, sign, limit = found.groups()
    check_name("wait until", name, fresh)
    if labels := fresh[name].labels:
        check_name(f"wait until {name} is", limit, labels)
        return Limit(name, "is", float(labels.index(limit)), text)
    try:
        number = float(limit.rstrip("%"))
    except ValueError:
        return _refuse(text, fresh)
    return Limit(name, "<" if sign[0] in "<b" else ">" if sign[0] in ">a" else "is", number, text)


def _refuse(text: str, fresh: Mapping[str, Quantity]) -> Limit:
    name = next(iter(fresh), "stock")
    known = ", ".join(fresh)
    raise mismatch("wait", f"a condition on {known}, or any news", f"{text!r}; try: wait until {name} < 10")
