"""Trials: seasons of a farm under numeric treatments, all in one compiled program.

A case is a farm's parameters with a treatment. All cases run through the same seasons (the same random keys), so two
cases differ only in their treatment and can be compared season by season.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import RunState, split_key, start_episode
from harvestgym.core.env import STEP_USES
from harvestgym.core.episode import Loop, scan_steps
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.core.random import keys_for
from harvestgym.core.view.timeline import Progress
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import DayReport, FarmState
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.schema import farm_spec

TUNING, REPORTED = 11, 2026
"""Seeds: parameters and treatments were chosen on seasons of the first seed; results are from the second."""

CROPS = ("bean", "corn", "tomato")
WATER, HARVEST = ("Soil-0", "watering_continuous"), ("Plant-0", "harvest")
WATERING_MINUTES = 60.0
ORDERS = 5
"""Maximum number of orders per day."""

APRIL = 115
"""The day of the year on which the seasons of the validation card begin, 25 April."""

MAY = 135
"""The day of the year on which a trial begins, 15 May."""

TreatmentOrder = tuple[tuple[str, str], jax.Array, Sequence[Any]]
"""An entity and its action, whether the action is ordered today, and its values."""

Treat = Callable[[Any, FarmState], Sequence[TreatmentOrder]]
"""Function that returns a day's orders, from the treatment and the state of the farm."""

DailyMeasure = Callable[[FarmState, DayReport], dict[str, jax.Array]]
"""Function that returns the values to record for a day, as scalars."""


class Case(NamedTuple):
    """A farm with a treatment, one of the cases that a trial compares.

    Attributes:
        labels: its columns in a table, which differ from the other cases' labels.
        env: its farm; the farms of all cases have the same structure.
        treatment: a pytree of numbers, the first argument of `Treat`.
    """

    labels: Mapping[str, Any]
    env: FarmModel
    treatment: Any


def make_trial_farm(
    entities: Sequence[tuple[str, Any]],
    actions: Sequence[tuple[str, str]] = (),
    init: Mapping[str, Any] | None = None,
    day: int = MAY,
    days: int = 200,
    site: str | None = None,
) -> FarmModel:
    """Make a farm of one square metre that can be watered and harvested, and always runs for `days`.

    Args:
        entities: kinds and parameter sets: weather, soil and crop, in this order, then others.
        actions: actions of the others, as entity and name.
        init: initial values of entities, as in a farm file.
        day: day of the year on which the season starts.
        days: length of a season.
        site: the weather site of the farm; by default in the south of France.
    """
    interventions: dict[str, dict[str, None]] = {}
    for entity, action in (WATER, HARVEST, *actions):
        interventions.setdefault(entity, {})[action] = None
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30} if site is None else locate_site(site)
    field = {
        "localization": place,
        "shape": {"length#nb": 1, "width#nb": 1, "scale#m": 1.0},
        "entities": list(entities),
    }
    rules = {
        "horizon#day": days, "max_action_schedule_size": ORDERS, "terminal_conditions": [],
        "init": {"Field-0": {"Weather-0": {"day#int365": [day]}, **(init or {})}},
        "free_observations": ["Weather-0.day#int365"],
        "interventions": {"Field-0": interventions},
    }  # fmt: skip
    farmers = [{"kind": "BasicFarmer", "max_daily_interventions": ORDERS}]
    return build(farm_spec({"fields": {"Field-0": field}, "rules": rules, "farmers": farmers}, "trial"))


def locate_site(site: str) -> dict[str, Any]:
    """Return the localization of a weather site, as in a farm file."""
    about = load_site(site).about
    return {"latitude#°": about.latitude, "longitude#°": about.longitude, "altitude#m": about.altitude}


def soil_of(state: FarmState) -> Any:
    """Return the soil of a trial farm."""
    return state.fields[0][1]


def crop_of(state: FarmState) -> Any:
    """Return the crop of a trial farm."""
    return state.fields[0][2]


def is_growing(state: FarmState) -> jax.Array:
    """Return whether the crop is standing, from the seed until it is ripe."""
    stage = crop_of(state).stage
    return jnp.any((stage > Stage.NONE) & (stage < Stage.RIPE))


def tend(state: FarmState, litres: Any, dry: Any = True) -> list[TreatmentOrder]:
    """Order water for a standing crop if it is `dry`, and the harvest of a ripe crop."""
    ripe = jnp.any(crop_of(state).stage == Stage.RIPE)
    return [(WATER, is_growing(state) & (litres > 0) & dry, (litres, WATERING_MINUTES)), (HARVEST, ripe, ())]


