"""What is behind a shell: lanes on the device, one or a batch, and the compiled functions that move them.

There are two, `start` and `step`, whatever the autoreset mode: a restart calls `start` for the lanes that
are over. They take and give packed buffers, so that a call costs microseconds whatever the state is made of,
and all that a person sees comes back in one transfer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import RunState, advance, restart_episode, select, start_episode
from harvestgym.core.checkpoint import from_arrays, to_arrays
from harvestgym.core.env import Env
from harvestgym.core.packing import Layout, Packed, layout_of
from harvestgym.core.policy import sample
from harvestgym.core.wrappers import unwrapped, unwrapped_state
from harvestgym.core.xla.fusion import CompiledFunction


class Program(NamedTuple):
    """Layouts, and compiled functions over packed buffers.

    Attributes:
        lane, seen: the layouts of the lanes and of a Timestep.
        start: `(lane, params, seeds, seeded, which) -> (lane, seen)` begins an episode for the lanes in
            `which`, with the keys of `seeds` where `seeded`, and else with the keys the lanes have.
        step: `(lane, params, action) -> (lane, seen)`; in a batch, a lane that is over waits for `start`.
        look: `lane -> Lane`.
        mask: `(lane, params) -> mask` if the environment has `action_mask(state, params)`, else None.
    """

    lane: Layout
    seen: Layout
    start: CompiledFunction
    step: CompiledFunction
    look: Callable[[Packed], RunState]
    mask: Callable[[Packed, Packed], jax.Array] | None


@lru_cache(maxsize=64)
def program(env: Env[Any, Any], params: Layout, batch: tuple[int, ...]) -> Program:
    """The program of an environment for parameters of a given layout; `batch` is `()` or `(num_envs,)`."""
    seeds = jax.ShapeDtypeStruct(batch, jnp.uint32)
    lanes, first = jax.eval_shape(lambda s, p: start_episode(env, _keys(s), params.unpack(p)), seeds, params.zeros())
    lane, seen = layout_of(lanes), layout_of(first)

    def start(lanes: Packed, given: Packed, seeds: jax.Array, seeded: jax.Array, which: jax.Array) -> Any:
        old = lane.unpack(lanes)
        key = jnp.where(seeded, _keys(seeds), old.key)
        new, first = restart_episode(env, old._replace(key=key), seeded, params.unpack(given))
        return lane.pack(select(which, new, old)), seen.pack(first)

    def step(lanes: Packed, given: Packed, action: Any) -> Any:
        old = lane.unpack(lanes)
        new, shown, _ = advance(env, old, action, params.unpack(given))
        return lane.pack(select(old.over, old, new) if batch else new), seen.pack(shown)

    mask = _mask(env, params, lane, batch)
    compiled = (CompiledFunction(function, as_single_kernel=not batch) for function in (start, step))
    return Program(lane, seen, *compiled, jax.jit(lane.unpack), mask)


@lru_cache(maxsize=64)
def _ahead(env: Env[Any, Any], params: Layout, batch: tuple[int, ...]) -> Thread:
    """The compiling of `step`, begun while `start` is compiled: XLA uses one core for each, and a first step comes."""
    made = program(env, params, batch)

    def compile_step() -> None:
        with suppress(Exception):  # what is wrong with it is told by the step that somebody asks for
            action = jax.eval_shape(lambda: sample(env.action_space, jax.random.key(0)))
            action = jax.tree.map(lambda a: jax.ShapeDtypeStruct(batch + a.shape, a.dtype), action)
            made.step.compile(made.lane.zeros(), params.zeros(), action)

    thread = Thread(target=compile_step)
    thread.start()
    return thread


def _keys(seeds: jax.Array) -> jax.Array:
    return jax.vmap(jax.random.key)(seeds) if seeds.ndim else jax.random.key(seeds)


def _mask(
    env: Env[Any, Any], params: Layout, lane: Layout, batch: tuple[int, ...]
) -> Callable[[Packed, Packed], jax.Array] | None:
    offered = getattr(unwrapped(env), "action_mask", None)
    if offered is None:
        return None

    def mask(lanes: Packed, given: Packed) -> jax.Array:
        def one(state: Any) -> jax.Array:
            return offered(unwrapped_state(env, state), params.unpack(given))

        state = lane.unpack(lanes).state
        return jax.vmap(one)(state) if batch else one(state)

    return jax.jit(mask)


class Driver:
    """Lanes on the device, as seen from the host: one lane, or a batch of `batch = (num_envs,)`."""

    def __init__(self, env: Env[Any, Any], params: Any, batch: tuple[int, ...]) -> None:
        self._params = env.params if params is None else params
        self._layout = layout_of(self._params)
        self._given = self._layout.put(self._params)
        self._made = env, self._layout, batch
        self._program, self._batch = program(*self._made), batch
        self._lane = self._program.lane.zeros()
        self.begun = self._stepped = False

    @property
    def params(self) -> Any:
        """The parameters in force; others of the same structure and shapes may be assigned."""
        return self._params

    @params.setter
    def params(self, params: Any) -> None:
        self._given = self._layout.put(params)
        self._params = params

    @property
    def run_state(self) -> RunState:
        """State and key as a pytree; one may be assigned, to continue from it."""
        return self._program.look(self._lane)

    @run_state.setter
    def run_state(self, run: RunState) -> None:
        self._lane = self._program.lane.put(run)
        self.begun = True

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        return {"lane": to_arrays(self.lane), "params": to_arrays(self._params), "begun": self.begun}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what was kept; ConfigError, and nothing is changed, if it does not fit."""
        lane = from_arrays(kept["lane"], jax.eval_shape(self._program.look, self._lane), "state")
        self.params = from_arrays(kept["params"], self._params, "params")
        self._lane, self.begun = self._program.lane.put(lane), kept["begun"]

    def start(self, seeds: np.ndarray, seeded: np.ndarray, which: np.ndarray) -> Any:
        """Begin episodes where `which`, from `seeds` (uint32) where `seeded`, else from the lanes' own keys.

        Returns a Timestep of Python numbers (arrays for a batch), as `step` does.
        """
        if not self.begun:
            _ahead(*self._made)
        self._lane, seen = self._program.start(self._lane, self._given, seeds, seeded, which)
        self.begun = True
        return self._program.seen.read(seen)

    def step(self, action: Any) -> Any:
        """One step of every lane that is not over; `action` as `convert.action_reader` gives it."""
        if not self._stepped:
            _ahead(*self._made).join()
            self._stepped = True
        self._lane, seen = self._program.step(self._lane, self._given, action)
        return self._program.seen.read(seen)

    def reader(self, look: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        """A function that gives, on the host, what `look(state, params)` is now, of each lane of a batch."""
        unpack, given = self._program.lane.unpack, self._layout.unpack

        @jax.jit
        def read(lanes: Packed, params: Packed) -> Any:
            state, numbers = unpack(lanes).state, given(params)
            return jax.vmap(look, (0, None))(state, numbers) if self._batch else look(state, numbers)

        return lambda: jax.device_get(read(self._lane, self._given))

    @property
    def offers_mask(self) -> bool:
        """Whether the environment says which actions are possible."""
        return self._program.mask is not None

    def mask(self) -> np.ndarray:
        """Which actions are possible now, bool."""
        assert self._program.mask is not None, "the environment has no action_mask"
        return np.array(self._program.mask(self._lane, self._given))
