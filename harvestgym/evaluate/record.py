"""One episode step by step: what the family records of each step, to look at and to keep as Parquet."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.env import Env
from ..core.policy import Policy
from .evaluation import family_function, horizon

Record = dict[str, np.ndarray]


def record_episode(id: str, env: Env[Any, Any], policy: Policy, seed: int) -> Record:
    """One episode as named arrays with a leading time axis; step 0 is the start."""
    keep = family_function(id, "record")
    steps = horizon(env)
    frames, over = _scan(env, keep, steps, policy.traced(), jax.random.key(seed), env.params)
    length = int(np.argmax(over)) + 1 if bool(np.any(over)) else steps + 1
    return {name: np.asarray(values)[:length] for name, values in frames.items()}


@partial(jax.jit, static_argnums=(0, 1, 2))
def _scan(env: Env[Any, Any], keep: Any, steps: int, policy: Policy, key: jax.Array, params: Any) -> Any:
    start, rest = jax.random.split(key)
    state, first = env.reset(start, params)

    def one(loop: tuple[Any, Any, Any], now: jax.Array) -> tuple[tuple[Any, Any, Any], Any]:
        state, obs, carry = loop
        act_key, step_key = jax.random.split(jax.random.fold_in(rest, now))
        carry, action = policy.act(carry, obs, act_key)
        state, timestep = env.step(step_key, state, action, params)
        return (state, timestep.obs, carry), _frame(keep, env, state, action, timestep, params)

    _, later = jax.lax.scan(one, (state, first.obs, policy.init), jnp.arange(steps))
    nothing = jax.tree.map(jnp.zeros_like, policy.act(policy.init, first.obs, rest)[1])
    frame = _frame(keep, env, state, nothing, first, params)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), frame, later)


def _frame(keep: Any, env: Any, state: Any, action: Any, timestep: Any, params: Any) -> tuple[dict[str, Any], Any]:
    return frame(keep, env, state, action, timestep, params), timestep.terminated | timestep.truncated


def frame(keep: Any, env: Any, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """One step of a record: the action as far as it is arrays, the reward, and what the family's `keep` says."""
    named = (
        {f"action/{name}": part for name, part in action.items()} if isinstance(action, dict) else {"action": action}
    )
    parts = {name: part for name, part in named.items() if hasattr(part, "shape")}
    return parts | {"reward": timestep.reward} | keep(env, state, action, timestep, params)


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
