"""Batches of environments: compiled rollouts and evaluation of complete episodes, on one or more devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import PartitionSpec

from harvestgym.core.xla.compilation import SHARDS, announcing, map_over_shards

from .autoreset import Batched, RunState, restart_ended, select, start_episode
from .env import Env, Timestep, check_core
from .episode import (
    Loop,
    begin_batch,
    episode_keys,
    make_policy_keys,
    play_in_batch,
    run_to_end,
    step_with_advance,
    take_step,
)
from .errors import check_count, mismatch, require
from .policy import Policy
from .random import is_key
from .view.tables import Table

Devices = Sequence[Any]
"""Some of `jax.devices()`."""


def add_counts(env: Env[Any, Any], infos: Any, actions: Any) -> dict[str, Any]:
    """Return the counts of one episode, as in a row of `Episodes`, from infos and actions with a leading time axis."""
    return jax.tree.map(lambda counts: np.asarray(counts).sum(0)[None], jax.vmap(env.count)(infos, actions))


def read_memory(memory: Any) -> dict[str, Array]:
    """Return the counts in a policy's memory, as returned by the `report` methods of its parts."""
    parts = jax.tree.leaves(memory, is_leaf=lambda part: hasattr(part, "report"))
    return {name: count for part in parts if hasattr(part, "report") for name, count in part.report().items()}


def _show_arrays(arrays: Any) -> str:
    """Return a table for notebooks with the path, type, shape, range and mean of each array in a named tuple."""
    rows = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(arrays):
        name, values = jax.tree_util.keystr(path, simple=True, separator="/"), np.asarray(leaf)
        numbers = (f"{number:.4g}" for number in (values.min(), values.mean(), values.max()))
        rows.append((name, f"{values.dtype} {values.shape}", *numbers))
    return Table(repr(arrays), ("array", "type", "lowest", "mean", "highest"), rows)._repr_html_()


class Trajectory(NamedTuple):
    """Transitions with leading axes for time and environment.

    Attributes:
        obs: the observation before the action.
        action: the action.
        reward: float32, the reward for the step.
        next_obs: the observation after the action; at the end of an episode, its last observation.
        terminated, truncated: bool, whether and how the episode ended.
        info: the info of the step; at the end of an episode, its last info.
    """

    obs: Any
    action: Any
    reward: Array
    next_obs: Any
    terminated: Array
    truncated: Array
    info: dict[str, Any]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(steps and environments: {np.shape(self.reward)})"

    _repr_html_ = _show_arrays


class Episodes(NamedTuple):
    """Complete episodes, one row each.

    Attributes:
        returns: float32, the sum of rewards.
        length: int32, the number of steps.
        terminated: bool, whether a condition of the environment ended the episode.
        truncated: bool, whether the time limit or `max_steps` ended the episode.
        info: the info of the last step.
        counts: the results of `Env.count`, summed over the steps, and the counts that the policy's memory reports;
            empty unless the evaluation is run with `counts`.
    """

    returns: Array
    length: Array
    terminated: Array
    truncated: Array
    info: dict[str, Any]
    counts: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(episodes: {np.shape(self.returns)})"

    _repr_html_ = _show_arrays


def rollout(
    env: Env[Any, Any],
    policy: Policy | Batched,
    key: Array,
    num_envs: int,
    num_steps: int,
    params: Any = None,
    devices: Devices | None = None,
) -> Trajectory:
    """Run `num_envs` environments for `num_steps` steps; a new episode starts whenever one ends.

    `key` is one key, or one per environment; `jax.random.key(s)` starts the same first episode as `reset(seed=s)`.
    `params` defaults to the environment's own; `Batched(params)` has separate parameters for each environment, and
    `Batched(policy)` a separate policy of the same structure for each. Environments and all `Batched` arguments are
    distributed over `devices`. `num_envs` need not be a multiple of the number of devices: if it is not, the last
    device also runs extra copies, whose results are dropped.
    """
    keys = _make_keys("rollout", env, key, check_count("num_envs", num_envs))
    with announcing(env.describe(num_envs)):
        most, given = check_count("num_steps", num_steps), env.params if params is None else params
        return _run_on_devices((_roll, env, most), 1, tuple(devices or ()), _trace_policy(policy), keys, given)


def evaluate(
    env: Env[Any, Any],
    policy: Policy | Batched,
    key: Array,
    num_episodes: int,
    max_steps: int,
    params: Any = None,
    devices: Devices | None = None,
    counts: bool = False,
) -> Episodes:
    """Run `num_episodes` complete episodes of at most `max_steps` steps, stopping when all have ended.

    If `counts` is true, `Episodes.counts` is filled in; the other arguments are as in `rollout`.
    """
    keys = _make_keys("evaluate", env, key, check_count("num_episodes", num_episodes))
    with announcing(env.describe(num_episodes)):
        limit, given = (check_count("max_steps", max_steps), counts), env.params if params is None else params
        return _run_on_devices((_episodes, env, limit), 0, tuple(devices or ()), _trace_policy(policy), keys, given)


