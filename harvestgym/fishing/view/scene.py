"""The pictures of a fishery: the scene, with the years so far and their reference levels, and a figure.

Maps show several stocks as columns of fish, or the ages of one stock as bubbles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.view.events import LOSS, say_event
from harvestgym.core.view.scene import Chart, Line, Map, Mark, Scene, Sprite, Words, load_sprites
from harvestgym.core.view.timeline import Record
from harvestgym.fishing.analysis.dynamic_programming import best_return, find_optimum, is_exact
from harvestgym.fishing.conservation import DriverModel, RecoveryModel
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.shared_stock import CommonsModel
from harvestgym.fishing.structured_growth import AgeStructured, Patches, ThreeSpecies
from harvestgym.render.figure import draw_figure

from .events import find_events
from .levels import find_levels, find_requests, join_numbers, name_stocks

STOCK_COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the stocks, in order; all colours are distinguishable with colour blindness (Okabe and Ito 2008)."""

FISH_PER_K = 10

COLUMNS, ROWS = 2, 8
"""Maximum number of fish drawn for each stock, reached at 1.6 K."""

COHORT_YEARS = 30
"""Number of years shown."""

WATER = ("#dceef7", "#cfe6f2")
CAUGHT_AGES, YOUNG_AGES = "#0072b2", "#56b4e9"

CATCH, SEEN, BEST, MOVES, PALE = "#d55e00", "#7a7a7a", "#222222", "#cc79a7", "#c9c9c9"


def scene(env: FishingModel, record: Record, step: int) -> Scene:
    """Draw the fishery in year `step` of a record, and the years before it."""
    past = {name: np.asarray(values)[: step + 1] for name, values in record.items()}
    maps = _maps(env, past)
    charts = chart_years(env, past)[: 3 if maps else 4]  # there is no room for more
    return Scene(f"Year {step} of {int(env.params.horizon)}", (_describe_year(env, past, step), *maps, *charts))


def chart_years(env: FishingModel, past: Record) -> list[Chart]:
    """Draw the stock, the actions, changing parameters and the return, with the most informative charts first."""
    first, *others = _action_charts(env, past) if isinstance(env, RecoveryModel) else _catch_charts(env, past)
    return [_stock_chart(env, past), first, *_change_charts(env, past), *others, _return_chart(env, past)]


def _maps(env: FishingModel, past: Record) -> list[Map]:
    law = env.params.law
    if isinstance(law, AgeStructured):
        return [draw_cohorts(law, past["stock"])]
    return [draw_stocks(env, past["stock"][-1], past["catch"][-1])] if law.stocks > 1 else []


def figure(env: FishingModel, record: Record) -> Any:
    """Draw an episode as a Matplotlib page: the charts of the scene, and the actions plotted against the stock.

    If dynamic programming finds the optimum, the last chart also shows its policy.
    """
    return draw_figure([*chart_years(env, record), _draw_policy(env, record)], "year")


