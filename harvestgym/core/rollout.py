"""Many lanes at once: compiled rollouts, evaluation of whole episodes, timing, several devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from jax.sharding import Mesh, PartitionSpec

from .autoreset import RunState, advance, is_done, select, start_episode
from .env import Env, Timestep
from .errors import ConfigError
from .policy import Policy
from .random import keys_for

Devices = Sequence[Any]
"""Some of `jax.devices()`."""


class Trajectory(NamedTuple):
    """Transitions, with leading axes time and environment.

    Attributes:
        obs: what was seen before acting.
        action: what was done.
        reward: float32, its worth.
        next_obs: what was seen after it; at the end of an episode the last observation, not the next first.
        terminated, truncated: bool, how an episode ended.
        info: as the step gave it, at the end of an episode the last one.
    """

    obs: Any
    action: Any
    reward: jax.Array
    next_obs: Any
    terminated: jax.Array
    truncated: jax.Array
    info: dict[str, Any]


class Episodes(NamedTuple):
    """Whole episodes, one row each.

    Attributes:
        returns: float32, the sum of rewards.
        length: int32, steps.
        terminated: bool, the story ended.
        truncated: bool, the environment's clock or `max_steps` ended it.
        info: as the last step gave it.
    """

    returns: jax.Array
    length: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    info: dict[str, Any]


class Timing(NamedTuple):
    """Seconds to compile, and median seconds of a run."""

    compile: float
    run: float


def rollout(
    env: Env[Any, Any],
    policy: Policy,
    key: jax.Array,
    num_envs: int,
    num_steps: int,
    params: Any = None,
    devices: Devices | None = None,
) -> Trajectory:
    """`num_steps` steps of `num_envs` environments, with a new episode whenever one ends.

    The environments are spread evenly over `devices`; the result does not depend on them. Without `params`
    the environment's own are used.
    """
    keys, params, places = _start(env, key, num_envs, params, devices)
    return _rollout(env, _some(num_steps, "num_steps"), places, _traced(policy), keys, params)


def evaluate(
    env: Env[Any, Any],
    policy: Policy,
    key: jax.Array,
    num_episodes: int,
    max_steps: int,
    params: Any = None,
    devices: Devices | None = None,
) -> Episodes:
    """`num_episodes` episodes from start to end, none longer than `max_steps`; stops when all have ended."""
    keys, params, places = _start(env, key, num_episodes, params, devices)
    return _evaluate(env, _some(max_steps, "max_steps"), places, _traced(policy), keys, params)


def measure(function: Callable[..., Any], *args: Any, repeats: int = 5) -> Timing:
    """How long `function(*args)` takes to compile, and then to run."""
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*args).compile()
    compiling = time.perf_counter() - start
    runs = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        runs.append(time.perf_counter() - start)
    return Timing(compiling, median(runs[1:]))


def _start(
    env: Env[Any, Any], key: jax.Array, number: int, params: Any, devices: Devices | None
) -> tuple[jax.Array, Any, tuple[Any, ...]]:
    """A key per lane, the parameters and the devices of a run."""
    places = tuple(devices or ())
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)):
        raise ConfigError(f"key: wanted a key of JAX, such as jax.random.key(0), found {key!r}")
    if places and number % len(places):
        raise ConfigError(f"wanted a multiple of {len(places)} lanes, as there are so many devices, found {number}")
    return jax.random.split(key, _some(number, "lanes")), env.params if params is None else params, places


def _traced(policy: Policy) -> Policy:
    if not isinstance(policy, Policy):
        wanted = "a core.policy.Policy, as evaluate.run.policy_named(id, env, 'expert') gives one"
        raise ConfigError(f"policy: wanted {wanted}, found {policy!r}")
    return policy.traced()


def _some(number: int, name: str) -> int:
    if number < 1:
        raise ConfigError(f"{name}: wanted at least 1, found {number}")
    return number


def _spread(function: Callable[..., Any], devices: tuple[Any, ...], axis: int) -> Callable[..., Any]:
    """`function(policy, keys, params)` with its keys spread over devices, and its results along `axis`."""
    if not devices:
        return function
    lanes = PartitionSpec("lane")
    out = PartitionSpec(*(None,) * axis, "lane")
    mesh = Mesh(np.array(devices), ("lane",))
    inputs = (PartitionSpec(), lanes, PartitionSpec())
    return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=out, check_vma=False)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _rollout(
    env: Env[Any, Any],
    num_steps: int,
    devices: tuple[Any, ...],
    policy: Policy,
    keys: jax.Array,
    params: Any,
) -> Trajectory:
    return _spread(partial(_roll, env, num_steps), devices, axis=1)(policy, keys, params)


def _roll(env: Env[Any, Any], num_steps: int, policy: Policy, keys: jax.Array, params: Any) -> Trajectory:
    lane, first, carry, act_keys = _begin(env, policy, keys, params)

    def one(loop: tuple[RunState, Any, Any], now: jax.Array) -> tuple[tuple[RunState, Any, Any], Trajectory]:
        lane, obs, carry = loop
        carried, action = _act(policy, carry, obs, act_keys, now)
        lane, shown, last = advance(env, lane, action, params, AutoresetMode.SAME_STEP)
        carry = select(is_done(last), _repeated(policy.init, keys), carried)
        done = Trajectory(obs, action, last.reward, last.obs, last.terminated, last.truncated, last.info)
        return (lane, shown.obs, carry), done

    return jax.lax.scan(one, (lane, first.obs, carry), jnp.arange(num_steps))[1]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _evaluate(
    env: Env[Any, Any],
    max_steps: int,
    devices: tuple[Any, ...],
    policy: Policy,
    keys: jax.Array,
    params: Any,
) -> Episodes:
    return _spread(partial(_episodes, env, max_steps), devices, axis=0)(policy, keys, params)


class _Run(NamedTuple):
    """The loop of an evaluation: an episode that is over stays as it is."""

    now: jax.Array
    lane: RunState
    obs: Any
    carry: Any
    episodes: Episodes


def _episodes(env: Env[Any, Any], max_steps: int, policy: Policy, keys: jax.Array, params: Any) -> Episodes:
    lane, first, carry, act_keys = _begin(env, policy, keys, params)

    def going(run: _Run) -> jax.Array:
        return (run.now < max_steps) & ~jnp.all(run.lane.over)

    def one(run: _Run) -> _Run:
        carry, action = _act(policy, run.carry, run.obs, act_keys, run.now)
        lane, _, last = advance(env, run.lane, action, params)
        sofar = run.episodes
        returns, length = sofar.returns + last.reward, sofar.length + 1
        episodes = Episodes(returns, length, last.terminated, last.truncated, last.info)
        kept = select(run.lane.over, (run.lane, run.obs, run.carry, sofar), (lane, last.obs, carry, episodes))
        return _Run(run.now + 1, *kept)

    none = jnp.zeros(keys.shape, bool)
    start = Episodes(jnp.zeros(keys.shape), jnp.zeros(keys.shape, jnp.int32), none, none, first.info)
    end = jax.lax.while_loop(going, one, _Run(jnp.int32(0), lane, first.obs, carry, start))
    return end.episodes._replace(truncated=end.episodes.truncated | ~end.lane.over)


def _begin(
    env: Env[Any, Any], policy: Policy, keys: jax.Array, params: Any
) -> tuple[RunState, Timestep, Any, jax.Array]:
    """Lanes, what was seen first, policy memories and policy keys, one per key."""
    world, mind = jax.vmap(lambda key: tuple(keys_for(key, ("world", "policy"))))(keys)
    lane, first = start_episode(env, world, params)
    return lane, first, _repeated(policy.init, keys), mind


def _act(policy: Policy, carry: Any, obs: Any, keys: jax.Array, now: jax.Array) -> tuple[Any, Any]:
    return jax.vmap(policy.act)(carry, obs, jax.vmap(jax.random.fold_in, (0, None))(keys, now))


def _repeated(tree: Any, keys: jax.Array) -> Any:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, keys.shape + jnp.shape(leaf)), tree)
