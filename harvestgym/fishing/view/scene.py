"""A fishery to look at: stock, catch and harvest rate over the years so far, with the levels to compare them with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from harvestgym.core.scene import Chart, Line, Map, Scene, Words
from harvestgym.fishing.analysis import levels as reference
from harvestgym.fishing.conservation import DriverModel, RecoveryModel
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.structured import AgeStructured, Patches, ThreeSpecies

from .sea import cohorts, names, sea

COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of stocks, in order; told apart by the colour-blind (Okabe and Ito 2008), as the next."""

CATCH, SEEN, BEST, MOVES, PALE = "#d55e00", "#7a7a7a", "#222222", "#cc79a7", "#c9c9c9"

Record = Mapping[str, np.ndarray]


def scene(env: FishingModel, record: Record, step: int) -> Scene:
    """The fishery in year `step` of a record, and how it came there."""
    past = {name: np.asarray(values)[: step + 1] for name, values in record.items()}
    maps = _maps(env, past)
    charts = [_stock(env, past)]
    charts += _acts(env, past) if isinstance(env, RecoveryModel) else [_catch(env, past), _rate(env, past)]
    moving = _moving(env, past, step)
    # Below a map there is room for three.
    charts = [*charts[: len(charts) - bool(moving)], *moving] if maps else [*charts, *(moving or [_return(env, past)])]
    return Scene(f"Year {step} of {_years(env)}", (_words(env, past, step), *maps, *charts))


def _years(env: FishingModel) -> int:
    return int(env.params.horizon)


def _maps(env: FishingModel, past: Record) -> list[Map]:
    law = env.params.law
    if isinstance(law, AgeStructured):
        return [cohorts(law, past["stock"])]
    return [sea(env, past["stock"][-1], past["catch"][-1])] if law.stocks > 1 else []


# -- charts ------------------------------------------------------------------------------------------------


def _chart(env: FishingModel, title: str, unit: str, lines: list[Line], levels: Mapping[str, float]) -> Chart:
    # Room at the right for the names of the levels, which lines would run through.
    return Chart(title, unit, math.ceil(1.12 * _years(env)), tuple(lines), levels)


def _each(env: FishingModel, values: np.ndarray, one: str, colour: str) -> list[Line]:
    """A line for each column; patches, which are many and alike, in pale below their mean."""
    if values.shape[1] == 1:
        return [Line(one, values[:, 0], colour)]
    if isinstance(env.params.law, Patches):
        mean = Line("mean of the patches", values.mean(1), colour)
        return [Line("each" if i == 0 else "", line, PALE) for i, line in enumerate(values.T)] + [mean]
    called = names(env)[: values.shape[1]]
    return [
        Line(name, line, COLOURS[i % len(COLOURS)]) for i, (name, line) in enumerate(zip(called, values.T, strict=True))
    ]


def _stock(env: FishingModel, past: Record) -> Chart:
    several = len(names(env)) > 1
    lines = _each(env, past["stock"] if several else past["biomass"][:, None], names(env)[0], COLOURS[0])
    if env.params.survey_error.random and not several:
        lines.append(Line("seen by the survey", past["seen"][:, 0], SEEN, dots=True))
    return _chart(env, "Stock", _unit(env), lines, reference.stock_levels(env))


def _catch(env: FishingModel, past: Record) -> Chart:
    lines, levels = _each(env, _later(past["catch"]), "caught", CATCH), reference.catch_levels(env)
    high = _highest(lines, levels)
    if (best := _best(env, past)) is not None:
        lines.append(Line("what the optimum would take", best, BEST, dots=True))
        # Not the last years, in which it takes all that is left.
        high = max(high, 1.1 * float(np.nanquantile(best[1:], 0.95)) if len(best) > 1 else 0.0)
    return replace(_chart(env, "Catch of the year", _unit(env), lines, levels), ends=(0.0, high))


def _rate(env: FishingModel, past: Record) -> Chart:
    lines = _each(env, _later(past["rate"]), "taken of what was there", CATCH)
    levels = reference.rate_levels(env)
    return replace(_chart(env, "Harvest rate", "share", lines, levels), ends=(0.0, _highest(lines, levels)))


def _highest(lines: list[Line], levels: Mapping[str, float]) -> float:
    """The upper end of an axis that begins at 0."""
    return 1.1 * max(*levels.values(), *(float(np.max(line.values[1:], initial=0.0)) for line in lines))


def _return(env: FishingModel, past: Record) -> Chart:
    weight = float(env.params.discount) ** np.arange(-1, len(past["reward"]) - 1)
    so_far = np.cumsum(past["reward"] * np.where(weight > 1, 0.0, weight))
    return _chart(env, "Discounted return so far", "", [Line("", so_far, COLOURS[1])], reference.return_levels(env))


