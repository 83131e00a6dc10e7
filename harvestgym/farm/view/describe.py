"""Tables that describe a farm, from its metadata; `harvestgym show` prints them, and `print(farm)` some of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from harvestgym.core.pytree import Meta, iterate_metas
from harvestgym.core.view.tables import Table, describe_range
from harvestgym.core.yaml_io import to_line
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Entity, Parameter, Place
from harvestgym.farm.policies.rule_numbers import list_numbers
from harvestgym.farm.schema import FarmSpec, RulesSpec, ScoreSpec

from .words import code_labels, key_unit, key_words, name_things, number_text

TableRow = tuple[str, str, str]

LONG_SOURCE = 80
"""Length in characters above which a source is not repeated if it equals the one in the row above."""


def describe(env: FarmModel) -> list[Table]:
    """Make the tables of a farm."""
    observed = [_observation_table(env), *_request_table(env)] + [context_table(env)] * bool(env.contexts.draws)
    parameters = map(_shorten_sources, parameter_tables(env))
    return [entities_table(env), rules_table(env), actions_table(env), *observed, _variables_table(env), *parameters]


_SPECS = (FarmSpec, RulesSpec, ScoreSpec)
MEANINGS = {f.alias or name: f.description or "" for spec in _SPECS for name, f in spec.model_fields.items()}
"""The meaning of each rule and each part of the score."""


def say_goal(env: FarmModel) -> tuple[str, ...]:
    """Return the goal of a season in sentences: how the score is computed, and when a season ends."""
    apart = ("costs", "terms", "constraints", "risk")
    rows = [row for row in rules_table(env).rows if row[0].startswith("score") and not row[0].endswith(apart)]
    rows.sort(key=lambda row: row[2].startswith("points lost"))  # rewards first
    early = " or ".join(_say_condition(env, text) for text in env.spec.rules.terminal_conditions)
    ends = f"A season has at most {env.spec.rules.horizon} days" + f", and ends early if {early}" * bool(early)
    scored = (re.sub("^1 points", "1 point", f"{float(value):g} {meaning}") for _, value, meaning in rows)
    end = None if {"fertilizer#kg", "cide#g"} & {*env.tallies} else ", kg of fertilizer"  # nothing is spread here
    return *(text.partition(end)[0] if end else text for text in scored), *_say_terms(env), ends


def _say_condition(env: FarmModel, text: str) -> str:
    """Return a condition with nouns for the entities and words for the operators: `bean stage is ripe or dead`."""
    for (field, entity), noun in name_things(env).items():
        text = re.sub(rf"({field}[.]){'?' * (len(env.fields) == 1)}{entity}[.](global_)?", f"{noun} ", text)
    text = re.sub(r"in \[(.*?)\]", lambda found: f"is {found[1].replace(', ', ' or ')}", text)
    return re.sub(r"#\w+", "", text).replace("==", "is").replace("_", " ")


def _say_terms(env: FarmModel) -> Iterator[str]:
    """Yield a sentence for each further term of the score and each limit, with nouns for the entities."""
    nouns = {"/".join(place): noun for place, noun in name_things(env).items()}
    score = env.spec.scoring
    for name, term in env.params.score.terms.items():
        numbers = {key: value for key, value in score.terms[name].model_dump().items() if key != "kind"}
        doc = (type(term).__doc__ or "").partition("\n")[0].rstrip(".")
        text = ", ".join(f"{key} {to_line(value)}" for key, value in numbers.items())
        text = re.sub(r"[\w-]+/[\w-]+", lambda found: nouns.get(found[0], found[0]), text)
        yield f"{re.sub(r' ?[(].*[)]', '', doc)}: {text}"
    for limit in score.constraints.values():
        amount = number_text(limit.limit, key_unit(limit.tally))
        yield f"At most {amount} of {key_words(limit.tally)} in a season; the score does not depend on it"


def rules_table(env: FarmModel) -> Table:
    """Make the table of rules: mode, start, stopping conditions, farmers, further rules, costs and score."""
    spec = env.spec
    entries = {f"{keyword}=": ", ".join(sets) for keyword, sets in spec.presets.items()} | {"mode": spec.mode}
    entries |= spec.rules.model_dump(by_alias=True, include={"horizon", "init", "max_action_schedule_size"})
    entries |= {"terminal_conditions": " or ".join(spec.rules.terminal_conditions) or "the horizon is reached"}
    entries |= {f"farmer {i}": f.model_dump(exclude_none=True) for i, f in enumerate(spec.farmers)}
    entries |= {f"rule {name}": rule.model_dump() for name, rule in spec.rules.further.items()}
    free = {"observation_cost", "observation_costs"} if spec.mode != "ao" else set()
    scoring = spec.scoring.model_dump(by_alias=True, exclude={"kind", *free}, exclude_none=True)
    usual = ScoreSpec.model_validate({}).model_dump(by_alias=True)
    score = {name: value for name, value in scoring.items() if value or name.endswith("_cost")}
    entries |= {f"score: {name}{' (default)' * (value == usual[name])}": value for name, value in score.items()}
    numbers = {f"expert: {name}": f"{value:g}" for name, value in list_numbers(spec.expert).items()}
    entries |= numbers
    known = MEANINGS | dict.fromkeys(numbers, "number in the expert's rules, for `tune` and `calibrate`")
    known |= {f"{keyword}=": "presets, selected with this argument of make" for keyword in spec.presets}
    names = (name.removeprefix("score: ").removesuffix(" (default)") for name in entries)
    meanings = (known.get(name, "accepts or refuses actions") for name in names)
    texts = (value if isinstance(value, str) else to_line(value) for value in entries.values())
    rows = list(zip(entries, texts, meanings, strict=True))
    return Table("Rules and reward", ("what", "value", "meaning"), rows, ("rules",))


def entities_table(env: FarmModel) -> Table:
    """Make the table of entities and their parameter sets."""
    rows = [(*where, str(which), entity.about(place)) for where, entity, which, place in _list_entities(env)]
    return Table("Entities", ("field", "entity", "set", "what it is"), rows, ("entities",))


def _list_entities(env: FarmModel) -> Iterator[tuple[tuple[str, str], Entity, Any, Place]]:
    """Yield the field and name of each entity, its parameters, its set as in the farm file, and its place."""
    for field, params, spec in zip(env.fields, env.params.fields, env.spec.fields.values(), strict=True):
        for slot, entity, (_, which) in zip(field.slots, params.entities, spec.entities, strict=True):
            yield (field.name, slot.name), entity, which, params.place


def _variables_table(env: FarmModel) -> Table:
    rows = [(v.name, "x".join(map(str, v.shape)) or "1", describe_range(v.meta), v.meta.doc) for v in env.variables]
    return Table("Variables", ("name", "shape", "range", "meaning"), rows, ("state",))


def actions_table(env: FarmModel) -> Table:
    """Make the table of interventions, with their numbers in the integer action space."""
    rows = []
    for row in env.actions.rows:
        parameters = "; ".join(_parameter_text(p) for p in row.allowed)
        plots = f"plot: {len(row.plots)}; " if row.action.plot else ""
        mine = env.actions.numbers(row)
        numbers = f"{mine[0]} to {mine[-1]}" if len(mine) > 1 else f"{mine[0]}"
        cost = f"{np.asarray(env.params.score.intervention_costs)[row.number]:g}"
        rows.append((numbers, *row.names, row.action.name, cost, plots + parameters, row.action.doc))
    columns = ("numbers", "field", "entity", "name", "cost", "parameters (the last varies fastest)", "what it does")
    return Table("Actions (0 does nothing)", columns, rows, ("actions",))


def _parameter_text(parameter: Parameter) -> str:
    if parameter.continuous:
        return f"{parameter.key}: [{parameter.range[0]:g}, {parameter.range[1]:g}]"
    return f"{parameter.key}: {', '.join(map(str, parameter.choices))}"


def _observation_table(env: FarmModel) -> Table:
    metas = [item.variable.meta for item in env.plan.items for _ in range(item.size)]
    rows = [(str(i), n, _codes_text(m)) for i, (n, m) in enumerate(zip(env.plan.labels, metas, strict=True))]
    return Table("Observation", ("entry", "name", "range"), rows, ("observations",))


def _request_table(env: FarmModel) -> Iterator[Table]:
    """Yield the table of the observations that can be requested, with their prices, if there are any."""
    prices = np.asarray(env.requests.prices(env.params)) if env.asks else ()
    names = (item.variable.name + f"/{item.plot}" * (item.plot is not None) for item in env.offered.items)
    rows = [(name, f"{price:g}") for name, price in zip(names, prices, strict=False)]
    if rows:
        yield Table("Observations on request", ("name", "price"), rows, ("observations",))


def context_table(env: FarmModel) -> Table:
    """Make the table of the randomly drawn parameters and their positions in the observation."""
    draws, texts = env.contexts.draws, env.contexts.texts(env.params)
    number = count(len(env.plan.labels))
    seen = [", ".join(f"{next(number)} {name}" for name in d.features if d.shown) for d in draws]
    rows = [(d.name, text, names or "hidden") for d, text, names in zip(draws, texts, seen, strict=True)]
    columns = ("what", "drawn from", "entries and names in the observation")
    return Table(f"Context, drawn {env.contexts.when}", columns, rows, ("rules", "observations"))


def _codes_text(meta: Meta) -> str:
    """Return the range of an observed number, or the meaning of each value if it is a code."""
    return ", ".join(f"{code} {label}" for code, label in enumerate(code_labels(meta))) or describe_range(meta)


def parameter_tables(env: FarmModel) -> Iterator[Table]:
    """Yield a table of each entity's parameters: name, value and source."""
    for where, entity, which, _ in _list_entities(env):
        yield make_parameter_table(f"Parameters of {'/'.join(where)}", entity, which)


