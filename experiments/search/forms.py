"""Forms of policy for the search: each turns numbers and inputs into scores for labels, or numbers for targets.

thresholds   rules in order, each with two conditions on observed variables; the first that holds decides
relative     the same on changes, shares of the highest value so far, ranks among plots, and days since each order
tree         a decision tree of depth three on all inputs
calendar     rules on the time and on the days since each order, for the value of observing
linear       one linear function of the plain inputs for each label
network      a network with one hidden layer
correction   a linear correction of the choices of the player's adviser

The numbers of the first four lie between 0 and 1, and a genetic algorithm searches them; CMA-ES searches the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.policy import Policy

from .player import Memory, Player

RULES = 10
"""Rules in a list."""

DEPTH = 3
"""Depth of the trees."""

HIDDEN = 12
"""Hidden units of the networks."""

REQUEST = 3
"""Numbers of a request: the steps between two, and its first and last time; it is off if the last comes first."""

RARELY = 30.0
"""Most steps between two requests."""

GAIN = 3.0
"""Largest slope of the ramps for continuous actions."""

IDLE = 0.35
"""Share of a tree's leaves that do nothing, before the search."""

LIMIT = 3.0
"""Largest size of a scaled input of a linear function."""

TRUST = 1.0
"""Score of the adviser's choices; the score of other labels is minus this."""


def _pick(share: np.ndarray, count: int) -> np.ndarray:
    """Return an index below `count` for each share of 0 to 1."""
    return np.clip((np.asarray(share) * count).astype(np.int32), 0, count - 1)


