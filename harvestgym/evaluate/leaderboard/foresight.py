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

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.episode import Loop, act_in_batch, repeat_carry, run_to_end, start_batch, step_with_advance
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy, sample
from harvestgym.core.random import uniforms
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.evaluate.run import horizon

HABITS = 256
"""Of how many of the expert's own actions the planner's trials are drawn."""

WRITES = 3
"""The most actions that one trial writes anew."""


class Search(NamedTuple):
    """How long the planner thinks about a season: `trials` schedules at a time, `generations` times.

    The `elites` best so far are what the next are made of.
    """

    trials: int = 48
    generations: int = 60
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
        ConfigError: for actions that are no integers from 0 on.
    """
    params, steps = env.params if params is None else params, horizon(env)
    sizes = tuple(map(tuple, choices(env.action_space)))
    keys = jax.random.split(key, seasons)
    length, done = _followed(env, steps, policy.traced(), keys, params)
    trials = _begun(done, sizes, search.trials)
    values = _replayed(env, steps, trials, keys, params)
    expert, (found, values) = values[:, 0], _best(trials, values, search.elites)
    room, habits = jnp.minimum(length + length // 4 + 1, steps), _habits(done, sizes)
    for generation in range(search.generations):
        trials = _trials(sum(sizes, ()), search.trials, jax.random.fold_in(key, generation), found, habits, room)
        new = _replayed(env, steps, trials, keys, params)
        found, values = _best(jnp.concatenate([found, trials], 1), jnp.concatenate([values, new], 1), search.elites)
        progress(1)
    best = jax.tree.map(np.asarray, action_of(env.action_space, found[:, 0]))
    return Ceiling(np.asarray(values[:, 0]), np.asarray(expert), best, keys)


def replay(env: Env[Any, Any], keys: jax.Array, schedules: Any, params: Any = None) -> np.ndarray:
    """The return of each schedule (seasons, steps, ...) in the season of its key."""
    flat = _flat(schedules, 2)[:, None]
    return np.asarray(_replayed(env, flat.shape[2], flat, keys, env.params if params is None else params))[:, 0]


@partial(jit_quickly, static_argnums=(0, 1))
def _followed(
    env: Env[Any, Any], steps: int, policy: Policy, keys: jax.Array, params: Any
) -> tuple[jax.Array, jax.Array]:
    """Length and actions (seasons, steps, entries) of a policy in the seasons of some keys."""
    run, first, act_keys = start_batch(env, keys, params)

    def add(total: tuple[jax.Array, jax.Array], action: Any, last: Any, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        length, actions = total
        return length + 1, actions.at[:, now].set(_flat(action, 1))

    none = jnp.zeros((len(keys), steps, sum(map(len, choices(env.action_space)))), jnp.int32)
    start = Loop(run, first.obs, repeat_carry(policy, len(keys)))
    act, step = act_in_batch(policy, act_keys), step_with_advance(env, params)
    return run_to_end(act, step, start, steps, (jnp.zeros(keys.shape, jnp.int32), none), add)[1]


@partial(jax.jit, static_argnums=(0, 1))
def _replayed(env: Env[Any, Any], steps: int, schedules: jax.Array, keys: jax.Array, params: Any) -> jax.Array:
    """The returns (seasons, trials) of schedules (seasons, trials, steps, entries)."""
    shape = schedules.shape[:2]
    flat = schedules.reshape(-1, *schedules.shape[2:])
    run, _, _ = start_batch(env, jnp.repeat(keys, shape[1]), params)

    def act(carry: Any, obs: Any, now: jax.Array) -> Any:
        return carry, action_of(env.action_space, flat[:, now])

    start, step = Loop(run, None, None), step_with_advance(env, params)
    zero = jnp.zeros(run.over.shape)
    returns = run_to_end(act, step, start, steps, zero, lambda total, _, last, __: total + last.reward)[1]
    return returns.reshape(shape)


def choices(space: gymnasium.Space[Any]) -> list[list[int]]:
    """The number of choices of each entry of an action, part by part in the order of its leaves.

    Raises:
        ConfigError: for actions that are no integers from 0 on.
    """
    match space:
        case gymnasium.spaces.Discrete(start=0):
            return [[int(space.n)]]
        case gymnasium.spaces.MultiDiscrete() if not np.any(space.start):
            return [[int(n) for n in space.nvec.ravel()]]
        case gymnasium.spaces.MultiBinary():
            return [[2] * int(np.prod(space.shape))]
        case gymnasium.spaces.Dict():
            return [part for name in sorted(space.spaces) for part in choices(space[name])]
    raise ConfigError(f"wanted actions that are integers from 0 on, found {space}; plan on a discrete face")


def _flat(actions: Any, axes: int) -> jax.Array:
    """Actions with some leading axes as one array (..., entries)."""
    leaves = [jnp.asarray(leaf, jnp.int32) for leaf in jax.tree.leaves(actions)]
    return jnp.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], -1)


def action_of(space: gymnasium.Space[Any], flat: jax.Array) -> Any:
    """The actions that integers (..., entries) are, with the same leading axes."""
    like, tree = jax.tree.flatten(jax.eval_shape(partial(sample, space), jax.random.key(0)))
    parts = jnp.split(flat, np.cumsum([leaf.size for leaf in like])[:-1], axis=-1)
    shaped = [part.reshape(*flat.shape[:-1], *leaf.shape) for part, leaf in zip(parts, like, strict=True)]
    return tree.unflatten([part.astype(leaf.dtype) for part, leaf in zip(shaped, like, strict=True)])


def _begun(done: jax.Array, sizes: tuple[tuple[int, ...], ...], number: int) -> jax.Array:
    """The first trials (seasons, trials, steps, entries): the expert's, and those without one part (its looks)."""
    part = np.repeat(np.arange(len(sizes)), [len(of_part) for of_part in sizes])
    filled = [done, *(done * (part != i) for i in range(len(sizes))), *[done] * number]
    return jnp.stack(filled[:number], 1)


