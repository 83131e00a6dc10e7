"""The compiled functions of an environment, or of a batch of environments, on the device, called from the host.

All autoreset modes use two functions, `start` and `step`; a restart calls `start` for the environments whose episode is
over. They take and return packed buffers, so that a call takes microseconds regardless of the number of state
leaves, and all results are returned in one transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import RunState, advance, restart_episode, restart_some, select, start_episode
from harvestgym.core.env import Env, Timestep
from harvestgym.core.wrappers import find_mask_layer, layer_state
from harvestgym.core.xla.fusion import CompiledFunction

from .packed_tree import Layout, PackedTree, join_on_host, layout_of, pack_together

SMALL_BATCH, SMALL_STATE = 256, 2048
"""Largest batch, and largest state per environment in bytes, that run as one kernel: enough for farms with one plot."""


class CompiledFunctions(NamedTuple):
    """Compiled functions over packed buffers.

    `kept` holds a `RunState`, the Timestep that led to it and the number of a `CompiledFunction`, one after another in
    the same buffers.

    Attributes:
        zeros: `kept` before the first episode.
        start: `(kept, params, seeds, seeded, which) -> kept` starts an episode for the environments in `which`, with
            the keys of `seeds` where `seeded`, elsewhere with their own keys; the Timestep is valid for `which`. A
            single environment always starts an episode.
        step: `(kept, params, action) -> kept`; in a batch, environments with ended episodes wait for `start`.
        put: `RunState -> kept`, on the host, with a Timestep of zeros.
        unpack: `kept -> RunState`.
        read: `kept -> Timestep` on the host, with Python numbers for scalars; it copies, so the result may be kept.
        mask: `(kept, params) -> mask` if the environment has `action_mask(state, params)`, else None.
    """

    zeros: PackedTree
    start: CompiledFunction
    step: CompiledFunction
    put: Callable[[RunState], PackedTree]
    unpack: Callable[[PackedTree], RunState]
    read: Callable[[PackedTree], Timestep]
    mask: Callable[[PackedTree, PackedTree], Any] | None


@lru_cache(maxsize=64)
def compile_functions(env: Env[Any, Any], params: Layout, batch: tuple[int, ...]) -> CompiledFunctions:
    """Prepare the functions of an environment for its parameter layout; `batch` is `()` or `(num_envs,)`."""
    seeds = jax.ShapeDtypeStruct(batch, jnp.uint32)
    begun, first = jax.eval_shape(
        lambda s, p: start_episode(env, _make_keys(s), params.unpack(p)), seeds, params.zeros()
    )
    layouts = run, timestep, _ = layout_of(begun), layout_of(first), layout_of(jax.ShapeDtypeStruct((), np.int32))

    def start(kept: PackedTree, given: PackedTree, seeds: Array, seeded: Array, which: Array) -> Any:
        old = run.unpack(kept)
        key = jnp.where(seeded & which, _make_keys(seeds), old.key)
        if not batch:
            return restart_episode(env, old._replace(key=key), seeded, params.unpack(given))
        none = jax.tree.map(jnp.zeros_like, (begun, first))
        return restart_some(env, old._replace(key=key), which, seeded, params.unpack(given), none)

    def step(kept: PackedTree, given: PackedTree, action: Any) -> Any:
        old = run.unpack(kept)
        new, shown, _ = advance(env, old, action, params.unpack(given))
        return select(old.over, old, new) if batch else new, shown

    def pack(result: tuple[RunState, Timestep], number: Array) -> PackedTree:
        return pack_together(layouts, (*result, number))

    own, *others = [layout.zeros() for layout in layouts]
    put = lambda state: jax.device_put(join_on_host(run.put(state), *others))  # noqa: E731
    mask = _compile_mask(env, params, run, batch)
    name = env.describe(*batch)
    starts = CompiledFunction(start, pack, as_single_kernel=not batch, name=name)
    steps = CompiledFunction(step, pack, as_single_kernel=_is_small(own, batch), name=name)
    read = _make_reader(timestep, own, first.info)
    return CompiledFunctions(join_on_host(own, *others), starts, steps, put, jax.jit(run.unpack), read, mask)


def _make_reader(timestep: Layout, before: PackedTree, names: Iterable[str]) -> Callable[[PackedTree], Timestep]:
    """Make a function that reads the Timestep on the host; `before` are the buffers in front of it."""
    outcome, info = timestep.reader_of(slice(0, 4)), timestep.reader_of(slice(4, 5))
    start, unread = len(before.words), dict.fromkeys(names, UNREAD)
    on_device = jax.jit(lambda words: words[start:])
    cut = on_device if jax.default_backend() != "cpu" else lambda words: np.asarray(words)[start:]

    def read(kept: PackedTree) -> Timestep:
        words, large = np.array(cut(kept.words)), kept.large[len(before.large) :]
        later = LazyInfo(unread)
        later.source = lambda: info(words, large)[0]
        obs, reward, terminated, truncated = outcome(words, large)
        return Timestep(obs, reward, terminated, truncated, later)

    return read


def _is_small(run: PackedTree, batch: tuple[int, ...]) -> bool:
    """Return whether one kernel steps such a batch faster than many kernels, which can use several cores."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(run))
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


# -- the info, whose values are converted when they are first used: most learners never read one ---------------

UNREAD = object()
"""The value of every key before the first use; only C code that skips the methods of a dict can see it."""

_METHODS = (
    "__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__eq__", "__ne__", "__repr__", "__or__",
    "__ror__", "__ior__", "get", "items", "values", "copy", "pop", "popitem", "clear", "setdefault", "update",
)  # fmt: skip
"""The methods of a dict that use its values, or change it; `__iter__` because `dict(info)` would not use the others."""


class LazyInfo(dict[str, Any]):
    """A dict of `UNREAD` values, replaced by the values of `source` when one is used; copies and pickles are plain
    dicts."""

    source: Callable[[], dict[str, Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


def _fill_before(name: str) -> Callable[..., Any]:
    inherited = getattr(dict, name)

    @wraps(inherited)
    def method(self: LazyInfo, *args: Any, **kwargs: Any) -> Any:
        if self.source is not None:
            dict.update(self, self.source())
            self.source = None
        return inherited(self, *args, **kwargs)

    return method


for _name in _METHODS:
    setattr(LazyInfo, _name, _fill_before(_name))

_plain: Any = lambda _, inside: inside[0]  # noqa: E731
jax.tree_util.register_pytree_node(LazyInfo, lambda info: ((dict(info),), None), _plain)
