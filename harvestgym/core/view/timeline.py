"""The timeline of a recorded episode: its variables, actions, events, gains and costs, ready for display.

A family module creates it (`timeline(env, record)`); a page or a table displays it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .events import Event

Progress = Callable[[int], None]
"""A callback for long jobs; its argument is the progress since the previous call."""


def ignore_progress(done: int) -> None:
    """Ignore progress."""


Record = Mapping[str, np.ndarray]
"""An episode as named arrays with the step as leading axis."""


@dataclass(frozen=True)
class Track:
    """A recorded variable that can be drawn over the steps.

    Attributes:
        name: its key in the record.
        group: its owner, `Field-0/Plant-0`.
        label: its name within the group, without the unit.
        unit: its unit; empty for counts and codes.
        doc: its meaning.
        parts: the name of each entry of the array in a step, in C order; empty for a single number.
        codes: the meaning of each value, if the variable is a choice.
        observed_mask: whether each number was observed at each step, with the shape of the values; None if not
        recorded.
        observed_values: the observed values, if they differ from the true values (a survey with an error).
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


class ChatMessage(NamedTuple):
    """A text that was sent in a step of a game, and who sent it."""

    step: int
    sender: str
    text: str


@dataclass(frozen=True)
class Timeline:
    """An episode, ready for display.

    Attributes:
        when: the name of each step, such as `day 3, 5 May`.
        watcher: the observer, such as `the farmer`; empty if the family does not record what an observer knows.
        first: the names of the tracks to show first.
        known: the part of the record that the watcher knows, if it differs from the record.
        actions: what was done in each step, with costs and outcomes.
        events: what happened.
        gains, costs: the gains and costs at each step, by name; the reward of a step is its gains minus its costs.
        last_event: the last step before the end with an action or a gain; videos skip the idle steps after it.
        notes: the results of the episode and sentences about its problems, as `harvestgym run` prints them.
        messages: the messages of a game played with text.
    """

    when: Sequence[str]
    watcher: str
    record: Record
    tracks: tuple[Track, ...]
    first: tuple[str, ...]
    actions: tuple[Event, ...]
    gains: Mapping[str, np.ndarray]
    costs: Mapping[str, np.ndarray]
    events: tuple[Event, ...] = ()
    known: Record | None = None
    last_event: int | None = None
    notes: tuple[str, ...] = ()
    messages: tuple[ChatMessage, ...] = ()


def name_parts(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return a name such as `(0, 1)` for each number in an array, in C order; an array without axes has no names."""
    return tuple(str(tuple(int(i) for i in at)) for at in np.ndindex(shape)) if shape else ()
