"""The episode loop: a policy acts, an environment steps, and the caller selects the data to keep from each step.

Rollouts, evaluations, recordings, demonstrations, calibration and planning run this loop. They differ in the policy,
the step function (`StepFunction`) and the data that they keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .autoreset import Batched, RunState, advance, select, start_episode
from .env import Env, Timestep
from .errors import check_seed
from .policy import Policy
from .random import key_for
from .wrappers import unwrapped, unwrapped_state

StepFunction = Callable[[Any, Any, Any], tuple[Any, Any, Any]]
"""`step(world, action, now) -> (world, obs, result)`; `obs` is the next observation, `result` usually a `Timestep`."""

AddFunction = Callable[[Any, Any, Any, Array], Any]
"""`add(total, action, result, now) -> total`, with the step added."""


class Loop(NamedTuple):
    """One environment, or a batch, between two steps.

    Attributes:
        world: the state that the `StepFunction` changes: a `RunState` or an environment's state.
        obs: the observation; None if no action depends on it.
        carry: the policy's memory.
    """

    world: Any
    obs: Any
    carry: Any


def take_step(policy: Policy, step: StepFunction, loop: Loop, now: Any) -> tuple[Loop, Any, Any]:
    """Act, step and learn once; return the next `Loop`, the action and the result of the step.

    The policy's `act` receives `now` instead of a key: the step number, or the random keys for the step.
    """
    carry, action = policy.act(loop.carry, loop.obs, now)
    world, obs, result = step(loop.world, action, now)
    return Loop(world, None if loop.obs is None else obs, policy.learn(carry, result)), action, result


def scan_steps(policy: Policy, step: StepFunction, start: Loop, times: Any, keep: Callable[..., Any]) -> Any:
    """Stack the results of `keep(loop, action, result)` over time; `loop` is the `Loop` after each step.

    `times` holds the value of `now` for each step: numbers, or random keys.
    """

    def one(loop: Loop, now: Any) -> tuple[Loop, Any]:
        loop, action, result = take_step(policy, step, loop, now)
        return loop, keep(loop, action, result)

    return jax.lax.scan(one, start, times)[1]


def run_to_end(
    policy: Policy, step: StepFunction, start: Loop, max_steps: int, total: Any, add: AddFunction
) -> tuple[Loop, Any]:
    """Step a batch of `RunState` until all episodes end or after `max_steps`; return the last `Loop` and the total.

    The rows of ended episodes no longer change.
    """

    def is_running(state: tuple[Array, Loop, Any]) -> Array:
        now, loop, _ = state
        return (now < max_steps) & ~jnp.all(loop.world.over)

    def one(state: tuple[Array, Loop, Any]) -> tuple[Array, Loop, Any]:
        now, loop, total = state
        after, action, result = take_step(policy, step, loop, now)
        kept = select(loop.world.over, (loop, total), (after, add(total, action, result, now)))
        return now + 1, *kept

    return jax.lax.while_loop(is_running, one, (jnp.int32(0), start, total))[1:]


def seed_key(seed: int) -> Array:
    """Return the random key for the episode of `reset(seed=seed)`; every tool uses it for its first episode."""
    return jax.random.key(np.uint32(check_seed(seed)))


def episode_keys(key: Array, number: int) -> Array:
    """Return the keys for `number` episodes, starting with `key` itself."""
    others = jax.vmap(lambda one: key_for(one, "world"))(jax.random.split(key, number))
    return jnp.concatenate([key[None], others[1:]])


def start_batch(env: Env[Any, Any], keys: Array, params: Any) -> tuple[RunState, Timestep, Array]:
    """Start a batch with one environment per key; return its `RunState`, first Timestep and policy keys."""
    return *start_episode(env, keys, params), make_policy_keys(keys)


def begin_batch(
    env: Env[Any, Any], policy: Policy | Batched, keys: Array, params: Any
) -> tuple[Policy, StepFunction, Loop, Timestep]:
    """Start a batch with one environment per key; return its policy, step function, loop and first Timestep."""
    run, first, act_keys = start_batch(env, keys, params)
    player = play_in_batch(policy, act_keys)
    return player, step_with_advance(env, params), Loop(run, first.obs, player.init), first


def make_policy_keys(keys: Array) -> Array:
    """Derive the policy keys for a batch from the keys of its environments."""
    return jax.vmap(lambda key: key_for(key, "policy"))(keys)


def play_in_batch(policy: Policy | Batched, keys: Array) -> Policy:
    """Make the policy of a batch from one policy, or from one per environment; `keys` has one key per environment."""
    each = policy.each if isinstance(policy, Batched) else policy
    axis = 0 if isinstance(policy, Batched) else None

    def act(carry: Any, obs: Any, now: Array) -> tuple[Any, Any]:
        folded = jax.vmap(jax.random.fold_in, (0, None))(keys, now)
        return jax.vmap(lambda act, *given: act(*given), (axis, 0, 0, 0))(each.act, carry, obs, folded)

    def learn(carry: Any, last: Timestep) -> Any:
        return jax.vmap(lambda learn, *given: learn(*given), (axis, 0, 0))(each.learn, carry, last)

    repeated = lambda leaf: jnp.broadcast_to(leaf, (len(keys), *jnp.shape(leaf)))  # noqa: E731
    return Policy(each.init if isinstance(policy, Batched) else jax.tree.map(repeated, each.init), act, learn)


def step_with_advance(env: Env[Any, Any], params: Any) -> StepFunction:
    """Return the step function for a `RunState` or a batch of them; the state contains its own random key."""

    def step(run: RunState, action: Any, now: Array) -> tuple[RunState, Any, Timestep]:
        run, shown, last = advance(env, run, action, params)
        return run, shown.obs, last

    return step


def make_frame(keep: Any, env: Any, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """Make one step of a record: the arrays in the action, the reward, and the arrays from the family's `keep`.

    Wrappers are not recorded: `state` is the state of `env`, but `action` is one of the environment inside its
    wrappers.
    """
    named = {f"action/{key}": part for key, part in action.items()} if isinstance(action, dict) else {"action": action}
    parts = {name: part for name, part in named.items() if hasattr(part, "shape")}
    kept = keep(unwrapped(env), unwrapped_state(env, state), action, timestep, params)
    return parts | {"reward": timestep.reward} | kept
