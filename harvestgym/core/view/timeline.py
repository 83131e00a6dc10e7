"""The timeline of a recorded episode: its variables, actions, events, gains and costs, ready for display.

A family module makes it (`timeline(env, record)`); a page or a table shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Progress = Callable[[int], None]
"""A callback of long jobs; its argument is the progress since the last call."""


def ignore_progress(done: int) -> None:
    """Ignore progress."""


Record = Mapping[str, np.ndarray]
"""An episode as named arrays whose leading axis is the step."""


@dataclass(frozen=True)
class Track:
    """A recorded variable that can be drawn over the steps.

    Attributes:
        name: its key in the record.
        group: its owner, `Field-0/Plant-0`.
        label: its name within the group, without the unit.
        unit: its unit; empty for counts and codes.
        doc: its meaning.
        parts: the name of each number of a step, in C order; empty for a single number.
        codes: the meaning of each number, if it is a choice.
        observed_mask: which numbers of each step were observed, shaped like the values; None if not recorded.
        observed_values: the observed values, if they differ from the true ones (a survey with an error).
    """

    name: str
    group: str
    label: str
    unit: str = ""
    doc: str = ""
    parts: tuple[str, ...] = ()
    codes: Mapping[int, str] = field(default_factory=dict)
    observed_mask: np.ndarray | None = None
    observed_values: np.ndarray | None = None


@dataclass(frozen=True)
class DoneAction:
    """An action that led to `step`: who did what, at which cost, and with which outcome (`note`)."""

    step: int
    who: str
    what: str
    cost: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Timeline:
    """An episode, ready for display.

    Attributes:
        when: the name of each step, `day 3, 5 May`.
        watcher: who observes, `the farmer`; empty if the family has no separate view of the observer.
        first: the names of the tracks to show first.
        known: the record as the watcher knew it, if it differs from the record.
        events: what happened, as the step and a text each.
        gains, costs: by name, for each step; the reward of a step is the sum of gains minus the sum of costs.
        last_event: the last step before the end with an action or a gain; videos skip the idle rest.
    """

    when: Sequence[str]
    watcher: str
    record: Record
    tracks: tuple[Track, ...]
    first: tuple[str, ...]
    actions: tuple[DoneAction, ...]
    gains: Mapping[str, np.ndarray]
    costs: Mapping[str, np.ndarray]
    events: tuple[tuple[int, str], ...] = ()
    known: Record | None = None
    last_event: int | None = None


def name_parts(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return a name such as `(0, 1)` for each number of an array, in C order; none for an array without axes."""
    return tuple(str(tuple(int(i) for i in at)) for at in np.ndindex(shape)) if shape else ()
