"""A lane: an environment on its way, with the key of all that is still to happen to it.

Shells and rollouts drive lanes, one or a batch of them: a batch is a lane whose leaves have a leading axis.
The key is split here, inside compiled code, so a lane that was begun with a key has one future, whoever
drives it. Restarts follow Gymnasium's three modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.vector import AutoresetMode

from .env import Env, Timestep
from .random import keys_for
from .xla.fusion import avoid_recomputation

Take = Callable[[Any], Any]
BLOCKS = 16
"""A batch restarts by parts of this size: on a day, few of many episodes end."""


class RunState(NamedTuple):
    """One environment on its way, or a batch.

    Attributes:
        key: typed key of the lane's future.
        state: the environment's state.
        over: bool, the episode is over, and no new one has begun.
    """

    key: jax.Array
    state: Any
    over: jax.Array


class Advance(NamedTuple):
    """What one step of a lane gives.

    Attributes:
        lane: the lane after it.
        shown: what an agent is shown; after a restart in the same step, the obs and info of the new episode.
        last: what the step itself gave, before any restart.
    """

    lane: RunState
    shown: Timestep
    last: Timestep


def start_episode(env: Env[Any, Any], key: jax.Array, params: Any) -> tuple[RunState, Timestep]:
    """A lane at the start of its first episode; a batch for a vector of keys."""
    following, now = split(key)
    state, first = _mapped(env.reset, key.ndim, 1)(now, params)
    return RunState(following, state, jnp.zeros(key.shape, bool)), first


def restart_episode(env: Env[Any, Any], lane: RunState, anew: jax.Array, params: Any) -> tuple[RunState, Timestep]:
    """A lane, or a batch, at the start of its next episode; where `anew`, its state is not looked at."""
    following, now = split(lane.key)
    state, first = _mapped(env.again, now.ndim, 3)(now, lane.state, anew, params)
    return RunState(following, state, jnp.zeros(now.shape, bool)), first


def advance(
    env: Env[Any, Any], lane: RunState, action: Any, params: Any, mode: AutoresetMode = AutoresetMode.DISABLED
) -> Advance:
    """One step of a lane or a batch, with a restart as `mode` says."""
    key, now = split(lane.key)
    if mode is AutoresetMode.SAME_STEP:
        return _advance_same_step(env, lane, action, params, key, now)
    state, shown, last = step_and_restart(env, mode, (now, now), lane.state, lane.over, action, params)
    return Advance(RunState(key, state, is_done(last)), shown, last)


def _advance_same_step(
    env: Env[Any, Any], lane: RunState, action: Any, params: Any, key: jax.Array, now: jax.Array
) -> Advance:
    """As `advance`; the key of a restart is split off only when some episode ends, which is rare."""
    state, last = _stepped(env, key.ndim)(now, lane.state, action, params)
    over = is_done(last)

    def fresh(take: Take) -> tuple[Any, ...]:
        later, again = split(take(key))
        return later, *_begun(env, (again, take(state)), params)

    key, state, obs, info = _restart(over, fresh, (key, state, last.obs, last.info))
    return Advance(RunState(key, state, jnp.zeros_like(over)), last._replace(obs=obs, info=info), last)


def is_done(timestep: Timestep) -> jax.Array:
    """Whether the episode is over, whatever ended it."""
    return timestep.terminated | timestep.truncated


def step_and_restart(
    env: Env[Any, Any],
    mode: AutoresetMode,
    keys: tuple[jax.Array, jax.Array],
    state: Any,
    over: jax.Array,
    action: Any,
    params: Any,
) -> tuple[Any, Timestep, Timestep]:
    """The next state, what is shown and what the step itself gave, for one environment or a batch.

    `keys` are for the step and for the restart; `over` says which episodes had ended before this step.
    A restarted lane in NEXT_STEP ignores its action and shows reward 0.
    """
    now, again = keys
    stepped, last = _stepped(env, over.ndim)(now, state, action, params)
    if mode is AutoresetMode.DISABLED:
        return stepped, last, last
    same = (stepped, last.obs, last.info)
    if mode is AutoresetMode.SAME_STEP:
        state, obs, info = _restart(is_done(last), lambda take: _begun(env, take((again, stepped)), params), same)
        return state, last._replace(obs=obs, info=info), last
    state, obs, info = _restart(over, lambda take: _begun(env, take((again, state)), params), same)
    reward = jnp.where(over, 0.0, last.reward)
    shown = Timestep(obs, reward, last.terminated & ~over, last.truncated & ~over, info)
    return state, shown, shown


def select(where: jax.Array, old: Any, new: Any) -> Any:
    """Leaf by leaf, `old` where `where` (a scalar, or one flag per lane) and else `new`."""

    def pick(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(where.reshape(where.shape + (1,) * (jnp.ndim(a) - where.ndim)), a, b)

    return jax.tree.map(pick, old, new)


def _restart(which: jax.Array, fresh: Callable[[Take], Any], same: Any) -> Any:
    """`fresh` for `which`, else `same`; `fresh` is given what takes the lanes that it is about out of a tree.

    Nothing fresh is computed as long as no episode ends; of a batch, block by block, what the ends ask for.
    """
    if which.ndim == 0:
        return jax.lax.cond(which, lambda: select(which, fresh(lambda tree: tree), same), lambda: same)
    block = -(-which.size // BLOCKS)

    def more(loop: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        left, now = loop
        rows = jnp.nonzero(left, size=block, fill_value=left.size)[0]  # beyond the last there is nothing to write
        new = fresh(lambda tree: jax.tree.map(lambda leaf: leaf[rows], tree))
        now = jax.tree.map(lambda old, leaf: old.at[rows].set(leaf, mode="drop"), now, new)
        return left.at[rows].set(False, mode="drop"), now

    return jax.lax.while_loop(lambda loop: jnp.any(loop[0]), more, (which, same))[1]


def _begun(env: Env[Any, Any], before: tuple[jax.Array, Any], params: Any) -> tuple[Any, Any, Any]:
    """State, obs and info of the episode that a key begins after one that ended in a state, or of a batch of them."""
    key, last = before
    state, first = _mapped(env.again, key.ndim, 3)(key, last, jnp.zeros(key.shape, bool), params)
    return state, first.obs, first.info


def split(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The key of the future and the key of now."""
    pair = _mapped(lambda one: keys_for(one, ("later", "now")), key.ndim, 1)(key)
    return pair[..., 0], pair[..., 1]


def _stepped(env: Env[Any, Any], ndim: int) -> Callable[..., tuple[Any, Timestep]]:
    """`env.step` of one or of a batch, of which nothing is computed twice: it is nearly all that is computed."""
    step = _mapped(env.step, ndim, 3)
    return avoid_recomputation(step) if ndim else step


def _mapped(function: Callable[..., Any], ndim: int, count: int) -> Callable[..., Any]:
    """`function`, mapped over its first `count` arguments if these are a batch."""
    if ndim == 0:
        return function
    return lambda *args: jax.vmap(function, (*(0,) * count, *(None,) * (len(args) - count)))(*args)
