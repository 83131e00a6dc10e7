"""Calibration: parameters of a farm fitted to observed series, a growth curve say.

Parameters are an argument of the environment, so that a generation of candidates is one `vmap`; the search is
SciPy's differential evolution, which asks for no gradient and minds neither labels nor thresholds. All candidates
live through the same seasons, so that they differ by their parameters and not by luck.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import RunState, select, start_episode
from harvestgym.core.episode import Loop, scan_steps, step_with_advance
from harvestgym.core.errors import ConfigError, check_name, unknown
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.spaces import noop_action
from harvestgym.core.tree import metas, replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable


class Series(NamedTuple):
    """What was observed of a variable.

    Attributes:
        variable: its path, `Field-0/Plant-0/size#cm`; the mean over the plots is compared.
        day: int, days since the start.
        value: float, in the unit of the variable.
    """

    variable: str
    day: np.ndarray
    value: np.ndarray


class Fit(NamedTuple):
    """What was found.

    Attributes:
        values: the fitted parameters by their paths.
        before: what they were.
        params: all parameters of the farm, with the fitted ones in them.
        rmse, rmse_before: root mean square error of each series in its own unit, by variable.
    """

    values: dict[str, float]
    before: dict[str, float]
    params: Any
    rmse: dict[str, float]
    rmse_before: dict[str, float]


class Spot(NamedTuple):
    """Where a parameter stands: the field, the entity, the attributes below, and its entry where there are several."""

    field: int
    entity: int
    attributes: tuple[str, ...]
    entry: int | None


def read_series(path: Path, variables: Mapping[str, str], **where: str) -> list[Series]:
    """The series of a CSV file with a column `day`.

    Args:
        path: the file.
        variables: the path of the variable by the name of the column; empty cells are not observed.
        where: rows to take, those whose cell in a column is this text (`year="1877"`).
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = rows[0].keys() if rows else ()
    for name in ("day", *variables, *where):
        check_name("column", name, columns, str(path))
    mine = [row for row in rows if all(row[name] == text for name, text in where.items())]
    found = []
    for column, variable in variables.items():
        seen = [row for row in mine if row[column].strip()]
        if not seen:
            raise ConfigError(f"{path}: wanted rows with a number in {column!r} where {where}, found none")
        day, value = ([float(row[name]) for row in seen] for name in ("day", column))
        found.append(Series(variable, np.asarray(day, int), np.asarray(value, np.float32)))
    return found


def fit(
    env: FarmModel,
    free: Mapping[str, tuple[float, float]],
    series: Sequence[Series],
    policy: Policy | None = None,
    seasons: int = 8,
    seed: int = 0,
    members: int = 8,
    generations: int = 40,
) -> Fit:
    """The parameters with which the farm comes nearest to what was observed.

    The loss is the mean over all observations of the squared error of the median season, each series in units of its
    own spread.

    Args:
        env: a farm with a step a day (mode `po` or `fo`).
        free: the parameters to fit by path (`Field-0/Plant-0/grow/rate/intercept`), and the range of each.
        series: what was observed.
        policy: what the farmer did; nothing by default.
        seasons: how many lives a candidate is judged by.
        seed: of the seasons and of the search.
        members: candidates of a generation, for each parameter.
        generations: the most there are.

    Raises:
        ConfigError: for an unknown path, with the nearest.
    """
    import scipy.optimize

    spots = tuple(locate(env, path) for path in free)
    watched = tuple(watch(env, s.variable) for s in series)
    acting = (policy or constant_policy(noop_action(env.action_space))).traced()
    keys = jax.random.split(jax.random.key(seed), seasons)
    days = int(max(s.day.max() for s in series))
    told = tuple((jnp.asarray(s.day), jnp.asarray(s.value, jnp.float32)) for s in series)
    losses = partial(_losses, env, days, watched, spots, acting, keys, told, env.params)
    start = np.asarray([float(_at(env.params, spot)) for spot in spots])
    seeded: Any = {"seed": seed}  # the name that all versions of SciPy know; the newer ones also say rng
    found = scipy.optimize.differential_evolution(
        lambda x: np.asarray(losses(jnp.asarray(x.T, jnp.float32)), np.float64),
        list(free.values()), x0=np.clip(start, *np.asarray(list(free.values())).T), popsize=members,
        maxiter=generations, vectorized=True, updating="deferred", polish=False, tol=1e-4, **seeded,
    )  # fmt: skip
    params = put(env.params, spots, jnp.asarray(found.x, jnp.float32))
    names = [s.variable for s in series]
    after, first = (curves(env, p, names, acting, seasons, seed, days) for p in (params, env.params))
    rmse = [{s.variable: _rmse(curve[s.variable], s) for s in series} for curve in (after, first)]
    values = [dict(zip(free, map(float, numbers), strict=True)) for numbers in (found.x, start)]
    return Fit(values[0], values[1], params, rmse[0], rmse[1])


def curves(
    env: FarmModel,
    params: Any,
    variables: Sequence[str],
    policy: Policy | None = None,
    seasons: int = 8,
    seed: int = 0,
    days: int | None = None,
) -> dict[str, np.ndarray]:
    """The median season of each variable, (days + 1,) from the start on, up to the horizon by default."""
    watched = tuple(watch(env, name) for name in variables)
    acting = (policy or constant_policy(noop_action(env.action_space))).traced()
    keys = jax.random.split(jax.random.key(seed), seasons)
    last = int(env.params.horizon) if days is None else days
    found = _median(env, last, watched, acting, keys, params)
    return {name: np.asarray(found[:, i]) for i, name in enumerate(variables)}


