"""Contextual farms (section 2): some parameters are drawn again, per episode, for several, or day by day.

What was drawn is a vector of numbers in the state; which entries of the parameters it decides is structure. So
one compiled program lives every context. A day passes under the context of its morning; every value of a
state is read under the context of that state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Timestep
from harvestgym.core.random import key_for, keys_for, normal
from harvestgym.core.tree import par, pytree, replace, var

from .actions import Orders
from .active import ActiveFarm
from .model import FarmModel
from .reward_terms import RewardContext
from .state import DayReport, FarmParams, FarmState
from .variables import Variable

STREAM = "context"
"""The name under which contexts take their keys, so that they change no other draw."""


@pytree
class Context:
    """The context in force, since when, and (where it is forecast) the ones to come.

    `numbers` has the index of each choice, the shares of each mixture and the value of each range, in order.
    """

    numbers: jax.Array = var("context", "what was drawn", axes=("draw",))
    episodes: jax.Array = var("episodes", "episodes begun under it", dtype="int", axes=())
    ahead: jax.Array = var("ahead", "the numbers of the days to come", axes=("lead", "draw"), hidden=True)
    forecast: jax.Array = var("forecast", "what is said of them", axes=("lead", "feature"))


@pytree
class ContextParams(FarmParams):
    """The parameters of a farm before a context is put into them, and what there is to draw.

    `tables` has for each draw the entries that it decides: a row for each choice or mixed set, or for the two
    ends of a range.
    """

    tables: tuple[jax.Array, ...]
    noise: jax.Array = par(
        "noise#day-1", "variance of a forecast per day ahead, in squared spans of what is seen", low=0, high=1
    )


@dataclass(frozen=True)
class LeafUpdate:
    """Entries of one leaf of `FarmParams`: some, by their flat number, or all of them (`entries` empty)."""

    leaf: int
    size: int
    entries: tuple[int, ...] = ()

    def apply(self, leaf: Any, values: jax.Array) -> jax.Array:
        """Return the leaf with `values` (size,) in it."""
        old = jnp.asarray(leaf)
        if not self.entries:
            return values.astype(old.dtype).reshape(old.shape)
        here = np.zeros(old.size, np.int32)
        here[list(self.entries)] = np.arange(self.size)
        new = jnp.where(np.isin(np.arange(old.size), self.entries), values[here], old.ravel())
        return new.astype(old.dtype).reshape(old.shape)


@dataclass(frozen=True)
class ContextDraw:
    """One thing that is drawn, and what it decides.

    Attributes:
        name: its path in the farm file.
        kind: one of some choices, a mixture of sets in shares that are drawn, or a number of a range.
        labels: the names of the choices or of the mixed sets; of a range its own.
        writes: the entries of the parameters that it decides.
        shown: whether it is seen.
        only: which of the choices are drawn, by their numbers; empty for all.
    """

    name: str
    kind: Literal["choice", "mixture", "range"]
    labels: tuple[str, ...]
    writes: tuple[LeafUpdate, ...]
    shown: bool
    only: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """The number of its numbers."""
        return len(self.labels) if self.kind == "mixture" else 1

    @property
    def features(self) -> list[str]:
        """The names of the numbers that are seen of it: one for each choice, 1 for that in force."""
        return [self.name] if self.kind == "range" else [f"{self.name}/{label}" for label in self.labels]

    def sample(self, uniform: jax.Array, table: jax.Array) -> jax.Array:
        """Return its numbers from uniforms (..., width): all choices alike, all shares alike (Dirichlet of ones)."""
        if self.kind == "choice":
            eligible = np.asarray(self.only or range(len(self.labels)), np.float32)
            at = jnp.minimum(jnp.floor(uniform * len(eligible)), len(eligible) - 1).astype(jnp.int32)
            return jnp.asarray(eligible)[at]
        if self.kind == "mixture":
            parts = -jnp.log1p(-uniform) + 1e-9
            return parts / parts.sum(-1, keepdims=True)
        return table[0, 0] + uniform * (table[1, 0] - table[0, 0])

    def values(self, numbers: jax.Array, table: jax.Array) -> jax.Array:
        """Return the entries (k,) that it decides, from its numbers (width,)."""
        if self.kind == "choice":
            return jnp.asarray(table)[numbers[0].astype(jnp.int32)]
        return numbers if self.kind == "range" else numbers @ table

    def features_of(self, numbers: jax.Array) -> jax.Array:
        """Return the visible features (..., features) of numbers (..., width)."""
        if self.kind == "choice":
            return (numbers == jnp.arange(len(self.labels), dtype=jnp.int32)).astype(jnp.float32)
        return numbers

    def ends(self, table: jax.Array) -> jax.Array:
        """Return the least and the greatest value of each feature, (2, features)."""
        if self.kind == "range":
            return jnp.asarray(table)
        return jnp.stack([jnp.zeros(len(self.labels), jnp.float32), jnp.ones(len(self.labels), jnp.float32)])

    def range_text(self, table: Any) -> str:
        """Return its choices or range in words."""
        if self.kind == "range":
            return f"{table[0, 0]:g} to {table[1, 0]:g}"
        drawn = [self.labels[i] for i in self.only] or self.labels
        return (" or " if self.kind == "choice" else " with ").join(drawn)

    def text(self, numbers: np.ndarray) -> str:
        """Return the numbers in words."""
        if self.kind == "choice":
            return self.labels[int(numbers[0])]
        if self.kind == "range":
            return f"{numbers[0]:g}"
        return " + ".join(f"{share:.0%} {label}" for share, label in zip(numbers, self.labels, strict=True))


@dataclass(frozen=True)
class ContextSampler:
    """All draws, and when they are made.

    Attributes:
        draws: whole sets first, then single parameters, which have the last word.
        days: after how many days of an episode there is a new context; 0 for none within an episode.
        episodes: how many episodes of an environment share one.
        lookahead: how many days are forecast.
    """

    draws: tuple[ContextDraw, ...]
    days: int
    episodes: int
    lookahead: int

    @property
    def width(self) -> int:
        """The number of numbers of a context."""
        return sum(draw.width for draw in self.draws)

    @property
    def features(self) -> list[str]:
        """The name of each number that is seen, those of today and then those forecast."""
        now = [feature for draw in self.draws if draw.shown for feature in draw.features]
        return now + [f"forecast/{feature}/{lead + 1}" for lead in range(self.lookahead) for feature in now]

    @property
    def when(self) -> str:
        """Return when there is a new context, in words."""
        number, unit = (self.days, "day") if self.days else (self.episodes, "episode")
        return f"every {unit}" if number == 1 else f"every {number} {unit}s"

    def texts(self, params: FarmParams) -> list[str]:
        """Return the choices or range of each draw, in words."""
        assert isinstance(params, ContextParams)
        return [draw.range_text(table) for draw, table in zip(self.draws, params.tables, strict=True)]

    def split(self, numbers: Any) -> list[tuple[ContextDraw, Any]]:
        """Return each draw with its numbers."""
        ends = np.cumsum([draw.width for draw in self.draws])
        return [(draw, numbers[..., end - draw.width : end]) for draw, end in zip(self.draws, ends, strict=True)]

    def describe(self, numbers: Any) -> list[str]:
        """Return each draw with its numbers in words."""
        return [f"{draw.name}: {draw.text(part)}" for draw, part in self.split(np.asarray(numbers))]

    def sample(self, uniform: jax.Array, params: ContextParams) -> jax.Array:
        """Numbers from uniforms, both (..., width)."""
        pairs = zip(self.split(uniform), params.tables, strict=True)
        return jnp.concatenate([draw.sample(part, table) for (draw, part), table in pairs], -1)

    def features_of(self, numbers: jax.Array) -> jax.Array:
        """Return the visible features (..., features of a day) of numbers (..., width)."""
        nothing = jnp.zeros((*numbers.shape[:-1], 0), jnp.float32)
        shown = (draw.features_of(part) for draw, part in self.split(numbers) if draw.shown)
        return jnp.concatenate([nothing, *shown], -1)

    def ends(self, params: ContextParams) -> jax.Array:
        """Return the least and the greatest value of each number of a day that is seen, (2, features of a day)."""
        pairs = zip(self.draws, params.tables, strict=True)
        ends = (draw.ends(table) for draw, table in pairs if draw.shown)
        return jnp.concatenate([jnp.zeros((2, 0), jnp.float32), *ends], 1)

    def apply(self, params: ContextParams, numbers: jax.Array) -> FarmParams:
        """Return the parameters in force: plain ones, so that nothing is put into them twice."""
        names = FarmParams.__dataclass_fields__
        leaves, tree = jax.tree.flatten(FarmParams(**{name: getattr(params, name) for name in names}))
        for (draw, part), table in zip(self.split(numbers), params.tables, strict=True):
            values, start = draw.values(part, table), 0
            for write in draw.writes:
                leaves[write.leaf] = write.apply(leaves[write.leaf], values[start : start + write.size])
                start += write.size
        return tree.unflatten(leaves)

    def sample_context(self, key: jax.Array, params: ContextParams) -> Context:
        """Return a new context, with those of the days to come where they are forecast."""
        now, later = keys_for(key, ("now", "forecast"))
        drawn = self.sample(jax.random.uniform(now, (1 + self.lookahead, self.width), jnp.float32), params)
        return Context(
            numbers=drawn[0], episodes=jnp.int32(1), ahead=drawn[1:], forecast=self._forecast(later, drawn[1:], params)
        )

    def next_episode(self, key: jax.Array, last: Context, renew: jax.Array, params: ContextParams) -> Context:
        """Return the context of the next episode: a new one where the episodes of `last` are over, or where `renew`."""
        fresh, kept = self.sample_context(key, params), replace(last, episodes=last.episodes + 1)
        over = renew | (last.episodes >= self.episodes)
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, kept)

    def next_day(self, key: jax.Array, context: Context, day: jax.Array, params: ContextParams) -> Context:
        """Return the context of day `day` of the episode."""
        if not self.days:
            return context
        now, later = keys_for(key, ("now", "forecast"))
        fresh = self.sample(jax.random.uniform(now, (1, self.width), jnp.float32), params)
        drawn = jnp.concatenate([context.ahead, fresh])
        numbers = jnp.where(day % self.days == 0, drawn[0], context.numbers)
        return replace(context, numbers=numbers, ahead=drawn[1:], forecast=self._forecast(later, drawn[1:], params))

    def _forecast(self, key: jax.Array, ahead: jax.Array, params: ContextParams) -> jax.Array:
        """Return the forecast of the days ahead, with an error whose variance grows with the lead, within the ends."""
        seen = self.features_of(ahead)
        if not self.lookahead:
            return seen
        low, high = self.ends(params)
        spread = jnp.sqrt(params.noise * (1.0 + jnp.arange(self.lookahead, dtype=jnp.float32)))[:, None] * (high - low)
        return jnp.clip(seen + spread * normal(jax.random.uniform(key, seen.shape, jnp.float32)), low, high)


@dataclass(frozen=True, eq=False, repr=False)
class ContextFarm(FarmModel):
    """A farm whose parameters are drawn: a contextual MDP if the context is shown, else a robust one.

    An observation ends with the numbers that are seen of the context, a choice one-hot.

    Attributes:
        sampler: draws the contexts.
    """

    sampler: ContextSampler

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        space: Any = super().observation_space
        assert isinstance(self.defaults, ContextParams)
        with jax.ensure_compile_time_eval():
            ends = np.asarray(self.sampler.ends(self.defaults))
        low, high = np.tile(ends, 1 + self.sampler.lookahead)
        if isinstance(space, gymnasium.spaces.Dict):
            values = _longer(space["values"], np.minimum(low, 0), np.maximum(high, 0))
            ones = np.ones(len(low), np.float32)
            return gymnasium.spaces.Dict({"values": values, "mask": _longer(space["mask"], 0 * ones, ones)})
        return _longer(space, low, high)

    @property
    def context_labels(self) -> list[str]:
        """The name of each number of `info["context"]`."""
        named = [d.features if d.kind == "mixture" else [d.name] for d in self.sampler.draws]
        return [name for names in named for name in names]

    def context_text(self, state: FarmState) -> str:
        """Return the context of one state, in words."""
        return "; ".join(self.sampler.describe(state.context.numbers))

    def initial(self, key: jax.Array, params: FarmParams) -> FarmState:
        assert isinstance(params, ContextParams)
        return self._started(key, self.sampler.sample_context(key_for(key, STREAM), params), params)

    def _started(self, key: jax.Array, context: Context, params: ContextParams) -> FarmState:
        return replace(super().initial(key, self.sampler.apply(params, context.numbers)), context=context)

    def again(
        self, key: jax.Array, last: FarmState, renew: jax.Array, params: FarmParams
    ) -> tuple[FarmState, Timestep]:
        """Begin the episode after one that ended in `last`, under its context until its episodes are over."""
        params = self.given(params)
        assert isinstance(params, ContextParams)
        start, observe = keys_for(key, ("initial", "observation"))
        context = self.sampler.next_episode(key_for(start, STREAM), last.context, renew, params)
        return self._opened(observe, self._started(start, context, params), params)

    def day(self, key: jax.Array, state: FarmState, orders: Orders, params: FarmParams) -> tuple[FarmState, DayReport]:
        assert isinstance(params, ContextParams)
        new, report = super().day(key, state, orders, self.apply_context(state, params))
        return replace(new, context=self.sampler.next_day(key_for(key, STREAM), state.context, new.day, params)), report

    def accepts(self, state: FarmState, orders: Orders, params: FarmParams) -> jax.Array:
        return super().accepts(state, orders, self.apply_context(state, params))

    def apply_context(self, state: FarmState, params: FarmParams) -> FarmParams:
        """Return the parameters in force in a state; plain parameters as they are."""
        return self.sampler.apply(params, state.context.numbers) if isinstance(params, ContextParams) else params

    def value(self, variable: Variable, state: FarmState, params: FarmParams) -> jax.Array:
        return super().value(variable, state, self.apply_context(state, params) if variable.derived else params)

    def reward_context(self, state: FarmState, params: FarmParams) -> RewardContext:
        return super().reward_context(state, self.apply_context(state, params))

    def observation(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> Any:
        seen = super().observation(key, state, action, self.apply_context(state, params))
        context = state.context
        more = jnp.concatenate([self.sampler.features_of(context.numbers), context.forecast.ravel()])
        if not isinstance(seen, dict):
            return jnp.concatenate([seen, more])
        return {
            "values": jnp.concatenate([seen["values"], more]),
            "mask": jnp.concatenate([seen["mask"], jnp.ones_like(more)]),
        }

    def info(self, state: FarmState, params: FarmParams) -> dict[str, Any]:
        return super().info(state, params) | {"context": state.context.numbers}


@dataclass(frozen=True, eq=False, repr=False)
class ContextActiveFarm(ContextFarm, ActiveFarm):  # pyright: ignore[reportIncompatibleMethodOverride]
    """A contextual farm with active observation: what is shown of the context is free."""


def _longer(box: Any, low: np.ndarray, high: np.ndarray) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(np.concatenate([box.low, low]), np.concatenate([box.high, high]), dtype=np.float32)
