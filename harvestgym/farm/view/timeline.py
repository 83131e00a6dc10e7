"""The timeline of a recorded season: every variable, every action with its cost and outcome, and every event."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harvestgym.core.view.events import Event
from harvestgym.core.view.timeline import Record, Timeline, Track, name_parts
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable

from .action_log import COST_NAMES, find_gains, find_looks, find_outcomes, is_morning
from .events import day_name, find_events, find_last_event
from .recorder import known
from .words import code_labels, key_label, key_unit

FIRST = ("available_Water#L", "size#cm", "rain/amount#mm")


def timeline(env: FarmModel, record: Record) -> Timeline:
    """Make the timeline of a record from `record_episode`."""
    steps = range(len(record["reward"]))
    return Timeline(
        when=[day_name(env, record, at) + ", after looking" * is_morning(record, at) for at in steps],
        watcher="the farmer",
        record=record,
        tracks=(*(_track(v, record) for v in env.variables), *_total_tracks(record)),
        first=tuple(v.name for v in env.variables if v.field == 0 and v.key in FIRST),
        actions=tuple(_actions(env, record)),
        gains=find_gains(record),
        costs={name: record[f"info/{name}"] for name in COST_NAMES},
        events=tuple(find_events(env, record, 0, len(record["reward"]) - 1)),
        known=known(env, record),
        last_event=find_last_event(record),
    )


def _track(variable: Variable, record: Record) -> Track:
    name, key, meta = variable.name, variable.key, variable.meta
    parts, codes = name_parts(variable.shape), dict(enumerate(code_labels(meta)))
    seen = record.get(f"seen/{name}", np.zeros(record[name].shape, bool))
    return Track(name, "/".join(variable.where), key_label(key), key_unit(key), meta.doc, parts, codes, seen)


def _total_tracks(record: Record) -> Iterator[Track]:
    for name in record:
        if name.startswith("info/total/"):
            key = name.removeprefix("info/total/")
            yield Track(name, "totals", key_label(key), key_unit(key), "summed over the season so far")


def _actions(env: FarmModel, record: Record) -> Iterator[Event]:
    """Yield the interventions and the paid observations, by step."""
    for step in range(len(record["reward"])):
        yield from find_outcomes(env, record, step)
        yield from find_looks(env, record, step)
