"""Words for a farm's keys, values, entities and orders: `water 20 L at (0, 0)`, `sow bean 15 seeds at (2, 1)`.

Pictures, replays, the game (`harvestgym play`), records and the text interface use the same words, and no two orders of
a farm share them.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harvestgym.core.pytree import Meta
from harvestgym.core.view.events import say_plots
from harvestgym.core.view.timeline import Record
from harvestgym.core.yaml_io import read_file
from harvestgym.farm.engine.actions import DURATION, ActionRow, Order
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Parameter

_WORDS = read_file(Path(__file__).with_name("words.yaml"))

FUTILE: dict[str, str] = _WORDS["futile"]
"""Words for an order without effect, by action, where the reason is known."""

ARRIVALS: dict[str, Any] = _WORDS["arrivals"]
"""The numbers per plot whose rise from 0 counts as an event, and how it is reported."""

CHANGES: dict[str, str] = _WORDS["changes"]
"""Words for the change to a stage; for other stages, the name of the stage."""

NO_UNITS = ("", "nb", "bin", "int5", "int365")
"""Suffixes after the # in the keys of counts and codes."""

VERBS = {"watering": "water", "micro harvest": "pick"}
"""Verbs for the actions whose names are not commands; the verb of any other action is its name."""

WITHOUT_THING = ("water", "put scarecrow", "remove scarecrow")
"""Actions whose words need no entity."""

AMOUNTS = {"bag": ("bag", "bags"), "seed": ("seed", "seeds")}
"""Singular and plural of the units that are words."""

NAMED_BY_SET = ("Plant", "Cide")
"""Kinds whose parameter sets have the names that a farmer uses."""


def key_label(key: str) -> str:
    """Return the key without its unit: `rain/amount` for `rain/amount#mm`."""
    return re.sub(r"#[^/]*", "", key)


def key_words(key: str) -> str:
    """Return the key in words: `rain amount` for `rain/amount#mm`."""
    return re.sub("[/_]", " ", key_label(key))


def key_unit(key: str) -> str:
    """Return the unit of a key; empty for a count."""
    unit = key.partition("#")[2].partition("/")[0]
    return "" if unit in NO_UNITS else unit


def unit_words(unit: str, number: str) -> str:
    """Return a unit in words: `days` (one `day`), `km/h`, `g/m²`; others unchanged."""
    if unit == "day":
        return "day" if number == "1" else "days"
    return re.sub(r"^(\w+)\.(\w+)-1$", r"\1/\2", unit).replace("m2", "m²")


def number_text(value: float | str, unit: str = "") -> str:
    """Return a number to four significant digits with its unit, or a word unchanged."""
    return value if isinstance(value, str) else f"{value:.4g} {unit}".strip()


def code_labels(meta: Meta) -> tuple[str, ...]:
    """Return the meanings of the numbers 0, 1, ... in a variable that holds codes."""
    return ("no", "yes") if meta.dtype == "bool" else meta.labels


def value_text(value: Any, meta: Meta) -> str:
    """Return the value of a variable as text: a number, or the label that it stands for."""
    labels = code_labels(meta)
    return labels[int(value)] if labels else f"{round(float(value), 2):g}"


def say_cause(label: str, detail: str = "") -> str:
    """Return a cause of death in words: `pests while growing` for `grow: pests`, with `detail` after the cause."""
    stage, _, factor = label.rpartition(": ")
    return " ".join(filter(None, (_WORDS["factors"].get(factor, factor), detail, _WORDS["times"].get(stage, stage))))


def date_words(day_of_year: float) -> str:
    """Return the date for a day of the year (1 is 1 January); empty if the day is unknown."""
    if not math.isfinite(day_of_year):
        return ""
    date = datetime.date(2001, 1, 1) + datetime.timedelta(days=int(day_of_year) - 1)
    return f"{date.day} {date:%B}"


def date_of_step(env: FarmModel, record: Record, step: int) -> str:
    """Return the date of a step in a record; empty if it is unknown."""
    calendar = (v.name for v in env.variables if v.key == "day#int365" and v.name in record)
    return next((date_words(float(record[name][step])) for name in calendar), "")


class OrderWords(NamedTuple):
    """The words for the orders of one row of the action table.

    Attributes:
        verb: what to do.
        thing: the entity; empty if the verb says it.
        form: words that distinguish two rows with the same verb and thing; otherwise empty.
        field: the field if there are several; otherwise empty.
    """

    verb: str
    thing: str
    form: str
    field: str

    def say(self, values: str) -> str:
        """Return the words of the order, with the words of its values inserted."""
        return " ".join(filter(None, (self.verb, self.thing, values, self.form)))


