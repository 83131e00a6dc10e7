"""The inputs and labels of farms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from harvestgym.core.wrappers import unwrapped
from harvestgym.farm import MapFarm
from harvestgym.farm.engine.model import FarmModel

from .player import Memory, Player


@dataclass(frozen=True, eq=False)
class FarmPlayer(Player):
    """A farmer who sees the last known value of every variable of a plot and of the farm.

    Place 0 is the whole farm, where the variables of plots are means. A label is an order with an amount, or a request.
    """

    @cached_property
    def map(self) -> MapFarm:
        """The farm with maps."""
        farm: Any = unwrapped(self.env)
        assert isinstance(farm, FarmModel)
        return MapFarm(farm)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The order of each label at each place, int (places, labels); 0 if there is none."""
        table, (orders, places, amounts) = self.map.table, self.map.table.shape
        found = np.zeros((orders, places, amounts), np.int32)
        what, where, amount = table.interventions.T
        found[what, where, amount] = table.first[what] + table.position[what, where] * table.amounts[what] + amount
        rows = np.moveaxis(found, 1, 0).reshape(places, -1)
        return rows[:, self._used]

    @cached_property
    def items(self) -> np.ndarray:
        """The observation that each label requests at each place, int (places, labels); -1 if none."""
        orders, places, amounts = self.map.table.shape
        found = np.full((orders, places, amounts), -1, np.int32)
        found[:, :, 0] = self.map.table.item
        return np.moveaxis(found, 1, 0).reshape(places, -1)[:, self._used]

    @cached_property
    def _used(self) -> np.ndarray:
        table = self.map.table
        orders, _, amounts = table.shape
        used = np.zeros((orders, amounts), bool)
        used[table.interventions[:, 0], table.interventions[:, 2]] = True
        used[:, 0] |= (table.item >= 0).any(1)
        return np.flatnonzero(used.ravel())

    @property
    def labels(self) -> int:
        return len(self._used)

    @property
    def offered(self) -> np.ndarray:
        return (self.numbers > 0) | (self.items >= 0)

    @property
    def requests(self) -> np.ndarray:
        return np.any(self.items >= 0, axis=0)

    @property
    def orders(self) -> int:
        return self.map.env.schedule

    @property
    def places(self) -> int:
        return self.map.table.shape[1]

    def begin(self) -> tuple[Any, Any]:
        space: Any = self.map.env.observation_space
        entries = jnp.zeros((space["values"] if isinstance(space, spaces.Dict) else space).shape)
        return {"values": entries, "mask": entries}, jnp.asarray(not self.map.requests)

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        if isinstance(obs, dict):
            values = jnp.where(obs["mask"] > 0, obs["values"], memory.seen["values"])
            seen = {"values": values, "mask": jnp.maximum(obs["mask"], memory.seen["mask"])}
        else:
            seen = {"values": obs, "mask": jnp.ones(obs.shape)}
        shown = self.map.env.make_observation(**seen)
        found = self.map.encode(shown, jnp.zeros(self.map.table.shape[:2]), jnp.int32(0))
        maps, farm = found["plots"].reshape(-1, found["plots"].shape[-1]), found["farm"]
        rows = jnp.concatenate([maps.mean(0, keepdims=True), maps])
        rows = jnp.concatenate([rows, jnp.broadcast_to(farm, (len(rows), len(farm)))], 1)
        return seen, memory.own, rows

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        numbers, items, farm = jnp.asarray(self.numbers), jnp.asarray(self.items), self.map.env
        scores = jnp.where(numbers > 0, output, -1.0).ravel()
        score, at = jax.lax.top_k(scores, farm.schedule)
        order = jnp.where(score > 0, numbers.ravel()[at], 0).astype(jnp.int32)
        given = jnp.zeros(scores.shape, bool).at[at].set(score > 0).reshape(numbers.shape)
        asked = (items >= 0) & (output > 0)
        request = jnp.zeros(max(self.map.requests, 1), jnp.int32)
        if self.map.requests:
            request = request.at[jnp.where(items >= 0, items, self.map.requests)].max(asked, mode="drop")
            given = jnp.where(memory.own, given, asked)
        after = self.note(memory, given)
        if self.map.requests:
            after = after._replace(own=~memory.own, since=jnp.where(memory.own | given, after.since, memory.since))
        order = order if farm.schedule > 1 else order[0]
        return after, farm.make_action(request[: self.map.requests], order)

    def mark(self, action: Any) -> jax.Array:
        given = jnp.atleast_1d(action["order"] if isinstance(action, dict) else action)
        numbers, items = jnp.asarray(self.numbers), self.items
        order = 1 - 1e-3 * np.arange(len(given), dtype=np.float32)
        marks = jnp.where((numbers[..., None] == given) & (given > 0), order, 0.0).max(-1)
        if self.map.requests:
            asked = action["request"][np.maximum(items, 0)] > 0
            marks = jnp.where(items >= 0, asked.astype(jnp.float32), marks)
        return marks
