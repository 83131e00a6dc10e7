"""A farm file in the one spelling of every name: done once, when a farm is built, so that all else compares names.

What is no name of the farm stays as it is written, for the check that knows where it stands to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.variables import find_field
from harvestgym.farm.schema import AnyOfAll, Condition, ContextSpec, ExpertRule, FarmSpec, Interval, parse_plot

from .names import Names, keys_of, put_once, spelled
from .user_predicates import SECOND

At = tuple[int, int]
"""The numbers of a field and of an entity on it."""

Below = Callable[[Names, At, Any, str], Any]
"""What stands under an entity, renamed; it is told where that is."""


def in_one_spelling(spec: FarmSpec, names: Names) -> FarmSpec:
    """The same farm, its rules, costs and expert in the names that the farm has.

    Raises:
        ConfigError: if a thing is named twice, in two spellings.
    """
    rules, scoring = spec.rules, spec.scoring
    observations = rules.observations and [_ref(names, ref) for ref in rules.observations]
    said = {
        "init": _tree(rules.init, names, _variables, "rules > init"),
        "interventions": rules.interventions and _tree(rules.interventions, names, _allowed, "interventions"),
        "free_observations": [_ref(names, ref) for ref in rules.free_observations],
        "observations": observations,
        "terminal_conditions": _conditions(names, rules.terminal_conditions),
    }
    costs = {
        "intervention_costs": _tree(scoring.intervention_costs, names, _actions, "scoring > intervention_costs"),
        "observation_costs": _tree(scoring.observation_costs, names, _variables, "scoring > observation_costs"),
    }
    expert = [_rule(names, rule, f"expert > {i}") for i, rule in enumerate(spec.expert)]
    parts = {"rules": rules.model_copy(update=said), "scoring": scoring.model_copy(update=costs), "expert": expert}
    return spec.model_copy(update=parts | {"context": spec.context and _context(names, spec.context)})


def _context(names: Names, context: ContextSpec) -> ContextSpec:
    shown = context.shown if isinstance(context.shown, bool) else [_draw(names, name) for name in context.shown]
    named = partial(_draw, names)
    draws = _renamed(context.draws, named, "context > draws")
    return context.model_copy(
        update={"shown": shown, "draws": draws, "only": _renamed(context.only, named, "context > only")}
    )


def _draw(names: Names, path: str) -> str:
    """The path of a draw, `Field-0/Soil-0/depth#m`; a key of a parameter set has one spelling only."""
    field, *rest = path.split("/")
    field = _or_as_written(lambda name: names.fields[find_field(names.fields, name)].name, field)
    if rest:
        rest[0] = _or_as_written(lambda name: names.where(names.entity(field, name, ""))[1], rest[0])
    return "/".join((field, *rest))


def _renamed(given: Mapping[str, Any], spell: Callable[[str], str], where: str) -> dict[str, Any]:
    """`given` under its names; ConfigError if two of its keys are one name."""
    out: dict[str, Any] = {}
    for key, value in given.items():
        put_once(out, _or_as_written(spell, key), value, f"{where} > {key}")
    return out


def _or_as_written(spell: Callable[[Any], Any], written: Any) -> Any:
    try:
        return spell(written)
    except ConfigError:
        return written


def _tree(tree: Mapping[str, Any], names: Names, below: Below, where: str) -> dict[str, Any]:
    """A tree `field: entity: ...` under its names."""
    fields = _renamed(tree, lambda name: names.fields[find_field(names.fields, name)].name, where)
    return {name: _entities(names, name, inside or {}, below, f"{where} > {name}") for name, inside in fields.items()}


def _entities(names: Names, field: str, given: Mapping[str, Any], below: Below, where: str) -> dict[str, Any]:
    found = _renamed(given, lambda name: names.where(names.entity(field, name, ""))[1], where)
    for entity, inside in found.items():
        at = _or_as_written(lambda name: names.entity(field, name, ""), entity)
        if at != entity:
            found[entity] = below(names, at, inside or {}, f"{where} > {entity}")
    return found


def _variables(names: Names, at: At, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    return _renamed(given, lambda key: "/".join(_words(names, names.where(at), key.split("/"))), where)


def _actions(names: Names, at: At, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    return _renamed(given, lambda name: names.action(at, name, where).name, where)


def _allowed(names: Names, at: At, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Interventions with their limits, the plots in the paper's form."""
    found = _limits(names, at, given, where)
    return {n: limits | {"plot": _plots(limits["plot"])} if "plot" in (limits or {}) else limits
            for n, limits in found.items()}  # fmt: skip


def _plots(listed: Interval | list[Any]) -> list[Any]:
    """`'(0, 1)'` each; a single one, without a list around it, was read as an interval."""
    each = [listed.ends] if isinstance(listed, Interval) else [parse_plot(plot) for plot in listed]
    return [str(tuple(plot)) if isinstance(plot, (tuple, list)) else plot for plot in each]


def _limits(names: Names, at: At, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Interventions and, of each, the parameters that are limited."""
    found = _actions(names, at, given, where)
    known = {action.name: action for action in names.fields[at[0]].slots[at[1]].kind.actions}
    for name, limits in found.items():
        if limits and name in known:
            spell = partial(_spelled_among, "parameter", keys_of(known[name]))
            found[name] = _renamed(limits, spell, f"{where} > {name}")
    return found


def _spelled_among(what: str, valid: list[str], name: str) -> str:
    return spelled(what, name, valid, "")


def _words(names: Names, entity: tuple[str, str], words: Sequence[str]) -> list[str]:
    """The keys of a variable and of what is below it; ConfigError if there is none."""
    found: Any = names.tree[entity]
    out: list[str] = []
    for word in words:
        out.append(spelled("variable", word, found if isinstance(found, Mapping) else (), ""))
        found = found[out[-1]]
    return out


def _ref(names: Names, ref: Sequence[Any]) -> Sequence[Any]:
    """An observation `(field, entity, name, path)`."""
    return _or_as_written(names.ref, ref)


def _conditions(names: Names, formula: AnyOfAll) -> list[list[Condition]]:
    return [[_condition(names, event) for event in group] for group in formula]


def _condition(names: Names, event: Condition) -> Condition:
    said = {"observation": _ref(names, event.observation), "operator": SECOND.get(event.operator, event.operator)}
    return event.model_copy(update=said | ({"mapping": "value"} if event.mapping == "id" else {}))


def _rule(names: Names, rule: ExpertRule, where: str) -> ExpertRule:
    farmer, field, entity, name, last = rule.do
    farmer = _or_as_written(lambda name: names.farmers[names.farmer(name)], farmer)
    if isinstance(last, list):
        done = (farmer, *_ref(names, (field, entity, name, last)))
    else:
        done = (farmer, *_deed(names, (field, entity, name, last), where))
    return rule.model_copy(update={"when": _conditions(names, rule.when), "do": done})


def _deed(names: Names, deed: tuple[str, str, str, Mapping[str, Any]], where: str) -> tuple[Any, ...]:
    """An intervention `(field, entity, name, parameters)`."""
    field, entity, name, given = deed
    at = _or_as_written(lambda name: names.entity(field, name, ""), entity)
    if at == entity:
        return deed
    ((name, given),) = _limits(names, at, {name: given}, where).items()
    return (*names.where(at), name, given)
