"""The scale of a player's inputs, measured on training seasons that are played at random or by an adviser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Timestep
from harvestgym.core.episode import episode_keys
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate

from .player import QUANTILES, Memory, Player

ROWS, STEPS = 48, 400
"""Seasons in which inputs are measured, and the most steps that are kept of each, evenly over the season."""

RATES = (0.02, 0.6)
"""Range of the probability with which a random player acts."""


FOLLOW = -1.0
"""Rate of a row that follows the adviser."""


class Log(NamedTuple):
    """The inputs of the steps so far, as the memory of a policy that `evaluate` reports."""

    rows: jax.Array
    at: jax.Array

    def report(self) -> dict[str, jax.Array]:
        """Return the inputs, (seasons, steps, places, inputs)."""
        return {"inputs": self.rows}


@dataclass(frozen=True, eq=False)
class _Logged:
    """A policy that acts at random, or follows its player's adviser, and logs the inputs."""

    player: Player

    def act(self, rate: jax.Array, carry: tuple[Memory, Log], obs: Any, key: jax.Array) -> tuple[Any, Any]:
        """Return the memory with one more row of inputs, and an action."""
        memory, log = carry
        memory, inputs = self.player.read(memory, obs, key)
        every = find_stride(self.player)
        kept = jnp.where(log.at % every == 0, log.at // every, len(log.rows))
        log = Log(log.rows.at[kept].set(inputs, mode="drop"), log.at + 1)
        output = self._wander(rate, inputs, key)
        if self.player.adviser is not None:
            output = jnp.where(rate == FOLLOW, memory.advice, output)
        memory, action = self.player.decide(memory, output, key)
        return (memory, log), action

    def learn(self, carry: tuple[Memory, Log], last: Timestep) -> tuple[Memory, Log]:
        """Return the memory after a step."""
        return self.player.absorb(carry[0], last), carry[1]

    def _wander(self, rate: jax.Array, inputs: jax.Array, key: jax.Array) -> jax.Array:
        player = self.player
        whether, which = jax.random.split(key)
        if player.targets:
            share = rate + 0.1 * jax.random.normal(which, (player.targets,))
            return share * jnp.resize(inputs[0], (player.targets,))
        scores = jnp.where(player.offered, jax.random.uniform(which, player.offered.shape), 0.0)
        acts, many = jax.random.uniform(whether, (2,))
        number = 1 + (many * player.orders).astype(jnp.int32)
        least = jnp.sort(scores.ravel())[-number]
        return jnp.where((player.must_choose | (acts < rate)) & (scores >= least), 1.0, -1.0)


def find_stride(player: Player) -> int:
    """Return the number of steps between two that are kept."""
    return -(-player.steps // STEPS)


def measure_player(player: Player, key: jax.Array) -> tuple[Player, list[int]]:
    """Return a player with the scale of its inputs, and the indices of the inputs that vary.

    The seasons are played at random, and, for a player with an adviser, by the adviser, too.
    """
    rates = jnp.geomspace(*RATES, ROWS)
    if player.adviser is not None:
        rates = jnp.where(jnp.arange(ROWS) % 2 == 0, rates, FOLLOW)
    rows = _collect(player, rates, key)
    table = np.quantile(rows, np.linspace(0, 1, QUANTILES), axis=0).T
    varying = [i for i, column in enumerate(table) if column[-1] - column[0] > 1e-6]
    table = table + 1e-5 * np.maximum(np.ptp(table, axis=1, keepdims=True), 1e-6) * np.arange(QUANTILES)
    return player.scaled_by(np.asarray(table, np.float32)), varying


def _collect(player: Player, rates: jax.Array, key: jax.Array) -> np.ndarray:
    """Return the inputs of all steps and places of some seasons, (rows, inputs)."""
    acting, every = _Logged(player), find_stride(player)
    steps = -(-player.steps // every)
    log = Log(jnp.zeros((steps, player.places, player.inputs)), jnp.int32(0))
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ROWS, *jnp.shape(leaf))), (player.first, log))
    policy = Policy(memory, Partial(acting.act, rates), Partial(acting.learn))
    whole = evaluate(player.env, Batched(policy), episode_keys(key, ROWS), ROWS, player.steps, counts=True)
    rows, length = np.asarray(whole.counts["inputs"]), np.asarray(whole.length)
    played = every * np.arange(steps) < length[:, None]
    return rows[played].reshape(-1, player.inputs)