def _make_keys(function: str, env: Env[Any, Any], key: Array, number: int) -> Array:
    """Return one key per environment; raise ConfigError for an environment or a key of another type."""
    check_core(env, function)
    require(isinstance(key, Array) and is_key(key), "key", "a JAX key, such as jax.random.key(0)", repr(key))
    require(key.shape in ((), (number,)), "key", f"one key, or one for each of {number} environments", key.shape)
    return key if key.ndim else episode_keys(key, number)


def _trace_policy(policy: Policy | Batched) -> Policy | Batched:
    if isinstance(policy, Batched) and isinstance(policy.each, Policy):
        return Batched(policy.each.traced())
    if not isinstance(policy, Policy):
        raise mismatch("policy", "a core.policy.Policy, such as policy_named(id, env, 'expert')", repr(policy))
    return policy.traced()


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run_on_devices(
    program: tuple[Any, ...], axis: int, devices: tuple[Any, ...], policy: Policy | Batched, keys: Array, params: Any
) -> Any:
    """Call `function(*structure, policy, keys, params)` with the environments distributed over devices.

    `program` is the function, followed by its static arguments; `axis` is the environment axis of its results.
    """
    function, *structure = program
    if not devices:
        return function(*structure, policy, keys, params)

    def share(policy: Any, keys: Batched, params: Any) -> Any:
        return function(*structure, policy, keys.each, params)

    given, missing = (policy, Batched(keys), params), -len(keys) % len(devices)
    specs = tuple(PartitionSpec(SHARDS) if isinstance(part, Batched) else PartitionSpec() for part in given)
    filled = (_repeat_first(part, missing) if isinstance(part, Batched) else part for part in given)
    whole = map_over_shards(share, devices, specs, PartitionSpec(*(None,) * axis, SHARDS))(*filled)
    return jax.tree.map(lambda leaf: jax.lax.slice_in_dim(leaf, 0, len(keys), axis=axis), whole)


def _repeat_first(tree: Any, times: int) -> Any:
    """Append copies of the first row of each leaf."""
    return jax.tree.map(lambda leaf: jnp.concatenate([leaf, jnp.repeat(leaf[:1], times, axis=0)]), tree)


def _roll(env: Env[Any, Any], num_steps: int, policy: Policy | Batched, keys: Array, params: Any) -> Trajectory:
    # All episodes start in the loop, even the first ones, so that `reset` is compiled only once.
    none, none_shown = jax.tree.map(jnp.zeros_like, jax.eval_shape(partial(start_episode, env), keys, params))
    player, step = play_in_batch(policy, make_policy_keys(keys)), step_with_advance(env, params)

    def one(loop: Loop, now: Array) -> tuple[Loop, Trajectory]:
        carry = select(loop.world.over, player.init, loop.carry)
        run, shown = restart_ended(env, loop.world, {"obs": loop.obs}, params, now == 0)
        after, action, last = take_step(player, step, Loop(run, shown["obs"], carry), now)
        made = Trajectory(shown["obs"], action, last.reward, last.obs, last.terminated, last.truncated, last.info)
        return after, made

    start = Loop(RunState(keys, none.state, jnp.ones(keys.shape, bool)), none_shown.obs, player.init)
    return jax.lax.scan(one, start, jnp.arange(num_steps, dtype=jnp.int32))[1]


def _episodes(
    env: Env[Any, Any], limit: tuple[int, bool], policy: Policy | Batched, keys: Array, params: Any
) -> Episodes:
    player, step, start, first = begin_batch(env, policy, keys, params)
    max_steps, counts = limit
    count = jax.vmap(env.count, axis_size=len(keys)) if counts else lambda *_: {}

    def add(sofar: Episodes, action: Any, last: Timestep, now: Array) -> Episodes:
        returns, length = sofar.returns + last.reward, sofar.length + 1
        sums = jax.tree.map(jnp.add, sofar.counts, count(last.info, action))
        return Episodes(returns, length, last.terminated, last.truncated, last.info, sums)

    none, no_counts = jnp.zeros(keys.shape, bool), jax.tree.map(jnp.zeros_like, count(first.info))
    none_yet = Episodes(none.astype(jnp.float32), none.astype(jnp.int32), none, none, first.info, no_counts)
    loop, episodes = run_to_end(player, step, start, max_steps, none_yet, add)
    reported = read_memory(loop.carry) if counts else {}
    return episodes._replace(truncated=episodes.truncated | ~loop.world.over, counts={**episodes.counts, **reported})
