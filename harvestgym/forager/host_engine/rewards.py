"""Rewards on the host: the reward of a collision, now or when it is due, and the expected reward of each region."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.host_engine.arrays import CLOCK, GENERATION, KEY_0, KEY_1, EpisodeArrays
from harvestgym.forager.kinds import Kind
from harvestgym.forager.reward_context import DrawCache, HostBatchContext, HostContext
from harvestgym.forager.reward_laws import BATCHED_LAWS, Constant
from harvestgym.forager.reward_payment import DelayedRewards
from harvestgym.forager.world import World

ExpectedReward = Callable[[int, int], Any]
"""The expected reward of a kind in a region now: a number, or float (episodes,)."""


def check_reward(reward: Any, name: str) -> float:
    """Return a reward as a float; ConfigError if it is not a finite number."""
    value = float(reward)
    if not math.isfinite(value):
        raise ConfigError(f"reward of {name!r}: expected a finite number, got {reward!r}")
    return value


def draw_reward(kind: Kind, now: HostContext) -> float:
    """Return the reward of a collision with a kind, noise included; ConfigError if it is not finite."""
    return check_reward(float(kind.reward(now)) + kind.noise * now.noise(), kind.name)


class CollisionRewards:
    """The rewards of a batch of agents: constants from a table, laws one by one, each paid when it is due."""

    def __init__(self, world: World, number: int) -> None:
        kinds = world.kinds
        python = [kind.name for kind in kinds if kind.python]
        if python:
            raise ConfigError(f"{python[0]!r}: expected a Kind, got methods in Python, which only ForagerEnv can call")
        self._kinds = kinds
        self._constant = np.array([*(kind.constant or 0.0 for kind in kinds), 0.0])
        self._varies = np.array([*(kind.constant is None for kind in kinds), False])
        self.delayed = DelayedRewards(kinds, number)

    def pay(self, hits: np.ndarray, clocks: np.ndarray, context: Callable[[int, int], HostContext]) -> np.ndarray:
        """float64 (agents,): what is paid now, to agents that met `hits` (-1 for nothing) at `clocks`.

        `context(agent, kind)` is called only where a kind's reward is not a constant.
        """
        rewards = self._constant[hits]
        for i in np.flatnonzero(self._varies[hits]).tolist():
            rewards[i] = draw_reward(self._kinds[hits[i]], context(i, int(hits[i])))
        return self.delayed.settle(hits, clocks, rewards)


# -- regions -------------------------------------------------------------------------------------------------


def region_values(world: World, expected: ExpectedReward) -> list[Any]:
    """Expected reward of the collectable objects per cell, now, as generated, for each region."""
    rows: list[Any] = []
    for r, region in enumerate(world.regions):
        value: Any = 0.0
        for i, count in region.layers:
            kind = world.kinds[i]
            if kind.collectable:
                value = value + np.float64(expected(i, r)) * kind.share * count / region.cells
        rows.append(value)
    return rows


def is_steady(world: World) -> bool:
    """Return whether no reward ever changes."""
    return all(isinstance(kind.reward, Constant) for kind in world.kinds)


class BatchRegionValues:
    """The values of the regions for many episodes of one world at one clock.

    Where no reward changes they are read from two tables. Otherwise the package's laws are evaluated for all episodes
    at once, and their draws are cached for as long as a generation lasts; any other law is called for each episode.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._cache: DrawCache = {}
        self._fixed = None
        if is_steady(world):
            values = np.array(region_values(world, lambda kind, _: world.kinds[kind].constant), np.float64)
            self._fixed = values, values.max() - values

    def report(self, batch: EpisodeArrays, region: np.ndarray) -> dict[str, np.ndarray]:
        """`biome_value` and `biome_regret`, float64 (episodes,), for agents that are in `region`."""
        if self._fixed is not None:
            value, regret = self._fixed[0][region], self._fixed[1][region]
        else:
            rows = region_values(self._world, lambda kind, r: self._expect(batch, kind, r))
            values = np.stack([np.broadcast_to(row, len(batch.head)) for row in rows])
            value = values[region, np.arange(len(region))]
            regret = values.max(0) - value
        return {"biome_value": value, "biome_regret": regret}

    def _expect(self, batch: EpisodeArrays, kind: int, region: int) -> Any:
        law, clock = self._world.kinds[kind].reward, int(batch.head[0, CLOCK])
        words, generations = batch.head[:, (KEY_0, KEY_1)], batch.regions[:, region, GENERATION]
        if type(law) in BATCHED_LAWS:
            return law(HostBatchContext(clock, words, (kind, region), generations, self._cache))
        each = zip(map(tuple, words.tolist()), generations.tolist(), strict=True)
        return np.array([float(law(HostContext(clock, key, kind, now))) for key, now in each])
