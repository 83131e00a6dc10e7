"""Neighbouring farms with the same weather and a shared water quota for the season (a common-pool resource).

`gym.pettingzoo_env.ParallelEnv` assigns each farm to an agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from jax import Array

from harvestgym.core.checks import check_fields
from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import mismatch, require
from harvestgym.core.view.scene import Scene, join_scenes
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.view import recorder
from harvestgym.farm.view import scene as of_a_farm

WATER_AMOUNT = "amount#L"
"""The order parameter that gives the amount of water used."""


class SharedWaterState(NamedTuple):
    """The state of each farm, with a leading farm axis, and the litres left in the quota."""

    inner: Any
    left: Array


class SharedWaterParams(NamedTuple):
    """The parameters of each farm, with a leading farm axis, and the litres available for the season."""

    farms: Any
    quota: Any


@dataclass(frozen=True, repr=False)
class SharedWater(Env[SharedWaterState, SharedWaterParams]):
    """Farms of equal structure, with one order a day each, that share a water quota.

    An action is one integer per farm; an observation (farms, numbers) holds each farm's observation and the remaining
    fraction of the quota. Farms receive water in the order of a queue, which rotates by one place each day. An order
    for more water than is left is refused, along with all water orders after it. The reward is the sum over the farms;
    `info["own"]` has each farm's reward. The episode ends when the last farm's episode ends.

    Attributes:
        models: the farms.
        quota: litres available for the season.
        shared_reward: whether each farm receives the mean reward.
    """

    step_unit: ClassVar[str] = "days"

    models: tuple[FarmModel, ...]
    quota: float = field(compare=False)
    shared_reward: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if len(set(self.models)) != 1:
            raise mismatch("farms", "farms with the same structure", f"{len(set(self.models))} structures")
        if self.env.schedule != 1 or self.env.asks:
            got = "mode ao" if self.env.asks else f"up to {self.env.schedule} orders"
            raise mismatch("shared water", "mode po or fo and one order a day", got)
        require(self.quota > 0, "quota", "a positive number of litres", self.quota)

    @property
    def env(self) -> FarmModel:
        """The structure of each farm."""
        return self.models[0]

    @property
    def farms(self) -> int:
        """The number of farms."""
        return len(self.models)

    @cached_property
    def sets(self) -> Any:
        """The parameters of each farm, with a leading farm axis."""
        return jax.tree.map(lambda *leaves: np.stack(leaves), *(model.params for model in self.models))

    @property
    def summary(self) -> str:
        """The farms and the shared quota."""
        return f"{self.farms} farms, {self.quota:g} L; each {self.env.summary}"

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the farms."""
        return tuple(f"farm_{i}" for i in range(self.farms))

    @property
    def params(self) -> SharedWaterParams:
        return SharedWaterParams(self.sets, np.float32(self.quota))

    @property
    def own_spaces(self) -> tuple[spaces.Box, spaces.Discrete]:
        """The observation and action spaces of one farm."""
        inside: Any = self.env.observation_space
        low, high = np.append(inside.low, np.float32(0)), np.append(inside.high, np.float32(1))
        return spaces.Box(low, high, dtype=np.float32), spaces.Discrete(self.env.actions.size)

    def part(self, obs: Any, farm: int) -> Any:
        """Return the observation of a farm."""
        return obs[farm].copy()

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return batch_space(self.own_spaces[0], self.farms)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return batch_space(self.own_spaces[1], self.farms)

    def reset(self, key: Array, params: Any = None) -> tuple[SharedWaterState, Timestep]:
        params = self.given(params)
        inner, first = jax.vmap(self.env.reset, (None, 0))(key, params.farms)
        state = SharedWaterState(inner, jnp.float32(params.quota))
        return state, self._together(state, first, jnp.zeros(self.farms, bool), params)

    def step(self, key: Array, state: SharedWaterState, action: Any, params: Any = None) -> tuple[Any, Timestep]:
        params = self.given(params)
        over = jax.vmap(self.env.ended)(state.inner, params.farms)
        wanted = jnp.where(over, 0, action)
        litres = self.env.actions.parameter(WATER_AMOUNT, self.env.orders(wanted))
        granted = self._grant(litres, state.left, state.inner.day[0])
        orders = jnp.where(granted, wanted, 0)
        inner, shown = jax.vmap(self.env.step, (None, 0, 0, 0))(key, state.inner, orders, params.farms)
        used = jnp.where(granted & shown.info["accepted"][:, 0], litres, 0.0).sum()
        after = SharedWaterState(inner, jnp.maximum(state.left - used, 0.0))
        return after, self._together(after, shown, over, params)

    def _grant(self, litres: Array, left: Array, day: Array) -> Array:
        """Return which farms' orders are granted, bool (farms,)."""
        rank = (jnp.arange(self.farms, dtype=jnp.int32) - day) % self.farms
        taken = jnp.sum(jnp.where(rank[:, None] >= rank, litres, 0.0), axis=1)
        return (taken <= left) | (litres == 0)

    def _together(self, state: SharedWaterState, each: Timestep, over: Array, params: Any) -> Timestep:
        """Return the joint step of all farms; farms whose episode had already ended receive no reward."""
        share = jnp.full((self.farms, 1), state.left / params.quota, jnp.float32)
        reward = jnp.where(over, 0.0, each.reward)
        ended = each.terminated | each.truncated
        own = {
            "reward": jnp.full(self.farms, reward.mean()) if self.shared_reward else reward,
            "terminated": each.terminated,
            "truncated": each.truncated & ~each.terminated,
            "own reward": reward,
            "water left#L": jnp.full(self.farms, state.left),
        } | {name: cost for name, cost in each.info.items() if name.startswith("cost")}
        truncated = ended.all() & each.truncated.any()
        obs = jnp.concatenate([each.obs, share], -1)
        return Timestep(obs, reward.sum(), ended.all() & ~truncated, truncated, {"own": own})


def record(env: Any, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """Return the arrays to record for a step, as from `recorder.record` but with a leading farm axis."""

    def keep(state: Any, action: Any, params: Any) -> dict[str, Any]:
        return recorder.record(env.env, state, action, timestep._replace(info=env.env.info(state, params)), params)

    own = timestep.info["own"]
    kept = jax.vmap(keep)(state.inner, action, params.farms)
    return kept | {"reward": own["reward"], "water left#L": own["water left#L"]}


def scene(env: Any, record: Record, step: int) -> Scene:
    """Draw the farms after `step` steps of a record."""
    past = {name: np.asarray(values)[: step + 1] for name, values in record.items()}
    records = [{name: values[:, i] for name, values in past.items()} for i in range(env.farms)]
    drawn = zip(env.agents, env.models, records, strict=True)
    each = {agent: of_a_farm.scene(model, record, step) for agent, model, record in drawn}
    left = float(past["water left#L"][-1, 0])
    title = f"{next(iter(each.values())).title}; {left:.0f} L of water left for all"
    return join_scenes(title, each, past["reward"])