@dataclass(frozen=True, eq=False)
class Form:
    """A form of policy for one player.

    Attributes:
        player: the inputs and labels.
        inputs: the indices of the inputs that the form may use.
        step: the first step size of CMA-ES, for forms whose numbers have no bounds.
    """

    player: Player
    inputs: Sequence[int]

    step: ClassVar[float] = 0.0

    @property
    def size(self) -> int:
        """The number of numbers."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        """True if the numbers lie between 0 and 1."""
        return True

    def decode(self, numbers: np.ndarray) -> Any:
        """Return what the policy computes with, made from the numbers once."""
        raise NotImplementedError

    def __call__(self, decoded: Any, inputs: jax.Array, memory: Memory) -> jax.Array:
        """Return the scores (places, labels), or the numbers (targets,)."""
        raise NotImplementedError


class _Conditions(Form):
    """The base of lists of rules and trees: levels of inputs, outcomes and requests."""

    @cached_property
    def _asks(self) -> np.ndarray:
        """The labels that are requests."""
        return np.flatnonzero(self.player.requests)

    @cached_property
    def _orders(self) -> np.ndarray:
        """The labels that are not requests, and last a number that stands for no label."""
        return np.append(np.setdiff1d(np.arange(self.player.labels), self._asks), self.player.labels)

    @property
    def _outcome(self) -> int:
        """The number of numbers of an outcome: a label and its priority, or a ramp for each target."""
        return 4 * self.player.targets or 2

    def _decode_conditions(self, which: np.ndarray, level: np.ndarray) -> dict[str, Any]:
        inputs = np.asarray(self.inputs)[_pick(which, len(self.inputs))]
        return {"input": inputs, "level": np.float32(self.player.find_levels(inputs, level))}

    def _decode_outcomes(self, numbers: np.ndarray) -> dict[str, Any]:
        """Return the outcomes, and one more: to do nothing, or, for continuous actions, the last one again."""
        player = self.player
        if player.targets:
            ramps = np.concatenate([numbers, numbers[-1:]]).reshape(-1, player.targets, 4)
            at = _pick(ramps[..., 0], player.plain - 1)
            level = np.float32(player.find_levels(at, ramps[..., 1]))
            base = np.float32(2 * np.maximum(ramps[..., 3] - 0.5, 0.0))
            return {"at": at, "level": level, "gain": np.float32(GAIN * ramps[..., 2]), "base": base}
        label = self._orders[np.append(_pick(numbers[:, 0], len(self._orders) - 1), -1)]
        return {"label": label.astype(np.int32), "priority": np.append(numbers[:, 1], 0.0).astype(np.float32)}

    def _conclude(self, which: jax.Array, outcomes: dict[str, Any], inputs: jax.Array, rank: jax.Array) -> jax.Array:
        """Return scores or numbers for the outcome of each place, (places,)."""
        if self.player.targets:
            at, level, gain, base = (outcomes[name][which[0]] for name in ("at", "level", "gain", "base"))
            return gain * (inputs[0, at] - level) + base
        label, score = outcomes["label"][which], rank[which] + outcomes["priority"][which] / 2
        return jnp.where(jnp.arange(self.player.labels) == label[:, None], score[:, None], -1.0)

    def _ask(self, numbers: jax.Array, scores: jax.Array, memory: Memory) -> jax.Array:
        """Return scores in which each request is positive if it is due."""
        if not len(self._asks):
            return scores
        every, first, last = numbers.reshape(-1, REQUEST).T
        now = memory.now / self.player.steps
        due = memory.since[:, self._asks] >= RARELY * every
        wanted = due & (now >= first) & (now <= last)
        return scores.at[:, self._asks].set(jnp.where(wanted, 1.0, -1.0))


@dataclass(frozen=True, eq=False)
class RuleList(_Conditions):
    """Rules in order, each with two conditions; the first that holds decides."""

    @property
    def size(self) -> int:
        return RULES * (6 + self._outcome) + REQUEST * len(self._asks)

    def decode(self, numbers: np.ndarray) -> Any:
        rules = np.asarray(numbers)[: self.size - REQUEST * len(self._asks)].reshape(RULES, -1)
        sign = rules[:, 4:6]
        kind = np.where(sign < 0.4, -1, np.where(sign < 0.8, 1, 0)).astype(np.int32)  # below, above, always
        conditions = self._decode_conditions(rules[:, :2], rules[:, 2:4]) | {"kind": kind}
        asks = np.asarray(numbers, np.float32)[RULES * rules.shape[1] :]
        return {"conditions": conditions, "outcomes": self._decode_outcomes(rules[:, 6:]), "asks": asks}

    def __call__(self, decoded: Any, inputs: jax.Array, memory: Memory) -> jax.Array:
        given = decoded["conditions"]
        above = inputs[:, given["input"]] > given["level"]
        holds = jnp.where(given["kind"] == 0, True, above == (given["kind"] > 0)).all(-1)  # (places, rules)
        rank = jnp.append(jnp.arange(RULES, 0, -1.0), 0.0)
        which = jnp.where(holds.any(1), holds.argmax(1), RULES - bool(self.player.targets))
        if self.player.must_choose:
            return jnp.where(holds.any(1), rank[which], 0.0)[:, None]
        return self._ask(decoded["asks"], self._conclude(which, decoded["outcomes"], inputs, rank), memory)


@dataclass(frozen=True, eq=False)
class Tree(_Conditions):
    """A decision tree of depth three."""

    @property
    def size(self) -> int:
        nodes = 2**DEPTH - 1
        return 2 * nodes + (nodes + 1) * self._outcome + REQUEST * len(self._asks)

    def decode(self, numbers: np.ndarray) -> Any:
        numbers, nodes = np.asarray(numbers), 2**DEPTH - 1
        asks = len(numbers) - REQUEST * len(self._asks)
        leaves = numbers[2 * nodes : asks].reshape(nodes + 1, -1)
        idle = np.zeros(nodes + 1, bool) if self.player.targets else leaves[:, 1] < IDLE
        conditions = self._decode_conditions(numbers[:nodes], numbers[nodes : 2 * nodes])
        return {
            "conditions": conditions,
            "outcomes": self._decode_outcomes(leaves),
            "leaf": np.where(idle, nodes + 1, np.arange(nodes + 1)).astype(np.int32),
            "value": np.float32(leaves[:, 0]),
            "asks": np.float32(numbers[asks:]),
        }

    def __call__(self, decoded: Any, inputs: jax.Array, memory: Memory) -> jax.Array:
        nodes = 2**DEPTH - 1
        right = inputs[:, decoded["conditions"]["input"]] > decoded["conditions"]["level"]
        at = jnp.zeros(len(inputs), jnp.int32)
        for _ in range(DEPTH):
            at = 2 * at + 1 + jnp.take_along_axis(right, at[:, None], 1)[:, 0].astype(jnp.int32)
        if self.player.must_choose:
            return decoded["value"][at - nodes][:, None]
        which = decoded["leaf"][at - nodes]
        scores = self._conclude(which, decoded["outcomes"], inputs, jnp.ones(nodes + 2))
        return self._ask(decoded["asks"], scores, memory)


@dataclass(frozen=True, eq=False)
class Linear(Form):
    """A linear function of the inputs for each label or target; a label needs a score above 0."""

    step: ClassVar[float] = 0.5

    @property
    def bounded(self) -> bool:
        return False

    @property
    def _outputs(self) -> int:
        return self.player.targets or self.player.labels

    @property
    def size(self) -> int:
        return (len(self.inputs) + 1) * self._outputs

    def decode(self, numbers: np.ndarray) -> Any:
        return np.asarray(numbers, np.float32)

    def __call__(self, decoded: Any, inputs: jax.Array, memory: Memory) -> jax.Array:
        return self._offset(self._apply(decoded, inputs), memory)

    def _apply(self, numbers: jax.Array, inputs: jax.Array) -> jax.Array:
        weights = numbers.reshape(-1, self._outputs)
        return self._scale(inputs) @ weights[:-1] + weights[-1]

    def _scale(self, inputs: jax.Array) -> jax.Array:
        """Return inputs scaled by their median and range; those of a fleet are in the unit of its actions."""
        chosen = np.asarray(self.inputs)
        if self.player.targets:
            return inputs[:, chosen]
        table = np.asarray(self.player.scale)[chosen]
        middle, tenth = table[:, table.shape[1] // 2], table.shape[1] // 10
        spread = np.maximum(table[:, -1 - tenth] - table[:, tenth], 0.1 * (table[:, -1] - table[:, 0]))
        return jnp.clip(2 * (inputs[:, chosen] - middle) / np.maximum(spread, 1e-6), -LIMIT, LIMIT)

    def _offset(self, output: jax.Array, memory: Memory) -> jax.Array:
        if self.player.targets:
            return output[0]
        return output if self.player.must_choose else output - TRUST


@dataclass(frozen=True, eq=False)
class Network(Linear):
    """A network with one hidden layer."""

    @property
    def size(self) -> int:
        return (len(self.inputs) + 1) * HIDDEN + (HIDDEN + 1) * self._outputs

    def _apply(self, numbers: jax.Array, inputs: jax.Array) -> jax.Array:
        split = (len(self.inputs) + 1) * HIDDEN
        first, second = numbers[:split].reshape(-1, HIDDEN), numbers[split:].reshape(-1, self._outputs)
        hidden = jnp.tanh(self._scale(inputs) @ first[:-1] + first[-1])
        return hidden @ second[:-1] + second[-1]


@dataclass(frozen=True, eq=False)
class Correction(Linear):
    """A linear correction of the adviser's choices; without any weights, it acts like the adviser."""

    step: ClassVar[float] = 0.05

    def _offset(self, output: jax.Array, memory: Memory) -> jax.Array:
        if self.player.targets:
            return memory.advice + output[0]
        return output + TRUST * (2 * memory.advice - 1)


def make_forms(player: Player, varying: Sequence[int]) -> dict[str, Form]:
    """Return the forms by name; `varying` are the inputs that vary between steps."""
    plain = [i for i in varying if i < player.plain]
    relative = [i for i in varying if i >= player.plain - 1] or plain
    clock = [i for i in varying if i == player.plain - 1 or i >= player.inputs - player.labels]
    forms: dict[str, Form] = {
        "thresholds": RuleList(player, plain),
        "relative": RuleList(player, relative),
        "tree": Tree(player, list(varying)),
        "calendar": RuleList(player, clock),
        "linear": Linear(player, plain),
        "network": Network(player, plain),
    }
    return forms if player.adviser is None else {"correction": Correction(player, plain)}


def restore_policy(player: Player, name: str, arrays: Mapping[str, np.ndarray]) -> Policy:
    """Return the policy of a form from the arrays of a search: its numbers, the player's scale, the varying inputs."""
    form = make_forms(player.scaled_by(arrays["scale"]), arrays["varying"].tolist())[name]
    return form.player.policy(form, arrays["numbers"])
