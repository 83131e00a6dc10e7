"""Calibration: fit parameters of a farm to observed series, such as a growth curve or the yields of several seasons.

Parameters are an argument of the environment, so all candidates of a step run in one `vmap`. The search (see
`least_squares`) follows slopes where the errors are smooth; where labels and thresholds make them rugged, it evolves.
All candidates run in the same seasons, so that they differ only in their parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import Batched, RunState, select
from harvestgym.core.episode import Loop, begin_batch, scan_steps
from harvestgym.core.errors import look_up, require
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.pytree import iterate_metas
from harvestgym.core.saving.checkpoint import to_arrays
from harvestgym.core.spaces import noop_action
from harvestgym.farm.engine.contexts import LeafUpdate
from harvestgym.farm.engine.formula_compiler import find_one_item
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import ObservedItem
from harvestgym.farm.formula_parser import parse_formula

from . import splits
from .least_squares import Search, descend_or_evolve, find_half_widths

Ranges = Mapping[str, tuple[float, float]]
"""The lowest and the highest value of each free parameter, by its path."""


class Series(NamedTuple):
    """The observed values of a variable.

    Attributes:
        variable: its path, such as `Field-0/Plant-0/size#cm`, whose mean over the plots is compared with `value`, or
            `Field-0/Plant-0/size#cm[0, 1]`, which selects one plot.
        day: int, days since the start.
        value: float, in the unit of the variable.
        season: int, the index of the `Treatment` of each value, if there are several.
    """

    variable: str
    day: np.ndarray
    value: np.ndarray
    season: Any = 0


class Treatment(NamedTuple):
    """An observed season: the parameters of its farm, such as the year of the weather, and the farmer's policy."""

    params: Any
    policy: Policy | None


class _Plan(NamedTuple):
    """A farm to simulate, the number of days, and the variables whose daily means are read."""

    env: FarmModel
    days: int
    watched: tuple[ObservedItem, ...]


class Fit(NamedTuple):
    """The result of a fit.

    Attributes:
        values: the fitted parameters by path.
        before: their values before the fit.
        params: all parameters of the farm, including the fitted ones.
        rmse, rmse_before: root mean square error of each series in its own unit, by variable.
        loss: the minimised loss.
        intervals: the 95 % interval of each value, within its range.
        seasons: number of seasons that were simulated.
        how: the search that found the values.
        curves: the fitted `curves` of each treatment.
        noise: standard error of the simulated median of each series, by variable, from as many other seasons.
    """

    values: dict[str, float]
    before: dict[str, float]
    params: Any
    rmse: dict[str, float]
    rmse_before: dict[str, float]
    loss: float
    intervals: dict[str, tuple[float, float]]
    seasons: int
    how: str
    curves: list[dict[str, np.ndarray]]
    noise: dict[str, float]


