"""The Farm-Gym paper's separate YAML files (section 3.1.4), which are read if they exist and generated otherwise.

They hold trees of fields, entities and names, with plots as `'(0, 0)'`, intervals as `(1, 10)` and `'*'` for a whole
observation. They are converted to the form of a farm file when read; names keep their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core import yaml_io
from harvestgym.core.errors import check_each_name, check_name, check_parent, locate_errors, require
from harvestgym.core.view.tables import describe_range
from harvestgym.farm.build.farm_writer import to_yaml
from harvestgym.farm.engine.name_table import WHOLE, EntityKey, NameTable, build_tree, put_once, walk_tree
from harvestgym.farm.entities.base import Action
from harvestgym.farm.paper.observation_items import write_variable
from harvestgym.farm.schema import ScoreSpec
from harvestgym.farm.spelling import parse_plot

COST_KEYS = ("intervention_cost", "intervention_costs", "observation_cost", "observation_costs")
REWARDS = ("stage", "bio", "resource", "soil", "yield", "plant", "terms", "constraints", "risk")
SCORE_KEYS = COST_KEYS + REWARDS
SIZE = "max_action_schedule_size"


class Source:
    """A part of the configuration: a file, a value, or neither."""

    def __init__(self, path: str | Path | None, value: Any) -> None:
        self.path, self._value = None if path is None else Path(path), value

    def label(self, otherwise: str) -> str:
        """Return the name to use in errors."""
        return otherwise if self.path is None else str(self.path)

    def read(self) -> Mapping[str, Any]:
        """Return the content, empty if the file does not exist yet; raise ConfigError if its folder does not exist."""
        if self.path is None:
            return _mapping(self._value, "rules")
        if self.path.exists():
            return _mapping(yaml_io.read_file(self.path), str(self.path))
        check_parent(self.path)
        return {}

    def missing(self, text: str) -> dict[Path, str]:
        """Return `text` for the file if it is named but does not exist."""
        return {} if self.path is None or self.path.is_file() else {self.path: text}


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    require(isinstance(value, Mapping), where, "a mapping", repr(value))
    return value


def read_init(tree: Any, where: str) -> dict[str, Any]:
    """Return starting conditions in the form of a farm file, with the keys of nested variables joined."""
    return build_tree((entity, _join_keys(below, path)) for entity, below, path in by_entity(tree, where))


def by_entity(tree: Any, where: str) -> Iterator[tuple[EntityKey, Mapping[str, Any], str]]:
    """Yield the key, the content and the path of each entity in a tree `field: entity: ...`."""
    for field, entities in _mapping(tree, where).items():
        for entity, below in _mapping(entities, f"{where} > {field}").items():
            path = f"{where} > {field} > {entity}"
            yield (str(field), str(entity)), _mapping(below, path), path


def _join_keys(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Flatten `{rain: {amount: 1}}` to `{rain/amount: 1}`."""
    out: dict[str, Any] = {}
    for key, value in given.items():
        inside = {key: value}
        if isinstance(value, Mapping) and "each" not in value:
            inside = {f"{key}/{below}": leaf for below, leaf in _join_keys(value, f"{where} > {key}").items()}
        for name, leaf in inside.items():
            put_once(out, name, leaf, f"{where} > {key}")
    return out


def read_actions(blocks: Mapping[str, Any], names: NameTable, where: str) -> dict[str, Any]:
    """Return the allowed actions in the form of a farm file; a missing block sets no restriction."""
    actions = {action.name: action for slot in names.slots.values() for action in slot.kind.actions}
    check_each_name("block", blocks, ("interventions", "observations", "params"), where)
    out: dict[str, Any] = {}
    if "interventions" in blocks:
        listed = by_entity(blocks["interventions"], f"{where} > interventions")
        out["interventions"] = build_tree((entity, _move_out(below, actions, at)) for entity, below, at in listed)
    if "observations" in blocks:
        out["observations"] = _read_observations(blocks["observations"], names, f"{where} > observations")
    for key, value in _mapping(blocks.get("params"), f"{where} > params").items():
        check_name("parameter", key, [SIZE], f"{where} > params")
        out[SIZE] = value
    return out


def _read_observations(tree: Any, names: NameTable, where: str) -> list[str]:
    """Return the requestable observations from a list of `(field, entity, name, path)` or from a tree in a file."""
    if isinstance(tree, (list, tuple)):
        return [write_variable(written, f"{where} > {i}") for i, written in enumerate(tree)]
    return [
        write_variable((*entity, name, path), at)
        for entity, below, at in by_entity(_add_field(tree, names, where), where)
        if below
        for name, *path in list_paths(_move_out(below, names.tree.get(entity, {}), at), (), at)
    ]


