"""Inputs and actions of searched policies in each family: inputs for each place, and labels to choose from.

A *place* is a plot, the whole farm (place 0), a forager, or a fleet; a *label* is what can be done there, such as 40 L
of water, or a direction. A form (`forms.py`) turns the inputs of each place into a score for each label, or, for
fisheries, into a number for each target. The expert of an id is used only as an adviser, by the form `residual`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax.tree_util import Partial

from harvestgym.core.env import Env, Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate.run import horizon
from harvestgym.farm import MapFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.fishing.model import FishingModel

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


@dataclass(frozen=True, eq=False)
class FleetPlayer(Player):
    """A fleet that sees the observation, its slow average and its own last action, and knows the year."""

    @property
    def labels(self) -> int:
        return 1

    @property
    def targets(self) -> int:
        space: Any = self.env.action_space
        return int(np.prod(space.shape))

    def begin(self) -> tuple[Any, Any]:
        size = int(np.prod(self.env.observation_space.shape or ()))
        return jnp.zeros(size), (jnp.zeros(size), jnp.zeros(self.targets))

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        level = jnp.ravel(obs) + 1
        average, last = memory.own
        average = jnp.where(memory.now == 0, level, 0.8 * average + 0.2 * level)
        return level, (average, last), jnp.concatenate([level, average, last])[None]

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        space: Any = self.env.action_space
        value = jnp.clip(output, 0.0, 2.0)
        after = self.note(memory._replace(own=(memory.own[0], value)), jnp.zeros((1, 1), bool))
        return after, (value - 1).astype(jnp.float32).reshape(space.shape)

    def mark(self, action: Any) -> jax.Array:
        return jnp.ravel(action) + 1.0


REACH = (0.4, 0.8)
"""Weights of an object per step of distance, for near and far sums."""

LEARNING = 0.3
"""Share by which the estimated reward of a kind moves toward its last reward."""


@dataclass(frozen=True, eq=False)
class ForagerPlayer(Player):
    """A forager that sees, for each direction, how much of each kind lies there, and estimates the reward of each kind.

    Directions are the places: the same weights score each of the four steps. The estimate is a moving average of the
    rewards, except 0, after steps onto a kind.
    """

    @cached_property
    def kinds(self) -> int:
        """The number of kinds, including the outside if it is shown."""
        return int(self.env.observation_space.shape[-1])  # pyright: ignore[reportOptionalSubscript]

    @property
    def labels(self) -> int:
        return 1

    @property
    def places(self) -> int:
        return 4

    @property
    def must_choose(self) -> bool:
        return True

    def begin(self) -> tuple[Any, Any]:
        return jnp.zeros(0), (jnp.zeros(self.kinds), jnp.int32(0), jnp.zeros(4, jnp.int32), jnp.int32(-1))

    @cached_property
    def _fields(self) -> np.ndarray:
        """Weights of the cells for each direction and reach, (4, reaches, rows, columns)."""
        rows, columns, _ = self.env.observation_space.shape  # pyright: ignore[reportGeneralTypeIssues]
        y, x = np.mgrid[:rows, :columns]
        across, down = x - columns // 2, rows // 2 - y
        distance = np.abs(across) + np.abs(down)
        fields = []
        for dx, dy in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            toward = across * dx + down * dy
            ahead = (toward > 0) & (toward >= np.maximum(np.abs(across), np.abs(down)))
            one = (across == dx) & (down == dy)
            fields.append([one, *(ahead * reach**distance for reach in REACH)])
        return np.asarray(fields, np.float32)

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        worth, _, _, last = memory.own
        shown = jnp.asarray(obs, jnp.float32) / (1.0 if obs.dtype == bool else 255.0)
        amounts = jnp.einsum("drij,ijk->drk", self._fields, shown)
        next_cells = jnp.where(amounts[:, 0].any(-1), amounts[:, 0].argmax(-1) + 1, 0).astype(jnp.int32)
        value = amounts @ worth
        straight = (jnp.arange(4) == last).astype(jnp.float32)
        back = (jnp.arange(4) == (last + 2) % 4).astype(jnp.float32) * (last >= 0)
        rows = jnp.concatenate([amounts.reshape(4, -1), value, straight[:, None], back[:, None]], 1)
        return memory.seen, (worth, jnp.int32(0), next_cells, last), rows

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        score = output[:, 0] + 1e-3 * jax.random.uniform(key, (4,))
        action = jnp.argmax(score).astype(jnp.int32)
        worth, _, cells, _ = memory.own
        after = self.note(memory, (jnp.arange(4) == action)[:, None])
        return after._replace(own=(worth, cells[action], cells, action)), action

    def mark(self, action: Any) -> jax.Array:
        return (jnp.arange(4) == action)[:, None].astype(jnp.float32)

    def learn(self, memory: Memory, last: Timestep) -> Memory:
        worth, ahead, cells, action = memory.own
        met = (jnp.arange(self.kinds) == ahead - 1) & (last.reward != 0)
        return memory._replace(
            own=(jnp.where(met, worth + LEARNING * (last.reward - worth), worth), ahead, cells, action)
        )


def make_player(env: Env[Any, Any]) -> Player:
    """Return the player of an environment's family, before its inputs are measured."""
    inside = unwrapped(env)
    family = FarmPlayer if isinstance(inside, FarmModel) else FleetPlayer
    return (family if isinstance(inside, FarmModel | FishingModel) else ForagerPlayer)(env, horizon(env))
