"""A ceiling: what somebody reaches who knows the season that is coming, weather, pests and luck with it.

The planner is given the keys of the seasons, so that it can try a schedule of interventions on the very season that it
plans for, over and over. It begins with what the expert does there and keeps what is better: never less than the
expert, by construction. It is a search: the best schedule may be better still, so what it finds is a lower bound of
what foresight is worth, and no bound at all for a policy that happens to be luckier than the search was long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.env import Env
from ..core.errors import ConfigError
from ..core.lanes import Lane, advance, begin, keep
from ..core.policy import Policy, sample
from ..core.random import keys_for
from .evaluation import horizon

HABITS = 64
"""Of how many of the expert's own actions the planner's trials are drawn."""

WRITES = 3
"""The most actions that one trial writes anew."""


class Search(NamedTuple):
    """How long the planner thinks about a season: `trials` schedules at a time, `generations` times.

    The `elites` best so far are what the next are made of.
    """

    trials: int = 48
    generations: int = 100
    elites: int = 8


class Ceiling(NamedTuple):
    """What was found for some seasons.

    Attributes:
        returns: of the best schedule of each season, float32 (seasons,).
        expert: of the expert's own schedule in the same seasons, float32 (seasons,).
        schedules: the actions of each step, integers (seasons, steps, ...); zeros once a season is over.
        keys: the key of each season's lane, (seasons,).
    """

    returns: np.ndarray
    expert: np.ndarray
    schedules: Any
    keys: jax.Array


def ceiling(
    env: Env[Any, Any],
    key: jax.Array,
    policy: Policy,
    seasons: int = 16,
    search: Search = Search(),  # noqa: B008 (a tuple)
    params: Any = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Ceiling:
    """The best schedules that a search finds for `seasons` seasons, all planned at once on the device.

    Args:
        env: with integer actions, in whatever parts.
        key: that of an evaluation; the seasons are then those of the evaluation's first episodes.
        policy: where the search begins, the expert.
        seasons: how many.
        search: how long to search.
        params: the environment's own by default.
        progress: told 1 for each generation.

    Raises:
        ConfigError: for actions that are not integers.
    """
    params, steps = env.params if params is None else params, horizon(env)
    keys = jax.random.split(key, seasons)
    length, done = _followed(env, steps, policy.traced(), keys, params)
    _check_integers(done)
    trials, make = _begun(done, search.trials), partial(_trials, env, search.trials)
    values = _replayed(env, steps, trials, keys, params)
    expert, (found, values) = values[:, 0], _best(trials, values, search.elites)
    room, habits = jnp.minimum(length + length // 4 + 1, steps), jax.tree.map(_habits, done)
    for generation in range(search.generations):
        trials = make(jax.random.fold_in(key, generation), found, habits, room)
        new = _replayed(env, steps, trials, keys, params)
        found, values = _best(_joined(found, trials), jnp.concatenate([values, new], 1), search.elites)
        progress(1)
    best = jax.tree.map(lambda leaf: np.asarray(leaf[:, 0]), found)
    return Ceiling(np.asarray(values[:, 0]), np.asarray(expert), best, keys)


def replay(env: Env[Any, Any], keys: jax.Array, schedules: Any, params: Any = None) -> np.ndarray:
    """The return of each schedule (seasons, steps, ...) in the season of its key."""
    steps = jax.tree.leaves(schedules)[0].shape[1]
    one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[:, None], schedules)
    return np.asarray(_replayed(env, steps, one, keys, env.params if params is None else params))[:, 0]


class _Run(NamedTuple):
    """Seasons on their way; one that is over stays as it is."""

    now: jax.Array
    lane: Lane
    obs: Any
    carry: Any
    returns: jax.Array
    length: jax.Array
    actions: Any


def _live(env: Env[Any, Any], steps: int, act: Any, write: Any, run: _Run, params: Any) -> _Run:
    """Seasons to their end: `act(carry, obs, now)` decides, `write(actions, action, over, now)` keeps the books."""

    def going(run: _Run) -> jax.Array:
        return (run.now < steps) & ~jnp.all(run.lane.over)

    def one(run: _Run) -> _Run:
        carry, action = act(run.carry, run.obs, run.now)
        lane, _, last = advance(env, run.lane, action, params)
        over = run.lane.over
        obs = None if run.obs is None else last.obs
        old = (run.lane, run.obs, run.carry, run.returns, run.length)
        new = (lane, obs, carry, run.returns + last.reward, run.length + 1)
        lane, obs, carry, returns, length = keep(over, old, new)
        actions = write(run.actions, action, over, run.now)
        return _Run(run.now + 1, lane, obs, carry, returns, length, actions)

    return jax.lax.while_loop(going, one, run)


def _lanes(env: Env[Any, Any], keys: jax.Array, params: Any) -> tuple[Lane, Any, jax.Array]:
    """The lanes of some keys, what is seen first and the keys of a policy, as `core.rollout.evaluate` has them."""
    world, mind = jax.vmap(lambda key: tuple(keys_for(key, ("world", "policy"))))(keys)
    lane, first = begin(env, world, params)
    return lane, first.obs, mind


@partial(jax.jit, static_argnums=(0, 1))
def _followed(env: Env[Any, Any], steps: int, policy: Policy, keys: jax.Array, params: Any) -> tuple[jax.Array, Any]:
    """Length and actions (seasons, steps, ...) of a policy in the seasons of some keys."""
    lane, obs, mind = _lanes(env, keys, params)
    carry = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, keys.shape + jnp.shape(leaf)), policy.init)

    def act(carry: Any, obs: Any, now: jax.Array) -> Any:
        return jax.vmap(policy.act)(carry, obs, jax.vmap(jax.random.fold_in, (0, None))(mind, now))

    def write(actions: Any, action: Any, over: jax.Array, now: jax.Array) -> Any:
        idle = jax.tree.map(jnp.zeros_like, action)
        return jax.tree.map(lambda book, new: book.at[:, now].set(new), actions, keep(over, idle, action))

    none = jax.eval_shape(act, carry, obs, jnp.int32(0))[1]
    book = jax.tree.map(lambda leaf: jnp.zeros((len(keys), steps, *leaf.shape[1:]), leaf.dtype), none)
    start = _Run(jnp.int32(0), lane, obs, carry, jnp.zeros(keys.shape), jnp.zeros(keys.shape, jnp.int32), book)
    end = _live(env, steps, act, write, start, params)
    return end.length, end.actions


@partial(jax.jit, static_argnums=(0, 1))
def _replayed(env: Env[Any, Any], steps: int, schedules: Any, keys: jax.Array, params: Any) -> jax.Array:
    """The returns (seasons, trials) of schedules (seasons, trials, steps, ...)."""
    shape = jax.tree.leaves(schedules)[0].shape[:2]
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), schedules)
    lane, _, _ = _lanes(env, jnp.repeat(keys, shape[1]), params)

    def act(carry: Any, obs: Any, now: jax.Array) -> Any:
        return carry, jax.tree.map(lambda leaf: leaf[:, now], flat)

    zero = jnp.zeros(lane.over.shape)
    start = _Run(jnp.int32(0), lane, None, None, zero, zero.astype(jnp.int32), None)
    return _live(env, steps, act, lambda *_: None, start, params).returns.reshape(shape)


def _begun(done: Any, number: int) -> Any:
    """The first trials (seasons, trials, steps, ...): the expert's schedule, and it without one part (its looks)."""
    leaves, tree = jax.tree.flatten(done)
    without = [tree.unflatten([leaf * (i != j) for j, leaf in enumerate(leaves)]) for i in range(len(leaves))]
    filled = [done, *without, *[done] * number][:number]
    return jax.tree.map(lambda *parts: jnp.stack(parts, 1), *filled)


