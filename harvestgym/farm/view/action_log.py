"""What was done and looked at in a step of a recorded season, on the map and in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harvestgym.core.scene import Mark, Sprite, sprites
from harvestgym.core.timeline import Record
from harvestgym.farm.engine.actions import DURATION, Choice
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.model import FarmModel, FarmParams
from harvestgym.farm.engine.observations import ObservedItem
from harvestgym.farm.engine.variables import Variable

COSTS = ("intervention cost", "observation cost", "wages")
SIZE = 0.2
"""Of a tool on a plot, in plots."""

MANY = 4
"""More plots than these are counted, not named."""


class LoggedAction(NamedTuple):
    """One intervention that was asked for.

    Attributes:
        choice: what, who, where and how much.
        price: what it costs if it is done.
        accepted, effective: whether a farmer took it, and whether it changed anything.
    """

    choice: Choice
    price: float
    accepted: bool
    effective: bool


def looking(record: Record, step: int) -> bool:
    """Whether no day passed in a step, as in mode "ao" while the farmer looks around."""
    days = record["info/day"]
    return step > 0 and bool(days[step] == days[step - 1])


def of(env: FarmModel, record: Record, step: int) -> Iterator[LoggedAction]:
    """The interventions asked for in a step."""
    kinds, prices = record["orders/kind"][step], record["orders/price"][step]
    for i in np.flatnonzero(kinds).tolist():
        row = env.actions.rows[int(kinds[i]) - 1]
        x, y = map(int, record["orders/plot"][step][i])
        values = tuple(record["orders/values"][step][i].tolist()[: len(row.allowed)])
        choice = Choice(row, int(record["orders/farmer"][step][i]), (x, y) if x >= 0 else None, values)
        came = (bool(record[f"info/{flag}"][step][i]) for flag in ("accepted", "effective"))
        yield LoggedAction(choice, float(prices[i]), *came)


def marks(env: FarmModel, record: Record, step: int, field: int, margin: float, crowded: bool) -> list[Mark]:
    """A tool in the north-west of each plot that was worked on, west of the field where it was all of it."""
    alike: dict[tuple[int, int] | None, list[Choice]] = {}
    for deed in of(env, record, step):
        if deed.choice.row.field == field and deed.effective:
            alike.setdefault(deed.choice.plot, []).append(deed.choice)
    out = [
        Mark(
            _tool(env, choice), *_corner(plot, n, margin, crowded),
            text=_amount(env, choice) if plot and len(choices) == 1 and not crowded else "",
            meaning=f"done: {_verb(env, choice)}",
        )
        for plot, choices in alike.items() for n, choice in enumerate(choices)
    ]  # fmt: skip
    return out + _eyes(env, record, step, field)


def _corner(plot: tuple[int, int] | None, n: int, margin: float, crowded: bool) -> tuple[tuple[float, float], float]:
    """Where the n-th tool of a plot stands, and its size."""
    if plot is None:
        return (-0.5 * margin, (2.4 + n) * margin), 0.9 * margin
    size = 2.5 * SIZE if crowded else SIZE
    return (plot[0] + (0.6 + 1.1 * n) * size, plot[1] + 0.6 * size), size


def _eyes(env: FarmModel, record: Record, step: int, field: int) -> list[Mark]:
    """An eye in the north-east of each plot of which something was asked for today."""
    looks = [look for look in _looks(env, record, step) if look.variable.field == field and look.variable.per_plot]
    plots = dict.fromkeys(plot for look in looks for plot in look.plots)
    return [Mark(_own("look"), (x + 0.88, y + 0.11), SIZE, meaning="looked at") for x, y in plots]


def _looks(env: FarmModel, record: Record, step: int) -> list[ObservedItem]:
    """What was asked for and seen this morning."""
    if not isinstance(env, ActiveFarm) or step == 0:
        return []
    morning = step if looking(record, step) else step - 1
    return [look for look in env.offered.looks if _was_seen(look, record, morning)]


def _was_seen(look: ObservedItem, record: Record, step: int) -> bool:
    seen = np.asarray(record[f"seen/{look.variable.name}"][step])
    return all(bool(seen[at]) for at in look.entries)


def told(env: FarmModel, record: Record, step: int) -> Iterator[str]:
    """A line for each thing that was done: how much, where, and what it cost or why it did nothing."""
    alike: dict[tuple[str, str], list[LoggedAction]] = {}
    for deed in of(env, record, step):
        alike.setdefault((_what(env, deed.choice), _outcome(deed)), []).append(deed)
    for (what, outcome), deeds in alike.items():
        cost = f"cost {sum(deed.price for deed in deeds):.3g}" if deeds[0].accepted else ""
        end = ", ".join(filter(None, (cost, outcome)))
        yield f"{what}{_places([deed.choice.plot for deed in deeds])}: {end}"


def _what(env: FarmModel, choice: Choice) -> str:
    """Action, amount, and field and farmer where there are several."""
    who = env.actions.farmers[choice.farmer] if len(env.actions.farmers) > 1 else ""
    field = f"on {choice.row.names[0]}" if len(env.fields) > 1 else ""
    return " ".join(filter(None, (who, _verb(env, choice), _amount(env, choice), field)))


def _outcome(deed: LoggedAction) -> str:
    return "refused" if not deed.accepted else "" if deed.effective else "no effect"


def _places(plots: Sequence[tuple[int, int] | None]) -> str:
    """The plots, or how many they are."""
    at = [plot for plot in plots if plot is not None]
    if len(at) > MANY:
        return f" on {len(at)} plots"
    return f" at {', '.join(map(str, at))}" if at else ""


def looked(env: FarmModel, params: FarmParams, record: Record, step: int) -> Iterator[str]:
    """A line for each variable that was asked for and what that cost."""
    looks = _looks(env, record, step)
    if not looks:
        return
    assert isinstance(env, ActiveFarm)
    prices = np.asarray(params.score.look_costs(env.offered, env.variables))
    alike: dict[Variable, list[ObservedItem]] = {}
    for look in looks:
        alike.setdefault(look.variable, []).append(look)
    for variable, of_it in alike.items():
        cost = sum(float(prices[env.offered.looks.index(look)]) for look in of_it)
        where = variable.where if len(env.fields) > 1 else variable.where[1:]
        yield f"looked at {' '.join(where)} {variable.key}{_places([look.plot for look in of_it])}: cost {cost:.3g}"


def _verb(env: FarmModel, choice: Choice) -> str:
    """The action in words, with whom it was done to where several have such an action."""
    name = choice.row.action.name
    like = {row.names for row in env.actions.rows if row.action.name == name}
    words = re.sub("_(discrete|continuous|bag)$", "", name).replace("_", " ")
    return f"{words} {_name(env, choice)}" if len(like) > 1 and not words.startswith("watering") else words


def _name(env: FarmModel, choice: Choice) -> str:
    """The entity as people call it: by its parameter set, where the farm file names one."""
    field, entity = choice.row.names
    which = env.spec.fields[field].entities[choice.row.entity][1]
    named = which if isinstance(which, str) else str(which.get("extends", entity))
    return named.replace("_", " ")


def _amount(env: FarmModel, choice: Choice) -> str:
    """The first parameter that is not how long it takes: `20 L`, `15`, `basic`."""
    told = (env.actions.tuple(choice) or (None,) * 5)[4] or {}
    for key, value in told.items():
        if key not in ("plot", DURATION) and not key.startswith("spacing"):
            unit = key.partition("#")[2] if key.startswith("amount") else ""
            number = value if isinstance(value, str) else f"{value:.3g}"
            return f"{number} {unit}".strip()
    return ""


def _tool(env: FarmModel, choice: Choice) -> Sprite:
    """The picture of an action: its kind's own, or a hand."""
    kind = env.fields[choice.row.field].slots[choice.row.entity].kind
    return kind.sprites().get(choice.row.action.name) or _own("deed")


def _own(name: str) -> Sprite:
    return sprites(Path(__file__).with_name("sprites.yaml"))[name]
