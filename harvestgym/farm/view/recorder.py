"""The record of a season: for each step, all variables, which of them were observed, the actions and the info."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable


def record(env: FarmModel, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """Return the arrays that are recorded for a step.

    - `Field-0/Soil-0/available_Water#L`: the value of every variable after the step.
    - `seen/Field-0/Soil-0/available_Water#L`: which of its numbers the farmer observes in this step, a bool array of
      the same shape; only for variables that can be observed. In mode "ao" requested items are observed in the
      half-step of the request (steps 1, 3, 5, …); in the other half-steps only free items are observed.
    - `orders/kind` (0 for none, else 1 + the row of `env.actions.rows`), `orders/farmer`, `orders/plot` ((-1, -1) for
      the field), `orders/values`, `orders/price`: the interventions ordered in this step, one entry for each place
      in the schedule. `info/accepted` and `info/effective` hold the outcome.
    - `info/…`: gains, costs, totals and context.
    """
    values = {variable.name: env.value(variable, state, params) for variable in env.variables}
    info = {f"info/{name}": value for name, value in timestep.info.items()}
    return values | observed_masks(env, state) | _orders(env, state, action, params) | info


def observed_masks(env: FarmModel, state: Any) -> dict[str, Array]:
    """Return, as `seen/<name>`, which numbers of each variable the farmer observes now."""
    observed = env.observed_entries(state)
    return {f"seen/{name}": jnp.asarray(at >= 0) & observed[at] for name, at in env.full_plan.positions.items()}


def _orders(env: FarmModel, state: Any, action: Any, params: Any) -> dict[str, Array]:
    orders = env.orders(action)
    due = orders._replace(kind=jnp.where(state.acting, 0, orders.kind))
    return {f"orders/{name}": part for name, part in due._asdict().items()} | {"orders/price": params.score.prices(due)}


OF_THE_DAY = ("limiting_factor", "limiting_exponent")
"""Variables that describe only the day on which they are observed."""


class LastObserved(NamedTuple):
    """For each step and number of a variable: its last observed value, or NaN, and the step of observation, or -1."""

    values: np.ndarray
    steps: np.ndarray


def last_observed(record: Mapping[str, np.ndarray], variable: Variable) -> LastObserved:
    """Return the values of a variable that the farmer knows at each step of a record."""
    values = np.asarray(record[variable.name], float)
    mask = record.get(f"seen/{variable.name}", np.zeros(values.shape, bool))
    steps = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    last = np.maximum.accumulate(np.where(mask, steps, -1), axis=0)
    found = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    return LastObserved(np.where(last >= 0, found, np.nan), last)


def known(env: FarmModel, record: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the record as the farmer knows it: each number as last observed, and orders and info unchanged.

    The factor that slowed growth on a day is known only if it was observed on that day.
    """
    out = dict(record)
    for variable in env.variables:
        values, steps = last_observed(record, variable)
        today = steps == np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
        out[variable.name] = np.where(today, values, np.nan) if variable.attr in OF_THE_DAY else values
    return out


def drawn_numbers(record: Mapping[str, np.ndarray], step: int) -> np.ndarray:
    """Return the numbers that describe the context at a step; empty if nothing is drawn."""
    drawn = record.get("info/context")
    return np.zeros(0, np.float32) if drawn is None else np.asarray(drawn[step])


def mean_of_plots(values: Any) -> np.ndarray:
    """Return the mean over the plots at each step, float (steps,); NaN where a plot is unknown."""
    array = np.asarray(values, float)
    return array.reshape(len(array), -1).mean(1)
