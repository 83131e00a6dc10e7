"""The timeline of a recorded season: every variable, every action with its cost and outcome, and every death."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from harvestgym.core.tree import Meta
from harvestgym.core.view.timeline import Death, DoneAction, Record, Timeline, Track, name_parts
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable

from .action_log import COST_NAMES, describe_order, find_gains, is_morning, logged_orders, paid_observations
from .events import day_name, find_last_event
from .recorder import known
from .words import code_labels, key_label, key_unit

FIRST = ("available_Water#L", "size#cm", "rain/amount#mm")
NEEDED = {"stage", "harvested", "cause_of_death", "limiting_factor"}
"""Variables without which the lives of an entity are not listed."""


def timeline(env: FarmModel, record: Record) -> Timeline:
    """Make the timeline of a record of `record_episode`."""
    return Timeline(
        when=[
            day_name(env, record, step) + (", after looking" if is_morning(record, step) else "")
            for step in range(len(record["reward"]))
        ],
        watcher="the farmer",
        record=record,
        tracks=(*(_track(v, record) for v in env.variables), *_total_tracks(record)),
        first=tuple(v.name for v in env.variables if v.field == 0 and v.key in FIRST),
        actions=tuple(_actions(env, record)),
        gains=find_gains(record),
        costs={name: record[f"info/{name}"] for name in COST_NAMES},
        deaths=tuple(_deaths(env, record)),
        known=known(env, record),
        last_event=find_last_event(record),
    )


def _track(variable: Variable, record: Record) -> Track:
    return Track(
        name=variable.name,
        group="/".join(variable.where),
        label=key_label(variable.key),
        unit=key_unit(variable.key),
        doc=variable.meta.doc,
        parts=name_parts(variable.shape),
        codes=dict(enumerate(code_labels(variable.meta))),
        observed_mask=record.get(f"seen/{variable.name}", np.zeros(record[variable.name].shape, bool)),
    )


def _total_tracks(record: Record) -> Iterator[Track]:
    for name in record:
        if name.startswith("info/total/"):
            key = name.removeprefix("info/total/")
            yield Track(name, "totals", key_label(key), key_unit(key), "summed over the season so far")


def _actions(env: FarmModel, record: Record) -> Iterator[DoneAction]:
    """Yield the interventions and the paid observations, by step."""
    for step in range(len(record["reward"])):
        for logged in logged_orders(env, record, step):
            farmer = env.actions.farmers[logged.order.farmer]
            yield DoneAction(step, farmer, describe_order(env, logged.order), logged.cost, logged.outcome)
        for item, price in paid_observations(env, record, step):
            plot = f" on plot {item.plot}" if item.plot is not None else ""
            yield DoneAction(step, env.actions.farmers[0], f"look at {item.variable.name}{plot}", price)


def _deaths(env: FarmModel, record: Record) -> Iterator[Death]:
    """Yield the end of each plant that lived, with the causes that slowed its growth."""
    mornings = np.asarray([is_morning(record, step) for step in range(len(record["reward"]))])
    for cause in (v for v in env.variables if v.attr == "cause_of_death"):
        variables = {v.attr: v for v in env.variables if v.where == cause.where}
        for at in np.ndindex(cause.shape) if set(variables) >= NEEDED else ():
            values = {name: record[variable.name][(slice(None), *at)] for name, variable in variables.items()
                      if variable.shape == cause.shape}  # fmt: skip
            who = f"{'/'.join(cause.where)} on plot {tuple(map(int, at))}"
            yield from _lives(who, values, variables, mornings)


def _lives(
    who: str, values: Mapping[str, np.ndarray], variables: Mapping[str, Variable], mornings: np.ndarray
) -> Iterator[Death]:
    """Yield the lives on one plot, each from its first day to its death, harvest or the end of the record."""
    stages, dead = variables["stage"].meta.labels, variables["stage"].meta.labels.index("dead")
    stands = (values["stage"] > 0) & (values["stage"] != dead)
    for start in np.flatnonzero(np.diff(stands.astype(int), prepend=0) > 0).tolist():
        gone = np.flatnonzero(~stands[start:])
        end = start + int(gone[0]) if len(gone) else len(stands) - 1
        limits = values["limiting_factor"][start : end + 1][~mornings[start : end + 1]]
        last = stages[int(values["stage"][end - bool(len(gone))])]
        if values["stage"][end] == dead:
            why = f"died as {variables['cause_of_death'].meta.labels[int(values['cause_of_death'][end])]}"
        else:
            ended = "taken away" if len(gone) else "alive at the end"
            why = f"{'harvested' if values['harvested'][end] else ended}, {last}"
        yield Death(end, who, why, _limits_text(limits, variables["limiting_factor"].meta))


def _limits_text(limits: np.ndarray, meta: Meta) -> str:
    """Return the causes that slowed growth and their days, the commonest first."""
    counts = Counter(int(code) for code in limits if code > 0).most_common(3)
    causes = [f"{number} by {meta.labels[code]}" for code, number in counts]
    return f"growth slowed on days: {', '.join(causes)}" if causes else "nothing slowed its growth"