def _add_field(tree: Any, names: NameTable, where: str) -> dict[str, Any]:
    """Return the tree with the only field added above an entity that is given without a field, as in the paper."""
    out = dict(_mapping(tree, where))
    for entity in [name for name in out if len(names.shapes) == 1 and (*names.shapes, name) in names.slots]:
        (field,) = names.shapes
        out[field] = dict(_mapping(out.get(field), f"{where} > {field}"))
        put_once(out[field], entity, out.pop(entity), f"{where} > {entity}")
    return out


def _move_out(below: Mapping[str, Any], known: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an entity's entries; a `known` name nested in another entry, as printed in the paper, is moved up."""
    out: dict[str, Any] = {}
    for name, inside in below.items():
        nested = dict(inside) if isinstance(inside, Mapping) and name in known else {}
        own = known[name] if isinstance(known.get(name), Mapping) else ()
        inner = {key: nested.pop(key) for key in [*nested] if key in known and key not in own}
        for key, value in ({name: nested or None if inner else inside} | _move_out(inner, known, where)).items():
            put_once(out, key, value, f"{where} > {name}")
    return out


def list_paths(below: Any, above: tuple[Any, ...], where: str) -> Iterator[tuple[Any, ...]]:
    """Yield every path in a tree of observations, including `'*'` and plots."""
    if below is None or below == {}:
        yield above
        return
    listed = below if isinstance(below, (list, tuple)) else [below]
    for key, value in below.items() if isinstance(below, Mapping) else [(each, None) for each in listed]:
        with locate_errors(f"{where}: "):
            step = parse_plot(key)
        yield from list_paths(value, (*above, step), f"{where} > {key}")


def read_score(values: Mapping[str, Any], keys: Sequence[str], where: str) -> dict[str, Any]:
    """Return score entries in the form of a farm file; only the entries in `keys` are allowed."""
    check_each_name("entry", values, keys, where)
    out = dict(values)
    if "observation_costs" in out:
        out["observation_costs"] = read_init(out["observation_costs"], f"{where} > observation_costs")
    return out


def init_text(names: NameTable) -> str:
    """Return an init file with every variable that can be initialised, and no values, so that the entities set them."""
    lines = ["# Initial values: one, a list to draw from, or an interval '(low, high)'; if empty, the entity sets it."]
    for field in names.fields:
        lines.append(f"{field.name}:")
        for slot in field.slots:
            free = [v for v in names.variables if v.where == (field.name, slot.name) and v.is_initial]
            lines += [f"  {slot.name}:"] * bool(free)
            lines += [f"    {v.key}:  # {describe_range(v.meta)}" for v in free]
    return "\n".join(lines) + "\n"


def actions_text(names: NameTable, size: int) -> str:
    """Return an actions file that allows every intervention with every value, and every observation."""
    plots = {field: [str(plot) for plot in np.ndindex(shape)] for field, shape in names.shapes.items()}
    actions = [(entity, action) for entity, slot in names.slots.items() for action in slot.kind.actions]
    observed = [(entity, key, found) for entity, tree in names.tree.items() for key, found in tree.items()]
    blocks = {
        "interventions": build_tree(((*entity, a.name), _every_value(a, plots[entity[0]])) for entity, a in actions),
        "observations": build_tree(((*at, key), _branch(found, plots[at[0]])) for at, key, found in observed),
    }
    return to_yaml(blocks | {"params": {SIZE: size}})


def _every_value(action: Action, plots: Sequence[str]) -> dict[str, Any] | None:
    limits: dict[str, Any] = {"plot": list(plots)} if action.plot else {}
    for p in action.parameters:
        limits[p.key] = str(tuple(p.range)) if p.continuous else list(p.choices)
    return limits or None


def _branch(found: Any, plots: Sequence[str]) -> Any:
    """Return every path to a variable, or to a group of variables and those in it."""
    if isinstance(found, Mapping):
        return {WHOLE: None} | {key: _branch(below, plots) for key, below in found.items()}
    return [WHOLE, *plots] if found.per_plot else None


def score_text(names: NameTable, score: ScoreSpec, keys: Sequence[str]) -> str:
    """Return a score file, or only its costs or rewards, with every entry."""
    entries = {k: v for k, v in score.model_dump(by_alias=True).items() if k in keys}
    if "intervention_costs" in entries:
        rows = [(*entity, action.name) for entity, slot in names.slots.items() for action in slot.kind.actions]
        entries["intervention_costs"] = _every_cost(rows, score.intervention_cost, score.intervention_costs)
    if "observation_costs" in entries:
        rows = [(*v.where, v.key) for v in names.variables]
        entries["observation_costs"] = _every_cost(rows, score.observation_cost, score.observation_costs)
    return to_yaml(entries)


def _every_cost(rows: Sequence[tuple[str, str, str]], each: float, known: Mapping[str, Any]) -> dict[str, Any]:
    given = {tuple(path): cost for *path, cost in walk_tree(known)}
    return build_tree((row, given.get(row, each)) for row in rows)
