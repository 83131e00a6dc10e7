"""Conversion of every name in a farm description to its canonical spelling.

It runs once, as soon as a farm's entities are known; all later code compares canonical names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from harvestgym.core.errors import ConfigError, locate_errors, map_all, require, warn_user
from harvestgym.farm.build.components import load_kind
from harvestgym.farm.engine.name_table import FARMER, WHOLE, EntityKey, NameTable, list_leaves, put_once
from harvestgym.farm.formula_parser import split_plots
from harvestgym.farm.public_names import KINDS
from harvestgym.farm.schema import ContextSpec, FarmSpec, OrderRule, RulesSpec, ScoreSpec
from harvestgym.farm.spelling import DAY_UNIT, Interval, parse_plot, read_day

Resolve = Callable[[NameTable, EntityKey, str, Any, str], Mapping[str, Any]]
"""A function that resolves one entry `name: value` of an entity; the last argument is the path of the entity."""


def resolve_names(spec: FarmSpec, names: NameTable) -> FarmSpec:
    """Return the same farm with every name in its rules, score, context and expert in canonical spelling.

    Raises:
        ConfigError: for an unknown name, with its path and the nearest valid name; for an entry that is given twice in
            different spellings.
    """
    paths = [f"expert > {i}" for i in range(len(spec.expert))]
    steps: dict[str, Callable[[], Any]] = {
        "rules": lambda: _resolve_rules(names, spec.rules),
        "scoring": lambda: resolve_score(names, spec.scoring),
        "context": lambda: spec.context and _resolve_context(names, spec.context),
        "expert": lambda: map_all(partial(resolve_order_rule, names), spec.expert, paths),
    }
    return spec.model_copy(update=_run(steps))


def _run(steps: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run steps, and return their results by name; raise one ConfigError with the mistakes of all of them."""
    return dict(zip(steps, map_all(lambda step: step(), steps.values()), strict=True))


def _resolve_rules(names: NameTable, rules: RulesSpec) -> RulesSpec:
    where, limited, requested = "rules > interventions", rules.interventions, rules.observations
    free, stops = rules.free_observations, rules.terminal_conditions
    steps: dict[str, Callable[[], Any]] = {
        "init": lambda: resolve_starts(names, rules.init, "rules > init"),
        "interventions": lambda: limited and _resolve_tree(names, limited, _resolve_intervention, where),
        "free_observations": lambda: _resolve_observations(names, free, "rules > free_observations"),
        "observations": lambda: requested and _resolve_requests(names, requested, "rules > observations"),
        "terminal_conditions": lambda: _resolve_conditions(names, stops, "rules > terminal_conditions"),
    }
    return rules.model_copy(update=_run(steps))


