"""A custom environment in thirty lines of code, with a thousand episodes in one call, Gymnasium and PPO.

    pip install '.[train]'
    python examples/woodlot.py

A wood grows, dry years kill part of it, and each year a fraction of it is cut and sold. A wood that falls below a tenth
of the land's capacity is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from ppo import Settings, policy_of, train

from harvestgym.core.env import Env
from harvestgym.core.policy import constant_policy
from harvestgym.core.pytree import Pytree, par, var
from harvestgym.core.rollout import evaluate
from harvestgym.gym.env import GymEnv
from harvestgym.testing import check_env


class Params(Pytree):
    growth: jax.Array = par("growth#year-1", "growth of a small wood", low=0, high=1)
    drought: jax.Array = par("drought", "chance of a dry year, which kills a third", low=0, high=1)


class State(Pytree):
    wood: jax.Array = var("wood", "wood, as a share of the capacity", axes=(), high=1)
    sold: jax.Array = var("sold", "wood sold this year", axes=(), high=1)
    year: jax.Array = var("year", "years so far", axes=(), dtype="int", high=40)


@dataclass(frozen=True)
class Woodlot(Env[State, Params]):
    """Cut 0, 10, 20 or 30 % of a wood each year, for 40 years."""

    params = Params(growth=jnp.float32(0.4), drought=jnp.float32(0.1))
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def initial(self, key: jax.Array, params: Params) -> State:
        return State(wood=jax.random.uniform(key, minval=0.2, maxval=0.9), sold=jnp.float32(0), year=jnp.int32(0))

    def transition(self, key: jax.Array, state: State, action: Any, params: Params) -> State:
        sold = 0.1 * action * state.wood
        left = state.wood - sold
        grown = left + params.growth * left * (1 - left)
        dry = jax.random.bernoulli(key, params.drought)
        return State(wood=jnp.where(dry, 2 / 3 * grown, grown), sold=sold, year=state.year + 1)

    def observation(self, key: jax.Array, state: State, action: Any, params: Params) -> jax.Array:
        return jnp.stack([state.wood, state.year / 40])

    def reward(self, key: jax.Array, state: State, action: Any, after: State, params: Params) -> jax.Array:
        return after.sold

    def terminal(self, state: State, params: Params) -> jax.Array:
        return state.wood < 0.1

    def truncation(self, state: State, params: Params) -> jax.Array:
        return state.year >= 40


if __name__ == "__main__":
    env = Woodlot()
    check_env(env)  # tests the contract: for example, the same key gives the same episode

    key = jax.random.key(0)
    for share in range(4):
        sold = evaluate(env, constant_policy(jnp.int32(share)), key, 1000, 40).returns.mean()
        print(f"cut {10 * share} % each year: {sold:.2f}")
    dry = evaluate(env, constant_policy(jnp.int32(2)), key, 1000, 40, params=Params(growth=0.4, drought=0.3))
    print(f"cut 20 % where three of ten years are dry: {dry.returns.mean():.2f}")

    single = GymEnv(env)  # a gymnasium.Env
    single.reset(seed=0)
    print("a year in Gymnasium:", single.step(2)[:3])

    settings = Settings(num_envs=256, num_steps=40, updates=60, idle=0.0)
    agent, _ = train(env, settings, env.params, key)
    print(f"PPO: {evaluate(env, policy_of(env, settings, agent), key, 1000, 40).returns.mean():.2f}")