@partial(jax.jit, static_argnums=2)
def _best(schedules: jax.Array, values: jax.Array, number: int) -> tuple[jax.Array, jax.Array]:
    """The best schedules of each season and their returns, the best first."""
    order = jnp.argsort(-values, axis=1)[:, :number]
    rows = jnp.arange(len(values))[:, None]
    return schedules[rows, order], values[rows, order]


def _habits(done: jax.Array, sizes: tuple[tuple[int, ...], ...]) -> jax.Array:
    """Of each entry what the expert does with entries of its part, as often as it happens (256, entries)."""
    parts = np.split(np.asarray(done), np.cumsum([len(of_part) for of_part in sizes])[:-1], axis=-1)
    columns = []
    for part in parts:
        taken = np.sort(part[part > 0])
        rows = np.linspace(0, max(len(taken) - 1, 0), HABITS).astype(int)
        column = taken[rows] if len(taken) else np.zeros(HABITS, int)
        columns.append(np.repeat(column[:, None], part.shape[-1], axis=1))
    return jnp.asarray(np.concatenate(columns, 1), jnp.int32)


@partial(jax.jit, static_argnums=(0, 1))
def _trials(
    sizes: tuple[int, ...], number: int, key: jax.Array, found: jax.Array, habits: jax.Array, room: jax.Array
) -> jax.Array:
    """New trials (seasons, trials, steps, entries) made of the elites of each season."""
    draws = jax.random.split(key, (len(room), number))
    make = jax.vmap(partial(_trial, sizes), (0, None, None, None))
    return jax.vmap(make, (0, 0, None, 0))(draws, found, habits, room)


def _trial(sizes: tuple[int, ...], key: jax.Array, elites: jax.Array, habits: jax.Array, room: jax.Array) -> jax.Array:
    """One schedule (steps, entries) made of the elites (elites, steps, entries): crossed, moved, thinned, written."""
    number, steps, width = elites.shape
    said = {"cross": 4, "only": 3, "move": 5, "thin": 2 + steps * width, "write": WRITES * (3 + 2 * width)}
    drawn = uniforms(key, said)
    a, b, whether, where = drawn["cross"]
    cut = jnp.where(whether < 0.3, _whole(where, room), steps)
    own, other = elites[_whole(a, number)], elites[_whole(b, number)]
    trial = jnp.where(jnp.arange(steps)[:, None] < cut, own, other)
    only = _chosen(drawn["only"], habits)
    trial = _thinned(drawn["thin"], _moved(drawn["move"], trial, room, only), only)
    for write in drawn["write"].reshape(WRITES, -1):
        trial = _written(sizes, write, trial, habits, room)
    return trial


def _whole(uniform: jax.Array, number: Any) -> jax.Array:
    """A whole number from 0 on, below `number`."""
    return (uniform * number).astype(jnp.int32)


def _chosen(uniform: jax.Array, habits: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """What is moved and thinned: all that is done, or, with a chance of one half, one habit (of one plot, say) only."""
    whether, which, entry = uniform
    one = habits[_whole(which, HABITS), _whole(entry, habits.shape[1])]
    return lambda actions: (whether < 0.5) | (actions == one)


def _moved(uniform: jax.Array, trial: jax.Array, room: jax.Array, only: Any) -> jax.Array:
    """With a chance of one half, what is done in some stretch of days, up to a week earlier or later."""
    whether, where, long, by, back = uniform
    now, start = jnp.arange(len(trial)), _whole(where, room + 10) - 10
    end = jnp.minimum(start + 4 + jnp.exp(long * jnp.log(room)).astype(jnp.int32), len(trial))
    source = now - (1 + _whole(by, 7)) * jnp.where(back < 0.5, 1, -1)
    filled = (source >= jnp.maximum(start, 0)) & (source < end)
    moved = jnp.where(filled[:, None], trial[jnp.clip(source, 0, len(trial) - 1)], 0)
    inside = ((now >= start) & (now < end) & (whether < 0.5))[:, None]
    left = jnp.where(inside & only(trial), 0, trial)
    return jnp.where(inside & only(moved) & (moved > 0), moved, left)


def _thinned(uniform: jax.Array, trial: jax.Array, only: Any) -> jax.Array:
    """With a chance of one half, some of what is done is left out: from every second to every 64th part of it."""
    share = jnp.where(uniform[0] < 0.5, 2.0 ** -(1 + 5 * uniform[1]), 0.0)
    return jnp.where((uniform[2:].reshape(trial.shape) < share) & only(trial), 0, trial)


def _written(
    sizes: tuple[int, ...], uniform: jax.Array, trial: jax.Array, habits: jax.Array, room: jax.Array
) -> jax.Array:
    """With a chance of one third, something is done on some day, of what the expert does or of all there is."""
    (whether, when, usual), (which, taken) = uniform[:3], uniform[3:].reshape(2, -1)
    habit = habits[_whole(which, HABITS), jnp.arange(len(sizes))]
    new = jnp.where(usual < 0.7, habit, _whole(which, jnp.asarray(sizes)))
    on = (jnp.arange(len(trial)) == _whole(when, room))[:, None] & (taken < 1 / len(sizes)) & (whether < 1 / 3)
    return jnp.where(on, new, trial)
