"""Running environments: a state and a random key, advanced step by step and restarted when an episode ends.

Gymnasium interfaces and rollouts advance one `RunState` or a batch; a batch has a leading axis on every leaf. The key
is split here, inside compiled code, so that the start key determines the whole run in every interface. Restarts follow
Gymnasium's modes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.vector import AutoresetMode
from jax import Array

from .env import Env, Timestep
from .errors import require
from .random import keys_for

Take = Callable[[Any], Any]
"""A function that selects the rows of a tree that belong to the environments to restart."""

RESTART_BLOCKS = 16
"""A batch is restarted in blocks of a sixteenth of its size, because usually only a few episodes end in one step."""

LEAST_BLOCK = 16
"""Minimum size of a restart block when Python restarts environments: a smaller block would take just as long."""

ACCELERATOR_BLOCK = 2**15
"""Minimum size of a restart block on an accelerator, where the host waits for the loop condition in every iteration."""


class RunState(NamedTuple):
    """A running environment, or a batch.

    Attributes:
        key: typed random key for all later steps.
        state: the environment's state.
        over: bool, whether the episode has ended and no new one has started.
    """

    key: Array
    state: Any
    over: Array


class Batched(NamedTuple):
    """A pytree, such as parameters or a policy, whose leaves have a leading axis with one entry per environment.

    Parameters and policies without this wrapper are shared by all environments in a batch.
    """

    each: Any


class Advance(NamedTuple):
    """The result of one step of a running environment.

    Attributes:
        run: the environment after the step.
        shown: the Timestep for the agent; after a restart in the same step, its obs and info belong to the new episode.
        last: the Timestep of the step itself, before any restart.
    """

    run: RunState
    shown: Timestep
    last: Timestep


def start_episode(env: Env[Any, Any], key: Array, params: Any) -> tuple[RunState, Timestep]:
    """Start the first episode of an environment, or of a batch if given a vector of keys."""
    following, now = split_key(key)
    state, first = _mapped(env.reset, key.ndim, 1)(now, params)
    return RunState(following, state, jnp.zeros(key.shape, bool)), first


def restart_episode(env: Env[Any, Any], run: RunState, first: Array, params: Any) -> tuple[RunState, Timestep]:
    """Start the next episode of an environment or a batch; the old state is ignored where `first` is true."""
    following, now = split_key(run.key)
    state, opening = _mapped(env.again, now.ndim, 3)(now, run.state, first, params)
    return RunState(following, state, jnp.zeros(now.shape, bool)), opening


def restart_ended(
    env: Env[Any, Any], run: RunState, shown: dict[str, Any], params: Any, renew: bool | Array = False
) -> tuple[RunState, dict[str, Any]]:
    """Start the next episode of one environment that has ended, or of all such environments in a batch.

    `shown` contains some Timestep fields by name; the values of ended environments are replaced. If the scalar `renew`
    is true, the old states are ignored because these are the first episodes. Keys are split only where an episode has
    ended.
    """

    def fresh(take: Take) -> tuple[RunState, dict[str, Any]]:
        ended = take(run)
        again, opening = restart_episode(env, ended, jnp.full(ended.over.shape, renew), _take_params(take, params))
        return again, {name: getattr(opening, name) for name in shown}

    return restart_where(run.over, fresh, (run, shown))


def restart_some(
    env: Env[Any, Any], run: RunState, which: Array, first: Array, params: Any, none: tuple[RunState, Timestep]
) -> tuple[RunState, Timestep]:
    """Start the next episode of the selected environments in a batch; the Timestep is valid only for these.

    `first` is as in `restart_episode`. Restarts are computed in blocks, one after another, and then gathered into their
    rows, whereas `restart_where` scatters each block into its rows. Gathering makes rollouts 5 to 10 % slower.
    Scattering makes restarts from Python, where at least one environment always restarts, take up to twice as long, and
    it slows their compilation. `none` is any result that shares no buffers with `run`; shared buffers would be copied.
    """
    block, count = _block_size(which.size, LEAST_BLOCK), jnp.sum(which, dtype=jnp.int32)
    rows = jnp.nonzero(which, size=which.size, fill_value=0)[0].astype(jnp.int32)

    def more(loop: tuple[Array, Any]) -> tuple[Array, Any]:
        start, found = loop
        these = jax.lax.dynamic_slice_in_dim(rows, start, block)  # the last block starts earlier if it would not fit
        taken = partial(_take_rows, these)
        new = restart_episode(env, taken(run), taken(first), _take_params(taken, params))
        put = lambda old, leaf: jax.lax.dynamic_update_slice_in_dim(old, leaf, start, 0)  # noqa: E731
        return start + block, jax.tree.map(put, found, new)

    found = jax.lax.while_loop(lambda loop: loop[0] < count, more, (jnp.int32(0), none))[1]
    new, shown = _take_rows(jnp.where(which, jnp.cumsum(which, dtype=jnp.int32) - 1, 0), found)
    return select(which, new, run), shown


def _take_rows(rows: Array, tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[rows], tree)


def advance(
    env: Env[Any, Any], run: RunState, action: Any, params: Any, mode: AutoresetMode = AutoresetMode.DISABLED
) -> Advance:
    """Step an environment or a batch; in SAME_STEP mode, restart the episodes that end.

    Raises ConfigError for the mode NEXT_STEP, which only `VecEnv` has.
    """
    require(mode is not AutoresetMode.NEXT_STEP, "mode", "DISABLED or SAME_STEP", mode.name)
    key, now = split_key(run.key)
    state, last = _mapped(env.step, key.ndim, 3)(now, run.state, action, params)
    after = RunState(key, state, is_done(last))
    if mode is AutoresetMode.DISABLED:
        return Advance(after, last, last)
    after, replaced = restart_ended(env, after, {"obs": last.obs, "info": last.info}, params)
    return Advance(after, last._replace(**replaced), last)


def is_done(timestep: Timestep) -> Array:
    """Return whether the episode has ended, by termination or truncation."""
    return timestep.terminated | timestep.truncated


def select(where: Array, old: Any, new: Any) -> Any:
    """Select `old` where `where` (a scalar, or one flag per environment) is true, and `new` elsewhere, leaf by leaf."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(where.reshape(where.shape + (1,) * (jnp.ndim(a) - where.ndim)), a, b)

    return jax.tree.map(pick, old, new)