@splits.sealed()
def fit(
    env: FarmModel,
    free: Ranges,
    series: Sequence[Series],
    policy: Policy | None = None,
    seasons: int = 8,
    seed: int = 0,
    search: Search = descend_or_evolve,
    start_seed: int | None = None,
    treatments: Sequence[Treatment] = (),
    say: Callable[[str], Any] = lambda line: None,
) -> Fit:
    """Find the parameters with which the simulated series fit the observations best.

    The loss is the mean squared difference between the observations and the median over seasons, with each series in
    units of its spread.

    Args:
        env: a farm with one step per day (mode `po` or `fo`).
        free: the range of each parameter to fit, by path (`Field-0/Plant-0/rate/intercept`).
        series: the observations.
        policy: the policy of the farmer; by default, no actions.
        seasons: number of seasons per candidate.
        seed: seed of the seasons.
        search: one of `least_squares`; by default, least squares, then differential evolution if the errors are rugged.
        start_seed: seed of the search; by default `seed`. Different seeds give different initial candidates.
        treatments: the observed seasons, if there are several; each replaces `policy` and the parameters of `env`.
        say: receives a line about the best values so far after each step of the search.

    Raises:
        ConfigError: for an unknown path, with the nearest valid one, or a range that exceeds the parameter's own.
    """
    locations = tuple(find_parameter(env, path, ends) for path, ends in free.items())
    plan = _Plan(env, int(max(s.day.max() for s in series)), tuple(find_watched(env, s.variable) for s in series))
    observed = tuple((s.season, jnp.asarray(s.day, jnp.int32), jnp.asarray(s.value, jnp.float32)) for s in series)
    every, keys = treatments or [Treatment(env.params, policy)], _make_keys(seed, seasons)
    traced = [one._replace(policy=_choose_policy(env, one.policy)) for one in every]
    together = Batched(jax.tree.map(lambda *leaves: jnp.stack(leaves), *traced)) if treatments else traced[0]
    find = partial(_compute_errors, plan, locations, keys, observed, together)
    low, high = np.asarray(list(free.values()), np.float64).T
    candidates, least = 0, (np.inf, [])

    def errors(points: np.ndarray) -> np.ndarray:
        nonlocal candidates, least
        values = low + points * (high - low)
        found = np.asarray(find(jnp.asarray(values, jnp.float32)), np.float64)
        candidates, losses = candidates + len(points), np.mean(found**2, axis=1)
        least = min(least, (losses.min(), values[losses.argmin()].tolist()))
        best = ", ".join(f"{path} = {value:.4g}" for path, value in zip(free, least[1], strict=True))
        say(f"{candidates} candidates, least mean squared error {least[0]:.4g}: {best}")
        return found

    leaves = jax.tree.leaves(env.params)
    start = np.asarray([float(np.ravel(leaves[place.leaf])[place.entries or 0]) for place in locations])
    began = np.clip((start - low) / (high - low), 0, 1)
    found = search(errors, began, seed if start_seed is None else start_seed)
    best, spread = low + found.point * (high - low), (high - low) * find_half_widths(errors, found.point)
    ends = np.clip([best - spread, best + spread], low, high).T.tolist()
    numbers = jnp.asarray(best, jnp.float32)
    fitted = [one._replace(params=set_parameters(one.params, locations, numbers)) for one in every]
    runs = ((every, seed), (fitted, seed), (fitted, seed ^ 1))
    first, after, other = (simulate(env, series, each, seasons, of) for each, of in runs)
    rmse_before, rmse = ({s.variable: _rmse(each, s, s.value) for s in series} for each in (first, after))
    noise = {s.variable: _rmse(after, s, read_curves(other, s)) / np.sqrt(2) for s in series}
    values, before = (dict(zip(free, map(float, numbers), strict=True)) for numbers in (best, start))
    intervals = {path: (one, other) for path, (one, other) in zip(free, ends, strict=True)}
    params, ran = set_parameters(env.params, locations, numbers), candidates * seasons * len(every)
    return Fit(values, before, params, rmse, rmse_before, found.loss, intervals, ran, found.how, after, noise)


def simulate(
    env: FarmModel, series: Sequence[Series], treatments: Sequence[Treatment], seasons: int = 8, seed: int = 0
) -> list[dict[str, np.ndarray]]:
    """Return the `curves` of the series in each treatment, up to the last observation."""
    names, days = [s.variable for s in series], int(max(s.day.max() for s in series))
    return [curves(env, one.params, names, one.policy, seasons, seed, days) for one in treatments]


def read_curves(simulated: Sequence[Mapping[str, np.ndarray]], series: Series) -> np.ndarray:
    """Return the simulated value for each value of a series, given the curves of each treatment."""
    return np.stack([one[series.variable] for one in simulated])[series.season, series.day]


def curves(
    env: FarmModel,
    params: Any,
    variables: Sequence[str],
    policy: Policy | None = None,
    seasons: int = 8,
    seed: int = 0,
    days: int | None = None,
) -> dict[str, np.ndarray]:
    """Return the daily median over seasons of each variable, (days + 1,); by default, seasons run to the horizon."""
    last = int(env.params.horizon) if days is None else days
    plan = _Plan(env, last, tuple(find_watched(env, name) for name in variables))
    found = _run_median(plan, _choose_policy(env, policy), _make_keys(seed, seasons), params)
    return {name: np.asarray(found[:, i]) for i, name in enumerate(variables)}


def _choose_policy(env: FarmModel, policy: Policy | None) -> Policy:
    return (policy or constant_policy(noop_action(env.action_space))).traced()


def _make_keys(seed: int, seasons: int) -> Array:
    return jax.random.split(jax.random.key(seed), seasons)


def find_watched(env: FarmModel, path: str) -> ObservedItem:
    """Find the variable at a path such as `Field-0/Plant-0/size#cm`, or its number on a plot, `…/size#cm[0, 1]`."""
    return find_one_item(env.names, parse_formula(_dot(path)), path)


