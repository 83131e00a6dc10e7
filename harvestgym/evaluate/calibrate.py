"""Calibration: fit parameters of a farm to observed series, such as a growth curve.

Parameters are an argument of the environment, so a generation of candidates is one `vmap`. The search is SciPy's
differential evolution, which needs no gradient and works with labels and thresholds. All candidates run in the same
seasons, so that they differ only in their parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import RunState, select
from harvestgym.core.episode import Loop, begin_batch, scan_steps
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.pytree import iterate_metas
from harvestgym.core.saving.state import to_arrays
from harvestgym.core.spaces import noop_action
from harvestgym.farm.engine.contexts import LeafUpdate
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable


class Series(NamedTuple):
    """The observed values of a variable.

    Attributes:
        variable: its path, such as `Field-0/Plant-0/size#cm`; its mean over the plots is compared with `value`.
        day: int, days since the start.
        value: float, in the unit of the variable.
    """

    variable: str
    day: np.ndarray
    value: np.ndarray


class Fit(NamedTuple):
    """The result of a fit.

    Attributes:
        values: the fitted parameters by path.
        before: their values before the fit.
        params: all parameters of the farm, including the fitted ones.
        rmse, rmse_before: root mean square error of each series in its own unit, by variable.
        loss: the minimised loss.
    """

    values: dict[str, float]
    before: dict[str, float]
    params: Any
    rmse: dict[str, float]
    rmse_before: dict[str, float]
    loss: float


def fit(
    env: FarmModel,
    free: Mapping[str, tuple[float, float]],
    series: Sequence[Series],
    policy: Policy | None = None,
    seasons: int = 8,
    seed: int = 0,
    members: int = 8,
    generations: int = 40,
    start_seed: int | None = None,
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
        members: candidates per generation for each fitted parameter.
        generations: maximum number of generations.
        start_seed: seed of the search; by default `seed`. Different seeds give different initial candidates.

    Raises:
        ConfigError: for an unknown path, with the nearest valid one, or a range beyond that of the parameter.
    """
    import scipy.optimize

    locations = tuple(find_parameter(env, path, ends) for path, ends in free.items())
    watched = tuple(find_watched(env, s.variable) for s in series)
    days = int(max(s.day.max() for s in series))
    observed = tuple((jnp.asarray(s.day, jnp.int32), jnp.asarray(s.value, jnp.float32)) for s in series)
    farmer, keys = _choose_policy(env, policy), _make_keys(seed, seasons)
    losses = partial(_compute_losses, env, days, watched, locations, farmer, keys, observed, env.params)
    leaves = jax.tree.leaves(env.params)
    start = np.asarray([float(np.ravel(leaves[place.leaf])[place.entries or 0]) for place in locations])
    own = seed if start_seed is None else start_seed
    seeded: Any = {"seed": own}  # accepted by all versions of SciPy; newer ones also accept rng
    found = scipy.optimize.differential_evolution(
        lambda x: np.asarray(losses(jnp.asarray(x.T, jnp.float32)), np.float64),
        list(free.values()), x0=np.clip(start, *np.asarray(list(free.values())).T), popsize=members,
        maxiter=generations, vectorized=True, updating="deferred", polish=False, tol=1e-4, **seeded,
    )  # fmt: skip
    params = set_parameters(env.params, locations, jnp.asarray(found.x, jnp.float32))
    names = [s.variable for s in series]
    after, first = (curves(env, p, names, policy, seasons, seed, days) for p in (params, env.params))
    rmse = [{s.variable: _rmse(curve[s.variable], s) for s in series} for curve in (after, first)]
    values = [dict(zip(free, map(float, numbers), strict=True)) for numbers in (found.x, start)]
    return Fit(values[0], values[1], params, rmse[0], rmse[1], float(found.fun))


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
    watched = tuple(find_watched(env, name) for name in variables)
    last = int(env.params.horizon) if days is None else days
    found = _run_median(env, last, watched, _choose_policy(env, policy), _make_keys(seed, seasons), params)
    return {name: np.asarray(found[:, i]) for i, name in enumerate(variables)}


