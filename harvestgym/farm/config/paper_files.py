"""The configuration files of section 3.1.4: read strictly when they are there, generated whole when they are not.

The forms are the paper's: trees of fields, entities and names, plots as `'(0, 0)'`, intervals as `(1, 10)`, `'*'` for
the whole of an observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError, unknown
from harvestgym.core.tables import range_text
from harvestgym.core.tree import Meta
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.base import Parameter
from harvestgym.farm.schema import ScoreSpec, parse_plot

from .names import WHOLE, Names, Ref, put_once, spelled

NOT_IN_A_FILE = "not in a file"
"""In the place of a parameter set that was made in Python and that no file can hold."""

COSTS = ("intervention_cost", "intervention_costs", "observation_cost", "observation_costs")
REWARDS = ("stage", "bio", "resource", "soil", "yield", "plant", "terms", "risk")
BLOCKS = ("interventions", "observations", "params")
SIZE = "max_action_schedule_size"
SHORT = 90
"""Characters of a list that stands in a line."""


class Source:
    """A part of the configuration: a file, or a value, or neither."""

    def __init__(self, path: str | Path | None, value: Any) -> None:
        self.path, self._value = None if path is None else Path(path), value

    def label(self, otherwise: str) -> str:
        """What errors call it."""
        return otherwise if self.path is None else str(self.path)

    def read(self) -> Mapping[str, Any]:
        """What it says; nothing if the file is still to be generated; ConfigError if it has no folder."""
        if self.path is None:
            return _mapping({} if self._value is None else self._value, "rules")
        if self.path.is_dir():
            raise ConfigError(f"{self.path}: is a folder; wanted the name of a YAML file")
        if self.path.is_file():
            return _mapping(yaml_io.read(self.path), str(self.path))
        if not self.path.parent.is_dir():
            raise ConfigError(f"{self.path}: no such file, and no folder {self.path.parent} to generate it in")
        return {}

    def missing(self, text: str) -> dict[Path, str]:
        """`text` for the file, if it is named and not there."""
        return {} if self.path is None or self.path.is_file() else {self.path: text}


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: wanted a mapping, found {value!r}")
    return value


def _entities(tree: Any, names: Names, where: str) -> Iterator[tuple[tuple[int, int], tuple[str, str], Any, str]]:
    """Of a tree `field: entity: …`, the numbers and names of each entity, what is below, and where."""
    found: dict[tuple[int, int], tuple[Mapping[str, Any], str]] = {}
    for field, of_field in _mapping(tree, where).items():
        for entity, below in _mapping(of_field, f"{where} > {field}").items():
            told = f"{where} > {field} > {entity}"
            put_once(found, names.entity(field, entity, where), (_mapping(below, told), told), told)
    for at, (below, told) in found.items():
        yield at, names.where(at), below, told


def init_of(tree: Any, names: Names, where: str) -> dict[str, Any]:
    """Starting conditions in the form of a farm file; entries that are left empty are left to the entities."""
    out: dict[str, Any] = {}
    for _, (field, entity), below, told in _entities(tree, names, where):
        mine: dict[str, Any] = {}
        for variable, value in _leaves(names.tree[(field, entity)], below, told):
            put_once(mine, variable.key, value, f"{told} > {variable.key}")
        out.setdefault(field, {})[entity] = {key: value for key, value in mine.items() if value is not None}
    return out


def _leaves(known: Mapping[str, Any], given: Mapping[str, Any], where: str) -> Iterator[tuple[Variable, Any]]:
    for key, value in given.items():
        at, told = known, where
        for word in str(key).split("/"):
            if not isinstance(at, Mapping):
                raise ConfigError(f"{told}: the path goes too deep; found {word!r}")
            at = at[spelled("variable", word, at, told)]
            told = f"{told} > {word}"
        if isinstance(at, Variable):
            yield at, value
        elif isinstance(value, Mapping):
            yield from _leaves(at, value, told)
        else:
            yield from ((leaf, value) for leaf in _below(at))


def _below(tree: Any) -> list[Variable]:
    return [tree] if isinstance(tree, Variable) else [leaf for part in tree.values() for leaf in _below(part)]


def actions_of(blocks: Mapping[str, Any], names: Names, where: str) -> dict[str, Any]:
    """The allowed actions in the form of a farm file; a block that is not there restricts nothing."""
    for key in blocks:
        if key not in BLOCKS:
            raise unknown("block", key, BLOCKS, where)
    out: dict[str, Any] = {}
    if "interventions" in blocks:
        out["interventions"] = interventions_of(blocks["interventions"], names, f"{where} > interventions")
    if "observations" in blocks:
        found = observations_of(blocks["observations"], names, f"{where} > observations")
        out["observations"] = [list(ref) for ref in found]
    for key, value in _mapping(blocks.get("params"), f"{where} > params").items():
        if key != SIZE:
            raise unknown("parameter", key, [SIZE], f"{where} > params")
        out[SIZE] = value
    return out


def interventions_of(tree: Any, names: Names, where: str) -> dict[str, Any]:
    """The allowed interventions; one that stands under another, as the paper prints some, is its neighbour."""
    out: dict[str, Any] = {}
    for at, (field, entity), below, told in _entities(tree, names, where):
        mine = out.setdefault(field, {}).setdefault(entity, {})
        for name, limits in _beside(below, names, at, told):
            action = names.action(at, name, told)
            found = names.parameters(action, _mapping(limits, f"{told} > {name}"), f"{told} > {name}")
            if found.get("plot") == WHOLE or found.get("plot") == [WHOLE]:
                del found["plot"]
            if isinstance(found.get("plot"), list):
                found["plot"] = [_plot(plot, f"{told} > {name} > plot") for plot in found["plot"]]
            put_once(mine, action.name, found or None, f"{told} > {name}")
    return out


def _beside(below: Mapping[str, Any], names: Names, at: tuple[int, int], where: str) -> Iterator[tuple[str, Any]]:
    known = {a.name for a in names.fields[at[0]].slots[at[1]].kind.actions}
    for name, limits in below.items():
        inner = _mapping(limits, f"{where} > {name}")
        nested = {key: value for key, value in inner.items() if key in known}
        yield name, {key: value for key, value in inner.items() if key not in nested}
        yield from nested.items()


def observations_of(tree: Any, names: Names, where: str) -> list[Ref]:
    """The observations that can be asked for: a list of `(field, entity, name, path)`, or the tree of a file."""
    if isinstance(tree, (list, tuple)):
        found = [names.ref(ref, f"{where} > {i}") for i, ref in enumerate(tree)]
    else:
        found = [
            names.ref((*mine, steps[0], list(steps[1:])), told.rpartition(f" > {mine[0]}")[0] or told)
            for _, mine, below, told in _entities(tree, names, where)
            for steps in _steps(below, (), told)
        ]
    return [ref for i, ref in enumerate(found) if ref not in found[:i]]


def _steps(below: Any, above: tuple[Any, ...], where: str) -> Iterator[tuple[Any, ...]]:
    """Every path of a tree of observations, `'*'` and plots included."""
    if below is None or below == {}:
        yield above
    elif isinstance(below, Mapping):
        for key, value in below.items():
            yield from _steps(value, (*above, _plot(key, where)), f"{where} > {key}")
    else:
        for key in below if isinstance(below, (list, tuple)) else (below,):
            yield (*above, _plot(key, where))


def _plot(written: Any, where: str) -> Any:
    """A plot, or a step of a path, as a file has it; ConfigError for half of a plot that YAML has cut at its comma."""
    if isinstance(written, str) and written.count("(") != written.count(")"):
        raise ConfigError(f"{where}: found {written!r}; inside […] a plot stands in quotes, '(0, 1)'")
    return parse_plot(written)


def score_of(values: Mapping[str, Any], keys: Sequence[str], names: Names, where: str) -> dict[str, Any]:
    """Entries of a score in the form of a farm file."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if key not in keys:
            raise unknown("entry", key, keys, where)
        told = f"{where} > {key}"
        if key == "intervention_costs":
            value = _action_costs(value, names, told)
        elif key == "observation_costs":
            value = init_of(value, names, told)
        out[key] = value
    return out


