"""Recording one episode: the arrays that the family records at each step."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import start_episode
from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import Loop, make_frame, scan_steps, seed_key, step_with_advance
from harvestgym.core.errors import mismatch, reveal_errors
from harvestgym.core.policy import Policy
from harvestgym.core.random import key_for
from harvestgym.core.rollout import Episodes, add_counts, read_memory
from harvestgym.core.view.timeline import Record
from harvestgym.core.wrappers import find_layer, unwrapped, unwrapped_action
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.registry import family_function, spec

from .export import RecordedEpisode
from .run import horizon, policy_named, summarise_episodes


def record_named(id: str, policy: Any = "expert", seed: int = 0, env: Env[Any, Any] | None = None) -> RecordedEpisode:
    """Record the episode of `reset(seed=seed)`; the result can be drawn and exported.

    The policy is a name, a `Policy`, a model with `predict` (SB3), or a function from observation to action.
    """
    env = spec(id).make() if env is None else env
    name, acting = policy if isinstance(policy, str) else "policy", policy_named(id, env, policy)
    record, row = record_first(id, env, acting, seed)
    return RecordedEpisode(id, unwrapped(env), name, seed, record, summarise_episodes(id, env, name, seed, row))


def record_episode(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> Record:
    """Record the episode of `reset(seed=seed)` as named arrays with a leading time axis; step 0 is the start."""
    return record_first(id, env, policy, seed)[0]


def record_first(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> tuple[Record, Episodes]:
    """Record the first episode of the evaluation with this seed; also return its result row, equal up to rounding.

    Raises ConfigError for an interface that divides a day of a farm into turns, because a row of its record is a day.
    """
    layer: Any = find_layer(env, "steps_per_day")
    if layer is not None and layer is not unwrapped(env) and layer.steps_per_day > 1:
        got = f"up to {layer.steps_per_day} {layer.step_unit} a day"
        raise mismatch("record", "steps of half a day or more", got, "interface='multidiscrete'")
    keep, given = family_function(id, "record"), policy.traced()
    with reveal_errors():
        recorded = jax.device_get(_record_steps(env, keep, horizon(env), given, seed_key(seed), env.params))
    frames, terminated, truncated, infos, reported, actions = recorded
    over = terminated | truncated
    last = int(np.argmax(over)) if over.any() else len(over) - 1
    record = {name: values[: last + 2] for name, values in frames.items()}
    returned = jnp.asarray(np.cumsum(record["reward"][1:])[-1:])  # summed one by one, as in an evaluation
    *ends, memory = jax.tree.map(lambda rows: rows[last : last + 1], (terminated, truncated | ~over, infos, reported))
    counts = add_counts(env, *jax.tree.map(lambda values: values[: last + 1], (infos, actions))) | memory
    return record, Episodes(returned, jnp.asarray([last + 1], jnp.int32), *ends, counts=counts)


@partial(jit_quickly, what="the record of an episode", static_argnums=(0, 1, 2))
def _record_steps(env: Env[Any, Any], keep: Any, steps: int, policy: Policy, key: Array, params: Any) -> Any:
    """Return the frames, including the start, and by step the end flags, info, policy's counts and action."""
    run, first = start_episode(env, key, params)
    mind = key_for(key, "policy")

    def act(carry: Any, obs: Any, now: Array) -> tuple[Any, Any]:
        return policy.act(carry, obs, jax.random.fold_in(mind, now))

    def kept(loop: Loop, action: Any, last: Timestep) -> Any:
        frame = make_frame(keep, env, loop.world.state, unwrapped_action(env, action), last, params)
        return frame, last.terminated, last.truncated, last.info, read_memory(loop.carry), action

    player, times = Policy(policy.init, act, policy.learn), jnp.arange(steps, dtype=jnp.int32)
    later, *ends = scan_steps(player, step_with_advance(env, params), Loop(run, first.obs, policy.init), times, kept)
    nothing = jax.tree.map(jnp.zeros_like, unwrapped_action(env, policy.act(policy.init, first.obs, mind)[1]))
    begun = make_frame(keep, env, run.state, nothing, first, params)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), begun, later), *ends
