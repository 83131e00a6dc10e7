"""Events on a farm between two steps of a record: stages, deaths, harvests, pests, weeds and frost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from harvestgym.core.view.events import LOSS, NEWS, WARNING, Event
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.plant.stages import Stage

from .action_log import logged_orders
from .words import ARRIVALS, CHANGES, date_of_step, entity_title, say_cause

STARVED = ("no-growth days", "no-weight days")
"""Causes of death that follow from slow growth."""

FROST = "consecutive_frost#day"


def find_events(env: FarmModel, record: Record, first: int, last: int) -> Iterator[Event]:
    """Yield each event after step `first`, up to step `last`.

    The record may contain only the values that the farmer knows; numbers that were never observed cause no events.
    """
    for step in range(first + 1, last + 1):
        for variable in env.variables:
            yield from _events_of_variable(env, record, step, variable)


def _events_of_variable(env: FarmModel, record: Record, step: int, variable: Variable) -> Iterator[Event]:
    before, now = (np.asarray(record[variable.name][at], float) for at in (step - 1, step))
    who = entity_title(env, variable.where)
    if variable.attr == "stage" and variable.meta.labels:
        yield from _stage_changes(env, record, step, variable)
    elif variable.key in ARRIVALS and variable.per_plot:
        rise = ARRIVALS[variable.key]
        quiet = rise["quiet days"] * env.steps_per_day
        lately = np.asarray(record[variable.name][max(step - quiet, 0) : step]) > 0
        came = (before == 0) & (now > 0) & ~lately.any(None if rise["per"] == "field" else 0)
        if came.any():
            yield Event(step, "arrived", who, rise["words"], WARNING, **_on_plots(np.argwhere(came), variable))
    elif variable.key == FROST and np.all((before == 0) & (now > 0)):
        yield Event(step, "frost", who, "frost", WARNING)


def _stage_changes(env: FarmModel, record: Record, step: int, variable: Variable) -> Iterator[Event]:
    """Yield the stage changes of a plant, grouped by stage and cause of death."""
    labels, others = variable.meta.labels, {v.attr: v for v in env.variables if v.where == variable.where}
    before, now = (np.asarray(record[variable.name][at], float) for at in (step - 1, step))
    groups: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for plot in map(tuple, np.argwhere((now != before) & np.isfinite(before) & np.isfinite(now)).tolist()):
        stage = labels[int(now[plot])]
        cause = _find_cause(record, step, others, plot) if stage == "dead" else ""
        groups.setdefault((stage, cause), []).append(plot)
    for (stage, cause), plots in groups.items():
        kind = "harvested" if stage == "none" and _is_harvested(env, record, step, variable) else stage
        words, severity = CHANGES.get(kind, kind), LOSS if kind == "dead" else NEWS
        why = _explain_death(record, step, others, cause, plots) if kind == "dead" else ""
        who, where = entity_title(env, variable.where), _on_plots(plots, variable)
        yield Event(step, kind, who, words, severity, cause, why, **where)


def _find_cause(record: Record, step: int, others: dict[str, Variable], plot: tuple[int, ...]) -> str:
    """Return the label of a plant's cause of death; empty if it is unknown."""
    cause = others.get("cause_of_death")
    code = 0.0 if cause is None else float(record[cause.name][step][plot])
    return cause.meta.labels[int(code)] if cause is not None and code > 0 else ""


def _explain_death(
    record: Record, step: int, others: dict[str, Variable], cause: str, plots: list[tuple[int, ...]]
) -> str:
    """Return the cause of deaths in words, with the factor that slowed growth on most days of the last stage."""
    limits = [_count_limits(record, step, others, plot) for plot in plots]
    total = sum(limits, Counter[str]())
    if not total:
        return say_cause(cause)
    factor = total.most_common(1)[0][0]
    days = {limit[factor] for limit in limits}
    count = f"on {' to '.join(map(str, sorted({min(days), max(days)})))} day{'s' * (max(days) > 1)}"
    stage, _, what = cause.rpartition(": ")
    if what in STARVED:
        return say_cause(f"{stage}: {factor}", count)
    return "; ".join(filter(None, (say_cause(cause), f"growth slowed by {say_cause(factor, count)}")))


def _count_limits(record: Record, step: int, others: dict[str, Variable], plot: tuple[int, ...]) -> Counter[str]:
    """Count the days of a plant's last stage by the factor that slowed its growth most, as far as it is recorded."""
    limit = others.get("limiting_factor")
    if limit is None:
        return Counter()
    stages, factors = (np.asarray(record[v.name], float)[(slice(step), *plot)] for v in (others["stage"], limit))
    since = np.flatnonzero(stages != stages[-1]).max(initial=-1) + 1
    new_day = np.append(True, np.diff(record["info/day"][:step]) > 0)
    codes = factors[since:][new_day[since:] & (factors[since:] > 0)]
    return Counter(limit.meta.labels[int(code)] for code in codes)


def _is_harvested(env: FarmModel, record: Record, step: int, variable: Variable) -> bool:
    """Return whether a harvest in a step had an effect on the plant to which this variable belongs."""
    done = (action.order.row for action in logged_orders(env, record, step) if action.effective)
    return any(row.names == variable.where and "harvest" in row.action.name for row in done)


def _on_plots(plots: Any, variable: Variable) -> dict[str, Any]:
    """Return the plots of an event; none if the field has only one."""
    whole = int(np.prod(variable.shape))
    return {} if whole == 1 else {"plots": [tuple(map(int, plot)) for plot in plots], "of": whole}


def day_name(env: FarmModel, record: Record, step: int) -> str:
    """Return `day 3`, or `day 3, 5 May` if the date is known."""
    return ", ".join(filter(None, (f"day {int(record['info/day'][step])}", date_of_step(env, record, step))))


def find_last_event(record: Record) -> int:
    """Return the last step before the end in which a plant was alive, an action had an effect or there was a reward.

    The final reward of a score is not counted: it is given in the last step, even if the last action was earlier.
    """
    busy = (np.asarray(record["reward"]) != 0) | np.asarray(record["info/effective"]).any(1)
    for name, values in record.items():
        if name.endswith("/stage") and not name.startswith("seen/"):
            lives = (np.asarray(values) > Stage.NONE) & (np.asarray(values) < Stage.DEAD)
            busy = busy | lives.reshape(len(busy), -1).any(1)
    return int(np.max(np.flatnonzero(busy[:-1]), initial=0))
