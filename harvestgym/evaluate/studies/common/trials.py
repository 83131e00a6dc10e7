"""Trials: seasons of like farms under treatments that are numbers, all of them in one compiled program.

A case is a farm's parameters with a treatment; every case lives through the same seasons (the same keys), so that two
cases differ by what was done and not by luck, and are compared season by season.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.episode import Loop, scan_steps
from harvestgym.core.errors import ConfigError
from harvestgym.core.random import keys_for
from harvestgym.farm.config.compile import build
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import DayReport, FarmModel, FarmState
from harvestgym.farm.entities.plant.state import Stage
from harvestgym.farm.schema import farm_spec

TUNING, REPORTED = 11, 2026
"""Seeds: parameters and treatments were chosen on seasons of the first; what is reported is of the second."""

CROPS = ("bean", "corn", "tomato")
WATER, HARVEST = ("Soil-0", "watering_continuous"), ("Plant-0", "harvest")
MINUTES = 60.0
ORDERS = 4
"""The most that is done on a day."""

MAY = 135
"""The day of the year on which a trial begins, 15 May."""

Wish = tuple[tuple[str, str], jax.Array, Sequence[Any]]
"""An entity and its action, whether it is wanted today, and its values."""

Act = Callable[[Any, FarmState], Sequence[Wish]]
"""What is done today, by the treatment and the state of the farm."""

Watch = Callable[[FarmState, DayReport], dict[str, jax.Array]]
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


def farm(
    entities: Sequence[tuple[str, Any]],
    actions: Sequence[tuple[str, str]] = (),
    init: Mapping[str, Any] | None = None,
    day: int = MAY,
    days: int = 200,
) -> FarmModel:
    """A square metre in the south of France that is watered and harvested and lives its `days`, come what may.

    Args:
        entities: kinds and parameter sets: the weather, the soil and the crop in this order, and further ones.
        actions: of the further ones, as entity and name.
        init: the start of entities, as in a farm file.
        day: the day of the year of the start.
        days: length of a season.
    """
    interventions: dict[str, dict[str, None]] = {}
    for entity, action in (WATER, HARVEST, *actions):
        interventions.setdefault(entity, {})[action] = None
    place = {"localization": {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30}}
    field = place | {"shape": {"length#nb": 1, "width#nb": 1, "scale#m": 1.0}, "entities": list(entities)}
    rules = {
        "horizon#day": days, "max_action_schedule_size": ORDERS, "terminal_conditions": [],
        "init": {"Field-0": {"Weather-0": {"day#int365": [day]}, **(init or {})}},
        "free_observations": [["Field-0", "Weather-0", "day#int365", []]],
        "interventions": {"Field-0": interventions},
    }  # fmt: skip
    farmers = [{"kind": "BasicFarmer", "max_daily_interventions": ORDERS}]
    return build(farm_spec({"fields": {"Field-0": field}, "rules": rules, "farmers": farmers}, "trial"))


def soil_of(state: FarmState) -> Any:
    """The soil of a farm of a trial."""
    return state.fields[0][1]


def crop_of(state: FarmState) -> Any:
    """The crop of a farm of a trial."""
    return state.fields[0][2]


def growing(state: FarmState) -> jax.Array:
    """Whether the crop stands, from the seed until it is ripe."""
    stage = crop_of(state).stage
    return jnp.any((stage > Stage.NONE) & (stage < Stage.RIPE))


def tended(state: FarmState, litres: Any, dry: Any = True) -> list[Wish]:
    """A day's watering of a crop that stands, if it is `dry`, and the harvest of one that is ripe."""
    ripe = jnp.any(crop_of(state).stage == Stage.RIPE)
    return [(WATER, growing(state) & (litres > 0) & dry, (litres, MINUTES)), (HARVEST, ripe, ())]


def harvest(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """The least that is kept of a day: what is harvested, kg."""
    return {"kg": report.tally["harvest#kg"]}


def seasons(cases: Sequence[Case], act: Act, watch: Watch, replicates: int, seed: int) -> dict[str, np.ndarray]:
    """What `watch` keeps of every day of every season, (cases, replicates, days) each; ConfigError for unlike farms."""
    env = cases[0].env
    if any(case.env != env for case in cases):
        raise ConfigError("trial: wanted farms of one structure, which share a compiled program, found unlike ones")
    params, treatments = _stacked([c.env.params for c in cases]), _stacked([c.treatment for c in cases])
    keys = jax.random.split(jax.random.key(seed), replicates)
    kept = _live(env, act, watch, int(env.params.horizon), keys, params, treatments)
    return {name: np.asarray(values) for name, values in kept.items()}


def yields(
    groups: Iterable[Sequence[Case]], act: Act, replicates: int, seed: int, progress: Callable[[int], None]
) -> tuple[list[Case], np.ndarray]:
    """All cases of some groups of one structure each, and their harvests, kg of the farm (case, season)."""
    cases: list[Case] = []
    kg = []
    for mine in groups:
        kg.append(seasons(mine, act, harvest, replicates, seed)["kg"].sum(-1))
        cases += mine
        progress(1)
    return cases, np.concatenate(kg)


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _live(
    env: FarmModel, act: Act, watch: Watch, days: int, keys: jax.Array, params: Any, treatments: Any
) -> dict[str, jax.Array]:
    def season(params: Any, treatment: Any, key: jax.Array) -> dict[str, jax.Array]:
        start, rest = keys_for(key, ("start", "days"))

        def give_orders(carry: Any, state: FarmState, now: jax.Array) -> tuple[Any, Orders]:
            return carry, _orders(env, act(treatment, state))

        def day(state: FarmState, orders: Orders, now: jax.Array) -> tuple[FarmState, FarmState, DayReport]:
            state, report = env.day(jax.random.fold_in(rest, now), state, orders, params)
            return state, state, report

        state = env.initial(start, params)
        keep = lambda loop, orders, report: watch(loop.world, report)  # noqa: E731
        return scan_steps(give_orders, day, Loop(state, state, ()), jnp.arange(days), keep)

    return jax.vmap(jax.vmap(season, (None, None, 0)), (0, 0, None))(params, treatments, keys)


def _orders(env: FarmModel, wishes: Sequence[Wish]) -> Orders:
    """The wishes as a schedule of `ORDERS` orders, each for the whole field."""
    names = [(row.names[1], row.action.name) for row in env.actions.rows]
    nothing: list[Wish] = [(names[0], jnp.asarray(False), ())] * (ORDERS - len(wishes))
    today = [*wishes, *nothing]
    wanted = jnp.stack([jnp.asarray(wish) for _, wish, _ in today])
    rows = jnp.asarray([1 + names.index(action) for action, _, _ in today], jnp.int32)
    padded = [[*given, *[0.0] * (env.actions.width - len(given))] for *_, given in today]
    return Orders(
        kind=jnp.where(wanted, rows, 0),
        farmer=jnp.zeros(ORDERS, jnp.int32),
        plot=jnp.full((ORDERS, 2), -1, jnp.int32),
        values=jnp.asarray([[jnp.asarray(value, jnp.float32) for value in row] for row in padded]),
    )