def make_parameter_table(title: str, entity: Entity, which: str | Mapping[str, Any]) -> Table:
    """Make an entity's parameter table: name, value, and source in the set `which`."""
    rows = list(_group_rows(entity, type(entity).written(which), "", ""))
    return Table(title, ("name", "value", "source"), rows, ("parameters",))


def _shorten_sources(table: Table) -> Table:
    """Write a long source shared by consecutive rows in the first one only, and `as above` in the others."""
    before = ["", *(row[-1] for row in table.rows)]
    again = (len(row[-1]) > LONG_SOURCE and row[-1] == last for row, last in zip(table.rows, before, strict=False))
    rows = [(*row[:-1], "as above") if same else row for row, same in zip(table.rows, again, strict=True)]
    return table._replace(rows=rows)


def _group_rows(group: Any, raw: Mapping[str, Any], path: str, source: str) -> Iterator[TableRow]:
    """Yield the path, value and source of every parameter in a group and in the groups that it contains."""
    source, described = raw.get("source", source), dict(iterate_metas(group))
    for field in dataclasses.fields(group):
        value, meta = getattr(group, field.name), described.get(field.name)
        if meta is None:
            yield from _group_rows(value, raw.get(field.name, {}), f"{path}{field.name} > ", source)
        elif meta.kind == "par":
            yield from _value_rows(value, meta, raw, path, source)
        elif meta.kind == "open":
            (key,) = meta.keys
            for name, number in value.items():
                named = dataclasses.replace(meta, keys=(name,))
                yield from _value_rows(number, named, raw.get(key, {}), f"{path}{key} > ", source)


def _value_rows(value: Any, meta: Meta, raw: Mapping[str, Any], path: str, source: str) -> Iterator[TableRow]:
    array = np.asarray(value)
    if array.ndim > int(meta.stacked):
        yield f"{path}{meta.keys[0]}", f"table {array.shape}", source
        return
    for key, number in zip(meta.keys, np.atleast_1d(array), strict=True):
        own = raw.get(key)
        note = own.get("source", source) if isinstance(own, Mapping) else source
        yield f"{path}{key}", meta.labels[int(number)] if meta.labels else f"{number:g}", note
