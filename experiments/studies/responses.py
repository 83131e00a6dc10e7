"""Responses of a crop: dates and yield over climates, and yield by temperature, nitrogen, light and water.

Every morning the soil is filled up to a level and, where a treatment sets them, the day's air and the soil's nutrients
replace those of the season, so that only one condition differs between cases. The degree-days are computed from the
daily mean temperatures between the base and the optimum that the source of the crop's clock states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import replace
from harvestgym.core.random import keys_for
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.plant.stages import Stage

from .common.report import open_figure, write_columns
from .common.trials import APRIL, CROPS, ORDERS, REPORTED, make_trial_farm

DAYS = 300
SITES = ("lille", "debrecen", "montpellier", "petrolina")
SITE = "montpellier"
DEGREES = (8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36)
NITROGEN = (0.0, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 100.0, 200.0)
RADIATION_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75)
WATER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
PLENTY = 200.0
"""Grams of phosphorus, potassium and carbon per m2 of plot, and 20 of nitrogen, unless a treatment sets them."""

CLEAR, SHADE_COEFFICIENT = 0.75, 0.16
"""Coefficients of FAO-56 eqs. (37) and (50), with which a temperature range gives a share of the radiation."""


class Conditions(NamedTuple):
    """Conditions that a treatment sets; NaN leaves one to the season.

    Attributes:
        degrees: mean temperature, degC.
        radiation: radiation at the ground as a fraction of the extraterrestrial, 0 to .75.
        nitrogen: nitrogen on the first day, g per m2, without any release; NaN refills 20 g daily.
        phosphorus, potassium: fraction of plenty.
        water: fraction of the extractable water to which the soil is filled each morning.
    """

    degrees: Any = np.nan
    radiation: Any = np.nan
    nitrogen: Any = np.nan
    phosphorus: Any = 1.0
    potassium: Any = 1.0
    water: Any = 1.0


class Response(NamedTuple):
    """Means over seasons; NaN where no season reaches the stage.

    Attributes:
        flower, ripe: days from sowing.
        to_flower, to_ripe: degree-days from sowing.
        kg: yield per m2, 0 in seasons that do not ripen.
        nitrogen: nitrogen in the plants at the end, g per m2.
        died: fraction of seasons.
    """

    flower: float
    ripe: float
    to_flower: float
    to_ripe: float
    kg: float
    nitrogen: float
    died: float


def measure_responses(
    crop: str, cases: Mapping[str, tuple[str, Conditions]], replicates: int, seed: int, day: int = APRIL
) -> dict[str, Response]:
    """Return the response of a crop in each case, a site with conditions."""
    made = {site: _make_farm(crop, site, day) for site in {site for site, _ in cases.values()}}
    keys, first = evaluation_keys(seed, range(replicates)), next(iter(made.values()))
    found = {}
    for name, (site, conditions) in cases.items():
        params = first.given(made[site].params)
        numbers = Conditions(*(jnp.float32(value) for value in conditions))
        record = _live(first, keys, params, numbers)
        clock = made[site].params.fields[0].entities[2].clock  # pyright: ignore[reportAttributeAccessIssue]
        ends = float(clock.base), float(clock.optimum)
        found[name] = _summarise({n: np.asarray(v) for n, v in record.items()}, *ends)
    return found


def _make_farm(crop: str, site: str, day: int) -> FarmModel:
    entities = [("Weather", site), ("Soil", "loam"), ("Plant", crop), ("Pollinators", "bee")]
    return make_trial_farm(entities, day=day, days=DAYS, site=site)


@partial(jax.jit, static_argnums=0)
def _live(env: FarmModel, keys: jax.Array, params: Any, conditions: Conditions) -> dict[str, jax.Array]:
    params = _stop_release(params, ~jnp.isnan(conditions.nitrogen))

    def day(state: FarmState, now: jax.Array) -> tuple[FarmState, dict[str, jax.Array]]:
        number, key = now
        morning = _set_conditions(state, conditions, params, number == 0)
        new, _ = env.day(key, morning, idle, params)
        crop = new.fields[0][2]
        kg = crop.population * crop.fruits * crop.fruit_weight / 1000
        seen = {"stage": crop.stage, "kg": kg, "nitrogen": crop.nutrients[0]}
        return new, {name: value[0, 0] for name, value in seen.items()} | {"t": morning.fields[0][0].temperature[1]}

    idle = Orders(
        *(jnp.zeros(ORDERS, jnp.int32),) * 2, jnp.full((ORDERS, 2), -1), jnp.zeros((ORDERS, env.actions.width))
    )

    def season(key: jax.Array) -> dict[str, jax.Array]:
        start, days = keys_for(key, ("start", "days"))
        times = jnp.arange(DAYS), jax.random.split(days, DAYS)
        return jax.lax.scan(day, env.initial(start, params), times)[1]

    return jax.vmap(season)(keys)


def _set_conditions(state: FarmState, wanted: Conditions, params: Any, first: jax.Array) -> FarmState:
    """Return the state with the air, the water and the nutrients that the conditions set."""
    weather, soil, *others = state.fields[0]
    fixed, lit = ~jnp.isnan(wanted.degrees), ~jnp.isnan(wanted.radiation)
    low, mean, high = weather.temperature
    mean = jnp.where(fixed, wanted.degrees, mean)
    spread = jnp.where(lit, (wanted.radiation / SHADE_COEFFICIENT) ** 2, jnp.where(fixed, 10.0, high - low))
    air = jnp.where(fixed | lit, jnp.stack([mean - spread / 2, mean, mean + spread / 2]), weather.temperature)
    weather = replace(
        weather, temperature=air, humidity=jnp.where(fixed, 65.0, weather.humidity),
        day=jnp.where(fixed, 172, weather.day).astype(jnp.int32),
    )  # fmt: skip
    bucket = params.fields[0].entities[1].bucket(params.fields[0].place)
    water = bucket.wilting + wanted.water * (bucket.capacity - bucket.wilting)
    stock = jnp.where(first, wanted.nitrogen, soil.nutrients[0])
    nitrogen = jnp.where(jnp.isnan(wanted.nitrogen), 20.0, stock)
    rest = jnp.stack([wanted.phosphorus, wanted.potassium, jnp.float32(1.0)])[:, None, None] * PLENTY
    stocks = jnp.concatenate([jnp.broadcast_to(nitrogen, (1, 1, 1)), jnp.broadcast_to(rest, (3, 1, 1))])
    soil = replace(soil, water=jnp.broadcast_to(water, soil.water.shape), nutrients=stocks)
    return replace(state, fields=((weather, soil, *others),))


def _stop_release(params: Any, stops: jax.Array) -> Any:
    """Return the parameters with a soil that releases nothing if it `stops`."""
    field = params.fields[0]
    weather, soil, *others = field.entities
    soil = replace(soil, bedrock=jnp.where(stops, 0.0, jnp.asarray(soil.bedrock)))
    return replace(params, fields=(replace(field, entities=(weather, soil, *others)),))


def _summarise(record: Mapping[str, np.ndarray], base: float, optimum: float) -> Response:
    stage, days = record["stage"], np.arange(DAYS)
    warmth = np.clip(record["t"], base, optimum) - base
    first = {s: np.where((stage == s).any(1), np.argmax(stage == s, axis=1), -1) for s in (Stage.BLOOM, Stage.RIPE)}

    def mean(values: np.ndarray, of: Stage) -> float:
        reached = first[of] >= 0
        return float(values[reached].mean()) if reached.any() else np.nan

    sums = {s: np.where(days < at[:, None], warmth, 0.0).sum(1) for s, at in first.items()}
    kg = np.where(first[Stage.RIPE] >= 0, np.take_along_axis(record["kg"], first[Stage.RIPE][:, None], 1)[:, 0], 0.0)
    return Response(
        flower=mean(first[Stage.BLOOM], Stage.BLOOM), ripe=mean(first[Stage.RIPE], Stage.RIPE),
        to_flower=mean(sums[Stage.BLOOM], Stage.BLOOM), to_ripe=mean(sums[Stage.RIPE], Stage.RIPE),
        kg=float(kg.mean()), nitrogen=float(record["nitrogen"].max(1).mean()),
        died=float(((stage == Stage.DEAD).any(1) & (first[Stage.RIPE] < 0)).mean()),
    )  # fmt: skip


def list_cases() -> dict[str, tuple[str, Conditions]]:
    """Return the cases of the study, by name."""
    cases = {site: (site, Conditions()) for site in SITES}
    curves = {"degrees": DEGREES, "nitrogen": NITROGEN, "radiation": RADIATION_SHARES, "water": WATER}
    for name, values in curves.items():
        fixed = Conditions(degrees=20.0) if name == "radiation" else Conditions()
        cases |= {f"{name} {value:g}": (SITE, fixed._replace(**{name: value})) for value in values}
    return cases | {f"no {name}": (SITE, Conditions(**{name: 0.0})) for name in ("phosphorus", "potassium")}


def run(
    replicates: int = 16,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Tabulate the responses of each crop; `progress` counts crops."""
    tables, cases = [], list_cases()
    for crop in crops:
        found = measure_responses(crop, cases, replicates, seed)
        rows = [(name, *(f"{value:.4g}" for value in response)) for name, response in found.items()]
        tables.append(Table(crop, ("case", *Response._fields), rows))
        if out is not None:
            columns = {name: [getattr(r, name) for r in found.values()] for name in Response._fields}
            write_columns(out / f"responses-{crop}.parquet", {"case": list(found)} | columns)
            draw_responses(out / f"responses-{crop}.png", crop, found)
        progress(1)
    return tables


def draw_responses(path: Path, crop: str, found: Mapping[str, Response]) -> None:
    """Draw the yield by temperature, nitrogen, radiation and water, as a fraction of the largest."""
    most = max(response.kg for response in found.values())
    with open_figure(path, 12, 3) as figure:
        for axes, name in zip(figure.subplots(1, 4), ("degrees", "nitrogen", "radiation", "water"), strict=True):
            points = [(float(c.split()[1]), r.kg / most) for c, r in found.items() if c.startswith(name)]
            axes.plot(*zip(*points, strict=True), "o-")
            axes.set(title=f"{crop}: {name}", ylim=(0, 1.1), xlabel=name)
