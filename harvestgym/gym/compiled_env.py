"""The compiled functions of an environment, or of a batch of environments, on the device, called from the host.

All autoreset modes use two functions, `start` and `step`; a restart calls `start` for the environments whose episode is
over. They take and return packed buffers, so that a call takes microseconds regardless of the number of state
leaves, and all results are returned in one transfer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.autoreset import RunState, advance, restart_episode, restart_some, select, start_episode
from harvestgym.core.env import Env
from harvestgym.core.packed_tree import Layout, PackedTree, layout_of
from harvestgym.core.wrappers import find_mask_layer, layer_state
from harvestgym.core.xla.fusion import CompiledFunction

SMALL_BATCH, SMALL_STATE = 256, 2048
"""Largest batch, and largest state per environment in bytes, that run as one kernel: enough for farms with one plot."""


class CompiledFunctions(NamedTuple):
    """Layouts and compiled functions over packed buffers.

    Attributes:
        run, timestep: the layouts of a `RunState` and a `Timestep`.
        start: `(run, params, seeds, seeded, which) -> (run, timestep)` starts an episode for the environments in
            `which`, with the keys of `seeds` where `seeded`, elsewhere with their own keys; the Timestep is valid for
            `which`. A single environment always starts an episode.
        step: `(run, params, action) -> (run, timestep)`; in a batch, environments with ended episodes wait for `start`.
        unpack: `run -> RunState`.
        mask: `(run, params) -> mask` if the environment has `action_mask(state, params)`, else None.
    """

    run: Layout
    timestep: Layout
    start: CompiledFunction
    step: CompiledFunction
    unpack: Callable[[PackedTree], RunState]
    mask: Callable[[PackedTree, PackedTree], Any] | None


@lru_cache(maxsize=64)
def compile_functions(env: Env[Any, Any], params: Layout, batch: tuple[int, ...]) -> CompiledFunctions:
    """Prepare the functions of an environment for its parameter layout; `batch` is `()` or `(num_envs,)`."""
    seeds = jax.ShapeDtypeStruct(batch, jnp.uint32)
    begun, first = jax.eval_shape(
        lambda s, p: start_episode(env, _make_keys(s), params.unpack(p)), seeds, params.zeros()
    )
    run, timestep = layout_of(begun), layout_of(first)

    def start(packed: PackedTree, given: PackedTree, seeds: Array, seeded: Array, which: Array) -> Any:
        old = run.unpack(packed)
        key = jnp.where(seeded & which, _make_keys(seeds), old.key)
        if batch:
            none = jax.tree.map(jnp.zeros_like, (begun, first))
            new, shown = restart_some(env, old._replace(key=key), which, seeded, params.unpack(given), none)
        else:
            new, shown = restart_episode(env, old._replace(key=key), seeded, params.unpack(given))
        return run.pack(new), timestep.pack(shown)

    def step(packed: PackedTree, given: PackedTree, action: Any) -> Any:
        old = run.unpack(packed)
        new, shown, _ = advance(env, old, action, params.unpack(given))
        return run.pack(select(old.over, old, new) if batch else new), timestep.pack(shown)

    mask = _compile_mask(env, params, run, batch)
    name = env.describe(*batch)
    starts = CompiledFunction(start, as_single_kernel=not batch, name=name)
    steps = CompiledFunction(step, as_single_kernel=_is_small(run, batch), name=name)
    return CompiledFunctions(run, timestep, starts, steps, jax.jit(run.unpack), mask)


def _is_small(run: Layout, batch: tuple[int, ...]) -> bool:
    """Return whether one kernel steps such a batch faster than many kernels, which can use several cores."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(run.zeros()))
    return not batch or (batch[0] <= SMALL_BATCH and size <= batch[0] * SMALL_STATE)


def _make_keys(seeds: Array) -> Array:
    return jax.vmap(jax.random.key)(seeds) if seeds.ndim else jax.random.key(seeds)


def _compile_mask(
    env: Env[Any, Any], params: Layout, run: Layout, batch: tuple[int, ...]
) -> Callable[[PackedTree, PackedTree], Any] | None:
    layer: Any = find_mask_layer(env)
    if layer is None:
        return None

    def mask(packed: PackedTree, given: PackedTree) -> Any:
        def one(state: Any) -> Any:
            return layer.action_mask(layer_state(env, state, layer), params.unpack(given))

        state = run.unpack(packed).state
        return jax.vmap(one)(state) if batch else one(state)

    return jax.jit(mask)
