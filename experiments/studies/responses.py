"""Responses of a crop: dates and yield by climate, and yield by supply, density and sowing date.

Every morning the soil is filled up to a level and, where a treatment sets them, the day's air and the soil's nutrients
replace those of the season, so that only one condition differs between cases. The degree-days are computed from daily
mean temperatures, between the base and the optimum given by the source of the crop's thermal time. The pictures show
the yields with published responses (`responses.yaml`), and dry periods as on the validation card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.config import read_sets
from harvestgym.core.pytree import replace
from harvestgym.core.random import keys_for
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.plant.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage

from .common.experiments import average_factor
from .common.published import read_published
from .common.report import write_columns
from .common.response_curves import NEAR, Curve, draw_curves, find_optimum, read_responses
from .common.trials import APRIL, CROPS, REPORTED, find_water_level, make_orders, make_trial_farm
from .common.yield_response import PERIODS, YieldResponse, measure_yield_response
from .density import PLANTS

DAYS = 300
SITES = ("lille", "debrecen", "montpellier", "petrolina")
SITE, SOWN_SITE = "montpellier", "debrecen"
"""The site of the curves, and the one with late frosts and early winters at which the sowing date varies."""

DEGREES = (8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36)
NITROGEN = (0.0, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 100.0, 200.0)
RADIATION_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75)
WATER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
LIGHT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
DENSITIES = (*PLANTS.tolist(), 45.0, 60.0)
SOWING_DAYS = (60, 75, 90, 105, 120, 135, 150, 165, 180, 195, 210, 225)
CURVES = {
    "degrees": DEGREES, "nitrogen": NITROGEN, "radiation": RADIATION_SHARES, "light": LIGHT, "water": WATER,
    "plants": DENSITIES, "sown": SOWING_DAYS,
}  # fmt: skip
"""The values of each condition that has a curve."""

MEANINGS = {
    "degrees": "mean temperature, °C", "nitrogen": "nitrogen on the first day, without any release, g.m-2",
    "radiation": "fraction of the extraterrestrial radiation, at 20 °C", "light": "fraction of the season's light",
    "water": "fraction of the extractable water, each morning", "plants": "plants per m2",
    "sown": f"day of the year of sowing, {SOWN_SITE}",
}  # fmt: skip
DRY_PERIODS = {
    "whole season": (0.93, 0.84, 0.72), "vegetative": (0.8, 0.6, 0.4), "flowering": (0.75, 0.55, 0.4),
    "yield formation": (0.85, 0.7, 0.5),
}  # fmt: skip
"""Transpiration that a crop keeps in a dry period, as `yield_response.OPENINGS`, for a curve of each period."""

SOIL = "loam"
PLENTY = 200.0
"""Grams of phosphorus, potassium and carbon per m2 of plot, and 20 of nitrogen, unless a treatment sets them."""

SHADE_COEFFICIENT = 0.16
"""Coefficient of FAO-56 eq. (50), with which a temperature range gives a share of the radiation."""


class Conditions(NamedTuple):
    """Conditions that a treatment sets; where a value is NaN, the season's own value applies.

    Attributes:
        degrees: mean temperature, degC.
        radiation: radiation at the ground as a fraction of the extraterrestrial, 0 to .75.
        nitrogen: nitrogen on the first day, g per m2, without any release; NaN refills 20 g daily.
        phosphorus, potassium: stocks, as fractions of an ample stock.
        water: fraction of the extractable water to which the soil is filled each morning.
        light: radiation at the ground as a fraction of the season's.
        plants: plants on the square metre.
        sown: day of the year on which the season begins.
    """

    degrees: Any = np.nan
    radiation: Any = np.nan
    nitrogen: Any = np.nan
    phosphorus: Any = 1.0
    potassium: Any = 1.0
    water: Any = 1.0
    light: Any = 1.0
    plants: Any = np.nan
    sown: Any = np.nan


class Response(NamedTuple):
    """Means over seasons; NaN where no season reaches the stage.

    Attributes:
        flower, ripe: days from sowing.
        to_flower, to_ripe: degree-days from sowing.
        kg: yield per m2, 0 in seasons that do not ripen.
        nitrogen: nitrogen in the plants at the end, g per m2.
        died: fraction of seasons.
        yields: kg of each season.
    """

    flower: float
    ripe: float
    to_flower: float
    to_ripe: float
    kg: float
    nitrogen: float
    died: float
    yields: np.ndarray


MEANS = Response._fields[:-1]


def measure_responses(
    crop: str, cases: Mapping[str, tuple[str, Conditions]], replicates: int, seed: int, day: int = APRIL
) -> dict[str, Response]:
    """Return the response of a crop in each case; a case is a site with conditions."""
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
    entities = [("Weather", site), ("Soil", SOIL), ("Plant", crop), ("Pollinators", "bee")]
    return make_trial_farm(entities, day=day, days=DAYS, site=site)


@partial(jax.jit, static_argnums=0)
def _live(env: FarmModel, keys: jax.Array, params: Any, conditions: Conditions) -> dict[str, jax.Array]:
    params = _set_first_day(env, _stop_release(params, ~jnp.isnan(conditions.nitrogen)), conditions.sown)

    def day(state: FarmState, now: Any) -> tuple[FarmState, dict[str, jax.Array]]:
        number, key = now
        morning = _set_conditions(state, conditions, params, number == 0)
        new, _ = env.day(key, morning, idle, params)
        crop = new.fields[0][2]
        kg = crop.population * crop.fruits * crop.fruit_weight / 1000
        seen = {"stage": crop.stage, "kg": kg, "nitrogen": crop.nutrients[0]}
        return new, {name: value[0, 0] for name, value in seen.items()} | {"t": morning.fields[0][0].temperature[1]}

    idle = make_orders(env, ())

    def season(key: jax.Array) -> dict[str, jax.Array]:
        start, days = keys_for(key, ("start", "days"))
        times = jnp.arange(DAYS), jax.random.split(days, DAYS)
        return jax.lax.scan(day, _set_plants(env.initial(start, params), conditions.plants), times)[1]

    return jax.vmap(season)(keys)


def _set_conditions(state: FarmState, wanted: Conditions, params: Any, first: jax.Array) -> FarmState:
    """Return the state with the air, the water and the nutrients that the conditions set."""
    weather, soil, *others = state.fields[0]
    fixed, lit = ~jnp.isnan(wanted.degrees), ~jnp.isnan(wanted.radiation)
    low, mean, high = weather.temperature
    mean = jnp.where(fixed, wanted.degrees, mean)
    natural = jnp.where(fixed, 10.0, (high - low) * wanted.light**2)
    spread = jnp.where(lit, (wanted.radiation / SHADE_COEFFICIENT) ** 2, natural)
    air = jnp.where(
        fixed | lit | (wanted.light < 1), jnp.stack([mean - spread / 2, mean, mean + spread / 2]), weather.temperature
    )
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


def _set_first_day(env: FarmModel, params: Any, day: jax.Array) -> Any:
    """Return the parameters with a season that begins on this day of the year, unless it is NaN."""
    keys = [start.variable.key for start in env.starts]
    days = {key: jnp.where(jnp.isnan(day), given, day).astype(jnp.asarray(given).dtype)
            for key, given in zip(keys, params.starts, strict=True) if key.startswith("day#")}  # fmt: skip
    return replace(params, starts=tuple(days.get(k, given) for k, given in zip(keys, params.starts, strict=True)))


def _set_plants(state: FarmState, plants: jax.Array) -> FarmState:
    """Return the state with this number of plants on the square metre, evenly spaced, unless it is NaN."""
    weather, soil, crop, *others = state.fields[0]
    population = jnp.where(jnp.isnan(plants), crop.population, plants).astype(crop.population.dtype)
    spacing = jnp.where(jnp.isnan(plants), crop.spacing, 100 / jnp.sqrt(plants))
    return replace(state, fields=((weather, soil, replace(crop, population=population, spacing=spacing), *others),))


def _stop_release(params: Any, stops: jax.Array) -> Any:
    """Return the parameters; if `stops` is true, their soil releases no nutrients."""
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
        died=float(((stage == Stage.DEAD).any(1) & (first[Stage.RIPE] < 0)).mean()), yields=kg,
    )  # fmt: skip


def list_cases() -> dict[str, tuple[str, Conditions]]:
    """Return the cases of the study, by name."""
    cases = {site: (site, Conditions()) for site in SITES}
    for name, values in CURVES.items():
        site = SOWN_SITE if name == "sown" else SITE
        fixed = Conditions(degrees=20.0) if name == "radiation" else Conditions()
        cases |= {f"{name} {value:g}": (site, fixed._replace(**{name: value})) for value in values}
    return cases | {f"no {name}": (SITE, Conditions(**{name: 0.0})) for name in ("phosphorus", "potassium")}


def collect_curves(found: Mapping[str, Response]) -> dict[str, Curve]:
    """Return the curve of each condition from the responses in all cases."""
    return {name: Curve(np.array(values, float), np.stack([found[f"{name} {value:g}"].yields for value in values]))
            for name, values in CURVES.items()}  # fmt: skip


def run(
    replicates: int = 16,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Tabulate the responses of each crop and the sources of the published ones; `progress` counts crops."""
    found: dict[str, dict[str, Response]] = {}
    water: dict[str, list[YieldResponse]] = {}
    for crop in crops:
        found[crop] = measure_responses(crop, list_cases(), replicates, seed)
        water[crop] = measure_yield_response(crop, SOIL, replicates, seed, openings=DRY_PERIODS)
        if out is not None:
            columns = {name: [getattr(r, name) for r in found[crop].values()] for name in MEANS}
            write_columns(out / f"responses-{crop}.parquet", {"case": list(found[crop])} | columns)
            litres = float(find_water_level(_make_farm(crop, SITE, APRIL), 1.0))
            k_y = read_published()[crop]["k_y"]
            draw_curves(out / f"responses-{crop}.png", crop, collect_curves(found[crop]), water[crop], k_y, litres)
        progress(1)
    curves = {crop: collect_curves(responses) for crop, responses in found.items()}
    return [
        tabulate_crops(),
        _tabulate_optima(curves),
        _tabulate_water(water),
        _tabulate_sites(found),
        _tabulate_days(found),
        *(_tabulate_curve(name, curves) for name in CURVES),
        _tabulate_sources(crops),
    ]


