"""Events on a farm between two steps of a record, in words: stages, deaths, harvests, pests, weeds and frost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.plant.stages import Stage

from .action_log import logged_orders
from .words import date_of_step, entity_titles

ARRIVALS = {"plot_population#nb": "pests came", "grow#nb": "weeds came up", "flowers#nb": "weeds in bloom"}
"""Descriptions of numbers per plot that count as an event when they rise from 0."""

FROST = "consecutive_frost#day"


def list_events(env: FarmModel, record: Record, first: int, last: int) -> list[str]:
    """Return a line for each event after step `first`, up to step `last`, with its day."""
    return [f"{day_name(env, record, step)}: {text}" for step, text in find_events(env, record, first, last)]


def find_events(env: FarmModel, record: Record, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the step and description of each event after step `first`, up to step `last`.

    The record may contain only what the farmer knows: numbers that were never observed cause no events.
    """
    titles = entity_titles(env)
    for step in range(first + 1, last + 1):
        for variable in env.variables:
            for text in _events_of_variable(env, record, step, variable):
                yield step, f"{titles[variable.where]}: {text}"


def _events_of_variable(env: FarmModel, record: Record, step: int, variable: Variable) -> Iterator[str]:
    before, now = (np.asarray(record[variable.name][at], float) for at in (step - 1, step))
    if variable.attr == "stage" and variable.meta.labels:
        yield from _stage_changes(env, record, step, variable)
    elif variable.key in ARRIVALS and variable.per_plot:
        if plots := int(np.sum((before == 0) & (now > 0))):
            yield f"{ARRIVALS[variable.key]}{_on_plots(plots, variable)}"
    elif variable.key == FROST and np.all((before == 0) & (now > 0)):
        yield "frost"


def _stage_changes(env: FarmModel, record: Record, step: int, variable: Variable) -> Iterator[str]:
    """Yield the stage changes of a plant, with similar ones grouped."""
    labels, others = variable.meta.labels, {v.attr: v for v in env.variables if v.where == variable.where}
    before, now = (np.asarray(record[variable.name][at], float) for at in (step - 1, step))
    changes: Counter[str] = Counter()
    for plot in zip(*np.nonzero(now != before), strict=True):
        if np.isfinite(before[plot]) and np.isfinite(now[plot]):
            changes[_change_text(labels[int(now[plot])], record, step, others, plot)] += 1
    if "gone" in changes and _is_harvested(env, record, step, variable):
        changes["harvested"] = changes.pop("gone")
    for text, plots in changes.items():
        yield f"{text}{_on_plots(plots, variable)}"


def _change_text(stage: str, record: Record, step: int, others: dict[str, Variable], plot: tuple[int, ...]) -> str:
    """Describe a change of stage, with the cause of a death if it is known."""
    if stage != "dead":
        return {"none": "gone", "seed": "sown", "grow": "sprouted", "ripe": "ripe"}.get(stage, f"now in {stage}")
    cause = others.get("cause_of_death")
    code = float("nan") if cause is None else float(record[cause.name][step][plot])
    labels = () if cause is None else cause.meta.labels
    slowed = _main_limits(record, step, others, plot)
    return f"died ({labels[int(code)].partition(': ')[2]}){slowed}" if code > 0 else f"died{slowed}"


def _main_limits(record: Record, step: int, others: dict[str, Variable], plot: tuple[int, ...]) -> str:
    """Return the causes that slowed a plant's growth on most of its days, most common first."""
    limit = others.get("limiting_factor")
    if limit is None:
        return ""
    stages, factors = (record[v.name][(slice(step), *plot)] for v in (others["stage"], limit))
    born = np.flatnonzero(stages == Stage.NONE).max(initial=0)
    causes = Counter(int(code) for code in factors[born:] if code > 0).most_common(3)
    return f", slowed by {', '.join(limit.meta.labels[code] for code, _ in causes)}" if causes else ""


def _is_harvested(env: FarmModel, record: Record, step: int, variable: Variable) -> bool:
    """Return whether a harvest in a step had an effect on the plant to which this variable belongs."""
    done = (action.order.row for action in logged_orders(env, record, step) if action.effective)
    return any(row.names == variable.where and "harvest" in row.action.name for row in done)


def _on_plots(plots: int, variable: Variable) -> str:
    whole = int(np.prod(variable.shape))
    return "" if whole == 1 else f" on {plots} of {whole} plots"


def day_name(env: FarmModel, record: Record, step: int) -> str:
    """Return `day 3`, or `day 3, 5 May` if the date is known."""
    return ", ".join(filter(None, (f"day {int(record['info/day'][step])}", date_of_step(env, record, step))))


def find_last_event(record: Record) -> int:
    """Return the last step before the end in which a plant was alive, an action had an effect or there was a reward.

    The final reward from a score is given in the last step, regardless of when the last action took place.
    """
    busy = (np.asarray(record["reward"]) != 0) | np.asarray(record["info/effective"]).any(1)
    for name, values in record.items():
        if name.endswith("/stage") and not name.startswith("seen/"):
            lives = (np.asarray(values) > Stage.NONE) & (np.asarray(values) < Stage.DEAD)
            busy = busy | lives.reshape(len(busy), -1).any(1)
    return int(np.max(np.flatnonzero(busy[:-1]), initial=0))
