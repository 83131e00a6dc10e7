"""A clairvoyant planner as a reference: the best schedule for seasons whose random events it knows.

The planner has the random keys of the seasons, so it can try schedules on exactly the season that it plans for. It
starts from the actions of the expert and of other rules and keeps only improvements, so it never earns less than they
do. Since it is a search, its return is a lower bound on the value of foresight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Env
from harvestgym.core.episode import Loop, play_in_batch, run_to_end, start_batch, step_with_advance
from harvestgym.core.loading import import_file
from harvestgym.core.policy import Policy
from harvestgym.core.random import key_for, uniforms
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.evaluate.run import horizon

FLAT_ACTIONS: Any = import_file(Path(__file__).parents[2] / "examples" / "flat_actions.py")
count_choices, unflatten_actions = FLAT_ACTIONS.count_choices, FLAT_ACTIONS.unflatten_actions

HABITS = 256
"""Number of the expert's actions from which new trials are drawn."""

MOST_CHANGES = 3
"""Maximum number of actions that a trial replaces."""


class Search(NamedTuple):
    """The length of a search, which tries `trials` schedules in each of `generations` rounds.

    New schedules are made from the `elites` best ones so far.
    """

    trials: int = 48
    generations: int = 60
    elites: int = 8

    @property
    def tried(self) -> int:
        """The number of schedules tried."""
        return self.trials * (1 + self.generations)


class Plans(NamedTuple):
    """The best schedules of some seasons.

    Attributes:
        returns: return of the best schedule of each season, float32 (seasons,).
        expert: return of the expert's schedule in the same seasons, float32 (seasons,).
        schedules: actions at each step, integers (seasons, steps, ...); zeros after the end of a season.
        keys: random key of each season, (seasons,).
        tried: number of schedules tried for each season, integers (seasons,).
    """

    returns: np.ndarray
    expert: np.ndarray
    schedules: Any
    keys: jax.Array
    tried: np.ndarray


