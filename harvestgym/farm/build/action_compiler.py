"""Compiles a farm file's `rules > interventions` to the action table, which lists the allowed actions and plots."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from harvestgym.core.errors import ConfigError, mismatch, require
from harvestgym.farm.engine.actions import ActionRow, ActionTable, check_parameter
from harvestgym.farm.engine.name_table import FARMER, walk_tree
from harvestgym.farm.engine.variables import FieldSlots, check_plot
from harvestgym.farm.entities.base import Parameter
from harvestgym.farm.spelling import Interval, parse_plot


def compile_actions(
    farmers: Sequence[str], fields: Sequence[FieldSlots], interventions: Mapping[str, Any] | None
) -> ActionTable:
    """Compile a farm's action table: all actions, or only the rules' `interventions`, in canonical names."""
    all_rows = (row for f, field in enumerate(fields) for row in _list_rows(f, field, tuple(range(len(farmers)))))
    every = {(*row.names, row.action.name): row for row in all_rows}
    rows = list(every.values())
    if interventions is not None:
        listed = walk_tree(interventions)
        rows = [_restrict(every[field, entity, name], dict(limits or {}), farmers, fields)
                for field, entity, name, limits in listed]  # fmt: skip
    numbered = (dataclasses.replace(row, number=number) for number, row in enumerate(rows))
    table = ActionTable(tuple(farmers), tuple(numbered), tuple(fields))
    if table.size > MOST_ACTIONS:
        most = f"at most {MOST_ACTIONS:,} actions, got {table.size:,}"
        raise ConfigError(f"rules > interventions: expected {most}; try fewer plots, or fewer values per parameter")
    return table


MOST_ACTIONS = 10_000_000
"""The maximum number of actions on a farm, each with its own number."""


def _list_rows(f: int, field: FieldSlots, farmers: tuple[int, ...]) -> list[ActionRow]:
    plots = tuple((x, y) for x in range(field.shape[0]) for y in range(field.shape[1]))
    every = [(e, (field.name, slot.name), action) for e, slot in enumerate(field.slots) for action in slot.kind.actions]
    return [ActionRow(0, f, e, names, action, plots, action.parameters, farmers) for e, names, action in every]


def _restrict(
    row: ActionRow, limits: Mapping[str, Any], farmers: Sequence[str], fields: Sequence[FieldSlots]
) -> ActionRow:
    where, plots = " > ".join(("rules > interventions", *row.names, row.action.name)), row.plots
    if "plot" in limits:
        shape = fields[row.field].shape
        require(limits["plot"], f"{where} > plot", "at least one plot", "none", "leaving plot out for all")
        plots = tuple(check_plot(parse_plot(p), shape, f"{where} > plot") for p in limits["plot"])
        _check_distinct(plots, f"{where} > plot")
    allowed = tuple(narrow_parameter(p, limits.get(p.key), where) for p in row.action.parameters)
    able = sorted(farmers.index(name) for name in limits[FARMER]) if FARMER in limits else row.farmers
    return dataclasses.replace(row, plots=plots, allowed=allowed, farmers=tuple(able))


def narrow_parameter(parameter: Parameter, limit: Any, where: str) -> Parameter:
    """Limit a parameter to choices or an interval, or leave it unlimited (None); ConfigError if no value is left."""
    if limit is None:
        return parameter
    inside, where = where, f"{where} > {parameter.key}"
    values = [limit.low, limit.high] if isinstance(limit, Interval) else limit
    if isinstance(limit, Interval) and not parameter.continuous:
        raise mismatch(where, f"a list of {list(parameter.choices)}", "an interval")
    require(values, where, "at least one value", "none")
    for value in values:
        check_parameter(parameter.widest, value, inside)
    if not isinstance(limit, Interval):
        _check_distinct(values, where)
        return Parameter(parameter.key, tuple(values), parameter.range)
    require(limit.low <= limit.high, where, "low <= high", f"({limit.low:g}, {limit.high:g})")
    return Parameter(parameter.key, (), (limit.low, limit.high))


def _check_distinct(listed: Sequence[Any], where: str) -> None:
    if twice := [value for i, value in enumerate(listed) if value in listed[:i]]:
        raise mismatch(where, "distinct values", f"{twice[0]} twice", "keeping one")