def watch_harvest(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """Record the harvest of a day, kg."""
    return {"kg": report.tally["harvest#kg"]}


def run_seasons(
    cases: Sequence[Case], treat: Treat, watch: DailyMeasure, replicates: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the records of `watch`, (cases, replicates, days); raises ConfigError if farms differ in structure.

    The seasons are the same episodes of `seed` as in every tool, starting with the episode of `reset(seed=seed)`.
    """
    env = cases[0].env
    if any(case.env != env for case in cases):
        raise ConfigError("trial: expected farms of one structure, which share a compiled program, got different ones")
    params, treatments = _stack([c.env.params for c in cases]), _stack([c.treatment for c in cases])
    keys = evaluation_keys(seed, range(replicates))
    kept = _live(env, treat, watch, int(env.params.horizon), keys, params, treatments)
    return {name: np.asarray(values) for name, values in kept.items()}


class Yields(NamedTuple):
    """Harvests of a trial whose cases are all combinations of the label levels.

    Attributes:
        cases: in the order of the levels.
        kg: harvest of the farm, (levels of the first label, ..., levels of the last label, seasons).
    """

    cases: Sequence[Case]
    kg: np.ndarray

    @property
    def labels(self) -> dict[str, list[Any]]:
        """The labels by name, with an entry per case."""
        return {name: [case.labels[name] for case in self.cases] for name in self.cases[0].labels}

    @property
    def levels(self) -> dict[str, list[Any]]:
        """The different values of each label."""
        return {name: list(dict.fromkeys(values)) for name, values in self.labels.items()}


def run_yields(
    groups: Iterable[Sequence[Case]], treat: Treat, replicates: int, seed: int, progress: Progress
) -> Yields:
    """Run groups of cases and return their harvests; the farms in a group have the same structure."""
    cases: list[Case] = []
    kg = []
    for group in groups:
        kg.append(run_seasons(group, treat, watch_harvest, replicates, seed)["kg"].sum(-1))
        cases += group
        progress(1)
    shape = [len(levels) for levels in Yields(cases, np.empty(0)).levels.values()]
    return Yields(cases, np.concatenate(kg).reshape(*shape, replicates))


def find_water_level(env: FarmModel, share: float) -> jax.Array:
    """Return the water in a plot, L, at a fraction (`share`) of its soil's extractable water."""
    field = env.params.fields[0]
    bucket = field.entities[1].bucket(field.place)  # pyright: ignore[reportAttributeAccessIssue]
    return jnp.float32(bucket.wilting + share * (bucket.capacity - bucket.wilting))


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _live(
    env: FarmModel, treat: Treat, watch: DailyMeasure, days: int, keys: jax.Array, params: Any, treatments: Any
) -> dict[str, jax.Array]:
    def season(params: Any, treatment: Any, key: jax.Array) -> dict[str, jax.Array]:
        def give_orders(carry: Any, state: FarmState, now: jax.Array) -> tuple[Any, Orders]:
            return carry, make_orders(env, treat(treatment, state))

        def day(run: RunState, orders: Orders, now: jax.Array) -> tuple[RunState, FarmState, DayReport]:
            later, today = split_key(run.key)
            state, report = env.day(keys_for(today, STEP_USES)[0], run.state, orders, params)
            return RunState(later, state, run.over), state, report

        run, _ = start_episode(env, key, params)
        keep = lambda loop, orders, report: watch(loop.obs, report)  # noqa: E731
        times = jnp.arange(days, dtype=jnp.int32)
        return scan_steps(Policy((), give_orders), day, Loop(run, run.state, ()), times, keep)

    return jax.vmap(jax.vmap(season, (None, None, 0)), (0, 0, None))(params, treatments, keys)


def make_orders(env: FarmModel, orders: Sequence[TreatmentOrder]) -> Orders:
    """Make a schedule of `ORDERS` orders, each for the whole field; without any, nothing is done."""
    names = [(row.names[1], row.action.name) for row in env.actions.rows]
    idle: list[TreatmentOrder] = [(names[0], jnp.asarray(False), ())] * (ORDERS - len(orders))
    today = [*orders, *idle]
    wanted = jnp.stack([jnp.asarray(order) for _, order, _ in today])
    rows = jnp.asarray([1 + names.index(action) for action, _, _ in today], jnp.int32)
    padded = [[*given, *[0.0] * (env.actions.width - len(given))] for *_, given in today]
    return Orders(
        kind=jnp.where(wanted, rows, 0),
        farmer=jnp.zeros(ORDERS, jnp.int32),
        plot=jnp.full((ORDERS, 2), -1, jnp.int32),
        values=jnp.asarray([[jnp.asarray(value, jnp.float32) for value in row] for row in padded]),
    )