def plan_with_foresight(
    env: Env[Any, Any],
    keys: jax.Array,
    policy: Policy,
    search: Search = Search(),  # noqa: B008 (a tuple)
    params: Any = None,
    progress: Progress = ignore_progress,
    habit_keys: jax.Array | None = None,
    rules: Sequence[Policy | Batched] = (),
) -> Plans:
    """Search for the best schedule for each key's season; all seasons are planned at once on the device.

    The search of a season depends on its own key and on `habit_keys`, not on the other seasons.

    Args:
        env: an environment with integer actions of any structure.
        keys: random key of each season, (seasons,); with `evaluation_keys`, the keys of the first episodes.
        policy: the expert, from which the search starts.
        search: length of the search.
        params: parameters; by default, the environment's own.
        progress: receives 1 after each generation.
        habit_keys: keys of the seasons in which the expert shows its habitual actions; by default `keys`.
        rules: other policies from which the search starts, each either one policy or one per season.

    Raises:
        ConfigError: if actions are not integers that start at 0.
    """
    params, steps = env.params if params is None else params, horizon(env)
    sizes = tuple(map(tuple, count_choices(env.action_space)))
    length, done = _run_policy(env, steps, policy.traced(), keys, params)
    shown = done if habit_keys is None else _run_policy(env, steps, policy.traced(), habit_keys, params)[1]
    room, habits = jnp.minimum(length + length // 4 + 1, steps), _sample_habits(shown, sizes)

    def measure(trials: jax.Array) -> jax.Array:
        return _run_schedules(env, steps, trials, keys, params)

    traced = [rule.traced() if isinstance(rule, Policy) else rule for rule in rules]
    others = [_run_policy(env, steps, rule, keys, params)[1] for rule in traced]
    trials = _make_first_trials(done, others, sizes, search.trials)
    first, own = measure(trials), jax.vmap(lambda key: key_for(key, "search"))(keys)
    found, values = _improve_schedules(measure, trials, first, sizes, habits, room, own, search, progress)
    best = jax.tree.map(np.asarray, unflatten_actions(env.action_space, found[:, 0]))
    tried = np.full(len(keys), search.tried)
    return Plans(np.asarray(values[:, 0]), np.asarray(first[:, 0]), best, keys, tried)


def plan_blind(
    env: Env[Any, Any],
    keys: jax.Array,
    policy: Policy,
    search: Search = Search(),  # noqa: B008 (a tuple)
    progress: Progress = ignore_progress,
) -> Policy:
    """Search for the schedule with the best mean over all seasons; return it as a policy that observes nothing.

    It searches in the same way as `plan_with_foresight`, but for a single schedule for all seasons. It starts from the
    expert's schedules in the individual seasons.
    """
    steps, seasons = horizon(env), len(keys)
    sizes = tuple(map(tuple, count_choices(env.action_space)))
    length, done = _run_policy(env, steps, policy.traced(), keys, env.params)
    room, habits = jnp.max(length)[None], _sample_habits(done, sizes)
    own = key_for(keys[0], "blind search")[None]

    def measure(trials: jax.Array) -> jax.Array:
        spread = jnp.broadcast_to(trials, (seasons, *trials.shape[1:]))
        return _run_schedules(env, steps, spread, keys, env.params).mean(0, keepdims=True)

    trials = jnp.resize(done, (1, search.trials, *done.shape[1:]))
    found, _ = _improve_schedules(measure, trials, measure(trials), sizes, habits, room, own, search, progress)
    return Policy(jnp.int32(0), Partial(_follow_schedule, unflatten_actions(env.action_space, found[0, 0])))


def _improve_schedules(
    measure: Callable[[jax.Array], jax.Array],
    trials: jax.Array,
    values: jax.Array,
    sizes: Any,
    habits: Any,
    room: jax.Array,
    keys: jax.Array,
    search: Search,
    progress: Progress,
) -> tuple[jax.Array, jax.Array]:
    """Run a search from the first trials and their values, with a key for each row of trials.

    Returns the best schedules found, best first, and their values.
    """
    found, values = _keep_best(trials, values, search.elites)
    for generation in range(search.generations):
        now = jax.vmap(jax.random.fold_in, (0, None))(keys, generation)
        trials = _make_trials(sum(sizes, ()), search.trials, now, found, habits, room)
        new = measure(trials)
        found, values = _keep_best(
            jnp.concatenate([found, trials], 1), jnp.concatenate([values, new], 1), search.elites
        )
        progress(1)
    return found, values


def _follow_schedule(schedule: Any, now: jax.Array, obs: Any, key: jax.Array) -> tuple[jax.Array, Any]:
    return now + 1, jax.tree.map(lambda leaf: leaf[jnp.minimum(now, len(leaf) - 1)], schedule)


@partial(jit_quickly, what="the foresight planner", static_argnums=(0, 1))
def _run_policy(
    env: Env[Any, Any], steps: int, policy: Policy | Batched, keys: jax.Array, params: Any
) -> tuple[jax.Array, jax.Array]:
    """Return length and actions (seasons, steps, entries) of a policy, or of one per season, in the given seasons."""
    run, first, act_keys = start_batch(env, keys, params)

    def add(total: tuple[jax.Array, jax.Array], action: Any, last: Any, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        length, actions = total
        return length + 1, actions.at[:, now].set(_flat(action, 1))

    none = jnp.zeros((len(keys), steps, sum(map(len, count_choices(env.action_space)))), jnp.int32)
    player, step = play_in_batch(policy, act_keys), step_with_advance(env, params)
    start = Loop(run, first.obs, player.init)
    return run_to_end(player, step, start, steps, (jnp.zeros(keys.shape, jnp.int32), none), add)[1]


@partial(jax.jit, static_argnums=(0, 1))
def _run_schedules(env: Env[Any, Any], steps: int, schedules: jax.Array, keys: jax.Array, params: Any) -> jax.Array:
    """Return the returns (seasons, trials) of schedules (seasons, trials, steps, entries)."""
    shape = schedules.shape[:2]
    flat = schedules.reshape(-1, *schedules.shape[2:])
    run, _, _ = start_batch(env, jnp.repeat(keys, shape[1]), params)

    def act(carry: Any, obs: Any, now: jax.Array) -> Any:
        return carry, unflatten_actions(env.action_space, flat[:, now])

    start, step = Loop(run, None, None), step_with_advance(env, params)
    zero = jnp.zeros(run.over.shape, jnp.float32)
    returns = run_to_end(Policy((), act), step, start, steps, zero, lambda total, _, last, __: total + last.reward)[1]
    return returns.reshape(shape)


def _flat(actions: Any, axes: int) -> jax.Array:
    """Flatten actions into one array (..., entries) with `axes` leading axes."""
    leaves = [jnp.asarray(leaf, jnp.int32) for leaf in jax.tree.leaves(actions)]
    return jnp.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], -1)


def _make_first_trials(
    done: jax.Array, others: Sequence[jax.Array], sizes: tuple[tuple[int, ...], ...], number: int
) -> jax.Array:
    """Make the first trials (seasons, trials, steps, entries): the expert, others, and the expert without one part."""
    part = np.repeat(np.arange(len(sizes)), [len(of_part) for of_part in sizes])
    filled = [done, *others, *(done * (part != i) for i in range(len(sizes))), *[done] * number]
    return jnp.stack(filled[:number], 1)


@partial(jax.jit, static_argnums=2)
def _keep_best(schedules: jax.Array, values: jax.Array, number: int) -> tuple[jax.Array, jax.Array]:
    """Return the best schedules of each season and their returns, best first."""
    order = jnp.argsort(-values, axis=1)[:, :number]
    rows = jnp.arange(len(values), dtype=jnp.int32)[:, None]
    return schedules[rows, order], values[rows, order]


