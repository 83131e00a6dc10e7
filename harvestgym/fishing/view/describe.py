"""Tables that describe a fishery: callables, state, action, observation and parameters."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from harvestgym.core.pytree import iterate_metas
from harvestgym.core.view.tables import Table, describe_range, make_fields_table, make_spaces_table, write_number
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import EpisodeTally, FishingModel, FishingState, find_effort
from harvestgym.fishing.noise import Noise
from harvestgym.fishing.spec import USERS

from .levels import join_numbers, qualify

CALLABLES = ("law", "noise", "survey_error", "quota_error", "drift", "vary")
"""The small callables of a fishery, in order of use within a year."""

SCALES = {"symmetric": "symmetric (as -1 to 1)", "natural": "natural (as it is)"}
"""The scales of actions and observations, explained."""


def describe(env: FishingModel) -> list[Table]:
    """Make the tables for a fishery."""
    state = make_fields_table("State", FishingState, "state")
    tally = make_fields_table("Tally of an episode (in info)", EpisodeTally, "state")
    return [_callables(env), state, tally, _spaces(env), _parameters(env)]


def say_goal(env: FishingModel) -> tuple[str, ...]:
    """Return the goal of the game in short sentences: how the score is computed, and when an episode ends."""
    params = env.params
    worth = "The score is the sum of the yearly values of the stock, minus the cost of your actions."
    if not isinstance(env, RecoveryModel):
        price, cost, final = (float(np.mean(getattr(params, name))) for name in ("price", "cost", "final_price"))
        effort = f", minus {cost:g} per unit of effort" if cost else ""
        left = f" The stock that remains at the end is paid at {final:g} per unit." if final else ""
        worth = f"The score is the sum of the catches of all years, at {price:g} per unit{effort}.{left}"
    floor = float(np.min(params.collapse))
    early = f", and ends early if the stock falls to {floor:g}" if floor > 0 else ""
    ends = f"The fishery has {int(params.horizon)} years{early}."
    return worth, ends, "What is not caught grows, and a survey shows the stock before each decision."


def _callables(env: FishingModel) -> Table:
    parts = ((name, getattr(env.params, name)) for name in CALLABLES)
    present = [(name, part) for name, part in parts if type(part) not in (type(None), Noise)]
    rows = [(name, type(part).__name__, (type(part).__doc__ or "").partition("\n")[0]) for name, part in present]
    year = "x' = f(x - h)" if env.order == "harvest first" else "x' = f(x) - h"
    rows.append(("order", env.order, f"{year}, with the noise as above" if env.params.noise.random else year))
    if not isinstance(env, RecoveryModel):
        point, stocks = find_reference_point(env.params.law), env.params.law.targets
        msy, b_msy = write_number(point.catch * stocks), write_number(point.stock * stocks)
        sums = f"MSY {msy}, B_MSY {b_msy}" + " over all stocks" * (stocks > 1)
        rates = f"U_MSY {point.rate:.4g}, F_MSY {float(find_effort(point.rate)):.4g}"
        rows.append(("reference points", qualify(env, "no noise"), f"{sums}, {rates}"))
    return Table("What happens in a year", ("part", "kind", "what it is"), rows, ("entities",))


def _spaces(env: FishingModel) -> Table:
    units = env.units
    rate = ("share of the stock to catch", 1.0)
    what, high = rate if units.control == "rate" else ("catch to allow", units.bound)
    if isinstance(env, RecoveryModel):
        what = f"{env.meaning}, at a cost of A**{float(cast(Any, env.params).exponent):g}"
    scale = f"{units.levels} levels" if units.levels else SCALES[units.scale]
    action = f"{what}, from 0 to {high:g}, {scale}; one for each target"
    return make_spaces_table(
        env, action, f"observed biomass in the unit of the start, from 0 to {units.bound:g}, {SCALES[units.scale]}"
    )


def _parameters(env: FishingModel) -> Table:
    law = env.params.law
    parts = {"": env.params, **{f"{name}.": getattr(env.params, name) for name in CALLABLES}}
    parts |= {f"law.{i}.": one for i, one in enumerate(getattr(law, "laws", ()))}
    parts["law.law."] = getattr(law, "law", None)
    rows = [
        (prefix + meta.keys[0], _value(getattr(part, name)), describe_range(meta), meta.doc)
        for prefix, part in parts.items()
        if part is not None
        for name, meta in iterate_metas(part)
        if env.problem in USERS.get(meta.keys[0], (env.problem,))
    ]
    return Table("Parameters", ("name", "value", "range", "meaning"), rows, ("parameters",))


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else join_numbers(value, "{:g}")