def _joined(found: Any, trials: Any) -> Any:
    return jax.tree.map(lambda old, new: jnp.concatenate([old, new], 1), found, trials)


@partial(jax.jit, static_argnums=2)
def _best(schedules: Any, values: jax.Array, number: int) -> tuple[Any, jax.Array]:
    """The best schedules of each season and their returns, the best first."""
    order = jnp.argsort(-values, axis=1)[:, :number]
    rows = jnp.arange(len(values))[:, None]
    return jax.tree.map(lambda leaf: leaf[rows, order], schedules), values[rows, order]


def _check_integers(done: Any) -> None:
    kinds = {str(leaf.dtype) for leaf in jax.tree.leaves(done)}
    if any(not np.issubdtype(kind, np.integer) for kind in kinds):
        raise ConfigError(
            f"wanted actions that are integers, found {', '.join(sorted(kinds))}; plan on a discrete face"
        )


def _habits(actions: jax.Array) -> jax.Array:
    """Actions that the expert takes, as many of each as it happens (64,)."""
    taken = np.asarray(actions)[np.asarray(actions) > 0]
    rows = np.linspace(0, max(len(taken) - 1, 0), HABITS).astype(int)
    return jnp.asarray(np.sort(taken)[rows] if len(taken) else np.zeros(HABITS, int), actions.dtype)


