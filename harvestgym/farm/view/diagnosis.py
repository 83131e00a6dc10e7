"""Sentences about problems in recorded seasons: refused orders, idle rules, and factors that limited growth."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.rollout import Episodes
from harvestgym.farm.engine.formula_compiler import FormulaCompiler
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmParams, FarmState
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.weather.day_source import Replay
from harvestgym.farm.entities.weather.weather import Weather
from harvestgym.farm.formula_parser import parse_formula
from harvestgym.farm.weather_data.table import YEAR

from .words import entity_title, say_cause

DONE, NO_EFFECT, REFUSED = 1, 2, 3
"""Indices of the outcomes in the counts of `FarmModel.count`; the refusals follow, by reason."""

MOST_LIMITS = 3
"""Number of factors to name for a crop."""


@dataclass(frozen=True, eq=False, repr=False)
class WatchedFarm(FarmModel):
    """A farm that counts the days on which each of the `watched` conditions is true."""

    watched: tuple[str, ...] = ()

    def info(self, state: FarmState, params: FarmParams) -> dict[str, Any]:
        def hold(text: str) -> Array:
            formulas = FormulaCompiler(self.names)
            return self.hold(formulas.compile(text, ""), tuple(formulas.values), state, params)

        held = list(map(hold, self.watched))
        return super().info(state, params) | {"held": jnp.asarray(held, jnp.int32)}

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        return super().count(info, action) | {"held": info["held"]}


def watch(env: FarmModel) -> WatchedFarm:
    """Return a farm whose evaluations report stopping conditions, and parts of them, that were never true."""
    given = env.spec.rules.terminal_conditions
    parts = [ast.unparse(part) for text in given for part in getattr(parse_formula(text), "values", ())]
    structure = {field.name: getattr(env, field.name) for field in fields(FarmModel)}
    return WatchedFarm(**structure, watched=tuple(dict.fromkeys([*given, *parts])))


def explain(env: FarmModel, episodes: Episodes) -> list[str]:
    """Return sentences about problems in the evaluated seasons; none if the evaluation was run without counts."""
    counts = {name: np.asarray(values).sum(0) for name, values in episodes.counts.items()}
    if "orders" not in counts:
        return []
    days = int(np.sum(episodes.info["day"]))
    sentences = [*_say_refusals(env, counts["orders"]), *_say_turns(env, counts, days), *_say_limits(env, counts)]
    sentences += _say_weather(env, len(episodes.length))
    held = zip(getattr(env, "watched", ()), counts.get("held", ()), strict=True)
    never = [f"stopping condition `{text}` never held in {len(episodes.length)} seasons" for text, n in held if not n]
    return sentences + never


def count_orders(episodes: Episodes) -> dict[str, np.ndarray]:
    """Return the numbers of orders in each season: given, refused, and carried out without effect."""
    if "orders" not in episodes.counts:
        return {}
    orders = np.asarray(episodes.counts["orders"])
    given, refused = orders[:, DONE:].sum(1), orders[:, REFUSED:].sum(1)
    return {"orders given": given, "orders refused": refused, "orders without effect": orders[:, NO_EFFECT]}


def _say_refusals(env: FarmModel, orders: np.ndarray) -> Iterator[str]:
    given, prices = int(orders[DONE:].sum()), np.asarray(env.params.score.intervention_costs)
    for (who, why), refused in zip(env.reasons, orders[REFUSED:].tolist(), strict=True):
        if refused:
            number = "every order was" if refused == given else f"{refused} of {given} orders were"
            costs = f"; an order costs {prices.min():g} to {prices.max():g}" if 2 * refused > given else ""
            yield f"{number} refused by {who}: {why}{costs}"


def _say_turns(env: FarmModel, counts: Mapping[str, np.ndarray], days: int) -> Iterator[str]:
    """Yield sentences on rules of the expert that never or always acted, or whose orders did not fit in a day."""
    turns = counts.get("turns", np.zeros(0))
    if not turns.any() or len(turns) != len(env.spec.expert):
        return
    rows = zip(env.spec.expert, turns.tolist(), counts["left"].tolist(), strict=True)
    for number, (rule, acted, left) in enumerate(rows, start=1):
        name = f"rule {number} of the expert ({rule.do or f'observe {rule.observe}'})"
        if not acted:
            yield f"{name} never acted"
        elif acted == days and rule.do and env.schedule == 1:
            yield f"{name} gave the only order of every day"
        if left and rule.plot == "each":
            limit = f"a day takes {env.schedule} of the orders (rules > max_action_schedule_size)"
            yield f"{name} did not give {left} orders on the day they were due: {limit}"


def _say_limits(env: FarmModel, counts: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Return a sentence per crop with the main factors that limited its growth, as shares of the limited days.

    Crowding is left out where no order sets the density of the plants.
    """
    for variable in env.variables:
        name = f"{'/'.join(variable.where)}/{variable.attr}"
        if name in counts and (slowed := counts[name][1:] * _avoidable(env, variable)).any():
            most = [at for at in np.argsort(-slowed)[:MOST_LIMITS] if slowed[at]]
            words, shares = variable.meta.labels[1:], 100 * slowed / slowed.sum()
            often = f"growth was slowed on {100 * slowed.sum() / counts[name].sum():.0f} % of the days"
            causes = ", ".join(f"{say_cause(words[at])} ({shares[at]:.0f} %)" for at in most)
            left_out = " (not counting crowding)" * bool(slowed.sum() < counts[name][1:].sum())
            yield f"{entity_title(env, variable.where)}: {often}{left_out}, mainly by {causes}"


def _avoidable(env: FarmModel, variable: Variable) -> list[bool]:
    """Return whether an order can change each factor that limits growth; see `_say_limits`."""
    sowing = (row for row in env.actions.rows if row.names == variable.where and row.action.name == "sow")
    dense = any(len(grid) > 1 for row in sowing for grid in row.grids[1:])
    return [dense or label != "crowding" for label in variable.meta.labels[1:]]


def _say_weather(env: FarmModel, seasons: int) -> Iterator[str]:
    """Yield a sentence if there are more seasons than recorded years, and one if the climate is warmer."""
    weathers = [each for field in env.params.fields for each in field.entities if isinstance(each, Weather)]
    records = [each.sky.days for each in weathers if isinstance(each.sky, Replay)]
    years = max((len(days) // YEAR for days in records if np.ptp(days, axis=0).any()), default=seasons)
    if years < seasons:
        yield f"{seasons} seasons replay {years} recorded years: the interval says nothing about other years"
    if any(each.settings.warming > 0 for each in weathers):
        yield "yields in a warmer climate are probably too high (docs/crops.md, Limits of the model)"
