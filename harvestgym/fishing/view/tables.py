"""Tables that describe a fishery, and the timeline of a recorded one: stocks, surveys, catches and rewards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import iterate_metas
from harvestgym.core.view.events import Event
from harvestgym.core.view.tables import Table, describe_range, make_fields_table, make_spaces_table
from harvestgym.core.view.timeline import Record, Timeline, Track, name_parts
from harvestgym.core.yaml_io import read_file
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.conservation import DriverModel, RecoveryModel
from harvestgym.fishing.model import EpisodeTally, FishingModel, FishingState, find_effort
from harvestgym.fishing.noise import Noise
from harvestgym.fishing.spec import USERS

from .events import find_events
from .levels import find_levels, find_requests, join_numbers, name_stocks, qualify

CALLABLES = ("law", "noise", "survey_error", "quota_error", "drift", "vary")
"""The small callables of a fishery, in order of use within a year."""

SCALES = {"symmetric": "symmetric (as -1 to 1)", "natural": "natural (as it is)"}
"""The scales of actions and observations, explained."""


UNITS = {"stock": "", "biomass": "", "catch": "/year"}
"""The ends of units, after that of biomass: the file's, or K if it is 1; otherwise there is no unit."""

TRACK_DOCS: dict[str, str] = read_file(Path(__file__).with_name("tracks.yaml"))
"""The meaning of each variable that is shown, by its name in the record."""


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
        unit = env.units.unit or "unit"
        left = f" The stock that remains at the end is paid at {final:g} per {unit}." if final else ""
        worth = f"The score is the sum of the catches of all years, at {price:g} per {unit}{effort}.{left}"
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
        msy, b_msy = env.units.say(point.catch * stocks), env.units.say(point.stock * stocks)
        sums = f"MSY {msy}, B_MSY {b_msy}" + " over all stocks" * (stocks > 1)
        rates = f"U_MSY {point.rate:.4g}, F_MSY {float(find_effort(point.rate)):.4g}"
        rows.append(("reference points", qualify(env, "no noise"), f"{sums}, {rates}"))
    return Table("What happens in a year", ("part", "kind", "what it is"), rows, ("entities",))


def _spaces(env: FishingModel) -> Table:
    units = env.units
    quota = "catch to allow", units.say(units.bound)
    what, high = ("share of the stock to catch", "1") if units.control == "rate" else quota
    if isinstance(env, RecoveryModel):
        what = f"{env.meaning}, at a cost of A**{float(cast(Any, env.params).exponent):g}"
    scale = f"{units.levels} levels" if units.levels else SCALES[units.scale]
    action = f"{what}, from 0 to {high}, {scale}; one for each target"
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


# -- the timeline ------------------------------------------------------------------------------------------


def timeline(env: FishingModel, record: Record) -> Timeline:
    """Return the timeline of a record made by `record_episode`, by year."""
    kept = [name for name in TRACK_DOCS if name in record and (name not in ("catch", "rate") or record[name].any())]
    spent = None  # the cost of effort in each year; None if the reward is not the value of a catch
    if not isinstance(env, RecoveryModel):
        spent = (float(env.params.cost) * np.asarray(env.effort(jnp.asarray(record["rate"])))).sum(1)
    watched = "stock" if record["seen"].shape == record["stock"].shape else "biomass"
    return Timeline(
        when=[f"year {year}" for year in range(len(record["reward"]))],
        watcher="the manager",
        record=record,
        tracks=tuple(_track(env, record, name, watched) for name in kept),
        first=tuple(name for name in (watched, "catch") if name in kept),
        actions=tuple(_actions(env, record)),
        gains={"net worth": record["reward"]} if spent is None else {"catch": record["reward"] + spent},
        costs={"effort": spent} if spent is not None and spent.any() else {},
        events=tuple(find_events(env, record, 0, len(record["reward"]) - 1)),
    )


def _track(env: FishingModel, record: Record, name: str, watched: str) -> Track:
    values = record[name]
    parts = name_stocks(env)[: values.shape[1]] if values.ndim > 1 else ()
    parts = parts if len(parts) == values[0].size else name_parts(values.shape[1:])
    surveyed = record["seen"][:, : values[0].size].reshape(values.shape) if name == watched else None
    shown = {"catch", "rate", *(["driver"] if isinstance(env, DriverModel) and env.shows_driver else [])}
    known = surveyed is not None or name in shown
    unit = env.units.unit or "K" * (abs(find_levels(env).stock.get("K", np.nan) - 1) < 1e-6)
    unit = f"{unit}{UNITS[name]}" if unit and name in UNITS else ""
    return Track(name, "fishery", name, unit, TRACK_DOCS[name], parts, {}, np.full(values.shape, known), surveyed)


def _actions(env: FishingModel, record: Record) -> Iterator[Event]:
    wanted, fished = find_requests(env, record), not isinstance(env, RecoveryModel)
    asked = env.units.control if fished else "action"
    for year in range(1, len(wanted)):
        note = f"caught {join_numbers(record['catch'][year], '{:.3g}')}" if fished else ""
        yield Event(year, "ordered", f"{asked} {join_numbers(wanted[year], '{:.3g}')}", note)
