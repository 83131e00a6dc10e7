"""A recorded season in words and tables: every variable, what was seen of it, what was done, earned and lost."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from harvestgym.core.timeline import Death, DoneAction, Record, Timeline, Track, part_names
from harvestgym.core.tree import Meta
from harvestgym.farm.engine.actions import Choice
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable

from . import action_log
from .recorder import known

FIRST = ("available_Water#L", "size#cm", "rain/amount#mm")
NEEDED = {"stage", "harvested", "cause_of_death", "limiting_factor"}
"""What an entity must have for its lives to be told."""

COUNTS = ("", "nb", "int5", "int365", "seed")
"""What stands behind the # of keys that are counts or codes, no units."""


def timeline(env: FarmModel, record: Record) -> Timeline:
    """The season of a record, as `record_episode` makes it."""
    tracks = (*(_track(v, record) for v in env.variables), *_totals(record))
    first = tuple(v.name for v in env.variables if v.field == 0 and v.key in FIRST)
    prefix = "info/reward/"
    return Timeline(
        when=_when(env, record),
        watcher="the farmer",
        record=record,
        tracks=tracks,
        first=first,
        actions=tuple(sorted((*_orders(env, record), *_looks(env, record)), key=lambda deed: deed.step)),
        gains={name.removeprefix(prefix): values for name, values in record.items() if name.startswith(prefix)},
        costs={name: record[f"info/{name}"] for name in action_log.COSTS},
        deaths=tuple(_fates(env, record)),
        known=known(env, record),
    )


# The variables.


def _track(variable: Variable, record: Record) -> Track:
    meta = variable.meta
    return Track(
        name=variable.name,
        group="/".join(variable.where),
        label=re.sub(r"#[^/]*", "", variable.key),
        unit=_unit(variable.key),
        doc=meta.doc,
        parts=part_names(variable.shape),
        codes=_codes(meta),
        observed_mask=_seen(variable, record),
    )


def _seen(variable: Variable, record: Record) -> np.ndarray:
    return record.get(f"seen/{variable.name}", np.zeros(record[variable.name].shape, bool))


def _unit(key: str) -> str:
    unit = key.partition("#")[2].partition("/")[0]
    return "" if unit in COUNTS else unit


def _codes(meta: Meta) -> dict[int, str]:
    return dict(enumerate(("no", "yes") if meta.dtype == "bool" else meta.labels))


def _totals(record: Record) -> Iterator[Track]:
    for name in record:
        if name.startswith("info/total/"):
            key = name.removeprefix("info/total/")
            yield Track(name, "totals", key.partition("#")[0], _unit(key), "summed over the season so far")


def _when(env: FarmModel, record: Record) -> list[str]:
    """`day 3, 5 May`; of a day in two halves the first ends with `, after looking`."""
    days = record["info/day"]
    calendar = next((v.name for v in env.variables if v.key == "day#int365"), None)
    told = [f"day {day}" for day in days]
    if calendar is not None:
        told = [f"{day}, {_date(int(n))}" for day, n in zip(told, record[calendar], strict=True)]
    return [f"{day}, after looking" if half else day for day, half in zip(told, _mornings(record), strict=True)]


def _date(day: int) -> str:
    date = datetime.date(2001, 1, 1) + datetime.timedelta(days=day - 1)
    return f"{date.day} {date:%b}"


# What was done.


def _orders(env: FarmModel, record: Record) -> Iterator[DoneAction]:
    for step in range(len(record["reward"])):
        for deed in action_log.of(env, record, step):
            note = "" if deed.effective else "had no effect" if deed.accepted else "refused"
            who, cost = env.actions.farmers[deed.choice.farmer], deed.price if deed.accepted else 0.0
            yield DoneAction(step, who, _told(env, deed.choice), cost, note)


