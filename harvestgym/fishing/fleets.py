"""Several fleets on one stock: the commons problem, as a functional model and as a PettingZoo parallel env."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from pettingzoo import ParallelEnv

from harvestgym.core.autoreset import RunState, advance, start_episode
from harvestgym.core.checkpoint import from_arrays, to_arrays
from harvestgym.core.errors import ConfigError

from .growth import Law
from .model import FishingModel, FishingParams


@dataclass(frozen=True)
class CommonsModel(FishingModel):
    """A single stock fished by `units.targets` fleets, each with a quota of its own.

    When they ask for more than there is, all get the same part of what they asked for.
    """

    def harvest(
        self, law: Law, stock: jax.Array, action: Any, keep: jax.Array | None, params: FishingParams
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        quotas = self.quota(law, stock, action, params)
        if keep is not None:
            quotas = params.quota_error(keep, quotas, quotas)
        there = law.available(stock)[0]
        catch = quotas * jnp.minimum(1.0, there / jnp.maximum(quotas.sum(), 1e-12))
        total = jnp.minimum(catch.sum(), there)
        return law.harvest(stock, total[None]), catch, catch / jnp.maximum(there, 1e-12)


def commons(env: FishingModel, fleets: int) -> CommonsModel:
    """The fishery `env` shared by several fleets; ConfigError unless it has one stock and one target."""
    if env.units.targets != 1 or env.params.law.stocks != 1:
        raise ConfigError(f"fleets want a fishery with one stock, found {env.params.law.stocks} stocks")
    if fleets < 1:
        raise ConfigError(f"fleets: wanted at least 1, found {fleets}")
    return CommonsModel(env.params, replace(env.units, targets=fleets), env.order)


class FleetsEnv(ParallelEnv[str, Any, Any]):
    """The commons for PettingZoo: agents `fleet_0`, `fleet_1`, ... who see the same stock; each is paid its own catch.

    An action outside its space, NaN included, or for the wrong agents, raises ConfigError and changes nothing.
    """

    metadata = {"name": "fishing_commons_v0", "render_modes": []}

    def __init__(self, env: FishingModel, fleets: int = 2) -> None:
        self.core = commons(env, fleets)
        self.possible_agents = [f"fleet_{i}" for i in range(fleets)]
        self.agents: list[str] = []
        one = replace(self.core.units, targets=1)
        self.observation_spaces = dict.fromkeys(self.possible_agents, one.observation_space)
        self.action_spaces = dict.fromkeys(self.possible_agents, one.action_space)
        self.render_mode = None
        self._rng = np.random.default_rng()
        self._lane: RunState | None = None

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """What an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """What an agent may do."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode; the same seed gives the same episode."""
        seed = int(self._rng.integers(2**32)) if seed is None else seed
        self._lane, first = _begin(self.core, np.uint32(seed % 2**32), self.core.params)
        self.agents = list(self.possible_agents)
        return self._each(np.asarray(first.obs)), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """A year: all fleets act at once; observations, rewards, terminations, truncations and infos by agent."""
        if self._lane is None or not self.agents:
            raise gymnasium.error.ResetNeeded("step: there is no episode going on; call reset() first")
        self._check(actions)
        rows = [np.asarray(actions[agent]).reshape(-1)[0] for agent in self.agents]
        lane, seen, worth = _step(self.core, self._lane, np.asarray(rows), self.core.params)
        self._lane, catch = lane, np.asarray(lane.state.catch)
        told = {agent: {"catch": float(catch[i])} for i, agent in enumerate(self.agents)}
        rewards = dict(zip(self.agents, np.asarray(worth).tolist(), strict=True))
        gone, late = (dict.fromkeys(self.agents, bool(flag)) for flag in (seen.terminated, seen.truncated))
        if bool(lane.over):
            self.agents = []
        return self._each(np.asarray(seen.obs)), rewards, gone, late, told

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        core = self.core
        alone = FishingModel(core.params, replace(core.units, targets=1), core.order)
        return {"env": alone, "fleets": len(self.possible_agents)}

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        lane = None if self._lane is None else to_arrays(self._lane)
        return {"lane": lane, "agents": self.agents, "rng": self._rng}

    def restore(self, kept: dict[str, Any]) -> FleetsEnv:
        """This fishery, where the one that was kept stood."""
        if kept["lane"] is not None:
            like = jax.eval_shape(partial(_begin, self.core), np.uint32(0), self.core.params)[0]
            self._lane = from_arrays(kept["lane"], like, "state")
        self.agents, self._rng = kept["agents"], kept["rng"]
        return self

    def _each(self, obs: np.ndarray) -> dict[str, Any]:
        return {agent: obs.copy() for agent in self.possible_agents}

    def _check(self, actions: dict[str, Any]) -> None:
        if sorted(actions) != sorted(self.agents):
            raise ConfigError(f"step: wanted an action for each of {self.agents}, found {sorted(actions)}")
        for agent, action in actions.items():
            space = self.action_spaces[agent]
            if not space.contains(action):
                raise ConfigError(f"step: {agent}: wanted an action in {space}, found {action!r}")


@partial(jax.jit, static_argnums=0)
def _begin(core: CommonsModel, seed: jax.Array, params: FishingParams) -> Any:
    return start_episode(core, jax.random.key(seed), params)


@partial(jax.jit, static_argnums=0)
def _step(core: CommonsModel, lane: RunState, action: Any, params: FishingParams) -> Any:
    lane, _, last = advance(core, lane, action, params)
    return lane, last, core.worth(lane.state, params)