def tabulate_crops() -> Table:
    """Tabulate the crops on the validation card, with their sites and sowing dates there."""
    written, rows = read_sets(Plant.file()), []
    for crop, where in read_published().items():
        plant, clock = Plant.named(crop), written[crop]["clock"]
        day = date(2001, 1, 1) + timedelta(where["sown"] - 1)
        seed, grow, bloom, fruit = map(float, plant.clock.sums)
        said = clock["grow_sum#°C.day"]
        source = said["source"] if isinstance(said, dict) else clock["source"]
        sums = f"{plant.clock.base:g}", f"{seed + grow:.0f}", f"{seed + grow + bloom + fruit:.0f}"
        rows.append((f"`{crop}`", ", ".join(where["sites"]), f"{day:%-d %B}", f"{plant.density:g}", *sums, source))
    heads = ("base, °C", "degree-days to flowers", "to ripe", "source of the degree-days")
    return Table("sites and dates at which crops are sown", ("set", "sites", "sown", "plants per m2", *heads), rows)


def _tabulate_optima(curves: Mapping[str, Mapping[str, Curve]]) -> Table:
    title = "optimum of each curve, and how far the curve departs from one that rises to it and falls from it"
    columns = ("crop", "curve", "optimum", f"at least {NEAR:.0%}", "departure, %", "beyond three standard errors, %")
    rows = []
    for crop, of_crop in curves.items():
        for name, curve in of_crop.items():
            best = find_optimum(curve)
            dips = (f"{100 * best.dip:.1f}", f"{100 * best.excess:.1f}")
            rows.append((crop, MEANINGS[name], f"{best.at:g}", f"{best.low:g} to {best.high:g}", *dips))
    return Table(title, columns, rows)


