"""Recording of one episode: the arrays that the family keeps of each step."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import split_key
from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import Loop, make_frame, scan_steps, seed_key, step_with_key
from harvestgym.core.policy import Policy, make_policy
from harvestgym.core.random import key_for
from harvestgym.core.rollout import Episodes
from harvestgym.core.view.timeline import Record
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.registry import family_function, spec

from .export import RecordedEpisode
from .run import horizon, policy_named


class EpisodeKeys(NamedTuple):
    """The random keys of an episode: one for its start, and two for each step, for the policy and the world."""

    start: jax.Array
    act: jax.Array
    step: jax.Array


def record_named(id: str, policy: Any = "expert", seed: int = 0, env: Env[Any, Any] | None = None) -> RecordedEpisode:
    """Record the episode of `reset(seed=seed)`, ready to be drawn.

    The policy is a name, a `Policy`, a model with `predict` (SB3), or a function from observation to action.
    """
    env = spec(id).make() if env is None else env
    acting, name = (policy_named(id, env, policy), policy) if isinstance(policy, str) else (policy, "policy")
    acting = make_policy(env, acting)
    return RecordedEpisode(id, env, name, seed, record_episode(id, env, acting, seed))


def record_episode(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> Record:
    """Record the episode of `reset(seed=seed)` as named arrays with a leading time axis; step 0 is the start."""
    return record_first(id, env, policy, seed)[0]


def record_first(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> tuple[Record, Episodes]:
    """Record the first episode of the evaluation with this seed, and return its row there, up to rounding."""
    return _record_with(id, env, policy, _split_keys(horizon(env), seed_key(seed)))


def _record_with(id: str, env: Env[Any, Any], policy: Policy, keys: EpisodeKeys) -> tuple[Record, Episodes]:
    frames, terminated, truncated, infos = jax.device_get(
        _record_steps(env, family_function(id, "record"), policy.traced(), keys, env.params)
    )
    over = terminated | truncated
    last = int(np.argmax(over)) if over.any() else len(over) - 1
    record = {name: values[: last + 2] for name, values in frames.items()}
    row = Episodes(
        jnp.asarray(np.cumsum(record["reward"][1:])[-1:]),  # one by one, in the order of an evaluation
        jnp.asarray([last + 1], jnp.int32),
        terminated[last : last + 1],
        truncated[last : last + 1] | ~over[last : last + 1],
        jax.tree.map(lambda values: values[last : last + 1], infos),
    )
    return record, row


@partial(jax.jit, static_argnums=0)
def _split_keys(steps: int, key: jax.Array) -> EpisodeKeys:
    """Split the key of an episode as `core.rollout.evaluate` and `core.autoreset.advance` do."""
    later, start = split_key(key)
    mind = key_for(key, "policy")
    step = jax.lax.scan(lambda key, _: split_key(key), later, length=steps)[1]
    return EpisodeKeys(start, jax.vmap(jax.random.fold_in, (None, 0))(mind, jnp.arange(steps, dtype=jnp.int32)), step)


@partial(jit_quickly, what="the record of an episode", static_argnums=(0, 1))
def _record_steps(env: Env[Any, Any], keep: Any, policy: Policy, keys: EpisodeKeys, params: Any) -> Any:
    """Return the frames from the start on, and of each step the ends and the info."""
    state, first = env.reset(keys.start, params)
    keyed = step_with_key(env, params)

    def act(carry: Any, obs: Any, now: Any) -> tuple[Any, Any]:
        return policy.act(carry, obs, now[0])

    def step(state: Any, action: Any, now: Any) -> Any:
        return keyed(state, action, now[1])

    def kept(loop: Loop, action: Any, last: Timestep) -> Any:
        frame = make_frame(keep, env, loop.world, action, last, params)
        return frame, last.terminated, last.truncated, last.info

    player = Policy(policy.init, act, policy.learn)
    later, *ends = scan_steps(player, step, Loop(state, first.obs, policy.init), (keys.act, keys.step), kept)
    nothing = jax.tree.map(jnp.zeros_like, policy.act(policy.init, first.obs, keys.start)[1])
    begun = make_frame(keep, env, state, nothing, first, params)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), begun, later), *ends