def resolve_starts(names: NameTable, init: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return start values in canonical spelling, without values that would not change anything.

    A warning lists the values that are ignored because the entities compute them themselves. A 0 is dropped silently if
    it is for a target of cides that is not on the field.
    """
    computed: list[str] = []

    def resolve(names: NameTable, entity: EntityKey, name: str, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, list) and not any(value) and _is_absent(names, entity, name):
            return {}
        found = list_leaves(names.below(entity, name.split("/"), where)[1])
        computed.extend(f"{where} > {variable.key}" for variable in found if not variable.is_initial)
        if isinstance(value, list) and any(variable.meta.unit == DAY_UNIT for variable in found):
            with locate_errors(f"{where} > {name}: "):
                value = [read_day(day) for day in value]
        return {} if value == [None] else {variable.key: value for variable in found if variable.is_initial}

    resolved = _resolve_tree(names, init, resolve, where)
    if computed:
        ignored = f"{', '.join(computed)}: expected no value, got one"
        warn_user(f"{ignored}; it is ignored, because the entity computes it when an episode starts")
    return resolved


def _is_absent(names: NameTable, entity: EntityKey, name: str) -> bool:
    """Return whether a name is a known target of cides that is not on the field."""
    group, _, target = name.rpartition("/")
    with suppress(ConfigError):
        leaves = list_leaves(names.below(entity, group.split("/"), "")[1])
        of_targets = bool(leaves) and all("target" in leaf.meta.axes for leaf in leaves)
        absent = of_targets and target not in dict(names.slots[entity].names).get("target", ())
        return absent and any(target in load_kind(kind).targets for kind in KINDS)
    return False


def resolve_score(names: NameTable, score: ScoreSpec) -> ScoreSpec:
    trees = (("intervention_costs", _resolve_action), ("observation_costs", _resolve_variables))
    resolved = {key: _resolve_tree(names, getattr(score, key), step, f"scoring > {key}") for key, step in trees}
    return score.model_copy(update=resolved)


def _resolve_tree(names: NameTable, tree: Mapping[str, Any], resolve: Resolve, where: str) -> dict[str, Any]:
    """Resolve the names in a tree `field: entity: ...`."""
    out: dict[str, Any] = {}

    def resolve_field(field: str, entities: Mapping[str, Any] | None) -> None:
        inside: dict[str, Any] = {}
        put_once(out, names.field(field, where), inside, f"{where} > {field}")
        map_all(partial(resolve_entity, inside, field), entities or {}, (entities or {}).values())

    def resolve_entity(inside: dict[str, Any], field: str, entity: str, below: Mapping[str, Any] | None) -> None:
        key, here, entries = names.entity(field, entity, where), f"{where} > {field} > {entity}", dict[str, Any]()
        put_once(inside, key[1], entries, here)
        map_all(partial(resolve_name, key, here, entries), below or {}, (below or {}).values())

    def resolve_name(key: EntityKey, here: str, entries: dict[str, Any], name: str, value: Any) -> None:
        for canonical, resolved in resolve(names, key, name, value, here).items():
            put_once(entries, canonical, resolved, f"{here} > {name}")

    map_all(resolve_field, tree, tree.values())
    return out


def _resolve_variables(names: NameTable, entity: EntityKey, name: str, value: Any, where: str) -> dict[str, Any]:
    """Resolve the value given for a variable or, for a group, for all its variables; an empty value is dropped."""
    found = list_leaves(names.below(entity, name.split("/"), where)[1])
    return {} if value == [None] else {variable.key: value for variable in found}


def _resolve_action(names: NameTable, entity: EntityKey, name: str, value: Any, where: str) -> dict[str, Any]:
    return {names.action(entity, name, where).name: value}


def _resolve_intervention(names: NameTable, entity: EntityKey, name: str, limits: Any, where: str) -> dict[str, Any]:
    """Resolve an intervention and its limits; plots are written `'(0, 1)'`, and `'*'` means no limit."""
    action = names.action(entity, name, where)
    limits, where = dict(limits or {}), f"{where} > {action.name}"
    who = {FARMER: _list_farmers(names, limits.pop(FARMER), where)} if FARMER in limits else {}
    limits = names.parameters(action, limits, where) | who
    if "plot" in limits:
        plots = limits.pop("plot")
        with locate_errors(f"{where} > plot: "):
            limits |= {} if plots == [WHOLE] else {"plot": _list_plots(plots)}
    return {action.name: limits or None}


def _list_farmers(names: NameTable, listed: Any, where: str) -> list[str]:
    """Return the farmers who may carry out an intervention, each once; ConfigError for an unknown one, or for none."""
    found = dict.fromkeys(names.farmers[names.farmer(name, f"{where} > {FARMER}")] for name in listed)
    require(found, f"{where} > {FARMER}", "at least one farmer", "none", f"leaving {FARMER} out")
    return list(found)


def _list_plots(listed: Interval | list[Any]) -> list[Any]:
    """Return plots as strings; YAML parses a single plot outside a list as an interval, which is converted back."""
    each = [listed.ends] if isinstance(listed, Interval) else [parse_plot(plot) for plot in listed]
    return [str(tuple(plot)) if isinstance(plot, (tuple, list)) else plot for plot in each]


def _resolve_observations(names: NameTable, listed: list[str], where: str) -> list[str]:
    paths = [f"{where} > {i}" for i in range(len(listed))]
    return list(dict.fromkeys(map_all(names.formula, listed, paths)))


def _resolve_requests(names: NameTable, requested: Any, where: str) -> Any:
    if isinstance(requested, list):
        return _resolve_observations(names, requested, where)
    out: dict[str, list[str]] = {}
    for farmer, listed in requested.items():
        path = f"{where} > {farmer}"
        put_once(out, names.farmers[names.farmer(farmer, where)], _resolve_observations(names, listed, path), path)
    return out


def _resolve_conditions(names: NameTable, conditions: list[str], where: str) -> list[str]:
    paths = [where] if len(conditions) == 1 else [f"{where} > {i}" for i in range(len(conditions))]
    return map_all(names.formula, conditions, paths)


def resolve_order_rule(names: NameTable, rule: OrderRule, where: str) -> OrderRule:
    """Return a rule with every name in canonical spelling; raise ConfigError for an unknown name."""
    given: dict[str, Any] = {"when": _resolve_conditions(names, rule.when, f"{where} > when"), "every": rule.every}
    if rule.farmer is not None:
        given["farmer"] = names.farmers[names.farmer(rule.farmer, where)]
    if rule.observe is not None:
        return rule.model_copy(update=given | {"observe": names.formula(rule.observe, f"{where} > observe")})
    entity, name = names.locate(rule.do or "", f"{where} > do")
    action = names.action(entity, name, f"{where} > do > {entity[1]}")
    given |= {"do": names.shorten(entity, action.name), "plot": rule.plot}
    if isinstance(rule.plot, str):
        word, formula = split_plots(rule.plot)
        given["plot"] = f"{word} {names.formula(formula, f'{where} > plot')}" if formula else word
    return OrderRule.model_validate(given | names.parameters(action, rule.amounts, where))


def _resolve_context(names: NameTable, context: ContextSpec) -> ContextSpec:
    shown = context.shown
    listed = shown if isinstance(shown, bool) else [_resolve_draw(names, path) for path in shown]
    resolved: dict[str, Any] = {"shown": listed}
    for key, given in (("draws", context.draws), ("only", context.only)):
        out: dict[str, Any] = {}
        for path, value in given.items():
            put_once(out, _resolve_draw(names, path), value, f"context > {key} > {path}")
        resolved[key] = out
    return context.model_copy(update=resolved)


def _resolve_draw(names: NameTable, path: str) -> str:
    """Return the canonical path of a draw, `Field-0/Soil-0/depth#m`; the context compiler rejects unknown parts."""
    words = path.split("/")
    with suppress(ConfigError):
        words[0] = names.field(words[0])
        words[1:2] = [names.entity(words[0], word)[1] for word in words[1:2]]
    return "/".join(words)
