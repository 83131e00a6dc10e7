"""The orders of a farm in text, such as `water 20 L at 0,0` or `sow bean 15 seeds at all`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError, mismatch, require
from harvestgym.farm.engine.actions import ActionRow, Order
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.view.words import (
    find_amount,
    has_choice,
    key_unit,
    list_phrases,
    name_things,
    say_order,
    say_value,
)

from .phrases import FILLERS, TEXT_WORDS, Phrase, find_nearest, split_phrase, write_digits

FIRST_WORDS = TEXT_WORDS["first words"]
"""Synonyms that people use for the first words of orders."""


_PLOT = re.compile(r"\(?\s*(\d+)\s*,\s*(\d+)\s*\)?")
_EVERYWHERE = frozenset(("all", "every", "each", "everywhere"))


class FarmOrders:
    """The words of a farm's orders."""

    def __init__(self, env: FarmModel) -> None:
        self.env = env
        self.phrases = list_phrases(env)
        self.nouns = [noun for noun in name_things(env).values() if re.search(r"\d", noun)]
        verbs = {phrase.verb.partition(" ")[0] for phrase in self.phrases}
        self.first_words = verbs | {word for word, meant in FIRST_WORDS.items() if meant.partition(" ")[0] in verbs}

    def list_templates(self) -> list[tuple[str, str]]:
        """Return, for each row of the action table, the form of its orders and what they do."""
        return [(self._write_template(row), row.action.doc) for row in self.env.actions.rows]

    def list_examples(self) -> list[str]:
        """Return an order of each row, in words."""
        actions = self.env.actions
        orders = (actions.order(actions.numbers(row)[0]) for row in actions.rows)
        return [say_order(self.env, order) for order in orders if order is not None]

    def parse(self, line: str) -> list[Order]:
        """Return the orders of a line, one for each plot; ConfigError, with the nearest valid order, if it has none."""
        head, *rest = re.split(r"\s+(at|on|in|by)\s+", self._spell(line))
        keywords = ("at" if word == "on" else word for word in rest[::2])
        places = dict(zip(keywords, rest[1::2], strict=True))
        phrase = split_phrase(head)
        words = [word for word in phrase.words if word not in FILLERS]
        where = places.get("at", "all" if _EVERYWHERE & set(words) else "")
        named = [word for word in words if word not in _EVERYWHERE]
        row = self._find_row(line, named, places.get("in", ""))
        values = tuple(self._find_values(row, phrase, named))
        farmer = self._find_farmer(row, places.get("by", ""))
        return [Order(row, farmer, plot, values) for plot in self._find_plots(row, where)]

    def _spell(self, line: str) -> str:
        """Return a line in lower case, with the usual first word, and without spaces in names with numbers."""
        first, _, rest = write_digits(line.strip()).partition(" ")
        text = f"{FIRST_WORDS.get(first, first)} {rest}".strip()
        for noun in self.nouns:
            text = text.replace(noun, noun.replace(" ", "-"))
        return text

    def _find_row(self, line: str, words: Sequence[str], field: str) -> ActionRow:
        given = set(map(_singular, words))
        rows = [row for row in self.env.actions.rows if self._fits(row, given, field)]
        exact = [row for row in rows if given >= self._words(row, "thing")] if len(rows) > 1 else rows
        if not (found := exact or rows):
            raise ConfigError(f"{line!r}: expected an order{find_nearest(line, self.list_examples())}")
        if len(found) > 1:
            choice = " or ".join(dict.fromkeys(self._write_template(row) for row in found))
            raise mismatch(repr(line), "one order", f"words that fit {len(found)} orders; try: {choice}")
        return found[0]

    def _fits(self, row: ActionRow, given: set[str], field: str) -> bool:
        phrase = self.phrases[row.number]
        choices = {str(choice) for p in row.allowed if not p.continuous for choice in p.choices}
        known = self._words(row, "verb", "thing", "form") | choices | {_singular(row.names[1].lower().split("-")[0])}
        names = {_singular(part) for p in row.allowed for part in re.split(r"[#/_]", p.key)}
        in_field = field in ("", phrase.field.lower())
        return in_field and self._words(row, "verb") <= given <= known | names

    def _words(self, row: ActionRow, *parts: str) -> set[str]:
        phrase = self.phrases[row.number]
        texts = (getattr(phrase, part) for part in parts)
        spelled = (text.replace(" ", "-") if text in self.nouns else text for text in texts)
        return {_singular(word) for text in spelled for word in text.split()}

    def _find_values(self, row: ActionRow, phrase: Phrase, words: Sequence[str]) -> list[float]:
        """Return the value of each parameter of a row; those without a choice need not be said."""
        amounts, values = list(phrase.amounts), []
        free = [p for p in row.allowed if has_choice(p)]
        for parameter, grid in zip(row.allowed, row.grids[1:], strict=True):
            said: Any = next((word for word in words if not parameter.continuous and word in parameter.choices), None)
            units = [key_unit(parameter.key), *[""] * (parameter in (free or row.allowed[:1]))]
            mine = next((amount for amount in amounts if amount.unit in units), None)
            if said is None and mine is not None:
                amounts.remove(mine)
                said = mine.number
            if said is None and len(grid) > 1:
                offered, tried = _list_values(parameter, grid), self._say_with(row, parameter, grid[0])
                got = f"{amounts[0].number:g} {amounts[0].unit}".strip() if amounts else "nothing"
                raise mismatch(self._write_template(row), offered, f"{got}; try: {tried}")
            values.append(grid[0] if said is None else self._match(row, parameter, grid, said))
        if amounts:
            extra = f"{amounts[0].number:g} {amounts[0].unit}".strip()
            raise mismatch(self._write_template(row), "no further number", extra)
        return values

    def _match(self, row: ActionRow, parameter: Any, grid: Sequence[float], said: float | str) -> float:
        """Return the offered value that a number or word stands for; the nearest one is suggested, not taken."""
        if isinstance(said, str):
            return grid[[str(choice) for choice in parameter.choices].index(said)]
        near = min(grid, key=lambda value: abs(value - said))
        if not np.isclose(near, said, rtol=1e-3, atol=1e-9):
            expected = _list_values(parameter, grid)
            tried = self._say_with(row, parameter, near)
            raise mismatch(self.phrases[row.number].verb, expected, f"{said:g}; try: {tried}")
        return near

    def _say_with(self, row: ActionRow, parameter: Any, value: Any) -> str:
        """Return the order of a row with a value of a parameter."""
        return self.phrases[row.number].say(say_value(parameter, value))

    def _find_plots(self, row: ActionRow, where: str) -> list[tuple[int, int] | None]:
        if not row.action.plot:
            if _PLOT.search(where):
                raise ConfigError(f"{self._write_template(row)}: expected no plot, because it is for the whole field")
            return [None]
        if not where and len(row.plots) == 1 or _EVERYWHERE & set(where.split()):
            return list(row.plots)
        if found := re.fullmatch(r"(row|column) (\d+)", where.strip()):
            axis = 1 if found[1] == "row" else 0
            plots = [plot for plot in row.plots if plot[axis] == int(found[2])]
        else:
            plots = [(int(x), int(y)) for x, y in _PLOT.findall(where)]
            unread = re.sub(r"plots?|and|[,\s]", "", _PLOT.sub("", where))
            plots = plots if not unread else []
        wrong = [plot for plot in plots if plot not in row.plots]
        if wrong or not plots:
            got = f"{wrong[0][0]},{wrong[0][1]}" if wrong else repr(where) if where else "no plot"
            last = ",".join(map(str, max(row.plots)))
            raise mismatch(self._write_template(row), f"plots from 0,0 to {last}", f"{got}; try: at {last} or at all")
        return list(dict.fromkeys(plots))

    def _find_farmer(self, row: ActionRow, name: str) -> int:
        names = [self.env.actions.farmers[farmer].lower() for farmer in row.farmers]
        require(name in ("", *names), self._write_template(row), f"by {' or '.join(names)}", repr(name))
        return row.farmers[names.index(name)] if name else row.farmers[0]

    def _write_template(self, row: ActionRow) -> str:
        """Return the form of a row's orders: `water 5|10|20 L at PLOTS`."""
        grids = zip(row.allowed, row.grids[1:], strict=True)
        shown = [(p, grid) for p, grid in grids if p is find_amount(row) or has_choice(p)]
        phrase = self.phrases[row.number]
        text = phrase.say(" ".join(_list_values(p, grid, "|") for p, grid in shown))
        text += f" in {phrase.field}" * bool(phrase.field)
        return text + " at PLOTS" * (row.action.plot and len(row.plots) > 1)


def _list_values(parameter: Any, grid: Sequence[float], by: str = ", ") -> str:
    """Return the offered values of a parameter: `5, 10 or 20 L`."""
    if parameter.continuous:
        step = grid[1] - grid[0]
        return f"{say_value(parameter, grid[0])} to {say_value(parameter, grid[-1])} in steps of {step:.4g}"
    words = [say_value(parameter, choice) for choice in parameter.choices]
    if by == "|":
        numbers = [word.rpartition(" ")[0] or word for word in words[:-1]]
        return "|".join([*numbers, words[-1]])
    return " or ".join(filter(None, (by.join(words[:-1]), words[-1])))


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
