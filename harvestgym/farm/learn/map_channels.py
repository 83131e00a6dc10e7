"""Channels: a farm's observation as maps over the plots, with names, scales and labels from the metadata.

An `Encoding` is a single gather from the flat observation; it has an exact inverse, since every scale is a power of
two.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import unit_of
from harvestgym.farm.engine.model import FarmModel

UNIT_SCALES = {
    "°C": 32.0, "mm": 16.0, "km.h-1": 32.0, "L": 128.0, "g": 64.0, "kg": 1.0, "cm": 64.0, "nb": 16.0, "day": 32.0,
}  # fmt: skip
"""Typical magnitudes by unit, as powers of two. For other units, the end of the variable's range is used."""

NO_RANGE = 1e6
"""The end of a range at or above this limit does not indicate a typical value."""

WITHOUT_RANGE = 64.0
"""The scale of a number that has neither a known unit nor a range."""


@dataclass(frozen=True)
class Channel:
    """One channel of the maps, or one entry of the farm vector.

    Attributes:
        name: entity and variable, followed by `=label` for a label indicator and by `/observed` for an indicator of
        observed values.
        kind: a scaled number, an indicator of a label, of observed values or of plots, or the orders chosen.
        scale: factor that converts the channel to the value; a power of two.
        label: the variable's value that a channel of kind "label" indicates.
        low, high: the bounds of the channel.
    """

    name: str
    kind: Literal["number", "label", "observed", "plot", "orders"]
    scale: float = 1.0
    label: int = 0
    low: float = 0.0
    high: float = 1.0


class Entry(NamedTuple):
    """One number of the flat observation.

    Attributes:
        name: entity and variable.
        cell: field, x and y; None for a number that belongs to no plot.
        labels: the labels of its values.
        low, high: its range.
        unit: the unit of its values.
        requested: whether it is observed only on request.
    """

    name: str
    cell: tuple[int, int, int] | None
    labels: tuple[str, ...]
    low: float
    high: float
    unit: str
    requested: bool


def list_entries(model: FarmModel) -> list[Entry]:
    """Return the entries of the flat observation, in order."""
    entries = list(_plan_entries(model))
    box, names = model.values_space, model.contexts.features
    ends = zip(names, box.low[len(entries) :].tolist(), box.high[len(entries) :].tolist(), strict=True)
    return entries + [Entry(name, None, (), low, high, "", False) for name, low, high in ends]


def _plan_entries(model: FarmModel) -> Iterator[Entry]:
    for i, item in enumerate(model.full_plan.items):
        variable, meta = item.variable, item.variable.meta
        more = (meta.labels, meta.low, meta.high, unit_of(variable.key), i >= len(model.plan.items))
        for at, label in zip(item.entries, item.labels, strict=True):
            if not variable.per_plot:
                yield Entry(label, None, *more)
                continue
            lead = "".join(f"/{i}" for i in at[:-2])
            yield Entry(f"{variable.where[1]}/{variable.key}{lead}", (variable.field, at[-2], at[-1]), *more)


@dataclass(frozen=True, eq=False)
class Encoding:
    """A gather operation from the flat observation to channels.

    Attributes:
        channels: the channels along the last axis of the result.
        positions: int (..., channels), the position of each channel in the flat observation; -1 for none.
        size: the length of the flat observation.
    """

    channels: tuple[Channel, ...]
    positions: np.ndarray
    size: int

    def _table(self, kind: str) -> np.ndarray:
        return np.asarray([channel.kind == kind for channel in self.channels], bool)

    @property
    def _factors(self) -> np.ndarray:
        """Return, for each channel, the value that it represents when the channel is 1."""
        return np.asarray([c.label if c.kind == "label" else c.scale for c in self.channels], np.float32)

    def encode(self, values: Array, mask: Array) -> Array:
        """Return the channels for a flat observation; 0 where `mask` is 0."""
        at, factors = np.maximum(self.positions, 0), self._factors
        seen = jnp.asarray(values)[at]
        numbers = seen * np.asarray([1 / channel.scale for channel in self.channels], np.float32)
        coded = jnp.where(self._table("label"), seen == factors, numbers)
        coded = jnp.where(self._table("observed"), 1.0, coded)
        return jnp.where((self.positions >= 0) & (jnp.asarray(mask)[at] > 0), coded, 0.0)

    def decode(self, channels: Array) -> tuple[Array, Array]:
        """Return the part of the flat observation that these channels hold, and which of its numbers were observed."""
        marks, numbers = self._table("observed"), np.arange(self.size)
        there, marked = (np.isin(numbers, self.positions[..., of]) for of in (~marks, marks))
        at = np.where(self.positions < 0, self.size, self.positions)  # the last place is for channels without a number
        nothing = jnp.zeros(self.size + 1, jnp.float32)
        values = nothing.at[at].add(jnp.where(marks, 0.0, channels * self._factors))
        seen = nothing.at[at].max(jnp.where(marks, channels, 0.0))
        return values[:-1], jnp.where(marked, seen[:-1], there)


def make_encoding(entries: Sequence[Entry], plots: np.ndarray | None) -> Encoding:
    """Make the encoding for entries on plots, bool (fields, X, Y), or for all other entries if `plots` is None."""
    shape = () if plots is None else plots.shape
    channels, positions = [], [np.full((*shape, 0), -1, np.int32)]
    for entry, at, hidden in _group_entries(entries, plots):
        made = list(_channels_of(entry, hidden))
        channels += made
        positions.append(np.repeat(at[..., None], len(made), axis=-1))
    return Encoding(tuple(channels), np.concatenate(positions, axis=-1), len(entries))


def _group_entries(entries: Sequence[Entry], plots: np.ndarray | None) -> Iterator[tuple[Entry, np.ndarray, bool]]:
    """Yield an entry of each name, its positions by cell, and whether some of these are observed only on request.

    A repeated entry for the same plot goes into a separate group.
    """
    seen: Counter[Any] = Counter()
    found: dict[Any, list[tuple[int, Entry]]] = {}
    for i, entry in enumerate(entries):
        if (entry.cell is None) == (plots is None):
            number = seen[entry.name, entry.cell]
            seen[entry.name, entry.cell] += 1
            found.setdefault((entry.name, entry.labels, number), []).append((i, entry))
    for members in found.values():
        positions = np.full(() if plots is None else plots.shape, -1, np.int32)
        for i, entry in members:
            positions[entry.cell if entry.cell is not None else ()] = i
        everywhere = plots is None or bool((positions[plots] >= 0).all())
        hidden = not everywhere or any(entry.requested for _, entry in members)
        yield members[0][1], positions, hidden


def _channels_of(entry: Entry, hidden: bool) -> Iterator[Channel]:
    if entry.labels:
        for i, label in enumerate(entry.labels):
            yield Channel(f"{entry.name}={label}", "label", label=i)
    else:
        scale = find_scale(entry)
        low, high = min(entry.low, 0.0) / scale, max(entry.high, 0.0) / scale
        yield Channel(entry.name, "number", scale, low=low, high=high)
    if hidden:
        yield Channel(f"{entry.name}/observed", "observed")


def find_scale(entry: Entry) -> float:
    """Return the scale of a number: the typical magnitude for its unit, or the end of its range if this is smaller."""
    end = max(abs(entry.low), abs(entry.high))
    ranged = 2.0 ** math.ceil(math.log2(end)) if 0 < end < NO_RANGE else math.inf
    scale = min(ranged, UNIT_SCALES.get(entry.unit, math.inf))
    return scale if scale < math.inf else WITHOUT_RANGE