def _action_costs(tree: Any, names: Names, where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for at, (field, entity), below, told in _entities(tree, names, where):
        mine = out.setdefault(field, {}).setdefault(entity, {})
        for name, cost in below.items():
            put_once(mine, names.action(at, name, told).name, cost, f"{told} > {name}")
    return out


def to_text(data: Any) -> str:
    """YAML as people write it: keys in their order, one in a line, so that lines can be deleted; short lists in one."""
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110)


class _Dumper(yaml.SafeDumper):
    """A safe dumper with the lines of the paper's files."""


def _in_a_line(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=len(str(data)) < SHORT or None)


def _in_lines(dumper: yaml.SafeDumper, data: dict[Any, Any]) -> yaml.Node:
    node = dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=not data)
    for _, below in node.value:
        if below.tag == "tag:yaml.org,2002:null":
            below.value = ""  # `harvest:`, as the paper has it
    return node


_Dumper.add_representer(list, _in_a_line)
_Dumper.add_representer(dict, _in_lines)


def init_text(names: Names) -> str:
    """An init file with every variable that a start may say; all are left to the entities."""
    lines = ["# Initial values: one, a list to draw from, or an interval '(low, high)'; empty is left to the entity."]
    for field in names.fields:
        lines.append(f"{field.name}:")
        for slot in field.slots:
            free = [v for v in names.variables if v.where == (field.name, slot.name) and _settable(v)]
            lines += [f"  {slot.name}:"] * bool(free)
            lines += [f"    {v.key}:  # {_range(v.meta)}" for v in free]
    return "\n".join(lines) + "\n"