def _unit(env: FishingModel) -> str:
    return "in the unit of K" if abs(reference.capacity(env) - 1) < 1e-6 else "biomass"


def _later(values: np.ndarray) -> np.ndarray:
    """What belongs to the years, which the start has not."""
    values = np.array(values, float)
    values[0] = np.nan
    return values


def _best(env: FishingModel, past: Record) -> np.ndarray | None:
    """What the optimum would have taken each year of the stock that was there; None where it cannot be found."""
    solution = reference.optimum(env)
    if solution is None:
        return None
    grid, harvest = np.asarray(solution.grid), np.asarray(solution.harvest)
    years = range(min(len(past["biomass"]) - 1, len(harvest)))
    return np.array([np.nan, *(np.interp(past["biomass"][t], grid, harvest[t]) for t in years)])


def _acts(env: FishingModel, past: Record) -> list[Chart]:
    """The actions of a conservation problem in their own unit, and what the years were worth."""
    what = "Push against the driver, A" if isinstance(env, DriverModel) else "Stock added, A"
    acts = Line("", _later(_asked(env, past))[:, 0], CATCH)
    worth = Line("", _later(past["reward"]), COLOURS[1])
    return [_chart(env, what, "", [acts], {}), _chart(env, "Worth of the year, less the cost of A", "", [worth], {})]


def _moving(env: FishingModel, past: Record, step: int) -> list[Chart]:
    """What changes by itself: the driver of a tipping point, or the parameters that drift."""
    moved = {name: values[: step + 1] for name, values in reference.drifting(env).items()}
    if "driver" in past:
        moved = {"a": past["driver"]}
    if not moved:
        return []
    title = "Consumption by the predator" if "a" in moved else "What drifts"
    lines = [Line(name, values, MOVES) for name, values in moved.items()]
    return [_chart(env, title, "", lines, reference.fold_levels(env))]


# -- words -------------------------------------------------------------------------------------------------


def _asked(env: FishingModel, past: Record) -> np.ndarray:
    """What the actions asked for, in biomass or as a rate, shape (years, targets)."""
    action = np.asarray(past["action"])
    # Always as many rows: JAX would compile this anew for every number of years.
    rows = np.zeros((max(_years(env) + 1, len(action)), env.units.targets), action.dtype)
    rows[: len(action)] = action.reshape(len(action), -1)
    return np.asarray(env.units.wanted(jnp.asarray(rows)))[: len(action)]


def _words(env: FishingModel, past: Record, step: int) -> Words:
    lines = ["the fishery begins"] if not step else _done(env, past)
    if step and float(past["biomass"][-1]) <= float(env.params.collapse):
        lines.append("the fishery is over: a stock fell to its limit" if env.params.collapse else "the stock is gone")
    lines += [f"the survey sees {_numbers(past['seen'][-1])}", _where(env, past)]
    lines.append(f"reward {past['reward'][-1]:+.3f}, since the start {past['reward'][1:].sum():.2f}")
    return Words("This year", tuple(lines))


def _done(env: FishingModel, past: Record) -> list[str]:
    asked = _numbers(_asked(env, past)[-1])
    if isinstance(env, RecoveryModel):
        return [f"done: A = {asked}"]
    unit = "a share of" if env.units.control == "rate" else "a catch of"
    caught, rate = past["catch"][-1], past["rate"][-1]
    return [f"allowed: {unit} {asked}", f"caught: {_numbers(caught)}", f"that is {_shares(rate)} of what was there"]


def _where(env: FishingModel, past: Record) -> str:
    """The stock in words, where it can be so told by the zones of Fisheries and Oceans Canada."""
    biomass = float(past["biomass"][-1])
    told = f"{biomass / reference.capacity(env):.2f} K"
    if isinstance(env.params.law, ThreeSpecies):
        return f"the lowest of the three has {told}"
    if isinstance(env, RecoveryModel):
        driver = f", driver a {past['driver'][-1]:.3f}" if "driver" in past else ""
        return f"stock {told}{driver}"
    share = biomass / float(env.params.b_msy)
    zone = "critical" if share < 0.4 else "cautious" if share < 0.8 else "healthy"
    return f"stock {told} = {share:.2f} B_MSY: {zone} zone"


def _numbers(values: Any) -> str:
    return ", ".join(f"{float(v):.2f}" for v in np.atleast_1d(values))


def _shares(values: Any) -> str:
    return ", ".join(f"{100 * float(v):.0f} %" for v in np.atleast_1d(values))