def find_parameter(env: FarmModel, path: str, values: Iterable[float] = ()) -> LeafUpdate:
    """Find the leaf of the farm's parameters at a path such as `Field-0/Plant-0/rate/intercept`.

    Raises ConfigError if there is none, or if the parameter does not allow one of the `values`.
    """
    require(path.count("/") > 1, "path", "a path such as Field-0/Plant-0/rate/intercept", repr(path))
    (name, slot), rest = env.names.locate(_dot(path), path)
    f = list(env.names.shapes).index(name)
    e = [of_field.name for of_field in env.fields[f].slots].index(slot)
    here: Any = env.params.fields[f].entities[e]
    *groups, key = rest.split("/")
    for i, group in enumerate(groups):
        here = look_up("group of parameters", group, vars(here), "/".join((name, slot, *groups[:i])))
    numbers = [(name, meta) for name, meta in iterate_metas(here) if meta.kind == "par"]
    known = {k: (name, (i,) * meta.stacked) for name, meta in numbers for i, k in enumerate(meta.keys)}
    name, entries = look_up("parameter", key, known, "/".join((name, slot, *groups)))
    meta = dict(numbers)[name]
    for value in values:
        require(meta.low <= value <= meta.high, path, f"a number from {meta.low:g} to {meta.high:g}", f"{value:g}")
    place = ".".join((f".fields[{f}].entities[{e}]", *groups, name))
    return LeafUpdate(list(to_arrays(env.params)).index(place), 1, entries)


def fitted(env: FarmModel, values: Mapping[str, float]) -> Any:
    """Return the parameters of a farm with new values at the given paths, such as values fitted on another farm."""
    locations = [find_parameter(env, path, [value]) for path, value in values.items()]
    return set_parameters(env.params, locations, jnp.asarray(list(values.values()), jnp.float32))


def set_parameters(params: Any, locations: Sequence[LeafUpdate], values: Array) -> Any:
    """Return the parameters of a farm with `values` (n,) at `locations`."""
    leaves, tree = jax.tree.flatten(params)
    for i, place in enumerate(locations):
        leaves[place.leaf] = place.apply(leaves[place.leaf], values[i : i + 1])
    return tree.unflatten(leaves)


def _dot(path: str) -> str:
    """Return a path with the field and the entity separated as in formulas: `Field-0.Plant-0.size#cm`."""
    return path.replace("/", ".", 2) if path.casefold().startswith("field-") else path


def _rmse(simulated: Sequence[Mapping[str, np.ndarray]], series: Series, values: np.ndarray) -> float:
    return float(np.sqrt(np.mean((read_curves(simulated, series) - values) ** 2)))


@partial(jax.jit, static_argnums=(0, 1))
def _compute_errors(
    plan: _Plan, locations: tuple[LeafUpdate, ...], keys: Array, observed: Any, treatments: Any, candidates: Array
) -> Array:
    """Return the errors in units of the spread, (candidates, observations), of candidates, (candidates, parameters)."""

    def errors(values: Array) -> Array:
        def run(one: Any) -> Array:
            return _run_median(plan, one.policy, keys, set_parameters(one.params, locations, values))

        found = jax.vmap(run)(treatments.each) if isinstance(treatments, Batched) else run(treatments)[None]
        parts = [(found[at, day, i] - value) / _find_range(value) for i, (at, day, value) in enumerate(observed)]
        return jnp.concatenate(parts)

    return jax.vmap(errors)(candidates)


def _find_range(value: Array) -> Array:
    return jnp.where(value.max() > value.min(), value.max() - value.min(), 1.0)


@partial(jax.jit, static_argnums=0)
def _run_median(plan: _Plan, policy: Policy, keys: Array, params: Any) -> Array:
    """Return the median of each variable over seasons, (days + 1, variables); ended seasons keep their last state."""
    player, advancing, start, _ = begin_batch(plan.env, policy, keys, params)

    def step(run: RunState, action: Any, now: Array) -> tuple[RunState, Any, Any]:
        after, obs, last = advancing(run, action, now)
        return select(run.over, run, after), obs, last

    def keep(loop: Loop, *_: Any) -> Array:
        return jax.vmap(partial(_read_means, plan), (0, None))(loop.world.state, params)

    later = scan_steps(player, step, start, jnp.arange(plan.days, dtype=jnp.int32), keep)
    return jnp.median(jnp.concatenate([keep(start)[None], later]), axis=1)


def _read_means(plan: _Plan, state: Any, params: Any) -> Array:
    return jnp.stack([jnp.mean(item.take(plan.env.value(item.variable, state, params))) for item in plan.watched])