def restart_where(which: Array, fresh: Callable[[Take], Any], same: Any) -> Any:
    """Replace `same` where `which` is true with the result of `fresh`, called with a function that selects these rows.

    If no episode ends, nothing is computed; in a batch, only the blocks needed for the ended episodes are computed.
    """
    if which.ndim == 0:
        return jax.lax.cond(which, lambda: select(which, fresh(lambda tree: tree), same), lambda: same)
    block = _block_size(which.size, 1)

    def more(loop: tuple[Array, Any]) -> tuple[Array, Any]:
        left, now = loop
        # rows beyond the batch are padding, which is dropped below
        rows = jnp.nonzero(left, size=block, fill_value=left.size)[0].astype(jnp.int32)
        new = fresh(partial(_take_rows, rows))
        now = jax.tree.map(lambda old, leaf: old.at[rows].set(leaf, mode="drop"), now, new)
        return left.at[rows].set(False, mode="drop"), now

    return jax.lax.while_loop(lambda loop: jnp.any(loop[0]), more, (which, same))[1]


def _block_size(size: int, least: int) -> int:
    """Return the number of environments in a restart block, out of `size`; on a CPU, it is at least `least`."""
    least = least if jax.default_backend() == "cpu" else ACCELERATOR_BLOCK
    return min(max(-(-size // RESTART_BLOCKS), least), size)


def _take_params(take: Take, params: Any) -> Any:
    """Select the parameters of the environments to restart, if parameters differ between environments."""
    return Batched(take(params.each)) if isinstance(params, Batched) else params


def split_key(key: Array) -> tuple[Array, Array]:
    """Split a key, or a batch of keys, into the key for all later steps and the key for this step."""
    pair = _mapped(lambda one: keys_for(one, ("later", "now")), key.ndim, 1)(key)
    return pair[..., 0], pair[..., 1]


def _mapped(function: Callable[..., Any], ndim: int, count: int) -> Callable[..., Any]:
    """If the first `count` arguments are a batch, map `function` over them and over all `Batched` arguments."""
    if ndim == 0:
        return function

    def call(*args: Any) -> Any:
        batched = [isinstance(arg, Batched) for arg in args]
        axes = [0 if i < count or own else None for i, own in enumerate(batched)]
        return jax.vmap(function, axes)(*(arg.each if own else arg for arg, own in zip(args, batched, strict=True)))

    return call
