"""The commons problem: several fleets fish one stock; `gym.pettingzoo_env.ParallelEnv` makes each fleet an agent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import gymnasium
import jax.numpy as jnp
from jax import Array
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import mismatch, require

from .growth import GrowthLaw
from .model import FishingModel, FishingParams, FishingState, copy_fields, find_effort


@dataclass(frozen=True, repr=False)
class CommonsModel(FishingModel):
    """A single stock fished by `units.targets` fleets, each with its own quota and paid for its own catch.

    If the total quota exceeds the stock, every fleet catches the same fraction of its quota. The effort that one fleet
    would need for the total catch is shared in proportion to the catches, so fleets also thin out the stock for each
    other. The value of the stock at truncation is shared equally.
    """

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the fleets."""
        return tuple(f"fleet_{i}" for i in range(self.units.targets))

    @property
    def own_spaces(self) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
        """The observation and action spaces of one fleet."""
        one = replace(self.units, targets=1)
        return one.observation_space, one.action_space

    def part(self, obs: Any, fleet: int) -> Any:
        """Return the observation of a fleet; all fleets observe the stock."""
        return obs.copy()

    def info(self, state: FishingState, params: FishingParams) -> dict[str, Any]:
        own = {"reward": self.worth(state, params), "catch": state.catch}
        return super().info(state, params) | {"own": own}

    def effort(self, rate: Array) -> Array:
        total = rate.sum(-1, keepdims=True)
        return find_effort(total) * rate / jnp.maximum(total, 1e-12)

    def harvest(self, law: GrowthLaw, stock: Array, quota: Array) -> tuple[Array, Array, Array]:
        there = law.available(stock)[0]
        catch = quota * jnp.minimum(1.0, there / jnp.maximum(quota.sum(), 1e-12))
        total = jnp.minimum(catch.sum(), there)
        return law.harvest(stock, total[None]), catch, catch / jnp.maximum(there, 1e-12)


@check_arguments
def share_stock(env: FishingModel, fleets: Annotated[int, Field(ge=1, le=10_000)] = 2) -> CommonsModel:
    """Share the fishery `env` between several fleets; raise ConfigError unless it has one stock and one target."""
    require(env.problem == "harvest", "fleets", "a fishery with a harvest", f"problem {env.problem!r}")
    if env.units.targets != 1 or env.params.law.stocks != 1:
        raise mismatch("fleets", "a fishery with one stock", f"{env.params.law.stocks} stocks")
    return CommonsModel(**copy_fields(env, units=replace(env.units, targets=fleets)))
