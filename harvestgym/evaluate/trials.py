"""Trials: seasons of like farms under treatments that are numbers, all of them in one compiled program.

A case is a farm's parameters with a treatment; every case lives through the same seasons (the same keys), so that two
cases differ by what was done and not by luck, and are compared season by season.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ConfigError
from ..core.random import keys_for
from ..core.tree import pytree
from ..farm.actions import Orders
from ..farm.build import build
from ..farm.model import FarmModel, FarmState, Report
from ..farm.spec import farm_spec

TUNING, REPORTED = 11, 2026
"""Seeds: parameters and treatments were chosen on seasons of the first, reports are of the second."""

ORDERS = 3
"""The most that is done on a day."""

PROBES = 2000
"""Resamples of a bootstrap interval."""

Wish = tuple[tuple[str, str], jax.Array, Sequence[Any]]
"""An entity and its action, whether it is wanted today, and its values."""

Act = Callable[[Any, FarmState], Sequence[Wish]]
"""What is done today, by the treatment and the state of the farm."""

Watch = Callable[[FarmState, Report], dict[str, jax.Array]]
"""What is kept of each day, as scalars."""


class Case(NamedTuple):
    """One of the cases of a trial.

    Attributes:
        labels: what tells it from the others, as columns of a table.
        env: its farm; those of all cases have the same structure.
        treatment: what `Act` is given, a pytree of numbers.
    """

    labels: Mapping[str, Any]
    env: FarmModel
    treatment: Any


class Interval(NamedTuple):
    """A statistic of a sample and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def farm(
    entities: Sequence[tuple[str, Any]],
    interventions: Mapping[str, Any],
    init: Mapping[str, Any] | None = None,
    days: int = 200,
    latitude: float = 43.6,
) -> FarmModel:
    """A farm of one square metre that lives `days` days, whatever happens on it."""
    place = {"localization": {"latitude#°": latitude, "longitude#°": 3.9, "altitude#m": 30}}
    field = place | {"shape": {"length#nb": 1, "width#nb": 1, "scale#m": 1.0}, "entities": list(entities)}
    rules = {"horizon#day": days, "interventions": {"Field-0": dict(interventions)}, "terminal_conditions": []}
    rules |= {"max_action_schedule_size": ORDERS}
    rules |= {"init": {"Field-0": dict(init or {})}, "free_observations": [["Field-0", "Weather-0", "day#int365", []]]}
    data = {"doc": "A farm of a trial.", "mode": "po", "fields": {"Field-0": field}, "rules": rules}
    data |= {"farmers": [{"kind": "BasicFarmer", "max_daily_interventions": ORDERS}]}
    return build(farm_spec(data, "trial"))


def seasons(
    cases: Sequence[Case], act: Act, watch: Watch, days: int, replicates: int, seed: int = REPORTED
) -> dict[str, np.ndarray]:
    """What `watch` keeps of every day of every season; (cases, replicates, days) each."""
    env = cases[0].env
    if any(case.env != env for case in cases):
        raise ConfigError("the cases of a trial are farms of one structure, which share one compiled program")
    stacked = lambda trees: jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *trees)  # noqa: E731
    params, treatments = stacked([c.env.params for c in cases]), stacked([c.treatment for c in cases])
    keys = jax.random.split(jax.random.key(seed), replicates)
    kept = _live(env, act, watch, days, keys, params, treatments)
    return {name: np.asarray(values) for name, values in kept.items()}


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _live(
    env: FarmModel, act: Act, watch: Watch, days: int, keys: jax.Array, params: Any, treatments: Any
) -> dict[str, jax.Array]:
    def season(params: Any, treatment: Any, key: jax.Array) -> dict[str, jax.Array]:
        start, rest = keys_for(key, ("start", "days"))

        def day(state: FarmState, now: jax.Array) -> tuple[FarmState, dict[str, jax.Array]]:
            orders = _orders(env, act(treatment, state))
            state, report = env.day(jax.random.fold_in(rest, now), state, orders, params)
            return state, watch(state, report)

        return jax.lax.scan(day, env.initial(start, params), jnp.arange(days))[1]

    return jax.vmap(jax.vmap(season, (None, None, 0)), (0, 0, None))(params, treatments, keys)


def _orders(env: FarmModel, wishes: Sequence[Wish]) -> Orders:
    names = [(row.names[1], row.action.name) for row in env.actions.rows]
    nothing: list[Wish] = [(names[0], jnp.asarray(False), ())] * (ORDERS - len(wishes))
    today = [*wishes, *nothing]
    wanted = jnp.stack([jnp.asarray(wish) for _, wish, _ in today])
    rows = jnp.asarray([1 + names.index(action) for action, _, _ in today], jnp.int32)
    padded = [[*given, *[0.0] * (env.actions.width - len(given))] for *_, given in today]
    return Orders(
        kind=jnp.where(wanted, rows, 0), farmer=jnp.zeros(ORDERS, jnp.int32),
        plot=jnp.full((ORDERS, 2), -1, jnp.int32),
        values=jnp.asarray([[jnp.asarray(v, jnp.float32) for v in row] for row in padded]),
    )  # fmt: skip
