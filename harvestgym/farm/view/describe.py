"""What `harvestgym show` prints of a farm: variables, actions, observation, parameters; all from metadata."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from harvestgym.core.tables import Table, range_text
from harvestgym.core.tree import Meta, metas
from harvestgym.core.yaml_io import in_a_line
from harvestgym.farm.engine.contexts import ContextFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Entity, Parameter


def describe(env: FarmModel) -> list[Table]:
    """The tables of a farm."""
    seen = [_observation(env), *_context(env)]
    return [_entities(env), _rules(env), _actions(env), *seen, _variables(env), *_parameters(env)]


def _rules(env: FarmModel) -> Table:
    """What decides the game, as the farm file says it."""
    spec = env.spec
    told = {"mode": spec.mode} | spec.rules.model_dump(by_alias=True, include={"horizon", "max_action_schedule_size"})
    told |= {"starts with": _starts(env), "ends when": _formula(env)}
    told |= {f"farmer {i}": f.model_dump(exclude_none=True) for i, f in enumerate(spec.farmers)}
    scoring = spec.scoring.model_dump(by_alias=True, exclude={"kind"}, exclude_none=True)
    told |= {f"score: {name}": value for name, value in scoring.items()}
    rows = [(name, value if isinstance(value, str) else in_a_line(value)) for name, value in told.items()]
    return Table("Rules and score", ("what", "value"), rows)


def _starts(env: FarmModel) -> str:
    pairs = zip(env.starts, env.params.starts, strict=True)
    return "; ".join(f"{s.variable.name}: {_values_of(s.variable.meta, v, s.between)}" for s, v in pairs)


def _values_of(meta: Meta, values: Any, between: bool) -> str:
    told = [meta.labels[int(v)] if meta.labels else f"{v:g}" for v in np.atleast_1d(values)]
    return " to ".join(told) if between else " or ".join(told)


def _formula(env: FarmModel) -> str:
    ends = env.spec.rules.terminal_conditions
    groups = [" and ".join(in_a_line(list(each.model_dump())) for each in group) for group in ends]
    return " or ".join(groups) or "the horizon is reached"


def _entities(env: FarmModel) -> Table:
    rows = []
    for name, field in env.spec.fields.items():
        for (_, which), slot in zip(field.entities, env.fields[list(env.spec.fields).index(name)].slots, strict=True):
            rows.append((name, slot.name, str(which), (slot.kind.__doc__ or "").partition("\n")[0]))
    return Table("Entities", ("field", "entity", "set", "what it is"), rows)


def _variables(env: FarmModel) -> Table:
    rows = [(v.name, "x".join(map(str, v.shape)) or "1", range_text(v.meta), v.meta.doc) for v in env.variables]
    return Table("Variables", ("name", "shape", "range", "meaning"), rows)


def _actions(env: FarmModel) -> Table:
    rows = []
    for row in env.actions.rows:
        parameters = "; ".join(_parameter(p) for p in row.allowed)
        plots = f"plot: {len(row.plots)}; " if row.action.plot else ""
        mine = env.actions.numbers(row)
        numbers = f"{mine[0]} to {mine[-1]}" if len(mine) > 1 else f"{mine[0]}"
        rows.append((numbers, *row.names, row.action.name, plots + parameters, row.action.doc))
    columns = ("numbers", "field", "entity", "name", "parameters, the last varying fastest", "what it does")
    return Table("Actions (0 is to do nothing)", columns, rows)


def _parameter(parameter: Parameter) -> str:
    if parameter.continuous:
        return f"{parameter.key}: [{parameter.range[0]:g}, {parameter.range[1]:g}]"
    return f"{parameter.key}: {', '.join(str(c) for c in parameter.choices)}"


def _observation(env: FarmModel) -> Table:
    seen = [look.variable.meta for look in env.plan.looks for _ in range(look.size)]
    labelled = enumerate(zip(env.plan.labels, seen, strict=True))
    return Table("Observation", ("entry", "name", "range"), [(str(i), n, _codes(m)) for i, (n, m) in labelled])


def _context(env: FarmModel) -> list[Table]:
    """What is drawn anew, and how it is seen at the end of the observation, if the farm is contextual."""
    if not isinstance(env, ContextFarm):
        return []
    pairs = zip(env.drawing.draws, env.drawing.texts(env.params), strict=True)
    rows = [(d.name, text, ", ".join(d.features) if d.shown else "hidden") for d, text in pairs]
    columns = ("what", "drawn from", "seen as, at the end of the observation")
    return [Table(f"Context, drawn anew {env.drawing.when}", columns, rows)]


def _codes(meta: Meta) -> str:
    """The range of a number that is seen, with what each number stands for if it is a code."""
    labels = ("no", "yes") if meta.dtype == "bool" else meta.labels
    return ", ".join(f"{code} {label}" for code, label in enumerate(labels)) or range_text(meta)


def _parameters(env: FarmModel) -> Iterator[Table]:
    for f, (name, field) in enumerate(env.spec.fields.items()):
        for e, (_, which) in enumerate(field.entities):
            entity = env.params.fields[f].entities[e]
            rows = [(path, value, note) for path, value, note in parameter_rows(entity, which)]
            title = f"Parameters of {name}/{env.fields[f].slots[e].name}"
            yield Table(title, ("name", "value", "source"), rows)


def parameter_rows(entity: Entity, which: str | Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Path, value and source of every parameter of an entity."""
    yield from _walk(entity, type(entity).written(which), "", "")


def _walk(group: Any, raw: Mapping[str, Any], path: str, source: str) -> Iterator[tuple[str, str, str]]:
    source = raw.get("source", source)
    described = dict(metas(group))
    for field in dataclasses.fields(group):
        if field.name in described and described[field.name].kind == "par":
            yield from _values(getattr(group, field.name), described[field.name], raw, path, source)
        elif field.name in described and described[field.name].kind == "open":
            key, inner = described[field.name].keys[0], raw.get(described[field.name].keys[0], {})
            for name, value in getattr(group, field.name).items():
                named = dataclasses.replace(described[field.name], keys=(name,))
                yield from _values(value, named, inner, f"{path}{key} > ", source)
        elif field.name not in described:
            inner = raw.get(field.name, {})
            yield from _walk(getattr(group, field.name), inner, f"{path}{field.name} > ", source)


def _values(value: Any, meta: Meta, raw: Mapping[str, Any], path: str, source: str) -> Iterator[tuple[str, str, str]]:
    array = np.asarray(value)
    if array.ndim > int(meta.stacked):
        yield f"{path}{meta.keys[0]}", f"table {array.shape}", source
        return
    for key, number in zip(meta.keys, np.atleast_1d(array), strict=True):
        own = raw.get(key)
        note = own.get("source", source) if isinstance(own, Mapping) else source
        yield f"{path}{key}", meta.labels[int(number)] if meta.labels else f"{number:g}", note
