"""What is kept of each step of a farm: all that a picture of it, a replay or a table may ask for later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.farm.engine.active import ActiveFarm, ActiveState
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import ObservationPlan
from harvestgym.farm.engine.variables import Variable


def record(env: FarmModel, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """What is kept of each step, as arrays.

    - `Field-0/Soil-0/available_Water#L`: every variable, as it is after the step.
    - `seen/Field-0/Soil-0/available_Water#L`: which of its numbers the farmer sees in this step, bool of its shape;
      only for variables that can be seen at all. In mode "ao" what was asked for is seen in the half-step of the
      asking (steps 1, 3, 5, …) and only what is free in the others.
    - `orders/kind` (0 for none, else 1 + the row of `env.actions.rows`), `orders/farmer`, `orders/plot` ((-1, -1) for
      the field), `orders/values`, `orders/price`: the interventions asked for in this step, one entry for each place of
      the schedule. `info/accepted` and `info/effective` say what came of them.
    - `info/…`: what `info` says: gains, costs, totals, the context.
    """
    values = {variable.name: env.value(variable, state, params) for variable in env.variables}
    told = {f"info/{name}": value for name, value in timestep.info.items()}
    return values | seen(env, state) | _orders(env, state, action, params) | told


def seen(env: FarmModel, state: Any) -> dict[str, jax.Array]:
    """Which numbers of each variable the farmer sees now, as `seen/<name>`."""
    out: dict[str, jax.Array] = {}
    _mark(out, env.plan, jnp.ones(env.plan.size, bool))
    if isinstance(env, ActiveFarm):
        _mark(out, env.offered, state.asked)
    return out


def _mark(out: dict[str, jax.Array], plan: ObservationPlan, mask: jax.Array) -> None:
    start = 0
    for look in plan.looks:
        name, shape = f"seen/{look.variable.name}", look.variable.shape
        entries = np.ravel_multi_index(np.asarray(look.entries, int).T, shape) if shape else np.zeros(1, int)
        before = out.get(name, jnp.zeros(shape, bool)).ravel()
        out[name] = before.at[entries].max(mask[start : start + look.size]).reshape(shape)
        start += look.size


def _orders(env: FarmModel, state: Any, action: Any, params: Any) -> dict[str, jax.Array]:
    orders = env.actions.orders(action["order"] if isinstance(env, ActiveFarm) else action)
    looking = state.acting if isinstance(state, ActiveState) else False
    due = jnp.where(looking, 0, orders.kind)
    told = {f"orders/{name}": part for name, part in orders._asdict().items()}
    return told | {"orders/kind": due, "orders/price": params.score.prices(orders._replace(kind=due))}


def known(env: FarmModel, kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The record as the farmer knows it: each number as it was when last seen, NaN before that.

    What the farmer is told anyway (orders, info) stays as it is.
    """
    return dict(kept) | {v.name: _last_seen(kept, v) for v in env.variables}


def _last_seen(kept: Mapping[str, np.ndarray], variable: Variable) -> np.ndarray:
    values = np.asarray(kept[variable.name], float)
    mask = kept.get(f"seen/{variable.name}")
    if mask is None:
        return np.full_like(values, np.nan)
    steps = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    last = np.maximum.accumulate(np.where(mask, steps, -1), axis=0)
    found = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    return np.where(last >= 0, found, np.nan)
