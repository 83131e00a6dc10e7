"""Comparison of candidates: many policies of one structure in the same episodes, in one batch on the device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.episode import Loop, run_to_end, start_batch, step_with_advance
from harvestgym.core.policy import Policy


def compute_returns(
    env: Env[Any, Any], policies: Sequence[Policy], keys: jax.Array, max_steps: int, params: Any = None
) -> np.ndarray:
    """Return the return of each policy in the episode of each key, all in one batch on the device.

    Args:
        env: the environment.
        policies: policies of one structure, such as those of a `RuleFamily`.
        keys: one per episode; all policies meet the same episodes.
        max_steps: length of the longest episode.
        params: the environment's own by default.

    Returns:
        float32 (policies, episodes).
    """
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *[policy.traced() for policy in policies])
    params = env.params if params is None else params
    return np.asarray(_run_policies(env, len(policies), max_steps, stacked, keys, params))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run_policies(
    env: Env[Any, Any], number: int, max_steps: int, policies: Policy, keys: jax.Array, params: Any
) -> jax.Array:
    episodes = len(keys)
    each = jax.tree.map(lambda leaf: jnp.repeat(leaf, episodes, axis=0), policies)
    run, first, act_keys = start_batch(env, jnp.tile(keys, number), params)

    def act(carry: Any, obs: Any, now: jax.Array) -> Any:
        one = lambda policy, memory, seen, key: policy.act(memory, seen, jax.random.fold_in(key, now))  # noqa: E731
        return jax.vmap(one)(each, carry, obs, act_keys)

    start, step = Loop(run, first.obs, each.init), step_with_advance(env, params)
    zero = jnp.zeros(run.over.shape)
    _, returns = run_to_end(act, step, start, max_steps, zero, lambda total, _, last, __: total + last.reward)
    return returns.reshape(number, episodes)
