"""Farm policies for the map interface: the orders of a day are given one per step, followed by "stop".

from map_policies import translate_policy

env = harvestgym.make("farm/bean-1x1-v0", interface="map")
expert = translate_policy(env, policies(env.env)["expert"])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.autoreset import select
from harvestgym.core.policy import Policy
from harvestgym.farm.learn.map_farm import MapFarm

STOP = 0
"""Number of the order that ends the day."""


class QueueMemory(NamedTuple):
    """The memory of a translated policy.

    Attributes:
        inner: the memory of the wrapped policy.
        queue: int32 (orders, 3), its latest decision, padded with stop.
        at: int32, the number of queue entries already done.
        placed: int32, the number of today's interventions.
        acting: bool, whether the next queue holds interventions; it follows a queue of requests.
    """

    inner: Any
    queue: jax.Array
    at: jax.Array
    placed: jax.Array
    acting: jax.Array


@dataclass(frozen=True)
class QueuedOrders:
    """Adapter that calls the wrapped farm's policy once per half-step and returns its possible orders, one per step."""

    env: MapFarm

    @property
    def length(self) -> int:
        """The length of the queue: the orders for a half-step, and "stop"."""
        return max(self.env.requests, self.env.env.schedule) + 1

    def __call__(self, act: Any, memory: QueueMemory, obs: Any, key: jax.Array) -> tuple[QueueMemory, jax.Array]:
        """Return the next order."""
        empty = ~self._ready(memory, obs["mask"]).any()
        memory = select(empty, self._plan(act, memory, obs, key), memory)
        at = jax.lax.argmax(self._ready(memory, obs["mask"]), 0, jnp.int32)
        order = memory.queue[at]
        placed = memory.placed + (order[0] > self.env.table.requests)
        over = (order[0] == STOP) | (placed == self.env.env.schedule)
        after = memory._replace(at=jnp.where(over, self.length, at + 1), placed=jnp.where(over, 0, placed))
        return jax.tree.map(lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype), after, memory), order

    def _ready(self, memory: QueueMemory, mask: dict[str, jax.Array]) -> jax.Array:
        """Return which queue entries are pending and possible, bool (length,); there is no "stop" after requests."""
        what, where, amount = memory.queue.T
        possible = (mask["where"][what, where] > 0) & (mask["amount"][what, amount] > 0)
        return possible & (jnp.arange(self.length, dtype=jnp.int32) >= memory.at) & ~(memory.acting & (what == STOP))

    def _plan(self, act: Any, memory: QueueMemory, obs: Any, key: jax.Array) -> QueueMemory:
        """Return the memory with the next half-step's decision in the queue."""
        seen = self.env.flatten(obs)
        carry, action = act(memory.inner, seen, key)
        if not self.env.env.asks:
            return self._with_orders(memory, carry, action)
        asking = memory._replace(inner=carry, queue=self._requests(action), at=jnp.int32(0), acting=jnp.asarray(True))
        asks = ~memory.acting & self._ready(asking, obs["mask"]).any()
        acting = self._with_orders(memory, *act(select(memory.acting, memory.inner, carry), seen, key))
        return select(asks, asking, acting)

    def _with_orders(self, memory: QueueMemory, carry: Any, action: Any) -> QueueMemory:
        numbers = jnp.atleast_1d(action["order"] if isinstance(action, dict) else action)
        orders = jax.vmap(self.env.table.order)(numbers)
        return QueueMemory(carry, self._fill(orders), jnp.int32(0), memory.placed, jnp.asarray(False))

    def _requests(self, action: Any) -> jax.Array:
        if not self.env.requests:
            return self._fill(jnp.zeros((0, 3), jnp.int32))
        orders = np.stack([self.env.table.request_of(item) for item in range(self.env.requests)])
        return self._fill(jnp.where(jnp.asarray(action["request"] > 0)[:, None], orders, STOP))

    def _fill(self, orders: jax.Array) -> jax.Array:
        """Return a queue: the orders first, then "stop"."""
        queue = jnp.zeros((self.length, 3), jnp.int32).at[: len(orders)].set(orders)
        return queue[jax.lax.sort_key_val(queue[:, 0] == STOP, jnp.arange(self.length, dtype=jnp.int32))[1]]


def translate_policy(env: MapFarm, policy: Policy) -> Policy:
    """Convert a policy for the farm in `env` to a policy for `env` that has the same effect each day."""
    policy, queue = policy.traced(), QueuedOrders(env)
    nothing = jnp.zeros((queue.length, 3), jnp.int32)
    memory = QueueMemory(policy.init, nothing, jnp.int32(queue.length), jnp.int32(0), jnp.asarray(False))
    return Policy(memory, Partial(queue, policy.act))