def list_phrases(env: FarmModel) -> tuple[OrderWords, ...]:
    """Return the words of each row of the action table."""
    nouns, several = name_things(env), len(env.fields) > 1
    found = []
    for row in env.actions.rows:
        name = re.sub("_(discrete|continuous|bag)$", "", row.action.name).replace("_", " ")
        verb = VERBS.get(name, name)
        thing = "" if verb in WITHOUT_THING else nouns[row.names]
        found.append(OrderWords(verb, thing, "", row.names[0] if several else ""))
    alike = Counter(found)
    forms = (_say_form(row) if alike[one] > 1 else "" for one, row in zip(found, env.actions.rows, strict=True))
    return tuple(one._replace(form=form) for one, form in zip(found, forms, strict=True))


def name_things(env: FarmModel) -> dict[tuple[str, str], str]:
    """Return a noun for each entity: `bean`, `herbicide`, `soil`, `fertilizer fast all`, `plant 2`."""
    nouns = {}
    for field, spec in zip(env.fields, env.spec.fields.values(), strict=True):
        kinds = [slot.kind.__name__ for slot in field.slots]
        sets = [which.get("extends", "") if isinstance(which, Mapping) else which for _, which in spec.entities]
        for slot, kind, which in zip(field.slots, kinds, sets, strict=True):
            unique = which and [*zip(kinds, sets, strict=True)].count((kind, which)) == 1
            words = which.replace("_", " ")
            if kind in NAMED_BY_SET and unique:
                noun = words
            elif kinds.count(kind) > 1:
                noun = f"{kind} {words}" if unique else slot.name.replace("-", " ")
            else:
                noun = kind
            nouns[field.name, slot.name] = noun.lower()
    return nouns


def entity_title(env: FarmModel, where: tuple[str, str]) -> str:
    """Return the noun of an entity, capitalised, with its field if there are several."""
    return f"{where[0]} " * (len(env.fields) > 1) + name_things(env)[where].capitalize()


def _say_form(row: ActionRow) -> str:
    """Return the words that distinguish two actions of an entity with the same name."""
    if row.action.name.endswith("_bag"):
        return "from bags"
    return "any amount" if row.action.parameters[0].continuous else "set amount"


def say_order(env: FarmModel, order: Order) -> str:
    """Return an order in words, with the field and the farmer if there are several."""
    return say_action(env, order) + say_plots([order.plot] if order.plot is not None else ())


def say_action(env: FarmModel, order: Order) -> str:
    """Return an order in words without its plot."""
    phrase = list_phrases(env)[order.row.number]
    texts = (say_value(parameter, value) for parameter, value in _list_free_values(env, order))
    farmer = f" by {env.actions.farmers[order.farmer]}" * (len(env.actions.farmers) > 1)
    return phrase.say(" ".join(texts)) + f" in {phrase.field}" * bool(phrase.field) + farmer


def say_tool(env: FarmModel, row: ActionRow) -> str:
    """Return the words of a row of the action table without any values."""
    return list_phrases(env)[row.number].say("")


def say_amount(env: FarmModel, order: Order) -> str:
    """Return the first value of an order in words, `20 L`; empty if it has none."""
    return next((say_value(parameter, value) for parameter, value in _list_free_values(env, order)), "")


def _list_free_values(env: FarmModel, order: Order) -> list[tuple[Parameter, float | str]]:
    """Return the values that matter: the amount, and those among which the rules leave a choice."""
    values = env.actions.write(order)[-1]
    named = [(p, values[p.key]) for p in order.row.allowed]
    return [(p, value) for p, value in named if p is find_amount(order.row) or has_choice(p)]


def find_amount(row: ActionRow) -> Parameter | None:
    """Return the parameter that is always stated; None if the action has none."""
    return next((p for p in row.allowed if p.key != DURATION and not p.key.startswith("spacing")), None)


def has_choice(parameter: Parameter) -> bool:
    """Return whether the rules leave a choice."""
    return parameter.continuous or len(parameter.choices) > 1


def say_value(parameter: Parameter, value: float | str) -> str:
    """Return a value in words, with the parameter's name unless it is an amount or a word."""
    unit = key_unit(parameter.key)
    if isinstance(value, str):
        return value
    number = number_text(value, AMOUNTS.get(unit, (unit, unit))[value != 1])
    return number if parameter.key.startswith("amount") else f"{key_words(parameter.key)} {number}"
