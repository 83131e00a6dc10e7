"""Contextual farms (section 2), whose parameters are redrawn every episode, every few episodes, or every few days.

The drawn numbers are a vector in the state; the parameter entries that they set are part of the structure, so one
compiled program runs every context. The context at the start of a day applies to the whole day. Values are read from a
state together with the context stored in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, replace, var
from harvestgym.core.random import key_for, keys_for, normal

from .state import FarmParams

STREAM = "context"
"""The name from which the random keys of contexts are derived, so that contexts do not affect other draws."""


class Context(Pytree):
    """The current context, its age in episodes, and the upcoming contexts if they are forecast.

    `numbers` holds the index of each choice, the shares of each mixture and the value of each range, in order.
    """

    numbers: Array = var("context", "the drawn numbers", axes=("draw",))
    episodes: Array = var("episodes", "episodes started in this context", dtype="int", axes=())
    ahead: Array = var("ahead", "the numbers for the coming days", axes=("lead", "draw"), hidden=True)
    forecast: Array = var("forecast", "the forecast for the coming days", axes=("lead", "feature"))


@dataclass(frozen=True)
class LeafUpdate:
    """Update of one leaf of `FarmParams`, for the given flat indices, or for all entries if `entries` is empty."""

    leaf: int
    size: int
    entries: tuple[int, ...] = ()

    def apply(self, leaf: Any, values: Array) -> Array:
        """Return the leaf with `values` (size,) written into it."""
        old = jnp.asarray(leaf)
        if not self.entries:
            return values.astype(old.dtype).reshape(old.shape)
        here = np.zeros(old.size, np.int32)
        here[list(self.entries)] = np.arange(self.size)
        new = jnp.where(np.isin(np.arange(old.size), self.entries), values[here], old.ravel())
        return new.astype(old.dtype).reshape(old.shape)


@dataclass(frozen=True)
class ContextDraw:
    """One random draw, and the parameters that it sets.

    Attributes:
        name: its path in the farm file.
        kind: whether it draws one of several choices, the shares of a mixture of sets, or a number from a range.
        labels: the names of the choices or of the mixed sets; for a range, the name of the draw.
        writes: the parameter entries that it sets.
        shown: whether it is observed.
        only: the indices of the choices that can be drawn; empty for all.
    """

    name: str
    kind: Literal["choice", "mixture", "range"]
    labels: tuple[str, ...]
    writes: tuple[LeafUpdate, ...]
    shown: bool
    only: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """The number of values that it draws."""
        return len(self.labels) if self.kind == "mixture" else 1

    @property
    def decides(self) -> set[tuple[int, int]]:
        """The leaf and the flat index of each entry that it sets."""
        return {(write.leaf, i) for write in self.writes for i in write.entries or range(write.size)}

    @property
    def features(self) -> list[str]:
        """The names of its observed numbers; a choice is one-hot, with one number per option."""
        return [self.name] if self.kind == "range" else [f"{self.name}/{label}" for label in self.labels]

    def sample(self, uniform: Array, table: Array) -> Array:
        """Convert uniforms (..., width) to numbers; choices are equally likely, and shares follow a flat Dirichlet."""
        if self.kind == "choice":
            eligible = np.asarray(self.only or range(len(self.labels)), np.float32)
            at = jnp.minimum(jnp.floor(uniform * len(eligible)), len(eligible) - 1).astype(jnp.int32)
            return jnp.asarray(eligible)[at]
        if self.kind == "mixture":
            parts = -jnp.log1p(-uniform) + 1e-9
            return parts / parts.sum(-1, keepdims=True)
        return table[0, 0] + uniform * (table[1, 0] - table[0, 0])

    def values(self, numbers: Array, table: Array) -> Array:
        """Return the entries (k,) that its numbers (width,) set."""
        if self.kind == "choice":
            return jnp.asarray(table)[numbers[0].astype(jnp.int32)]
        return numbers if self.kind == "range" else numbers @ table

    def features_of(self, numbers: Array) -> Array:
        """Return the observed features (..., features) for numbers (..., width)."""
        if self.kind == "choice":
            return (numbers == jnp.arange(len(self.labels), dtype=jnp.int32)).astype(jnp.float32)
        return numbers

    def ends(self, table: Array) -> Any:
        """Return the lowest and the highest value of each feature, (2, features)."""
        if self.kind == "range":
            return table
        return np.repeat(np.asarray([[0.0], [1.0]], np.float32), len(self.labels), 1)

    def range_text(self, table: Any) -> str:
        """Return the choices or the range of the draw in words."""
        if self.kind == "range":
            return f"{table[0, 0]:g} to {table[1, 0]:g}"
        drawn = [self.labels[i] for i in self.only] or self.labels
        return (" or " if self.kind == "choice" else " with ").join(drawn)

    def text(self, numbers: np.ndarray) -> str:
        """Return the drawn numbers in words."""
        if self.kind == "choice":
            return self.labels[int(numbers[0])]
        if self.kind == "range":
            return f"{numbers[0]:g}"
        return " + ".join(f"{share:.0%} {label}" for share, label in zip(numbers, self.labels, strict=True))


@dataclass(frozen=True)
class ContextSampler:
    """All random draws of a farm's parameters, and how often they are made; by default, there are none.

    The farm is a contextual MDP if the context is shown, and a robust MDP otherwise. An observation ends with the
    visible numbers of the context; choices are one-hot.

    Attributes:
        draws: whole sets first, then single parameters, which take precedence.
        days: the number of days between new contexts; 0 if the context does not change within an episode.
        episodes: the number of consecutive episodes that share a context.
        lookahead: the number of days that are forecast.
    """

    draws: tuple[ContextDraw, ...] = ()
    days: int = 0
    episodes: int = 1
    lookahead: int = 0

    @property
    def width(self) -> int:
        """The length of a context vector."""
        return sum(draw.width for draw in self.draws)

    @property
    def labels(self) -> list[str]:
        """The name of each number in `info["context"]`, in order."""
        named = [d.features if d.kind == "mixture" else [d.name] for d in self.draws]
        return [name for names in named for name in names]

    @property
    def features(self) -> list[str]:
        """The name of each observed number: today's numbers, then the forecast."""
        now = [feature for draw in self.draws if draw.shown for feature in draw.features]
        return now + [f"forecast/{feature}/{lead + 1}" for lead in range(self.lookahead) for feature in now]

    @property
    def when(self) -> str:
        """The interval between new contexts, in words."""
        number, unit = (self.days, "day") if self.days else (self.episodes, "episode")
        return f"every {unit}" if number == 1 else f"every {number} {unit}s"

    def texts(self, params: FarmParams) -> list[str]:
        """Describe the choices or range of each draw in words."""
        return [draw.range_text(table) for draw, table in self._tables(params)]

    def _tables(self, params: FarmParams) -> list[tuple[ContextDraw, Any]]:
        """Return each draw with its table."""
        return list(zip(self.draws, params.context.tables, strict=True)) if params.context else []

    def split(self, numbers: Any) -> list[tuple[ContextDraw, Any]]:
        """Return each draw with its numbers."""
        ends = np.cumsum([draw.width for draw in self.draws])
        return [(draw, numbers[..., end - draw.width : end]) for draw, end in zip(self.draws, ends, strict=True)]

    def describe(self, numbers: Any) -> list[str]:
        """Describe each draw and its numbers in words."""
        return [f"{draw.name}: {draw.text(part)}" for draw, part in self.split(np.asarray(numbers))]

    def sample(self, uniform: Array, params: FarmParams) -> Array:
        """Return context numbers from uniforms, both (..., width)."""
        pairs = zip(self.split(uniform), self._tables(params), strict=True)
        return jnp.concatenate([draw.sample(part, table) for (draw, part), (_, table) in pairs], -1)

    def features_of(self, numbers: Array) -> Array:
        """Return the observed features (..., features of a day) for numbers (..., width)."""
        nothing = jnp.zeros((*numbers.shape[:-1], 0), jnp.float32)
        shown = (draw.features_of(part) for draw, part in self.split(numbers) if draw.shown)
        return jnp.concatenate([nothing, *shown], -1)

    def seen(self, context: Context | tuple[()]) -> list[Array]:
        """Return the observed parts of a context in the order of the observation: today's numbers and the forecast."""
        return [self.features_of(context.numbers), context.forecast.ravel()] if context else []

    def limits(self, params: FarmParams) -> np.ndarray:
        """Return the lowest and the highest value of each observed number, (2, features)."""
        ends = [np.zeros((2, 0), np.float32), *map(np.asarray, self._ends(params))]
        return np.tile(np.concatenate(ends, 1), 1 + self.lookahead)

    def _ends(self, params: FarmParams) -> list[Any]:
        """Return, for each draw, the lowest and the highest value of each observed number of a day."""
        return [draw.ends(table) for draw, table in self._tables(params) if draw.shown]

    def apply(self, params: FarmParams, numbers: Any) -> FarmParams:
        """Write the numbers of a context into the parameters; return them unchanged if no context is pending."""
        if not params.context:
            return params
        leaves, tree = jax.tree.flatten(replace(params, context=()))
        for (draw, part), (_, table) in zip(self.split(numbers), self._tables(params), strict=True):
            values, start = draw.values(part, table), 0
            for write in draw.writes:
                leaves[write.leaf] = write.apply(leaves[write.leaf], values[start : start + write.size])
                start += write.size
        return tree.unflatten(leaves)

    def first(self, key: Array, params: FarmParams) -> Context | tuple[()]:
        """Return the context of the first episode, with its forecast, from the key that starts the episode."""
        if not self.draws:
            return ()
        drawn, forecast = self._draw_ahead(key, jnp.zeros((0, self.width), jnp.float32), params)
        return Context(numbers=drawn[0], episodes=jnp.int32(1), ahead=drawn[1:], forecast=forecast)

    def _draw_ahead(self, key: Array, ahead: Array, params: FarmParams) -> tuple[Array, Array]:
        """Extend the contexts `ahead` with new draws, for today and the coming days; also return the forecast."""
        now, later = keys_for(key_for(key, STREAM), ("now", "forecast"))
        shape = (1 + self.lookahead - len(ahead), self.width)
        drawn = jnp.concatenate([ahead, self.sample(jax.random.uniform(now, shape, jnp.float32), params)])
        return drawn, self._forecast(later, drawn[1:], params)

    def next_episode(self, key: Array, last: Any, renew: Array, params: FarmParams) -> Any:
        """Return the context of the next episode: a new one if `renew` is True or if `last` has no episodes left."""
        if not self.draws:
            return ()
        fresh, kept = self.first(key, params), replace(last, episodes=last.episodes + 1)
        over = renew | (last.episodes >= self.episodes)
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, kept)

    def next_day(self, key: Array, context: Any, day: Array, params: FarmParams) -> Any:
        """Return the context on day `day` of the episode."""
        if not self.days:
            return context
        drawn, forecast = self._draw_ahead(key, context.ahead, params)
        numbers = jnp.where(day % self.days == 0, drawn[0], context.numbers)
        return replace(context, numbers=numbers, ahead=drawn[1:], forecast=forecast)

    def _forecast(self, key: Array, ahead: Array, params: FarmParams) -> Array:
        """Return the forecast for the days ahead, clipped to the range; the error variance grows with the lead."""
        seen = self.features_of(ahead)
        if not (self.lookahead and params.context):
            return seen
        low, high = jnp.concatenate(self._ends(params), 1)
        leads = jnp.arange(self.lookahead, dtype=jnp.float32)
        spread = jnp.sqrt(params.context.noise * (1.0 + leads))[:, None] * (high - low)
        return jnp.clip(seen + spread * normal(jax.random.uniform(key, seen.shape, jnp.float32)), low, high)
