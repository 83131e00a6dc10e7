"""The commons problem, several fleets on one stock, as a functional model and as a PettingZoo parallel environment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.gym.parallel_env import JointEnv, JointStep

from .growth import GrowthLaw
from .model import FishingModel, FishingParams

FleetCount = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, repr=False)
class CommonsModel(FishingModel):
    """A single stock fished by `units.targets` fleets, each with its own quota.

    If they ask for more than the stock, each gets the same fraction of its quota.
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


class FleetsEnv(JointEnv):
    """PettingZoo environment of the commons: agents `fleet_0`, ... observe the same stock; each earns its own catch."""

    metadata = {"name": "fishing_commons_v0", "render_modes": []}

    @check_arguments
    def __init__(self, env: FishingModel, fleets: FleetCount = 2) -> None:
        self.core = share_stock(env, fleets)
        one = replace(self.core.units, targets=1)
        self._set_agents([f"fleet_{i}" for i in range(fleets)], one.observation_space, one.action_space)
        self._join(self.core)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.possible_agents)} fleets, {self.core!r}>"

    def _begin(self, seed: int | None) -> tuple[list[Any], list[dict[str, Any]]]:
        obs, _ = self._joint.reset(seed=seed)
        return [obs.copy() for _ in self.possible_agents], [{} for _ in self.possible_agents]

    def _advance(self, actions: list[Any]) -> JointStep:
        """Fish for a year, all fleets at once."""
        joint = np.asarray([np.asarray(action).reshape(-1)[0] for action in actions])
        obs, _, *ended, _ = self._joint.step(joint if len(joint) > 1 or not self.core.units.levels else joint[0])
        state = self._joint.run_state.state
        infos = [{"catch": float(catch)} for catch in np.asarray(state.catch)]
        rewards = np.asarray(_worth(self.core, state, self.core.params)).tolist()
        terminated, truncated = ([flag] * len(rewards) for flag in ended)
        return JointStep([obs.copy() for _ in rewards], rewards, terminated, truncated, infos)

    def recipe(self) -> dict[str, Any]:
        """Return how to make the environment again, for `core.saving.checkpoint`."""
        core = self.core
        alone = FishingModel(core.params, replace(core.units, targets=1), core.order, core.shows_year)
        return {"env": alone, "fleets": len(self.possible_agents)}
