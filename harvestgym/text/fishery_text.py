"""A fishery in text: the survey of each year, and the quota or rate, which is kept until it is changed."""

from __future__ import annotations

import re

import numpy as np

from harvestgym.core.errors import mismatch
from harvestgym.fishing.view.stock_maps import name_stocks
from harvestgym.play.start_session import FishingSession

from .phrases import split_phrase
from .view import Quantity, TextView

DECISION_VERBS = ("quota", "set", "catch", "take", "fish", "rate", "add", "effort", "spend")
"""First words of orders; all mean the decision of the year."""


class FisheryText(TextView):
    """The years of a fishery or of a protected stock in words."""

    unit = "year"
    first_words = frozenset(DECISION_VERBS)
    session: FishingSession

    def __init__(self, session: FishingSession) -> None:
        super().__init__(session)
        self.units = session.env.units
        self.amounts = [float(session.choices[0])] * self.units.targets
        self.changed = False

    @property
    def is_share(self) -> bool:
        """Return whether a decision is a fraction, which may be written as a percentage."""
        return self.units.control == "rate" and not self.session.protects

    @property
    def verb(self) -> str:
        """The first word of the orders."""
        if self.session.drives:
            return "effort"
        return "add" if self.session.protects else "take" if self.is_share else "quota"

    def list_orders(self) -> list[tuple[str, str]]:
        most, targets = float(self.session.choices[-1]), self.units.targets
        form = " ".join(["AMOUNT" if targets == 1 else f"AMOUNT{i + 1}" for i in range(targets)])
        end = "of the stock, from 0 to 100 %" if self.is_share else f"from 0 to {most:.4g}"
        levels = f", in {len(self.session.choices)} steps" if self.units.levels else ""
        return [(f"{self.verb} {form}", f"{self.session.question}, {end}{levels}; it is kept until it is changed")]

    def list_hints(self) -> list[str]:
        names, targets = name_stocks(self.session.env), self.units.targets
        rest = f"; not fished: {', '.join(names[targets:])}; the episode ends early if any gets too low"
        fished = ", ".join(f"AMOUNT{i + 1}: {name}" for i, name in enumerate(names[:targets]))
        return [f"{fished}{rest * (len(names) > targets)}."] * (targets > 1)

    def list_examples(self) -> list[str]:
        return [self._say([float(self.session.choices[-1]) / 10] * self.units.targets)]

    def reads(self, line: str) -> bool:
        return bool(re.fullmatch(r"[-+\d.,\s%]+", line))

    def queue(self, line: str) -> list[str]:
        phrase = split_phrase(line)
        known = {*DECISION_VERBS, "to", "of", "the", "stock", "share", "a", "stocks", *name_stocks(self.session.env)}
        if unread := [word for word in phrase.words if word not in known]:
            raise mismatch(repr(line), self.list_orders()[0][0], f"{unread[0]!r}; {self._try()}")
        amounts = [a.number / 100 if a.unit == "%" and self.is_share else a.number for a in phrase.amounts]
        most, targets = float(self.session.choices[-1]), self.units.targets
        wrong = any(a.unit not in ("", "%" if self.is_share else "") for a in phrase.amounts)
        wrong = wrong or any(not 0 <= amount <= most * (1 + 1e-6) for amount in amounts)
        if wrong or len(amounts) != targets:
            ends = f"from 0 to {most:.4g}" + " (or in %)" * self.is_share
            got = ", ".join(f"{a.number:g}{a.unit}" for a in phrase.amounts) or "nothing"
            near = [] if wrong else [*amounts, *amounts[-1:] * targets][:targets]
            raise mismatch(repr(line), f"{targets} number{'s' * (targets > 1)} {ends}", f"{got}; {self._try(near)}")
        if self.units.levels:
            near = [float(self.session.choices[np.abs(self.session.choices - amount).argmin()]) for amount in amounts]
            if not np.allclose(near, amounts, rtol=1e-3, atol=1e-6 * most):
                got = " ".join(f"{a:g}" for a in amounts)
                raise mismatch(repr(line), "an offered amount", f"{got}; try: {self._say(near)}")
            amounts = near
        self.amounts, self.changed = amounts, True
        return [self._say(amounts)]

    def _try(self, near: list[float] | None = None) -> str:
        return f"try: {self._say(near) if near else self.list_examples()[0]}"

    def _say(self, amounts: list[float]) -> str:
        return f"{self.verb} {' '.join(f'{amount:.6g}' for amount in amounts)}"

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
        known = ", ".join(f"{name} {float(q.values):.{digits}g}" for name, q in self.list_quantities().items())
        text = f"Year {session.steps} of {session.longest}. Survey: {known}."
        if session.steps:
            text += f"{'' if session.protects else self._say_catch()} {self._say(self.amounts)} is kept."
        return f"{text} Points {self.total:.4g}."

    @property
    def total(self) -> float:
        """The return so far."""
        return self.session.total

    def _say_catch(self) -> str:
        return f" Caught last year: {' '.join(f'{c:.4g}' for c in np.ravel(self.session.last['catch']))}."