def _settable(variable: Variable) -> bool:
    return not variable.derived and not variable.meta.settled


def _range(meta: Meta) -> str:
    return ", ".join(meta.labels) or range_text(meta)


def actions_text(names: Names, size: int) -> str:
    """An actions file that allows every intervention with every value, and every observation."""
    blocks = {"interventions": _every_intervention(names), "observations": _every_observation(names)}
    return to_text(blocks | {"params": {SIZE: size}})


def _every_intervention(names: Names) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in names.fields:
        plots = [str((x, y)) for x in range(field.shape[0]) for y in range(field.shape[1])]
        for slot in field.slots:
            for action in slot.kind.actions:
                limits: dict[str, Any] = {"plot": list(plots)} if action.plot else {}
                limits |= {p.key: _values(p) for p in action.parameters}
                out.setdefault(field.name, {}).setdefault(slot.name, {})[action.name] = limits or None
    return out


def _values(parameter: Parameter) -> Any:
    return str(tuple(parameter.range)) if parameter.continuous else list(parameter.choices)


def _every_observation(names: Names) -> dict[str, Any]:
    shapes = {field.name: field.shape for field in names.fields}
    return {
        field.name: {s.name: _branch(names.tree[(field.name, s.name)], shapes[field.name]) for s in field.slots}
        for field in names.fields
    }


def _branch(tree: Mapping[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, below in tree.items():
        if isinstance(below, Mapping):
            out[key] = {WHOLE: None} | _branch(below, shape)
        elif below.per_plot:
            out[key] = [WHOLE, *(str((x, y)) for x in range(shape[0]) for y in range(shape[1]))]
        else:
            out[key] = None
    return out


def score_text(names: Names, score: ScoreSpec, keys: Sequence[str]) -> str:
    """A score file, or the costs or the rewards of one, with every entry."""
    told = {k: v for k, v in score.model_dump(by_alias=True).items() if k in keys}
    if "intervention_costs" in told:
        rows = [(f.name, s.name, a.name) for f in names.fields for s in f.slots for a in s.kind.actions]
        told["intervention_costs"] = _costs(rows, score.intervention_cost, score.intervention_costs)
    if "observation_costs" in told:
        rows = [(*v.where, v.key) for v in names.variables]
        told["observation_costs"] = _costs(rows, score.observation_cost, score.observation_costs)
    return to_text(told)


def _costs(rows: Sequence[tuple[str, str, str]], each: float, known: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field, entity, name in rows:
        cost = known.get(field, {}).get(entity, {}).get(name, each)
        out.setdefault(field, {}).setdefault(entity, {})[name] = cost
    return out