@partial(jax.jit, static_argnums=(0, 1))
def _trials(env: Env[Any, Any], number: int, key: jax.Array, found: Any, habits: Any, room: jax.Array) -> Any:
    """New trials (seasons, trials, steps, ...) made of the elites of each season."""
    draws = jax.random.split(key, (len(room), number))
    make = partial(_trial, env.action_space)
    return jax.vmap(jax.vmap(make, (0, None, None, None)), (0, 0, None, 0))(draws, found, habits, room)


def _trial(space: Any, key: jax.Array, elites: Any, habits: Any, room: jax.Array) -> Any:
    """One schedule (steps, ...) made of the elites (elites, steps, ...): crossed, moved, thinned, written."""
    number, steps = jax.tree.leaves(elites)[0].shape[:2]
    pair, cut, move, thin, *writes = jax.random.split(key, 4 + WRITES)
    a, b = jax.random.randint(pair, (2,), 0, number)
    at = jnp.where(jax.random.uniform(cut) < 0.3, jax.random.randint(cut, (), 0, room), steps)
    trial = jax.tree.map(lambda leaf: keep(jnp.arange(steps) < at, leaf[a], leaf[b]), elites)
    trial = _thinned(thin, _moved(move, trial, room, steps), steps)
    for write in writes:
        trial = _written(space, write, trial, habits, room, steps)
    return trial


def _moved(key: jax.Array, trial: Any, room: jax.Array, steps: int) -> Any:
    """With a chance of one half, what is done in some stretch of days, days earlier or later."""
    whether, where, long, by = jax.random.split(key, 4)
    start = jax.random.randint(where, (), -10, room)
    length = jnp.exp(jax.random.uniform(long) * jnp.log(room.astype(jnp.float32))).astype(jnp.int32) + 4
    shift = jax.random.randint(by, (), 1, 8) * jax.random.choice(by, jnp.asarray([-1, 1]))
    now = jnp.arange(steps)
    inside = (now >= start) & (now < start + length)
    source = now - shift
    filled = (source >= jnp.maximum(start, 0)) & (source < jnp.minimum(start + length, steps))
    moved = jax.tree.map(lambda leaf: leaf[jnp.clip(source, 0, steps - 1)], trial)
    moved = keep(filled, moved, jax.tree.map(jnp.zeros_like, trial))
    return keep(inside & (jax.random.uniform(whether) < 0.5), moved, trial)


def _thinned(key: jax.Array, trial: Any, steps: int) -> Any:
    """With a chance of one half, some of what is done is left out: from every second to every 64th part of it."""
    whether, much, which = jax.random.split(key, 3)
    share = 2.0 ** -jax.random.uniform(much, (), jnp.float32, 1.0, 6.0)
    left_out = jnp.where(jax.random.uniform(whether) < 0.5, share, 0.0)

    def thin(number: int, leaf: jax.Array) -> jax.Array:
        out = jax.random.uniform(jax.random.fold_in(which, number), leaf.shape) < left_out
        return jnp.where(out, 0, leaf)

    leaves, tree = jax.tree.flatten(trial)
    return tree.unflatten([thin(i, leaf) for i, leaf in enumerate(leaves)])


def _written(space: Any, key: jax.Array, trial: Any, habits: Any, room: jax.Array, steps: int) -> Any:
    """With a chance of one third, something is done on some day, of what the expert does or of all there is."""
    whether, when, what, which, pick = jax.random.split(key, 5)
    day = jnp.where(jax.random.uniform(whether) < 1 / 3, jax.random.randint(when, (), 0, room), steps)
    some, tree = jax.tree.flatten(sample(space, what))
    usual = jax.random.uniform(pick) < 0.7

    def write(number: int, leaf: jax.Array, any_: jax.Array, habit: jax.Array) -> jax.Array:
        here, one = jax.random.split(jax.random.fold_in(which, number))
        new = jnp.where(usual, jax.random.choice(one, habit, any_.shape), any_)
        taken = jax.random.uniform(here, any_.shape) < 1 / max(any_.size, 1)
        on = (jnp.arange(steps) == day).reshape(-1, *(1,) * any_.ndim)
        return jnp.where(on & taken, new.astype(leaf.dtype), leaf)

    parts = zip(jax.tree.leaves(trial), some, jax.tree.leaves(habits), strict=True)
    return tree.unflatten([write(i, *part) for i, part in enumerate(parts)])