def _told(env: FarmModel, choice: Choice) -> str:
    """`Plant-0: harvest on plot (0, 1)`, with the field where there are several."""
    given = env.actions.tuple(choice)
    assert given is not None
    _, field, entity, name, values = given
    plot = values.pop("plot", None)
    words = [f"{key.partition('#')[0]} {_number(value)}{_space(_unit(key))}" for key, value in values.items()]
    on = f" on plot {plot}" if plot is not None else ""
    whose = f"{field}/{entity}" if len(env.fields) > 1 else entity
    return f"{whose}: {name.replace('_', ' ')}{on}{', ' if words else ''}{', '.join(words)}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _space(unit: str) -> str:
    return f" {unit}" if unit else ""


def _looks(env: FarmModel, record: Record) -> Iterator[DoneAction]:
    """The observations that were asked for and made, each look once a morning."""
    if not isinstance(env, ActiveFarm):
        return
    prices = np.asarray(env.params.score.look_costs(env.offered, env.variables))
    mornings, asked = _mornings(record), record.get("action/request")
    for n, (look, price) in enumerate(zip(env.offered.looks, prices, strict=True)):
        shown = _seen(look.variable, record)[(slice(None), *zip(*look.entries, strict=True))]
        made = mornings & shown.reshape(len(shown), -1).all(1)
        if asked is not None:  # some of it may be seen for nothing
            made &= asked[:, n].astype(bool)
        what = f"look at {look.variable.name}" + (f" on plot {look.plot}" if look.plot is not None else "")
        yield from (DoneAction(int(step), env.actions.farmers[0], what, float(price)) for step in np.flatnonzero(made))


def _mornings(record: Record) -> np.ndarray:
    """Of each step whether the farmer looked in it and no day passed."""
    return np.asarray([action_log.looking(record, step) for step in range(len(record["reward"]))])


# What became of the plants.


def _fates(env: FarmModel, record: Record) -> Iterator[Death]:
    """Every death, and how each plant that lived ended, with what had slowed its growth."""
    for cause in (v for v in env.variables if v.attr == "cause_of_death"):
        mine = {v.attr: v for v in env.variables if v.where == cause.where}
        for at in np.ndindex(cause.shape) if set(mine) >= NEEDED else ():
            told = {name: record[variable.name][(slice(None), *at)] for name, variable in mine.items()
                    if variable.shape == cause.shape}  # fmt: skip
            who = f"{'/'.join(cause.where)} on plot {tuple(map(int, at))}"
            yield from _lives(who, told, mine, _mornings(record))


def _lives(
    who: str, told: Mapping[str, np.ndarray], mine: Mapping[str, Variable], still: np.ndarray
) -> Iterator[Death]:
    """The lives on one plot, from each first day of a stand to its death, harvest or the end of the record."""
    stages, dead = mine["stage"].meta.labels, mine["stage"].meta.labels.index("dead")
    stands = (told["stage"] > 0) & (told["stage"] != dead)
    for start in np.flatnonzero(np.diff(stands.astype(int), prepend=0) > 0).tolist():
        gone = np.flatnonzero(~stands[start:])
        end = start + int(gone[0]) if len(gone) else len(stands) - 1
        limits = told["limiting_factor"][start : end + 1][~still[start : end + 1]]
        last = stages[int(told["stage"][end - bool(len(gone))])]
        if told["stage"][end] == dead:
            why = f"died as {mine['cause_of_death'].meta.labels[int(told['cause_of_death'][end])]}"
        else:
            ended = "taken away" if len(gone) else "alive at the end"
            why = f"{'harvested' if told['harvested'][end] else ended}, {last}"
        yield Death(end, who, why, _slowed(limits, mine["limiting_factor"].meta))


def _slowed(limits: np.ndarray, meta: Meta) -> str:
    """What slowed growth on how many days, the commonest first."""
    counts = Counter(int(code) for code in limits if code > 0).most_common(3)
    told = [f"{number} by {meta.labels[code]}" for code, number in counts]
    return f"growth slowed on days: {', '.join(told)}" if told else "nothing slowed its growth"
