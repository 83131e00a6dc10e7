"""The events of an episode as records, and their description in words; each family creates its own records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

NEWS, WARNING, LOSS = range(3)
"""Severities of events."""

MOST_NAMED = 4
"""Maximum number of plots that are listed one by one; if there are more, only their number is given."""


class Event(NamedTuple):
    """An event in a step, such as a change, a collision, or an order that was refused or had no effect.

    Attributes:
        step: the step in which it happened.
        kind: its code, such as `died`, `refused` or `collapsed`.
        who: the entity, order or stock, in words.
        words: what happened, in words.
        severity: `NEWS`, `WARNING` or `LOSS`.
        reason: the code of its cause; empty if there is none or if it is unknown.
        why: the cause in words.
        plots: the plots on which it happened; empty if the field has only one plot.
        of: the number of plots on which it could have happened; 0 if unknown.
        cost: the cost of an action; None if it has no cost.
    """

    step: int
    kind: str
    who: str
    words: str
    severity: int = NEWS
    reason: str = ""
    why: str = ""
    plots: Sequence[Any] = ()
    of: int = 0
    cost: float | None = None

    @property
    def subject(self) -> str:
        """The entity, order or stock and its plots: `Plant on 5 of 12 plots`."""
        return f"{self.who}{say_plots(self.plots, self.of)}"

    @property
    def outcome(self) -> str:
        """The event and its cause in words."""
        return ": ".join(filter(None, (self.words, self.why)))


def say_event(event: Event) -> str:
    """Describe an event in one line: `Plant on 5 of 12 plots: died: pests while growing`."""
    cost = "" if event.cost is None else f"cost {event.cost:.3g}"
    return ": ".join(filter(None, (event.subject, ", ".join(filter(None, (cost, event.outcome))))))


def say_plots(plots: Sequence[Any], of: int = 0) -> str:
    """Return ` at (0, 1), (2, 3)`, or only the number of plots if there are many; empty if there are none."""
    if len(plots) > MOST_NAMED:
        return f" on {len(plots)}{f' of {of}' if of else ''} plots"
    return f" at {', '.join(str(tuple(map(int, plot))) for plot in plots)}" if plots else ""
