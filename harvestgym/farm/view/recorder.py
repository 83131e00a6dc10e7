"""The record of a season: for each step, all variables, which of them were observed, the actions and the info."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import RunState, split_key, start_episode
from harvestgym.core.episode import seed_key
from harvestgym.core.random import key_for
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.messages import name_nutrients


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


def flows(env: FarmModel, record: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Return the flows across the farm's boundary in each step of a record that began with `reset(seed=seed)`.

    The names are `Field-0/water:rain#L` and `Field-0/N:leaching#g`, per plot and positive inwards. A step does not keep
    its flows, so the recorded orders are carried out again.
    """
    orders = Orders(*(jnp.asarray(record[f"orders/{name}"][1:]) for name in Orders._fields))
    actions = env.make_action(record.get("action/request", np.zeros(1))[1:], orders)
    out: dict[str, np.ndarray] = {}
    for field, found in zip(env.fields, _replay(env, seed_key(seed), actions, env.params), strict=True):
        for name, amounts in found.items():
            substance, _, flow = name.partition(":")
            values = np.insert(amounts, 0, 0.0, axis=0)  # nothing flows before the start
            parts = {f"{name}#{'L' if substance == 'water' else 'g'}": values}
            if substance == "nutrients":
                parts = dict(zip(name_nutrients(f"{{}}:{flow}#g"), np.moveaxis(values, 1, 0), strict=True))
            out |= {f"{field.name}/{part}": of_part for part, of_part in parts.items()}
    return out


@partial(jit_quickly, what="the flows of an episode", static_argnums=0)
def _replay(env: FarmModel, key: Array, actions: Any, params: Any) -> tuple[dict[str, Array], ...]:
    def one(run: RunState, action: Any) -> tuple[RunState, Any]:
        later, now = split_key(run.key)
        today, passes = key_for(now, "transition"), run.state.acting | (not env.asks)
        found = env.day(today, run.state, env.orders(action), params)[1].flows
        after = run._replace(key=later, state=env.transition(today, run.state, action, params))
        return after, jax.tree.map(lambda flow: jnp.where(passes, flow, 0.0), found)

    return jax.lax.scan(one, start_episode(env, key, params)[0], actions)[1]


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
