"""A fishery in text: the survey of each year, and the quota or rate, which is kept until it is changed."""

from __future__ import annotations

import re
from itertools import cycle

import numpy as np

from harvestgym.core.errors import mismatch
from harvestgym.core.view.tables import write_number
from harvestgym.fishing.view.levels import name_stocks
from harvestgym.play.start_session import FishingSession

from .phrases import DASHES, FILLERS, TEXT_WORDS, split_phrase
from .view import Quantity, TextView

DECISION_VERBS = {verb: words.split() for verb, words in TEXT_WORDS["decisions"].items()}
"""The first words of orders, by the word with which the decision of the year is repeated."""

EXAMPLE_SHARE = 0.05
"""The share of the survey, or of the largest decision, in an example."""


class FisheryText(TextView):
    """The years of a fishery or of a protected stock in words."""

    unit = "year"
    first_words = frozenset(word for words in DECISION_VERBS.values() for word in words)
    session: FishingSession

    def __init__(self, session: FishingSession) -> None:
        super().__init__(session)
        self.units = session.env.units
        self.amounts = [float(session.choices[0])] * self.units.targets
        self.changed = False

    @property
    def verb(self) -> str:
        """The first word of the orders."""
        if self.session.drives:
            return "effort"
        return "add" if self.session.protects else "take" if self.units.control == "rate" else "quota"

    def list_orders(self) -> list[tuple[str, str]]:
        most, targets = self.units.say(self.session.choices[-1]), self.units.targets
        form = " ".join(["AMOUNT" if targets == 1 else f"AMOUNT{i + 1}" for i in range(targets)])
        end = "of the stock, from 0 to 1, or 0 % to 100 %" if self.verb == "take" else f"from 0 to {most}"
        levels = f", in {len(self.session.choices)} steps" if self.units.levels else ""
        return [(f"{self.verb} {form}", f"{self.session.question}, {end}{levels}; it is kept until it is changed")]

    def list_hints(self) -> list[str]:
        names, targets = name_stocks(self.session.env), self.units.targets
        rest = f"; not fished: {', '.join(names[targets:])}; the episode ends early if any gets too low"
        fished = ", ".join(f"AMOUNT{i + 1}: {name}" for i, name in enumerate(names[:targets]))
        return [f"{fished}{rest * (len(names) > targets)}."] * (targets > 1)

    def list_examples(self) -> list[str]:
        few = (float(f"{EXAMPLE_SHARE * whole:.2g}") for whole in self._list_wholes())
        return [self._say([self._find_choice(amount) for amount in few])]

    def _list_wholes(self) -> list[float]:
        """Return the amounts of 100 %: for quotas, the stocks in the survey, otherwise the largest decisions."""
        most = [float(self.session.choices[-1])] * self.units.targets
        return np.ravel(self.session.survey)[: len(most)].tolist() if self.verb == "quota" else most

    def _find_choice(self, amount: float) -> float:
        """Return the nearest amount that is offered."""
        choices = self.session.choices
        return float(choices[np.abs(choices - amount).argmin()]) if self.units.levels else float(amount)

    def reads(self, line: str) -> bool:
        return bool(re.fullmatch(rf"[{DASHES}+\d.,\s%]+", line))

    def queue(self, line: str) -> list[str]:
        phrase = split_phrase(line)
        known = {*DECISION_VERBS[self.verb], *name_stocks(self.session.env), *FILLERS, "stock", "stocks", "share"}
        if unread := [word for word in phrase.words if word not in known | {self.units.unit.lower()}]:
            raise mismatch(repr(line), self.list_orders()[0][0], f"{unread[0]!r}; {self._try()}")
        most, targets = float(self.session.choices[-1]), self.units.targets
        parts = zip(phrase.amounts, cycle(self._list_wholes()))
        amounts = [a.number / 100 * whole if a.unit == "%" else a.number for a, whole in parts]
        units = ("", self.units.unit, "%") if self.verb in ("quota", "take") else ("",)
        wrong = any(a.unit not in units or (a.unit == "%" and a.number > 100) for a in phrase.amounts)
        wrong = wrong or any(not 0 <= amount <= most * (1 + 1e-6) for amount in amounts)
        if wrong or len(amounts) != targets:
            ends = f"from 0 to {write_number(most)}" + ", or 0 % to 100 % of the stock" * ("%" in units)
            got = ", ".join(f"{a.number:g}{a.unit}" for a in phrase.amounts) or "nothing"
            near = [] if wrong else [*amounts, *amounts[-1:] * targets][:targets]
            raise mismatch(repr(line), f"{targets} number{'s' * (targets > 1)} {ends}", f"{got}; {self._try(near)}")
        near = [self._find_choice(amount) for amount in amounts]
        if not np.allclose(near, amounts, rtol=1e-3, atol=1e-6 * most):
            got = " ".join(f"{a:g}" for a in amounts)
            raise mismatch(repr(line), "an offered amount", f"{got}; try: {self._say(near)}")
        self.amounts, self.changed = near, True
        return [self._say(near)]

    def _try(self, near: list[float] | None = None) -> str:
        return f"try: {self._say(near) if near else self.list_examples()[0]}"

    def _say(self, amounts: list[float]) -> str:
        return f"{self.verb} {' '.join(write_number(amount, 6) for amount in amounts)}"

    def list_queued(self) -> list[str]:
        return [self._say(self.amounts)] if self.changed else []

    def clear(self) -> None:
        self.changed = False

    def finish(self) -> None:
        self.changed = False
        self.session.fish(self.amounts)

    def list_quantities(self) -> dict[str, Quantity]:
        survey = np.ravel(self.session.survey)
        names = name_stocks(self.session.env) if len(survey) > 1 else ("stock",)
        names = names if len(names) == len(survey) else tuple(f"stock {i + 1}" for i in range(len(survey)))
        return {name: Quantity(np.asarray(value)) for name, value in zip(names, survey.tolist(), strict=True)}

    def look(self) -> str:
        return self.describe(8)

    def describe(self, digits: int = 4) -> str:
        session = self.session
        known = ", ".join(f"{name} {self.units.say(q.values, digits)}" for name, q in self.list_quantities().items())
        text = f"Year {session.steps} of {session.longest}. Survey: {known}."
        if session.steps:
            text += f"{'' if session.protects else self._say_catch()} {self._say(self.amounts)} is kept."
        return f"{text} Points {write_number(self.total)}."

    @property
    def total(self) -> float:
        """The return so far."""
        return self.session.total

    def _say_catch(self) -> str:
        return f" Caught last year: {self.units.say(self.session.last['catch'])}."