def watch(env: FarmModel, path: str) -> Variable:
    """The variable of a path `Field-0/Plant-0/size#cm`."""
    return env.names.variable(*_split(path))


def locate(env: FarmModel, path: str) -> Spot:
    """Where the parameter of a path `Field-0/Plant-0/grow/rate/intercept` stands."""
    field, entity, rest = _split(path)
    f, e = env.names.entity(field, entity)
    here: Any = env.params.fields[f].entities[e]
    *groups, key = rest.split("/")
    for i, group in enumerate(groups):
        if not hasattr(here, group):
            raise unknown("group of parameters", group, vars(here), "/".join((field, entity, *groups[:i])))
        here = getattr(here, group)
    numbers = [(name, meta) for name, meta in metas(here) if meta.kind == "par"]
    known = {k: (name, i if meta.stacked else None) for name, meta in numbers for i, k in enumerate(meta.keys)}
    check_name("parameter", key, known, "/".join((field, entity, *groups)))
    name, entry = known[key]
    return Spot(f, e, (*groups, name), entry)


def fitted(env: FarmModel, values: Mapping[str, float]) -> Any:
    """The parameters of a farm with other values for those of some paths: what was fitted on one farm, on another."""
    spots = [locate(env, path) for path in values]
    return put(env.params, spots, jnp.asarray(list(values.values()), jnp.float32))


def put(params: Any, spots: Sequence[Spot], values: jax.Array) -> Any:
    """The parameters of a farm with `values` (n,) at some spots."""
    for spot, value in zip(spots, values, strict=True):
        params = _with(params, ("fields", spot.field, "entities", spot.entity, *spot.attributes), spot.entry, value)
    return params


def _split(path: str) -> tuple[str, str, str]:
    parts = path.split("/", 2)
    if len(parts) < 3:
        raise ConfigError(f"{path}: wanted a path as Field-0/Plant-0/size#cm")
    return parts[0], parts[1], parts[2]


def _at(params: Any, spot: Spot) -> Any:
    here: Any = params.fields[spot.field].entities[spot.entity]
    for name in spot.attributes:
        here = getattr(here, name)
    return here if spot.entry is None else here[spot.entry]


def _with(tree: Any, path: tuple[Any, ...], entry: int | None, value: jax.Array) -> Any:
    if not path:
        return value if entry is None else jnp.asarray(tree).at[entry].set(value)
    if isinstance(tree, tuple):
        return tuple(_with(part, path[1:], entry, value) if i == path[0] else part for i, part in enumerate(tree))
    return replace(tree, **{path[0]: _with(getattr(tree, path[0]), path[1:], entry, value)})


def _rmse(curve: np.ndarray, series: Series) -> float:
    return float(np.sqrt(np.mean((curve[series.day] - series.value) ** 2)))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _losses(
    env: FarmModel,
    days: int,
    watched: tuple[Variable, ...],
    spots: tuple[Spot, ...],
    policy: Policy,
    keys: jax.Array,
    told: tuple[tuple[jax.Array, jax.Array], ...],
    params: Any,
    candidates: jax.Array,
) -> jax.Array:
    """The loss of each candidate (candidates, parameters)."""

    def loss(values: jax.Array) -> jax.Array:
        found = _median(env, days, watched, policy, keys, put(params, spots, values))
        errors = [(found[day, i] - value) / _spread(value) for i, (day, value) in enumerate(told)]
        return jnp.mean(jnp.square(jnp.concatenate(errors)))

    return jax.vmap(loss)(candidates)


def _spread(value: jax.Array) -> jax.Array:
    return jnp.where(value.max() > value.min(), value.max() - value.min(), 1.0)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _median(
    env: FarmModel, days: int, watched: tuple[Variable, ...], policy: Policy, keys: jax.Array, params: Any
) -> jax.Array:
    """The median over the seasons of each watched variable, (days + 1, variables); what has ended stays as it is."""

    advancing = step_with_advance(env, params)

    def step(run: RunState, action: Any, now: jax.Array) -> tuple[RunState, Any, Any]:
        after, obs, last = advancing(run, action, now)
        return select(run.over, run, after), obs, last

    def season(key: jax.Array) -> jax.Array:
        run, first = start_episode(env, key, params)

        def act(carry: Any, obs: Any, now: jax.Array) -> tuple[Any, Any]:
            return policy.act(carry, obs, jax.random.fold_in(key, now))

        def keep(loop: Loop, *_: Any) -> jax.Array:
            return _seen(env, watched, loop.world.state, params)

        later = scan_steps(act, step, Loop(run, first.obs, policy.init), jnp.arange(days), keep)
        return jnp.concatenate([_seen(env, watched, run.state, params)[None], later])

    return jnp.median(jax.vmap(season)(keys), axis=0)


def _seen(env: FarmModel, watched: tuple[Variable, ...], state: Any, params: Any) -> jax.Array:
    return jnp.stack([jnp.mean(env.value(variable, state, params).astype(jnp.float32)) for variable in watched])
