"""An environment, or a batch of environments, on the device, with compiled functions called from the host.

Every autoreset mode uses two functions, `start` and `step`: a restart calls `start` for the environments whose episode
is over. They take and return packed buffers, so that a call takes microseconds regardless of the number of state
leaves, and all results are returned in one transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import RunState, advance, restart_episode, restart_some, select, start_episode
from harvestgym.core.env import Env
from harvestgym.core.packing import Layout, PackedTree, layout_of
from harvestgym.core.saving.state import Savable, from_arrays, to_arrays
from harvestgym.core.wrappers import find_mask_layer, layer_state
from harvestgym.core.xla.fusion import CompiledFunction
from harvestgym.core.xla.processes import check_process, note_use

SMALL_BATCH, SMALL_STATE = 256, 2048
"""Largest batch, and state size in bytes, that is stepped as one kernel: enough for farms with one plot."""


class CompiledFunctions(NamedTuple):
    """Layouts and compiled functions over packed buffers.

    Attributes:
        run, timestep: the layouts of a `RunState` and a `Timestep`.
        start: `(run, params, seeds, seeded, which) -> (run, timestep)` starts an episode for the environments in
            `which`, with the keys of `seeds` where `seeded`, else with their own keys; the Timestep is valid for these.
            A single environment always starts an episode.
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

    def start(packed: PackedTree, given: PackedTree, seeds: jax.Array, seeded: jax.Array, which: jax.Array) -> Any:
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


def _make_keys(seeds: jax.Array) -> jax.Array:
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


class CompiledEnv(Savable):
    """One environment, or a batch with `batch = (num_envs,)`, on the device, accessed from the host."""

    def __init__(self, env: Env[Any, Any], params: Any, batch: tuple[int, ...]) -> None:
        note_use()
        self._params = env.params if params is None else params
        self._layout = layout_of(self._params)
        self._packed_params = self._layout.put(self._params)
        self._structure = env, self._layout, batch
        self._functions, self.batch = compile_functions(*self._structure), batch
        self._run = self._functions.run.zeros()
        self.begun = False
        self._shows_mask = not batch and getattr(env, "shows_mask", False)
        self._shown_mask: Any = None

    def __copy__(self) -> Self:
        """Return a copy that shares programs, parameters and buffers; steps replace the buffers."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle everything except the programs; on loading, they are recompiled or found in the cache."""
        env, _, batch = self._structure
        state = {"_run": jax.device_get(self._run), "begun": self.begun, "_shown_mask": None}
        return CompiledEnv, (env, jax.device_get(self._params), batch), state

    @property
    def params(self) -> Any:
        """The current parameters; assign parameters of the same structure and shapes to change them."""
        return self._params

    @params.setter
    def params(self, params: Any) -> None:
        self._packed_params = self._layout.put(params)
        self._params, self._shown_mask = params, None

    @property
    def run_state(self) -> RunState:
        """State and key as a pytree; assign a run state to continue from it."""
        return self._functions.unpack(self._run)

    @run_state.setter
    def run_state(self, run: RunState) -> None:
        self._run, self._shown_mask = self._functions.run.put(run), None
        self.begun = True

    def kept(self) -> dict[str, Any]:
        return {"run_state": to_arrays(self.run_state), "params": to_arrays(self._params), "begun": self.begun}

    def restore(self, kept: Mapping[str, Any]) -> Self:
        shapes = jax.eval_shape(self._functions.unpack, self._run)
        run = from_arrays(kept["run_state"], shapes, "state")
        self.params = from_arrays(kept["params"], self._params, "params")
        self._run, self.begun = self._functions.run.put(run), kept["begun"]
        return self

    def start(self, seeds: np.ndarray, seeded: np.ndarray, which: np.ndarray) -> Any:
        """Start episodes for `which`, from `seeds` (uint32) where `seeded`, else from the environments' own keys.

        Returns a Timestep with Python numbers (arrays for a batch), like `step`.
        """
        check_process()
        self._run, timestep = self._functions.start(self._run, self._packed_params, seeds, seeded, which)
        self.begun = True
        return self._read(timestep)

    def step(self, action: Any) -> Any:
        """Step every environment whose episode is not over; `action` comes from `conversion.make_action_reader`."""
        self._run, timestep = self._functions.step(self._run, self._packed_params, action)
        return self._read(timestep)

    def _read(self, timestep: PackedTree) -> Any:
        """Read a Timestep, and store the action mask if a single environment's observation contains it."""
        shown = self._functions.timestep.read(timestep)
        if self._shows_mask:
            self._shown_mask = jax.tree.map(np.array, shown.obs["mask"])
        return shown

    def make_reader(self, function: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        """Make a function that returns `function(state, params)` for the current state, row by row for a batch."""
        unpack, unpack_params = self._functions.run.unpack, self._layout.unpack

        @jax.jit
        def read(run: PackedTree, packed_params: PackedTree) -> Any:
            state, params = unpack(run).state, unpack_params(packed_params)
            return jax.vmap(function, (0, None))(state, params) if self.batch else function(state, params)

        return lambda: jax.device_get(read(self._run, self._packed_params))

    @property
    def offers_mask(self) -> bool:
        """Return whether the environment has an action mask."""
        return self._functions.mask is not None

    def mask(self) -> Any:
        """Return a bool mask of the currently possible actions; a dict of arrays if an action has parts."""
        assert self._functions.mask is not None, "the environment has no action_mask"
        if self._shown_mask is not None:
            return jax.tree.map(np.array, self._shown_mask)
        return jax.tree.map(np.array, jax.device_get(self._functions.mask(self._run, self._packed_params)))