def _tabulate_curve(name: str, curves: Mapping[str, Mapping[str, Curve]]) -> Table:
    rows = [(crop, *(f"{kg:.3g}" for kg in of_crop[name].kg.mean(1))) for crop, of_crop in curves.items()]
    return Table(f"yield, kg.m-2, by {MEANINGS[name]}", ("crop", *(f"{value:g}" for value in CURVES[name])), rows)


def _tabulate_days(found: Mapping[str, Mapping[str, Response]]) -> Table:
    rows = [
        (crop, *(_format_number(of_crop[f"degrees {t:g}"].ripe) for t in DEGREES)) for crop, of_crop in found.items()
    ]
    return Table(
        f"days from sowing to ripe, at most {DAYS}, by {MEANINGS['degrees']}", ("crop", *map(str, DEGREES)), rows
    )


def _tabulate_sites(found: Mapping[str, Mapping[str, Response]]) -> Table:
    heads = (
        "days to flowers",
        "days to ripe",
        "degree-days to flowers",
        "to ripe",
        "kg.m-2",
        "nitrogen, g.m-2",
        "died",
    )
    rows = [(crop, site, *(_format_number(getattr(of_crop[site], name)) for name in MEANS))
            for crop, of_crop in found.items() for site in SITES]  # fmt: skip
    return Table("dates and yields at four sites, sown on 25 April", ("crop", "site", *heads), rows)


def _tabulate_water(found: Mapping[str, Sequence[YieldResponse]]) -> Table:
    rows = []
    for crop, responses in found.items():
        k_y = read_published()[crop]["k_y"]
        for period in PERIODS:
            mine = [r for r in responses if r.period == period]
            less = ", ".join(f"{100 * r.deficit:.0f}: {100 * r.loss:.0f}" for r in mine)
            rows.append((crop, period, less, f"{average_factor(mine, period):.2f}", f"{k_y[period]:g}"))
    columns = ("crop", "dry period", "less water in it, %: less yield, %", "K_y", "K_y of FAO-33")
    return Table("yield response to water on loam", columns, rows)


def _tabulate_sources(crops: Sequence[str]) -> Table:
    rows = [(crop, MEANINGS[name], said["label"], said["source"], said["read"])
            for crop in crops for name, sets in read_responses().get(crop, {}).items() for said in sets]  # fmt: skip
    return Table("published responses", ("crop", "curve", "in the picture", "source", "read"), rows)


def _format_number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
