"""The commons problem, several fleets on one stock, as a functional model and as a PettingZoo parallel environment."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from pettingzoo import ParallelEnv
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.gym.env import GymEnv

from .growth import GrowthLaw
from .model import FishingModel, FishingParams

FleetCount = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, repr=False)
class CommonsModel(FishingModel):
    """A single stock fished by `units.targets` fleets, each with its own quota.

    When they ask for more than there is, all get the same part of what they asked for.
    """

    def harvest(
        self, law: GrowthLaw, stock: jax.Array, action: Any, keep: jax.Array | None, params: FishingParams
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        quotas = self.quota(law, stock, action, params)
        if keep is not None:
            quotas = params.quota_error(keep, quotas, quotas)
        there = law.available(stock)[0]
        catch = quotas * jnp.minimum(1.0, there / jnp.maximum(quotas.sum(), 1e-12))
        total = jnp.minimum(catch.sum(), there)
        return law.harvest(stock, total[None]), catch, catch / jnp.maximum(there, 1e-12)


_worth = jax.jit(CommonsModel.worth, static_argnums=0)


@check_arguments
def share_stock(env: FishingModel, fleets: FleetCount) -> CommonsModel:
    """Make the fishery `env` shared by several fleets; ConfigError unless it has one stock and one target."""
    if env.units.targets != 1 or env.params.law.stocks != 1:
        raise ConfigError(f"fleets: expected a fishery with one stock, got {env.params.law.stocks} stocks")
    return CommonsModel(env.params, replace(env.units, targets=fleets), env.order, env.shows_year)


class FleetsEnv(ParallelEnv[str, Any, Any]):
    """PettingZoo environment of the commons: agents `fleet_0`, ... see the same stock; each is paid its own catch.

    An action outside its space, NaN included, or for the wrong agents, raises ConfigError and changes nothing.
    """

    metadata = {"name": "fishing_commons_v0", "render_modes": []}

    @check_arguments
    def __init__(self, env: FishingModel, fleets: FleetCount = 2) -> None:
        self.core = share_stock(env, fleets)
        self.possible_agents = [f"fleet_{i}" for i in range(fleets)]
        self.agents: list[str] = []
        one = replace(self.core.units, targets=1)
        self.observation_spaces = dict.fromkeys(self.possible_agents, one.observation_space)
        self.action_spaces = dict.fromkeys(self.possible_agents, one.action_space)
        self.render_mode = None
        self._joint = GymEnv(self.core)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.possible_agents)} fleets, {self.core!r}>"

    def __copy__(self) -> FleetsEnv:
        """Return a copy in mid-episode that steps by itself."""
        return deepcopy(self)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode; the same seed gives the same episode."""
        obs, _ = self._joint.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return self._by_agent([obs.copy() for _ in self.agents]), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Fish for a year, all fleets at once: observations, rewards, terminations, truncations, infos by agent."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("step: expected an episode, got none; try reset() first")
        self._check(actions)
        joint = np.asarray([np.asarray(actions[agent]).reshape(-1)[0] for agent in self.agents])
        obs, _, *ended, _ = self._joint.step(joint if len(joint) > 1 or not self.core.units.levels else joint[0])
        state, fleets = self._joint.run_state.state, self.possible_agents
        infos = self._by_agent([{"catch": float(catch)} for catch in np.asarray(state.catch)])
        rewards = self._by_agent(np.asarray(_worth(self.core, state, self.core.params)).tolist())
        terminated, truncated = (dict.fromkeys(fleets, flag) for flag in ended)
        self.agents = [] if any(ended) else self.agents
        return self._by_agent([obs.copy() for _ in fleets]), rewards, terminated, truncated, infos

    def recipe(self) -> dict[str, Any]:
        """Describe how it is made, for `core.checkpoint`."""
        core = self.core
        alone = FishingModel(core.params, replace(core.units, targets=1), core.order, core.shows_year)
        return {"env": alone, "fleets": len(self.possible_agents)}

    def kept(self) -> dict[str, Any]:
        """Return what changes, for `core.checkpoint`."""
        return {"joint": self._joint.kept(), "agents": self.agents}

    def restore(self, kept: dict[str, Any]) -> FleetsEnv:
        """Go on where the environment that was kept stood."""
        self._joint.restore(kept["joint"])
        self.agents = kept["agents"]
        return self

    def _by_agent(self, values: list[Any]) -> dict[str, Any]:
        return dict(zip(self.possible_agents, values, strict=True))

    def _check(self, actions: dict[str, Any]) -> None:
        if sorted(actions) != sorted(self.agents):
            raise ConfigError(f"step: expected an action for each of {self.agents}, got {sorted(actions)}")
        for agent, action in actions.items():
            space = self.action_spaces[agent]
            if not space.contains(action):
                raise ConfigError(f"step: {agent}: expected an action in {space}, got {action!r}")
