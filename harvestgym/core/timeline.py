"""What there is to tell of an episode that was recorded: its variables, deeds, gains, costs and deaths.

A family module gives it (`timeline(env, record)`); a page or a table shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Record = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Track:
    """A recorded variable that can be drawn over the steps.

    Attributes:
        name: its key in the record; the leading axis of the array is the step.
        group: whose it is, `Field-0/Plant-0`.
        label: what it is called there, without its unit.
        unit: of its numbers; empty for counts and codes.
        doc: what it means.
        parts: the name of each number of a step, in C order, empty if it needs none; no name for a single number.
        codes: what each number stands for, if it is a choice.
        seen: which numbers of which step were observed, shaped as the values; None where nothing is said of it.
        told: what was observed there, where it is not the truth itself (a survey with an error).
    """

    name: str
    group: str
    label: str
    unit: str = ""
    doc: str = ""
    parts: tuple[str, ...] = ()
    codes: Mapping[int, str] = field(default_factory=dict)
    seen: np.ndarray | None = None
    told: np.ndarray | None = None


@dataclass(frozen=True)
class DoneAction:
    """Something that was done in the step that led to `step`: by whom, what, for how much, and what came of it."""

    step: int
    who: str
    what: str
    cost: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Death:
    """A death: at which step, of what, why, and what had gone wrong before it."""

    step: int
    who: str
    why: str
    before: str = ""


@dataclass(frozen=True)
class Timeline:
    """An episode.

    Attributes:
        when: what each step is called, `day 3, 5 May`.
        watcher: who observes, `the farmer`; empty where the family keeps no view of its own.
        first: the names of the tracks to look at first.
        known: the record as the watcher knew it, if that is not the record itself.
        gains, costs: by name, for each step; the reward of a step is the sum of the former less that of the latter.
    """

    when: Sequence[str]
    watcher: str
    record: Record
    tracks: tuple[Track, ...]
    first: tuple[str, ...]
    deeds: tuple[DoneAction, ...]
    gains: Mapping[str, np.ndarray]
    costs: Mapping[str, np.ndarray]
    fates: tuple[Death, ...] = ()
    known: Record | None = None


def part_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """`(0, 1)` for each number of an array of a shape, in C order; none for a single number without axes."""
    return tuple(str(tuple(int(i) for i in at)) for at in np.ndindex(shape)) if shape else ()
