"""The map interface of a farm, with channels over the plots and one order (what, where, how much) per step.

A day takes several steps: requests are answered at once, orders are collected, and the day passes on "stop" or when the
schedule is full. The mask in an observation is exact for the orders chosen so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax import Array

from harvestgym.core.env import Timestep
from harvestgym.core.pytree import replace
from harvestgym.core.random import keys_for
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.learn.action_wrappers import ActionWrapper
from harvestgym.farm.learn.map_channels import Channel, Encoding, list_entries, make_encoding
from harvestgym.farm.learn.map_orders import (
    NOWHERE,
    STOP,
    MapSpace,
    MapTable,
    build_map_table,
    explain_refusal,
    plot_cells,
)

STANDING = ("day", "total/", "context", "Field-")
"""Prefixes of the info entries that a step in which no time passes keeps; gains, costs and orders are 0 in it."""


class MapState(NamedTuple):
    """The state of the farm, the action-table numbers of the orders chosen today, and their count."""

    inner: Any
    pending: Array
    placed: Array


@dataclass(frozen=True)
class MapFarm(ActionWrapper):
    """A farm with observations as maps over its plots and with three-part orders.

    An observation has "plots", float32 (fields, X, Y, channels); "farm", float32 (numbers,); and "mask" with "what",
    "where" and "amount", which show the possible orders, places and amounts. An action is int32 (3,). A masked action
    raises ConfigError in Gymnasium environments; compiled code treats it as "stop".
    """

    step_unit: ClassVar[str] = "orders"
    shows_mask: ClassVar[bool] = True
    """True because observations include the action mask as "mask", so `gym.base` need not compute it again."""

    # Observations.

    @cached_property
    def plots(self) -> np.ndarray:
        """The map cells that are plots, bool (fields, X, Y)."""
        return plot_cells(self.env)

    @cached_property
    def _encodings(self) -> tuple[Encoding, Encoding]:
        """The encodings for "plots" and "farm"."""
        entries = list_entries(self.env)
        return make_encoding(entries, self.plots), make_encoding(entries, None)

    @cached_property
    def _shown_orders(self) -> tuple[np.ndarray, np.ndarray]:
        """The interventions that are shown if chosen today, on plots and elsewhere; none with only one order a day."""
        shown = (self.table.first > 0) & (self.env.schedule > 1)
        on_plots = (self.table.position[:, 1:] >= 0).any(1)
        return np.flatnonzero(shown & on_plots), np.flatnonzero(shown & ~on_plots)

    def _name_orders(self, orders: np.ndarray) -> list[Channel]:
        return [Channel(f"today/{self.table.names[i]}", "orders", high=float(self.env.schedule)) for i in orders]

    @property
    def plot_channels(self) -> tuple[Channel, ...]:
        """The channels of "plots": the plots, the observations on them, and the orders chosen today."""
        return (Channel("plot", "plot"), *self._encodings[0].channels, *self._name_orders(self._shown_orders[0]))

    @property
    def farm_channels(self) -> tuple[Channel, ...]:
        """The entries of "farm": the other observations, and the orders chosen today that are not for a plot."""
        count = (Channel("orders today", "orders"),) if self.env.schedule > 1 else ()
        return (*self._encodings[1].channels, *count, *self._name_orders(self._shown_orders[1]))

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        orders, places, amounts = self.table.shape
        return spaces.Dict({
            "plots": _box(self.plot_channels, self.plots.shape),
            "farm": _box(self.farm_channels, ()),
            "mask": spaces.Dict({
                "what": spaces.MultiBinary(orders),
                "where": spaces.MultiBinary((orders, places)),
                "amount": spaces.MultiBinary((orders, amounts)),
            }),
        })  # fmt: skip

    def encode(self, seen: Any, amounts: Array, count: Array) -> dict[str, Array]:
        """Return "plots" and "farm" for an observation `seen` of the wrapped farm.

        `amounts` (orders, places) and `count` describe the orders chosen today.
        """
        values, mask = self.env.split_observation(seen)
        plots, farm = (encoding.encode(values, mask) for encoding in self._encodings)
        there = jnp.asarray(self.plots, jnp.float32)[..., None]
        at, whole = (jnp.asarray(orders, jnp.int32) for orders in self._shown_orders)
        ordered = jnp.moveaxis(amounts[at, 1:].reshape(-1, *self.plots.shape), 0, -1)
        share = [jnp.float32(count)[None] / self.env.schedule] if self.env.schedule > 1 else []
        maps = jnp.concatenate([there, plots, ordered], -1)
        return {"plots": maps, "farm": jnp.concatenate([farm, *share, amounts[whole, 0]])}

    def _shown(self, timestep: Timestep, state: MapState, params: FarmParams) -> Timestep:
        """Return the outcome of a step of the wrapped farm, with the map observation."""
        obs = self.encode(timestep.obs, self._chosen_amounts(state), state.placed)
        return timestep._replace(obs=obs | {"mask": self.action_mask(state, params)})

    def _chosen_amounts(self, state: MapState) -> Array:
        """Return the sum over today's orders of (1 + amount) / amounts, float32 (orders, places)."""
        what, where, amount = jax.vmap(self.table.order)(state.pending).T
        size = jnp.where(state.pending > 0, jnp.float32(1 + amount) / jnp.asarray(self.table.amounts)[what], 0.0)
        orders, places = (np.arange(number, dtype=np.int32) for number in self.table.shape[:2])
        at = (what[:, None] == orders)[:, :, None] & (where[:, None] == places)[:, None]
        return jnp.sum(jnp.where(at, size[:, None, None], 0.0), axis=0)

    def flatten(self, obs: Any) -> Any:
        """Return the exact observation of the wrapped farm: a vector, or values and mask."""
        parts = (obs["plots"], self._encodings[0], 1), (obs["farm"], self._encodings[1], 0)
        decoded = [each.decode(array[..., start : start + len(each.channels)]) for array, each, start in parts]
        values, mask = (sum(both) for both in zip(*decoded, strict=True))
        return self.env.make_observation(values, mask)

    # Possible actions.

    @cached_property
    def table(self) -> MapTable:
        """The orders of the farm."""
        return build_map_table(self.env)

    @property
    def action_space(self) -> MapSpace:
        return MapSpace(self.table)

    def action_mask(self, state: MapState, params: FarmParams) -> dict[str, Array]:
        """Return which orders are possible after those chosen today, bool: "what", "where" and "amount".

        An order is possible if the rules permit it and a farmer accepts it. If a Python rule depends on place and
        amount together, a place counts as possible if at least one amount is possible there.
        """
        valid = self.table.valid
        accepted = self.env.permits(state.inner, self._tried, params, state.pending, state.placed)
        accepted = accepted.at[STOP, NOWHERE, 0].set(True)
        amount, where = accepted.any(1), jnp.asarray(valid["where"]) & accepted.any(2)
        if self.requests:
            answered = self._answers(state, params)[np.maximum(self.table.item, 0)] & (self.table.item >= 0)
            asks = (self.table.item >= 0).any(1, keepdims=True)
            where = jnp.where(asks, answered, where)
            amount = jnp.where(asks, answered.any(1, keepdims=True) & valid["amount"], amount)
        return {"what": where.any(1), "where": where, "amount": amount}

    @cached_property
    def _tried(self) -> np.ndarray:
        """The action numbers to try for each order, place and amount; without rules, one place represents all."""
        numbers = self.table.numbers
        return numbers if self.env.defaults.rules else numbers.max(1, keepdims=True)

    def _answers(self, state: MapState, params: FarmParams) -> Array:
        """Return which requests would show unobserved values, bool (offered,); all requests come before the orders."""
        return self.env.requests.news(state.inner, params) & (state.placed == 0)

    def check_choice(self, mask: dict[str, np.ndarray], action: np.ndarray, waiting: Any = False) -> None:
        """Raise ConfigError for the first action that the mask forbids, except in environments that are `waiting`."""
        orders = action.reshape(-1, 3)
        masks = {part: marks.reshape(len(orders), *marks.shape[action.ndim - 1 :]) for part, marks in mask.items()}
        rows, (what, where, amount) = np.arange(len(orders)), orders.T
        allowed = masks["what"][rows, what] & masks["where"][rows, what, where] & masks["amount"][rows, what, amount]
        for i in np.flatnonzero(~allowed & ~np.asarray(waiting))[:1]:
            name = f"action[{i}]" if action.ndim > 1 else "action"
            raise explain_refusal(self.table, {part: marks[i] for part, marks in masks.items()}, orders[i], name)

    # Steps.

    @property
    def steps_per_day(self) -> int:
        """The largest number of steps in a day."""
        return self.requests + self.env.schedule

    def inner(self, state: MapState) -> Any:
        return state.inner

    def read(self, action: Array) -> Any:
        first = jnp.arange(self.env.schedule, dtype=jnp.int32) == 0
        return self._day_action(jnp.where(first, self.table.number(action), 0), self.table.request(action))

    def _day_action(self, numbers: Array, item: Array) -> Any:
        order = numbers if self.env.schedule > 1 else numbers[0]
        return self.env.make_action((item == jnp.arange(self.requests, dtype=jnp.int32)).astype(jnp.int32), order)

    def reset(self, key: Array, params: FarmParams | None = None) -> tuple[MapState, Timestep]:
        params = self.given(params)
        return self._begin(*self.env.reset(key, params), params)

    def again(self, key: Array, last: MapState, renew: Array, params: FarmParams) -> tuple[Any, Timestep]:
        return self._begin(*self.env.again(key, last.inner, renew, params), params)

    def _begin(self, inner: Any, first: Timestep, params: FarmParams) -> tuple[MapState, Timestep]:
        state = MapState(inner, jnp.zeros(self.env.schedule, jnp.int32), jnp.int32(0))
        return state, self._shown(first, state, params)

    def step(self, key: Array, state: MapState, action: Any, params: FarmParams | None = None) -> tuple[Any, Timestep]:
        params = self.given(params)
        chosen, item = self.table.number(action), self.table.request(action)
        asks = jnp.asarray(False)
        if self.requests:
            asks = (item >= 0) & self._answers(state, params)[jnp.maximum(item, 0)]
        pending = jnp.where(jnp.arange(self.env.schedule, dtype=jnp.int32) == state.placed, chosen, state.pending)
        count = state.placed + (chosen > 0)
        acts = ~asks & ((chosen == 0) | (count == self.env.schedule))
        state = state._replace(inner=replace(state.inner, acting=~asks & self.env.asks))
        passed = self.env.step(key, state.inner, self._day_action(pending, item), params)
        if self.env.schedule == 1:  # skip a step in which nothing happens
            inner, timestep = passed
        else:
            waiting = state.inner, self._pause(key, state.inner, params)
            inner, timestep = jax.tree.map(lambda a, b: jnp.where(acts | asks, a, b), passed, waiting)
        after = MapState(inner, jnp.where(acts, 0, pending), jnp.where(acts, 0, count).astype(jnp.int32))
        return after, self._shown(timestep, after, params)

    def _pause(self, key: Array, inner: Any, params: FarmParams) -> Timestep:
        """Return the outcome of a step in which no time passes."""
        info = self.env.info(inner, params)
        info |= {name: jnp.zeros_like(value) for name, value in info.items() if not name.startswith(STANDING)}
        seen = self.env.observation(keys_for(key, ("observation",))[0], inner, None, params)
        return Timestep(seen, jnp.float32(0.0), jnp.asarray(False), jnp.asarray(False), info)


def _box(channels: tuple[Channel, ...], shape: tuple[int, ...]) -> spaces.Box:
    ends = (np.asarray([getattr(channel, end) for channel in channels], np.float32) for end in ("low", "high"))
    low, high = (np.broadcast_to(end, (*shape, len(channels))) for end in ends)
    return spaces.Box(low, high, dtype=np.float32)