def _choose_policy(env: FarmModel, policy: Policy | None) -> Policy:
    return (policy or constant_policy(noop_action(env.action_space))).traced()


def _make_keys(seed: int, seasons: int) -> Array:
    return jax.random.split(jax.random.key(seed), seasons)


def find_watched(env: FarmModel, path: str) -> Variable:
    """Find the variable at a path such as `Field-0/Plant-0/size#cm`."""
    return env.names.variable(*_split(path))


def find_parameter(env: FarmModel, path: str, values: Iterable[float] = ()) -> LeafUpdate:
    """Find the leaf of the farm's parameters at a path such as `Field-0/Plant-0/rate/intercept`.

    Raises ConfigError if there is none, or if the parameter does not allow one of the `values`.
    """
    field, entity, rest = _split(path)
    name, slot = env.names.entity(field, entity)
    f = list(env.names.shapes).index(name)
    e = [of_field.name for of_field in env.fields[f].slots].index(slot)
    here: Any = env.params.fields[f].entities[e]
    *groups, key = rest.split("/")
    for i, group in enumerate(groups):
        check_name("group of parameters", group, vars(here), "/".join((field, entity, *groups[:i])))
        here = getattr(here, group)
    numbers = [(name, meta) for name, meta in iterate_metas(here) if meta.kind == "par"]
    known = {k: (name, (i,) * meta.stacked) for name, meta in numbers for i, k in enumerate(meta.keys)}
    check_name("parameter", key, known, "/".join((field, entity, *groups)))
    name, entries = known[key]
    meta = dict(numbers)[name]
    for value in values:
        if not meta.low <= value <= meta.high:
            raise ConfigError(f"{path}: expected a number from {meta.low:g} to {meta.high:g}, got {value:g}")
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


def _split(path: str) -> tuple[str, str, str]:
    parts = path.split("/", 2)
    if len(parts) < 3:
        raise ConfigError(f"path: expected a path such as Field-0/Plant-0/size#cm, got {path!r}")
    return parts[0], parts[1], parts[2]


def _rmse(curve: np.ndarray, series: Series) -> float:
    return float(np.sqrt(np.mean((curve[series.day] - series.value) ** 2)))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _compute_losses(
    env: FarmModel,
    days: int,
    watched: tuple[Variable, ...],
    locations: tuple[LeafUpdate, ...],
    policy: Policy,
    keys: Array,
    observed: tuple[tuple[Array, Array], ...],
    params: Any,
    candidates: Array,
) -> Array:
    """Return the loss of each row of `candidates`, (candidates, parameters)."""

    def loss(values: Array) -> Array:
        found = _run_median(env, days, watched, policy, keys, set_parameters(params, locations, values))
        errors = [(found[day, i] - value) / _find_range(value) for i, (day, value) in enumerate(observed)]
        return jnp.mean(jnp.square(jnp.concatenate(errors)))

    return jax.vmap(loss)(candidates)


def _find_range(value: Array) -> Array:
    return jnp.where(value.max() > value.min(), value.max() - value.min(), 1.0)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run_median(
    env: FarmModel, days: int, watched: tuple[Variable, ...], policy: Policy, keys: Array, params: Any
) -> Array:
    """Return the median of each variable over seasons, (days + 1, variables); ended seasons keep their last state."""
    player, advancing, start, _ = begin_batch(env, policy, keys, params)

    def step(run: RunState, action: Any, now: Array) -> tuple[RunState, Any, Any]:
        after, obs, last = advancing(run, action, now)
        return select(run.over, run, after), obs, last

    def keep(loop: Loop, *_: Any) -> Array:
        return jax.vmap(partial(_read_means, env, watched), (0, None))(loop.world.state, params)

    later = scan_steps(player, step, start, jnp.arange(days, dtype=jnp.int32), keep)
    return jnp.median(jnp.concatenate([keep(start)[None], later]), axis=1)


def _read_means(env: FarmModel, watched: tuple[Variable, ...], state: Any, params: Any) -> Array:
    return jnp.stack([jnp.mean(env.value(variable, state, params).astype(jnp.float32)) for variable in watched])
