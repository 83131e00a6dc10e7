"""Inputs and actions of searched policies in each family: inputs for each place, and labels to choose from.

A *place* is a plot, the whole farm (place 0), a forager, or a fleet; a *label* is what can be done there, such as 40 L
of water, or a direction. A form (`forms.py`) turns the inputs of each place into a score for each label, or, for
fisheries, into a number for each target. The expert of an id is used only as an adviser, by the form `correction`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.env import Env, Timestep
from harvestgym.core.policy import Policy

LONG_AGO = 64.0
"""Days since an order that was never given."""

QUANTILES = 33
"""Quantiles of an input, from the lowest to the highest value."""


class Memory(NamedTuple):
    """The memory of a player.

    Attributes:
        now: int32, steps so far.
        seen: the last known observation; on farms, a dict of values and mask.
        last: float32 (places, inputs), the plain inputs of the last step.
        highest: float32 (places, inputs), the largest plain inputs so far.
        since: float32 (places, labels), steps since each label was chosen.
        own: anything else that a family needs.
        adviser: the memory of the adviser; () without one.
        advice: float32, the adviser's choice as scores (places, labels) of 1 and 0, or as numbers (targets,).
    """

    now: Any
    seen: Any
    last: Any
    highest: Any
    since: Any
    own: Any
    adviser: Any
    advice: Any


@dataclass(frozen=True, eq=False)
class Player:
    """The inputs and labels of an environment; a subclass for each family.

    Attributes:
        env: the environment.
        steps: the number of steps of an episode.
        scale: float32 (inputs, QUANTILES), the quantiles of each input; None before they are measured.
        adviser: a policy whose choices the forms may correct.
    """

    env: Env[Any, Any]
    steps: int
    scale: Any = None
    adviser: Policy | None = None

    # What a family defines.

    @property
    def labels(self) -> int:
        """The number of labels."""
        raise NotImplementedError

    @property
    def places(self) -> int:
        """The number of places."""
        return 1

    @property
    def must_choose(self) -> bool:
        """True if there is no label that does nothing."""
        return False

    @property
    def offered(self) -> np.ndarray:
        """The labels that exist at each place, bool (places, labels)."""
        return np.ones((self.places, self.labels), bool)

    @property
    def requests(self) -> np.ndarray:
        """The labels that request an observation, bool (labels,)."""
        return np.zeros(self.labels, bool)

    @property
    def orders(self) -> int:
        """The most labels that can be chosen in a step."""
        return 1

    @property
    def targets(self) -> int:
        """The number of continuous actions; 0 if actions are labels."""
        return 0

    def begin(self) -> tuple[Any, Any]:
        """Return the `seen` and `own` of a first memory."""
        raise NotImplementedError

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        """Return `seen`, `own`, and the plain inputs (places, inputs)."""
        raise NotImplementedError

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        """Return the memory and the action for the scores (places, labels), or for the numbers (targets,)."""
        raise NotImplementedError

    def mark(self, action: Any) -> jax.Array:
        """Return an action of the adviser as scores of 1 and 0, or as numbers."""
        raise NotImplementedError

    def learn(self, memory: Memory, last: Timestep) -> Memory:
        """Update the memory after a step."""
        return memory

    # What all share.

    @cached_property
    def first(self) -> Memory:
        """The memory at the start of an episode."""
        seen, own = self.begin()
        size = (self.targets,) if self.targets else (self.places, self.labels)
        adviser = () if self.adviser is None else jax.tree.map(jnp.asarray, self.adviser.init)
        empty = jnp.zeros((1, 1))
        blank = Memory(jnp.int32(0), seen, empty, empty, empty, own, adviser, jnp.zeros(size))
        plain = jax.eval_shape(lambda: self.look(blank, self._obs)[2])
        zeros = jnp.zeros(plain.shape)
        return blank._replace(last=zeros, highest=zeros - jnp.inf, since=jnp.full((self.places, self.labels), LONG_AGO))

    @property
    def _obs(self) -> Any:
        shapes = jax.eval_shape(self.env.reset, jax.random.key(0), self.env.params)[1].obs
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    @property
    def plain(self) -> int:
        """The number of plain inputs; the last is the time."""
        return self.first.last.shape[1] + 1

    @property
    def inputs(self) -> int:
        """The number of all inputs: plain ones, changes, shares of the highest, ranks, and steps since each label."""
        known = self.plain - 1
        return self.plain + known * (3 if self.places > 2 else 2) + self.labels

    def read(self, memory: Memory, obs: Any, key: jax.Array) -> tuple[Memory, jax.Array]:
        """Return the memory, and all inputs, float32 (places, inputs)."""
        if self.adviser is not None:
            adviser, action = self.adviser.act(memory.adviser, obs, key)
            memory = memory._replace(adviser=adviser, advice=self.mark(action))
        seen, own, plain = self.look(memory, obs)
        highest = jnp.maximum(memory.highest, plain)
        fresh = memory.now == 0
        share = plain / jnp.maximum(jnp.abs(highest), 1e-6)
        change = jnp.where(fresh, 0.0, plain - memory.last)
        time = jnp.full((self.places, 1), memory.now / self.steps, jnp.float32)
        ranks = [(plain[1:, None] > plain[None, 1:]).mean(1)] if self.places > 2 else []
        ranks = [jnp.concatenate([jnp.zeros((1, plain.shape[1])), rank]) for rank in ranks]
        after = memory._replace(now=memory.now + 1, seen=seen, own=own, last=plain, highest=highest)
        return after, jnp.concatenate([plain, time, change, share, *ranks, memory.since], 1)

    def find_levels(self, inputs: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the quantile of each of some inputs at a share of 0 to 1."""
        at = np.clip(shares, 0, 1) * (QUANTILES - 1)
        low = np.minimum(at.astype(int), QUANTILES - 2)
        table = np.asarray(self.scale)
        return table[inputs, low] + (at - low) * (table[inputs, low + 1] - table[inputs, low])

    def policy(self, form: Any, numbers: Any) -> Policy:
        """Return the policy of a form with some numbers."""
        return Policy(self.first, Partial(_Acts(self, form), form.decode(numbers)), Partial(_Learns(self)))

    def absorb(self, memory: Memory, last: Timestep) -> Memory:
        """Return the memory of the player and its adviser after a step."""
        if self.adviser is not None:
            memory = memory._replace(adviser=self.adviser.learn(memory.adviser, last))
        return self.learn(memory, last)

    def advised_by(self, adviser: Policy) -> Player:
        """Return this player with an adviser."""
        return replace(self, adviser=adviser.traced())

    def scaled_by(self, scale: np.ndarray) -> Player:
        """Return this player with measured quantiles."""
        return replace(self, scale=scale)

    def note(self, memory: Memory, chosen: jax.Array) -> Memory:
        """Return the memory after some labels were chosen, bool (places, labels)."""
        return memory._replace(since=jnp.where(chosen, 0.0, jnp.minimum(memory.since + 1, LONG_AGO)))


@dataclass(frozen=True)
class _Acts:
    player: Player
    form: Any

    def __call__(self, numbers: Any, memory: Memory, obs: Any, key: jax.Array) -> tuple[Memory, Any]:
        memory, inputs = self.player.read(memory, obs, key)
        return self.player.decide(memory, self.form(numbers, inputs, memory), key)


@dataclass(frozen=True)
class _Learns:
    player: Player

    def __call__(self, memory: Memory, last: Timestep) -> Memory:
        return self.player.absorb(memory, last)