def _sample_habits(done: jax.Array, sizes: tuple[tuple[int, ...], ...]) -> jax.Array:
    """Sample the expert's values for each entry, in proportion to their frequency, (256, entries)."""
    parts = np.split(np.asarray(done), np.cumsum([len(of_part) for of_part in sizes])[:-1], axis=-1)
    columns = []
    for part in parts:
        taken = np.sort(part[part > 0])
        rows = np.linspace(0, max(len(taken) - 1, 0), HABITS).astype(int)
        column = taken[rows] if len(taken) else np.zeros(HABITS, int)
        columns.append(np.repeat(column[:, None], part.shape[-1], axis=1))
    return jnp.asarray(np.concatenate(columns, 1), jnp.int32)


@partial(jax.jit, static_argnums=(0, 1))
def _make_trials(
    sizes: tuple[int, ...], number: int, keys: jax.Array, found: jax.Array, habits: jax.Array, room: jax.Array
) -> jax.Array:
    """Make new trials (seasons, trials, steps, entries) from each season's elites."""
    draws = jax.vmap(lambda key: jax.random.split(key, number))(keys)
    make = jax.vmap(partial(_make_trial, sizes), (0, None, None, None))
    return jax.vmap(make, (0, 0, None, 0))(draws, found, habits, room)


def _make_trial(
    sizes: tuple[int, ...], key: jax.Array, elites: jax.Array, habits: jax.Array, room: jax.Array
) -> jax.Array:
    """Make a schedule (steps, entries) from the elites (elites, steps, entries): cross, move, thin, replace."""
    number, steps, width = elites.shape
    said = {"cross": 4, "only": 3, "move": 5, "thin": 2 + steps * width, "write": MOST_CHANGES * (3 + 2 * width)}
    drawn = uniforms(key, said)
    a, b, whether, where = drawn["cross"]
    cut = jnp.where(whether < 0.3, _draw_integer(where, room), steps)
    own, other = elites[_draw_integer(a, number)], elites[_draw_integer(b, number)]
    trial = jnp.where(jnp.arange(steps, dtype=jnp.int32)[:, None] < cut, own, other)
    only = _choose_actions(drawn["only"], habits)
    trial = thin_actions(drawn["thin"], move_actions(drawn["move"], trial, room, only), only)
    for write in drawn["write"].reshape(MOST_CHANGES, -1):
        trial = _replace_actions(sizes, write, trial, habits, room)
    return trial


def _draw_integer(uniform: jax.Array, number: Any) -> jax.Array:
    """Return an integer from 0 to `number` - 1."""
    return (uniform * number).astype(jnp.int32)


def _choose_actions(uniform: jax.Array, habits: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """Choose which actions to move and thin: all or, with probability 1/2, only one habitual action."""
    whether, which, entry = uniform
    one = habits[_draw_integer(which, HABITS), _draw_integer(entry, habits.shape[1])]
    return lambda actions: (whether < 0.5) | (actions == one)


def move_actions(uniform: jax.Array, trial: jax.Array, room: jax.Array, only: Any) -> jax.Array:
    """With probability 1/2, move the actions in a stretch of days by up to a week."""
    whether, where, long, by, back = uniform
    now, start = jnp.arange(len(trial), dtype=jnp.int32), _draw_integer(where, room + 10) - 10
    end = jnp.minimum(start + 4 + jnp.exp(long * jnp.log(room)).astype(jnp.int32), len(trial))
    source = now - (1 + _draw_integer(by, 7)) * jnp.where(back < 0.5, 1, -1)
    filled = (source >= jnp.maximum(start, 0)) & (source < end)
    moved = jnp.where(filled[:, None], trial[jnp.clip(source, 0, len(trial) - 1)], 0)
    inside = ((now >= start) & (now < end) & (whether < 0.5))[:, None]
    left = jnp.where(inside & only(trial), 0, trial)
    return jnp.where(inside & only(moved) & (moved > 0), moved, left)


def thin_actions(uniform: jax.Array, trial: jax.Array, only: Any) -> jax.Array:
    """With probability 1/2, drop some actions: between 1/64 and 1/2 of them."""
    share = jnp.where(uniform[0] < 0.5, 2.0 ** -(1 + 5 * uniform[1]), 0.0)
    return jnp.where((uniform[2:].reshape(trial.shape) < share) & only(trial), 0, trial)


def _replace_actions(
    sizes: tuple[int, ...], uniform: jax.Array, trial: jax.Array, habits: jax.Array, room: jax.Array
) -> jax.Array:
    """With probability 1/3, replace a day's actions with habitual or arbitrary ones."""
    (whether, when, usual), (which, taken) = uniform[:3], uniform[3:].reshape(2, -1)
    habit = habits[_draw_integer(which, HABITS), jnp.arange(len(sizes), dtype=jnp.int32)]
    new = jnp.where(usual < 0.7, habit, _draw_integer(which, jnp.asarray(sizes, jnp.int32)))
    now = (jnp.arange(len(trial), dtype=jnp.int32) == _draw_integer(when, room))[:, None]
    on = now & (taken < 1 / len(sizes)) & (whether < 1 / 3)
    return jnp.where(on, new, trial)
