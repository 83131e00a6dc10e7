"""Soil water under fully irrigated corn in Colorado, 2023: predicted blind, then calibrated on the first half.

Plot E42 of the Limited Irrigation Research Farm near Greeley, from the tests of pyfao56 (USDA-ARS). Simulations begin
on 2 May, day 122 (the header of the `.sws` file), when the corn is sown and the soil holds what the `.sol` file states.
Nutrients are not stated; the soil is rich. A prediction for a day is the water in the morning, before its irrigation.
The model has one bucket down to the root depth of the `.par` file. It estimates radiation from temperatures, so that
the measured radiation is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.studies.common import wofost
from experiments.studies.common.rainfed import STOCKS, list_rainfed
from experiments.studies.common.season_record import compute_air
from harvestgym.evaluate.calibrate import Series, curves, fit
from harvestgym.evaluate.least_squares import descend_or_evolve, evolve
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.messages import KMH
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import farm_spec
from harvestgym.farm.weather_data.table import read_table

from .files import (
    DATA,
    Layers,
    open_weather,
    read_irrigation,
    read_layers,
    read_measured_days,
    read_measured_water,
    read_parameters,
    water_to_depth,
)
from .measures import measure_errors

PLOT = DATA / "trials" / "lirf-corn-E42FF2023"
WEATHER = DATA / "weather" / "lirf-2023.wth"
COLUMNS = {"RHmax": "RHmax fraction", "RHmin": "RHmin fraction"}
"""The humidity of this file is from 0 to 1."""

PLACE = {"latitude#°": 40.4487, "longitude#°": -104.64, "altitude#m": 1427.378}
SOWN, LAST = 122, 305
"""Days of the year on which the simulations of the file begin and end."""

WETTING_MINUTES = 1440
"""A day: `fw` is 1 in the `.irr` file, so that an irrigation wets the whole surface."""

WATER = "Field-0/Soil-0/available_Water#L"
SEASONS = 16
FREE = {
    "Field-0/Soil-0/max_water_capacity#L.m-3": (130.0, 260.0),
    "Field-0/Soil-0/wilting_point#L.m-3": (40.0, 120.0),
    "Field-0/Plant-0/grow/Water_evapo_alpha_1#cm-1": (0.001, 0.008),
    "Field-0/Plant-0/clock/grow_sum#°C.day": (500.0, 1200.0),
}
"""Parameters that are fitted to the first half: two of the soil, transpiration by height, and the date of flowering."""


class Plot(NamedTuple):
    """The soil, root depth and irrigation of the plot.

    Attributes:
        layers: the soil.
        depth: root depth, cm.
        irrigation: mm by day of the year, from sowing on.
    """

    layers: Layers
    depth: float
    irrigation: Mapping[int, float]

    def water(self, content: np.ndarray) -> float:
        """Return the water in the root zone, mm, from the content of each layer."""
        return water_to_depth(self.layers.bottom, content, self.depth)


def read_plot(path: Path) -> Plot:
    """Read the plot whose files begin with this path."""
    depth = 100 * read_parameters(path.with_suffix(".par"))["Zrmax"]
    watered = {day: mm for day, mm in read_irrigation(path.with_suffix(".irr")).items() if day >= SOWN}
    return Plot(read_layers(path.with_suffix(".sol")), depth, watered)


def make_farm(plot: Plot, weather: Path) -> FarmModel:
    """Build the farm: a square metre of the plot, watered on its days."""
    per_metre = 100 / plot.depth
    amounts = sorted({mm / 2 for mm in plot.irrigation.values()})
    soil = {
        "extends": "loam", "depth#m": plot.depth / 100,
        "max_water_capacity#L.m-3": per_metre * plot.water(plot.layers.capacity),
        "wilting_point#L.m-3": per_metre * plot.water(plot.layers.wilting),
        "start": {f"{name}_{end}#g.m-2": grams for name, grams in STOCKS.items() for end in ("min", "max")},
    }  # fmt: skip
    field = {
        "localization": PLACE, "shape": {"length#nb": 1, "width#nb": 1, "scale#m": 1.0},
        "entities": [
            ("Weather", {"extends": "base", "table": str(weather), "columns": COLUMNS}), ("Soil", soil),
            ("Plant", "corn"),
        ],
    }  # fmt: skip
    rules = {
        "horizon#day": LAST - SOWN, "max_action_schedule_size": 2, "terminal_conditions": [],
        "init": {"Field-0": {
            "Weather-0": {"day#int365": [SOWN]},
            "Soil-0": {"available_Water#L": [plot.water(plot.layers.initial)]},
        }},
        "interventions": {
            "Field-0": {"Soil-0": {"watering_discrete": {"amount#L": amounts, "duration#min": [WETTING_MINUTES]}}}
        },
    }  # fmt: skip
    orders = [
        {"when": f"Weather-0.day#int365 == {day}", "do": "Soil-0.watering_discrete", "amount#L": mm / 2,
         "duration#min": WETTING_MINUTES}
        for day, mm in plot.irrigation.items() for _ in range(2)
    ]  # fmt: skip  # an order has at most 20 L
    farmers = [{"kind": "BasicFarmer", "max_daily_interventions": 2}]
    farm = {"mode": "fo", "fields": {"Field-0": field}, "farmers": farmers, "rules": rules, "expert": orders}
    return build(farm_spec(farm, "lirf"))


def run(parameters: Any = None) -> dict[str, Any]:
    """Return the predictions and the errors; `parameters` are those of WOFOST, or None."""
    plot, measured_days = read_plot(PLOT), read_measured_days(PLOT.with_suffix(".sws"))
    with open_weather(WEATHER) as weather:
        env = make_farm(plot, weather)
        there = None if parameters is None else grow_wofost(plot, weather, parameters)
    farmer, at = rule_policy(env), measured_days - SOWN
    blind = curves(env, env.params, [WATER], farmer, SEASONS, days=LAST - SOWN)[WATER]
    half = len(at) // 2
    measured = read_measured_water(PLOT.with_suffix(".sws"), plot.depth)
    calibrated, search = calibrate(env, at[:half], measured[:half])
    found = {
        "sown": SOWN, "depth_cm": plot.depth, "first_half": half, "days": measured_days.tolist(),
        "measured_mm": measured.tolist(), "blind_mm": blind.tolist(), "calibrated_mm": calibrated.tolist(),
        "capacity_mm": plot.water(plot.layers.capacity), "wilting_mm": plot.water(plot.layers.wilting),
        "irrigation_mm": {str(day): mm for day, mm in plot.irrigation.items()}, "search": search,
        "errors": {
            "blind": measure_errors(blind[at], measured),
            "blind, first half": measure_errors(blind[at[:half]], measured[:half]),
            "blind, second half": measure_errors(blind[at[half:]], measured[half:]),
            "calibrated, first half": measure_errors(calibrated[at[:half]], measured[:half]),
            "calibrated, second half": measure_errors(calibrated[at[half:]], measured[half:]),
            "mean of the first half, second half": measure_errors(
                np.full(len(at) - half, measured[:half].mean()), measured[half:]
            ),
        },
    }  # fmt: skip
    if there is not None:
        found["wofost_mm"] = there.tolist()
        found["errors"]["WOFOST"] = measure_errors(there[at], measured)
        found["errors"]["WOFOST, second half"] = measure_errors(there[at[half:]], measured[half:])
    return found


def calibrate(env: FarmModel, days: np.ndarray, water: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the water of each day with the fitted parameters, mm, and a report of the search."""
    farmer = rule_policy(env)
    found = fit(env, FREE, [Series(WATER, days, water)], farmer, search=evolve)
    water = curves(env, found.params, [WATER], farmer, SEASONS, days=LAST - SOWN)[WATER]
    return water, {"before": found.before, "fitted": found.values, "range": FREE, "seasons": found.seasons}


