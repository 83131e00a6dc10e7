"""One episode step by step: what the family records of each step, to look at and to keep as Parquet."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import split
from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import Loop, make_frame, scan_steps, step_with_key
from harvestgym.core.policy import Policy
from harvestgym.core.random import keys_for
from harvestgym.core.rollout import Episodes
from harvestgym.core.timeline import Record
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.registry import family_function

from .run import BATCH, batch_key, horizon


class _Keys(NamedTuple):
    """What an episode draws with: a key for its start, and for each step one to act and one for the world."""

    start: jax.Array
    act: jax.Array
    step: jax.Array


def record_episode(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> Record:
    """One episode as named arrays with a leading time axis; step 0 is the start."""
    return _recorded(id, env, policy, _own_keys(horizon(env), jax.random.key(seed)))[0]


def record_first(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> tuple[Record, Episodes]:
    """The first episode of an evaluation from this seed, and the row that it has there, to rounding."""
    key = jax.random.split(batch_key(seed), BATCH)[0]
    return _recorded(id, env, policy, _keys_of_evaluation(horizon(env), key))


def _recorded(id: str, env: Env[Any, Any], policy: Policy, keys: _Keys) -> tuple[Record, Episodes]:
    frames, terminated, truncated, infos = jax.device_get(
        _scan(env, family_function(id, "record"), policy.traced(), keys, env.params)
    )
    over = terminated | truncated
    last = int(np.argmax(over)) if over.any() else len(over) - 1
    record = {name: values[: last + 2] for name, values in frames.items()}
    row = Episodes(
        jnp.asarray(np.cumsum(record["reward"][1:])[-1:]),  # one by one, as an evaluation adds them
        jnp.asarray([last + 1]),
        terminated[last : last + 1],
        truncated[last : last + 1] | ~over[last : last + 1],
        jax.tree.map(lambda values: values[last : last + 1], infos),
    )
    return record, row


@partial(jax.jit, static_argnums=0)
def _own_keys(steps: int, key: jax.Array) -> _Keys:
    start, rest = jax.random.split(key)
    each = jax.vmap(lambda now: jax.random.split(jax.random.fold_in(rest, now)))(jnp.arange(steps))
    return _Keys(start, each[:, 0], each[:, 1])


@partial(jax.jit, static_argnums=0)
def _keys_of_evaluation(steps: int, key: jax.Array) -> _Keys:
    """As `core.rollout.evaluate` and the lanes that it drives split the key of an episode."""
    world, mind = keys_for(key, ("world", "policy"))
    later, start = split(world)
    step = jax.lax.scan(lambda key, _: split(key), later, length=steps)[1]
    return _Keys(start, jax.vmap(jax.random.fold_in, (None, 0))(mind, jnp.arange(steps)), step)


@partial(jit_quickly, static_argnums=(0, 1))
def _scan(env: Env[Any, Any], keep: Any, policy: Policy, keys: _Keys, params: Any) -> Any:
    """The frames from the start on; and of each step how it ended, and its info."""
    state, first = env.reset(keys.start, params)
    keyed = step_with_key(env, params)

    def act(carry: Any, obs: Any, now: Any) -> tuple[Any, Any]:
        return policy.act(carry, obs, now[0])

    def step(state: Any, action: Any, now: Any) -> Any:
        return keyed(state, action, now[1])

    def kept(loop: Loop, action: Any, last: Timestep) -> Any:
        frame = make_frame(keep, env, loop.world, action, last, params)
        return frame, last.terminated, last.truncated, last.info

    later, *ends = scan_steps(act, step, Loop(state, first.obs, policy.init), (keys.act, keys.step), kept)
    nothing = jax.tree.map(jnp.zeros_like, policy.act(policy.init, first.obs, keys.start)[1])
    begun = make_frame(keep, env, state, nothing, first, params)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), begun, later), *ends


def columns(record: Record) -> Record:
    """The record as flat columns: an entry per plot or component, `name/(0, 1)`."""
    flat: Record = {"step": np.arange(len(record["reward"]))}
    for name, values in record.items():
        for at in np.ndindex(values.shape[1:]):
            flat[f"{name}/{tuple(int(i) for i in at)}" if at else name] = values[(slice(None), *at)]
    return flat


def write_parquet(record: Record, path: Path) -> None:
    """The flat columns as a Parquet file; needs the extra `data`."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns(record)), path)
