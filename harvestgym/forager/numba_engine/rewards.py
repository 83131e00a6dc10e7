"""What collisions pay on the host engine: a law at a moment, noise, and what is paid later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.kinds import Kind
from harvestgym.forager.reward_context import HostMoment
from harvestgym.forager.world import World

from .checks import finite


def worth(kind: Kind, now: HostMoment) -> float:
    """The reward of a collision at a moment; ConfigError if it is not finite."""
    return finite(float(kind.reward(now)) + kind.noise * now.noise(), kind.name)


class Purses:
    """The rewards of many agents: constants from a table, laws one by one, the rest owed until it is due."""

    def __init__(self, world: World, number: int) -> None:
        kinds = world.kinds
        mine = [kind.name for kind in kinds if kind.python]
        if mine:
            raise ConfigError(f"{mine[0]!r} has methods of its own, which ForagerEnv alone can call; use a Kind")
        self._kinds = kinds
        self._constant = np.array([*(kind.constant or 0.0 for kind in kinds), 0.0])
        self._drifts = np.array([*(kind.constant is None for kind in kinds), False])
        self._later = np.array([*(kind.pays_after for kind in kinds), 0])
        self.owed = np.zeros((number, self._later.max() + 1))

    def empty(self, lanes: np.ndarray | slice) -> None:
        """Owe nothing any more to some agents."""
        self.owed[lanes] = 0.0

    def pay(self, hits: np.ndarray, clocks: np.ndarray, moment: Callable[[int, int], HostMoment]) -> np.ndarray:
        """float64 (agents,): what is paid now, to agents that met `hits` (-1 for nothing) at `clocks`.

        `moment(agent, kind)` is asked only where a kind's reward is not a constant.
        """
        rewards = self._constant[hits]
        for i in np.flatnonzero(self._drifts[hits]).tolist():
            rewards[i] = worth(self._kinds[hits[i]], moment(i, int(hits[i])))
        if self.owed.shape[1] == 1:
            return rewards
        everyone, n = np.arange(len(hits)), self.owed.shape[1]
        self.owed[everyone, (clocks + self._later[hits]) % n] += rewards
        paid = self.owed[everyone, clocks % n]
        self.owed[everyone, clocks % n] = 0.0
        return paid