def compare_searches(parameters: Any = None) -> dict[str, Any]:
    """Return the seasons and the error of each search of `calibrate.fit`, for the first half of the measurements."""
    plot, measured_days = read_plot(PLOT), read_measured_days(PLOT.with_suffix(".sws"))
    measured = read_measured_water(PLOT.with_suffix(".sws"), plot.depth)
    half = len(measured) // 2
    with open_weather(WEATHER) as weather:
        env = make_farm(plot, weather)
    series, farmer = Series(WATER, measured_days[:half] - SOWN, measured[:half]), rule_policy(env)
    fits = {search.__name__: fit(env, FREE, [series], farmer, search=search) for search in (evolve, descend_or_evolve)}
    return {
        name: {"how": found.how, "seasons": found.seasons, "RMSE": found.rmse[WATER], "fitted": found.values}
        for name, found in fits.items()
    }


def grow_wofost(plot: Plot, weather: Path, parameters: Any) -> np.ndarray:
    """Return the water in the root zone in WOFOST on each day from sowing to the end of the simulation, mm.

    WOFOST simulates the water down to the root depth of its maize. Its mean content is used for our depth.
    """
    crop, latitude = list_rainfed()["corn"], PLACE["latitude#°"]
    planted = wofost.WofostCrop(parameters, crop.crop, crop.variety)
    table = read_table(weather, columns=COLUMNS)
    record = {name: np.asarray(values)[SOWN - 1 :] for name, values in table.days._asdict().items()}
    air = compute_air(record | {"wind": record["wind"] * KMH, "day": np.arange(SOWN, 366)}, latitude)
    shares = [plot.water(content) / (10 * plot.depth) for content in plot.layers[1:]]
    capacity, wilting, initial = shares
    filled = (initial - wilting) / (capacity - wilting)
    ground = wofost.WofostSoil(capacity, wilting, wofost.find_root_depth(planted), filled)
    content = wofost.simulate_water(planted, air, SOWN, latitude, ground, plot.irrigation)
    return 10 * plot.depth * content[: LAST - SOWN + 1]
