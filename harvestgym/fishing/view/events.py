"""Events of a fishery between two years of a record, and the problems of a policy in evaluated episodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harvestgym.core.rollout import Episodes
from harvestgym.core.view.events import LOSS, WARNING, Event
from harvestgym.core.view.timeline import Record
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel

from .levels import find_requests, join_numbers, name_stocks

CHANGED = "catch_constraint", "it may change by only a limited amount each year"
NOT_ASSESSED = "assessment_interval", "it is kept until the next assessment"
"""Reasons for a quota other than the one asked for, and their words."""


def find_events(env: FishingModel, record: Record, first: int, last: int) -> Iterator[Event]:
    """Yield each event after year `first`, up to year `last`; NaN values in the record cause no events.

    A catch below the quota is an event only if quotas have no error, because an error could also explain it.
    """
    biomass, floor, low = np.asarray(record["biomass"]), float(env.params.collapse), float(env.params.b_low)
    for year in range(first + 1, last + 1):
        yield from _find_limits(env, record, year)
        yield from _find_shortages(env, record, year)
        if biomass[year] <= floor:
            end = "at its lower limit, which ends the fishery" if floor else "gone"
            yield Event(year, "collapsed", "the stock", end, LOSS)
        elif biomass[year] < low <= biomass[year - 1]:
            yield Event(year, "low", "the stock", f"below {low:.3g}, a fifth of K", WARNING)


def is_cut_by_stock(env: FishingModel) -> bool:
    """Return whether only a lack of fish explains a catch below the quota."""
    return not (isinstance(env, RecoveryModel) or env.units.control == "rate" or env.params.quota_error.random)


def _find_limits(env: FishingModel, record: Record, year: int) -> Iterator[Event]:
    """Yield an event if the quota was not the one asked for, because of `assessment_interval` or `catch_constraint`."""
    asked, quota = find_requests(env, record)[year], record["quota"][year]
    if env.units.control == "rate" or np.allclose(asked, quota, rtol=1e-3):
        return
    words, held = f"the quota was {join_numbers(quota, '{:.3g}')}", (year - 1) % env.assessment_interval > 0
    yield Event(year, "refused", "", words, WARNING, *(NOT_ASSESSED if held else CHANGED))


def _find_shortages(env: FishingModel, record: Record, year: int) -> Iterator[Event]:
    """Yield an event if the catch from any of the stocks was below its quota."""
    if not is_cut_by_stock(env):
        return
    asked, caught, names = record["quota"][year], np.asarray(record["catch"][year]), name_stocks(env)
    short = np.flatnonzero(caught < 0.999 * asked)
    if len(short):
        words = f"only {caught[short].sum():.3g} of the quota of {asked[short].sum():.3g} was caught"
        who = "" if len(names) == 1 else ", ".join(names[at] for at in short)
        yield Event(year, "cut", who, words, WARNING, "stock", "there were no more fish")


def explain(env: FishingModel, episodes: Episodes) -> list[str]:
    """Return sentences about problems in the evaluated episodes; none if the evaluation was run without counts."""
    years, found = int(np.sum(episodes.length)), {name: int(np.sum(n)) for name, n in episodes.counts.items()}
    if not found:
        return []
    what = "action" if isinstance(env, RecoveryModel) else env.units.control
    always = {"0": found["years without action"], "the largest possible": found["years of most"]}
    notes = [f"the {what} was {value} in every year" for value, number in always.items() if number == years]
    cut = found["years cut"] if is_cut_by_stock(env) else 0
    if changed := found.get("years changed"):
        notes.append(f"in {changed} of {years} years, assessment_interval or catch_constraint changed the quota")
    return notes + [f"in {cut} of {years} years, the catch was below the quota: there were no more fish"] * (cut > 0)