def _draw_policy(env: FishingModel, record: Record) -> Chart:
    if isinstance(env, RecoveryModel):
        done = Line("", find_requests(env, record)[1:, 0], "", style="dots", x=record["biomass"][:-1])
        return Chart("Policy (later years are lighter)", "A", 0, (done,), {}, across="stock")
    fished = record["stock"][:-1, : env.units.targets] if env.units.targets > 1 else record["biomass"][:-1, None]
    names = name_stocks(env) if fished.shape[1] > 1 else ("this episode",)
    columns = zip(names, record["catch"][1:].T, cycle(STOCK_COLOURS), fished.T, strict=False)
    lines = [Line(name, catch, colour, style="dots", x=before) for name, catch, colour, before in columns]
    right, top = 1.15 * max(fished.max(), float(env.params.b_msy)), 1.15 * record["catch"].max()
    if best := find_optimum(env):
        grid, catch = np.asarray(best.grid), np.asarray(best.harvest[len(best.harvest) // 2])
        lines.append(Line("optimum, halfway", catch[grid <= right], BEST, x=grid[grid <= right]))
        top = max(top, 1.15 * catch[grid <= right].max())
    when = "harvest" if env.order == "harvest first" else "year"
    return Chart("Policy", "catch", 0, tuple(lines), {}, (0.0, float(top) or 1.0), across=f"biomass before the {when}")


# -- maps --------------------------------------------------------------------------------------------------


def draw_stocks(env: FishingModel, stock: np.ndarray, catch: np.ndarray) -> Map:
    """Draw a column of sea for each stock, with a fish for each tenth of K, and the catch of the year above it."""
    names, capacity = name_stocks(env), find_levels(env).capacity
    species = ["fish", "other prey", "predator"] if isinstance(env.params.law, ThreeSpecies) else ["fish"] * len(names)
    fish = [_find_sprite(kind) for kind in species]
    marks: list[Mark] = []
    for i, name in enumerate(names):
        water, left = WATER[i % 2], i * COLUMNS
        marks += [Mark("square", (left + x + 0.5, y + 1.5), 1, water) for y in range(ROWS) for x in range(COLUMNS)]
        marks.append(Mark("square", (left + COLUMNS / 2, -0.5), COLUMNS, water, 0.0, name))
        for n, size in enumerate(_fish_sizes(stock[i] / capacity, COLUMNS * ROWS)):
            marks.append(Mark(fish[i], (left + n % COLUMNS + 0.5, ROWS + 0.5 - n // COLUMNS), 0.95 * size))
        if i < len(catch):
            sizes = _fish_sizes(catch[i] / capacity, COLUMNS)
            marks += [Mark(_find_sprite("caught"), (left + n + 0.5, 0.5), 0.95 * size) for n, size in enumerate(sizes)]
    meanings = {fish[0]: "a tenth of K of fish"}
    if len(set(fish)) > 1:
        meanings = {one: f"{name}, a tenth of K" for one, name in zip(fish, names, strict=True)}
    meanings[_find_sprite("caught")] = "caught this year, a tenth of K"
    legend = tuple(Mark(one, (0, 0), meaning=meaning) for one, meaning in meanings.items())
    return Map("", (COLUMNS * len(names), ROWS + 1), tuple(marks), margin=1.0, legend=legend)


def _find_sprite(name: str) -> Sprite:
    return load_sprites(Path(__file__).with_name("sprites.yaml"))[name]


def _fish_sizes(share: float, most: int) -> list[float]:
    """Return the side length of each fish drawn for a stock of `share` times K; the last is the remainder."""
    parts = np.clip(FISH_PER_K * share - np.arange(most), 0.0, 1.0)
    return [float(np.sqrt(part)) for part in parts if part > 0.02]


def draw_cohorts(law: AgeStructured, stock: np.ndarray) -> Map:
    """Draw biomass at age (downwards) over the last years (rightwards); a year class is a diagonal of bubbles."""
    weight, usual = np.asarray(law.weight), np.asarray(law.weight * law.unfished)
    biomass = np.asarray(stock)[-COHORT_YEARS:, : law.ages] * weight / usual.max()
    size = np.sqrt(np.clip(biomass, 0.0, 1.6))
    colours = np.where(np.asarray(law.vulnerability) > 0.5, CAUGHT_AGES, YOUNG_AGES)
    shown = zip(*np.nonzero(size > 0.08), strict=True)
    marks = [Mark("disc", (year + 0.5, age + 0.5), float(size[year, age]), str(colours[age])) for year, age in shown]
    ages = [Mark("text", (-0.6, age - 0.5), 1.0, "#222222", text=str(age)) for age in range(1, law.ages + 1)]
    meanings = {CAUGHT_AGES: "biomass at an age that is caught", YOUNG_AGES: "biomass at an age not yet caught"}
    legend = tuple(Mark("disc", (0, 0), 1, colour, meaning=meaning) for colour, meaning in meanings.items())
    title = f"Ages 1 to {law.ages} (down) over the last {COHORT_YEARS} years (across)"
    return Map(title, (COHORT_YEARS, law.ages), (*ages, *marks), margin=1.0, legend=legend)


# -- charts ------------------------------------------------------------------------------------------------


def _chart(env: FishingModel, title: str, unit: str, lines: list[Line], levels: Mapping[str, float]) -> Chart:
    # Leave room at the right for the level names, so that lines do not cross them.
    return Chart(title, unit, int(env.params.horizon), tuple(lines), levels, room=0.12)


def _column_lines(env: FishingModel, values: np.ndarray, one: str, colour: str) -> list[Line]:
    """Make a line for each column; the many similar lines of patches are pale and drawn below their mean."""
    if values.shape[1] == 1:
        return [Line(one, values[:, 0], colour)]
    if isinstance(env.params.law, Patches):
        mean = Line("mean of the patches", values.mean(1), colour)
        return [Line("each" if i == 0 else "", line, PALE) for i, line in enumerate(values.T)] + [mean]
    names = env.agents if isinstance(env, CommonsModel) else name_stocks(env)
    # There are fewer columns than stocks if not all stocks are fished.
    return [Line(*drawn) for drawn in zip(names, values.T, cycle(STOCK_COLOURS), strict=False)]


def _stock_chart(env: FishingModel, past: Record) -> Chart:
    names = name_stocks(env)
    stock = past["stock"] if len(names) > 1 else past["biomass"][:, None]
    lines = _column_lines(env, stock, next(iter(names)), STOCK_COLOURS[0])
    if env.params.survey_error.random and len(names) == 1:
        lines.append(Line("in the survey", past["seen"][:, 0], SEEN, style="dots"))
    return _chart(env, "Stock", _unit(env), lines, find_levels(env).stock)


def _catch_charts(env: FishingModel, past: Record) -> list[Chart]:
    levels, (catch, rate) = find_levels(env), (_without_start(past[name]) for name in ("catch", "rate"))
    caught = _column_lines(env, catch, "caught", CATCH)
    taken = _column_lines(env, rate, "share of the stock taken", CATCH)
    high = _find_top(caught, levels.catch)
    if (best := _optimal_catch(env, past)) is not None:
        caught.append(Line("catch that the optimum would take", best, BEST, style="dots"))
        # Ignore the last years, in which the optimal policy takes the whole stock if the end pays nothing for it.
        shown = 1.0 if np.min(env.params.final_price) > 0 else 0.95
        high = max(high, 1.1 * float(np.nanquantile(best[1:], shown)) if len(best) > 1 else 0.0)
    catches = _chart(env, "Catch per year", _unit(env), caught, levels.catch)
    rates = _chart(env, "Harvest rate", "share", taken, levels.rate)
    return [replace(catches, ends=(0.0, high)), replace(rates, ends=(0.0, _find_top(taken, levels.rate)))]


def _find_top(lines: list[Line], levels: Mapping[str, float]) -> float:
    """Return the upper limit of an axis that starts at 0."""
    return 1.1 * max(*levels.values(), *(float(np.max(line.values[1:], initial=0.0)) for line in lines))


def _return_chart(env: FishingModel, past: Record) -> Chart:
    weight = float(env.params.discount) ** np.arange(-1, len(past["reward"]) - 1)
    so_far = np.cumsum(past["reward"] * np.where(weight > 1, 0.0, weight))
    best = best_return(env)
    name = "expected for the optimum" if is_exact(env.params) else "bound (exact surveys)"
    levels = {} if best is None else {name: best}
    return _chart(env, "Discounted return so far", "", [Line("", so_far, STOCK_COLOURS[1])], levels)


def _unit(env: FishingModel) -> str:
    return env.units.unit or ("in the unit of K" if abs(find_levels(env).capacity - 1) < 1e-6 else "biomass")


def _without_start(values: np.ndarray) -> np.ndarray:
    """Replace the first entry, which has no yearly value, with NaN."""
    values = np.array(values, float)
    values[0] = np.nan
    return values


def _optimal_catch(env: FishingModel, past: Record) -> np.ndarray | None:
    """Return the catch that the optimal policy would take each year from the same stock; None if it is unknown."""
    solution = find_optimum(env)
    if solution is None:
        return None
    grid, harvest = np.asarray(solution.grid), np.asarray(solution.harvest)
    years = range(min(len(past["biomass"]) - 1, len(harvest)))
    return np.array([np.nan, *(np.interp(past["biomass"][t], grid, harvest[t]) for t in years)])


def _action_charts(env: FishingModel, past: Record) -> list[Chart]:
    """Draw the actions of a conservation problem in their own unit, and the value of each year."""
    title = "Push against the driver, A" if isinstance(env, DriverModel) else "Stock added, A"
    actions = Line("", _without_start(find_requests(env, past))[:, 0], CATCH)
    worth = Line("", _without_start(past["reward"]), STOCK_COLOURS[1])
    value = _chart(env, "Value of the year minus the cost of A", "", [worth], {})
    return [_chart(env, title, "", [actions], {}), value]


def _change_charts(env: FishingModel, past: Record) -> list[Chart]:
    """Draw the driver of a tipping point, or the drifting parameters."""
    levels = find_levels(env)
    moved = {name: values[: len(past["reward"])] for name, values in levels.drifting.items()}
    if "driver" in past:
        moved = {"a": past["driver"]}
    if not moved:
        return []
    title = "Consumption by the predator" if "a" in moved else "What drifts"
    lines = [Line(name, values, MOVES) for name, values in moved.items()]
    return [_chart(env, title, "", lines, levels.fold)]


# -- words -------------------------------------------------------------------------------------------------


def _describe_year(env: FishingModel, past: Record, step: int) -> Words:
    lines = ["the fishery begins"] if not step else _describe_action(env, past)
    lines += [say_event(e) for e in find_events(env, past, max(step - 1, 0), step) if e.severity == LOSS]
    lines.append(f"the survey shows {join_numbers(past['seen'][-1])} {env.units.unit}".rstrip())
    lines.append(_describe_stock(env, past))
    lines.append(f"reward {past['reward'][-1]:+.3f}, since the start {past['reward'][1:].sum():.2f}")
    return Words("This year", tuple(lines))


def _describe_action(env: FishingModel, past: Record) -> list[str]:
    asked = join_numbers(find_requests(env, past)[-1])
    if isinstance(env, RecoveryModel):
        return [f"done: A = {asked}"]
    allowed = f"a share of {asked}" if env.units.control == "rate" else f"a catch of {asked} {env.units.unit}"
    caught, share = join_numbers(past["catch"][-1]), join_numbers(100 * past["rate"][-1], "{:.0f} %")
    lines = f"allowed: {allowed}", f"caught: {caught} {env.units.unit}", f"that is {share} of the stock"
    return [line.rstrip() for line in lines]


def _describe_stock(env: FishingModel, past: Record) -> str:
    """Describe the stock, if possible by the Fisheries and Oceans Canada zones."""
    biomass = float(past["biomass"][-1])
    in_K = f"{biomass / find_levels(env).capacity:.2f} K"
    if isinstance(env.params.law, ThreeSpecies):
        return f"the lowest of the three has {in_K}"
    if isinstance(env, RecoveryModel):
        driver = f", driver a {past['driver'][-1]:.3f}" if "driver" in past else ""
        return f"stock {in_K}{driver}"
    share = biomass / float(env.params.b_msy)
    zone = "critical" if share < 0.4 else "cautious" if share < 0.8 else "healthy"
    return f"stock {in_K} = {share:.2f} B_MSY: {zone} zone"
