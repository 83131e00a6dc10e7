"""Compiles a farm description to a `FarmModel` and its parameters, one section at a time, without running it.

The steps are `compile_field`, `resolve_names`, `compile_actions`, `plan_observations`, `compile_initial_values`,
`compile_any`, `compile_score` and `compile_context`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core import yaml_io
from harvestgym.core.config import read_sets
from harvestgym.core.errors import ConfigError, locate_errors, map_all, warn_user
from harvestgym.farm.build.action_compiler import compile_actions
from harvestgym.farm.build.canonical_names import resolve_names
from harvestgym.farm.build.components import ReadyComponents, build_component, compile_field, load_kind
from harvestgym.farm.build.context_compiler import compile_context
from harvestgym.farm.engine.farmers import Farmer, Rule
from harvestgym.farm.engine.formula_compiler import FormulaCompiler, plan_observations
from harvestgym.farm.engine.initial_values import InitialValue, check_starts, compile_initial_values
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import NameTable
from harvestgym.farm.engine.observations import ObservationPlan, ObservedItem
from harvestgym.farm.engine.reward_terms import Term, compile_score
from harvestgym.farm.engine.state import DayReport, FarmParams, FieldParams
from harvestgym.farm.engine.variables import build_slots, list_variables, number_repeats
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.public_names import KINDS
from harvestgym.farm.schema import FarmSpec, FieldSpec, farm_spec

Entities = Mapping[str, Sequence[Entity]]
"""The entities on some fields, by field name."""

DrawnStart = tuple[InitialValue, Any]


def build(spec: FarmSpec, entities: Entities | None = None, ready: ReadyComponents | None = None) -> FarmModel:
    """Build the model of a farm, and check its rules and its expert.

    Args:
        spec: the description.
        entities: instances that replace the described entities on some fields.
        ready: instances of farmers, rules and reward terms.
    """
    try:
        model = compile_context(_compile_farm(spec, entities or {}, ready or ReadyComponents()))
        if model.spec.expert:
            rule_policy(model)
        if model.params.score.terms or model.params.score.constraints:
            jax.eval_shape(lambda key: model.info(model.initial(key, model.params), model.params), _key())
    except ConfigError as error:
        # to report missing entities before the unknown names that they cause
        map_all(partial(_check_field, entities or {}), spec.fields, spec.fields.values())
        if str(error).startswith("expert"):
            hint = "try correcting the rule, or removing the expert with `expert: []`"
            raise ConfigError(*error.args[:-1], f"{error.args[-1]}; {hint}") from None
        raise
    for sentence in (sentence for sentence, module in model.unread if not module.startswith("harvestgym.")):
        warn_user(sentence)
    return model


def build_text(text: str) -> FarmModel:
    """Build the model from a farm file's text, as written by `Farm.to_yaml`."""
    return build(farm_spec(yaml_io.parse(text, "farm"), "farm"))


def _compile_farm(spec: FarmSpec, entities: Entities, ready: ReadyComponents) -> FarmModel:
    fields = tuple(compile_field(field, entities.get(name)) for name, field in spec.fields.items())
    farmers = ready.farmers or tuple(build_component(f, Farmer, f"farmers > {i}") for i, f in enumerate(spec.farmers))
    own = [name for name, field in spec.fields.items() if field.own_weather]
    names = name_farm(dict(zip(spec.fields, fields, strict=True)), farmers, own)
    variables = names.variables
    spec = resolve_names(spec, names)
    rules, scoring = spec.rules, spec.scoring
    actions = compile_actions(names.farmers, names.fields, rules.interventions)
    everything = ObservationPlan(tuple(map(ObservedItem, variables)))
    free = plan_observations(names, rules.free_observations, "rules > free_observations")
    plan = everything if spec.mode == "fo" else free
    starts = share_starts(compile_initial_values(rules.init, variables, fields, "rules > init"), names)
    check_starts(starts, fields, "rules > init")
    formulas = FormulaCompiler(names, ready.functions)
    stops = formulas.compile_any(rules.terminal_conditions, "rules > terminal_conditions")
    further = _build_named(rules.further, ready.rules, Rule, "rules > further")
    terms = _build_named(scoring.terms, ready.terms, Term, "scoring > terms")
    defaults = FarmParams(
        fields=fields,
        farmers=farmers,
        rules=further,
        score=compile_score(scoring, actions, variables, terms),
        starts=tuple(values for _, values in starts),
        stops=tuple(formulas.values),
        horizon=np.int32(rules.horizon),  # pyright: ignore[reportArgumentType]
    )
    parts: dict[str, Any] = dict(
        fields=names.fields, actions=actions, variables=variables, plan=plan, starts=tuple(s for s, _ in starts),
        stops=stops, schedule=rules.max_action_schedule_size, defaults=defaults, spec=spec,
    )  # fmt: skip
    report = _first_day.eval_shape(FarmModel(**parts, tallies=()), _key(), defaults)
    parts["tallies"], parts["unread"] = tuple(sorted(report.tally)), tuple(report.unread)
    if spec.mode == "ao":
        listed = rules.requestable()
        asked = everything if listed is None else plan_observations(names, listed, "rules > observations")
        offered = _offer(asked, plan)
        parts |= {"asks": True, "offered": offered, "observers": _find_observers(spec, names, offered)}
    return FarmModel(**parts)


def _build_named(specs: Mapping[str, Any], ready: Mapping[str, Any], base: type, where: str) -> dict[str, Any]:
    """Build the components in `specs`, by name; an instance in `ready` replaces the component of the same name."""
    return {n: ready.get(n) or build_component(spec, base, f"{where} > {n}") for n, spec in specs.items()}


def name_farm(
    fields: Mapping[str, FieldParams], farmers: Sequence[Any] = (), own_weather: Collection[str] = ()
) -> NameTable:
    """Return the name table of a farm; fields in `own_weather` share no draws."""
    streams = find_streams(fields, own_weather)
    slots = tuple(build_slots(name, field.entities, field.place, streams[name]) for name, field in fields.items())
    return NameTable(tuple(number_repeats([type(f).__name__ for f in farmers])), slots, list_variables(slots))


def find_streams(fields: Mapping[str, FieldParams], own_weather: Collection[str]) -> dict[str, dict[str, str]]:
    """Return, by field and entity, the random stream of each entity that can share its draws with another field.

    Entities of a `shared` kind (the weather) use the draws of the first field at the same latitude and longitude whose
    entity has the same parameters, so that it rains on all of these fields at the same time. Each field keeps its own
    state.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in fields}
    first: dict[Any, str] = {}
    for name, field in fields.items():
        names = number_repeats([type(e).__name__ for e in field.entities])
        for slot, entity in zip(names, field.entities, strict=True):
            if entity.shared and name not in own_weather:
                numbers, structure = jax.tree.flatten((entity, field.place.latitude, field.place.longitude))
                mine = structure, *((np.shape(each), np.asarray(each, float).tobytes()) for each in numbers)
                found[name][slot] = first.setdefault(mine, f"{name}/{slot}")
    return found


def share_starts(starts: list[DrawnStart], names: NameTable) -> list[DrawnStart]:
    """Copy the first field's initial values to variables of entities that share its draws, if they have none yet."""
    given = {(start.variable.where, start.variable.key) for start, _ in starts}
    copies = [
        (dataclasses.replace(start, variable=variable), values)
        for variable in names.variables
        if (variable.where, variable.key) not in given
        for start, values in starts
        if start.variable.name == f"{names.slots[variable.where].stream}/{variable.key}"
    ]
    return [*starts, *copies]


def _offer(requested: ObservationPlan, free: ObservationPlan) -> ObservationPlan:
    """Return the items that can be requested, with each number once and without numbers that are always observed."""
    whole = {item.variable for item in (*requested.items, *free.items) if item.plot is None}
    kept = (item for item in requested.items if item not in free.items)
    return ObservationPlan(tuple(item for item in kept if item.plot is None or item.variable not in whole))


def _find_observers(spec: FarmSpec, names: NameTable, offered: ObservationPlan) -> tuple[tuple[bool, ...], ...]:
    """Return which offered numbers each farmer can request; () if all farmers can request all of them."""
    if not isinstance(spec.rules.observations, dict):
        return ()
    listed = [spec.rules.requestable(farmer) or [] for farmer in names.farmers]
    plans = [plan_observations(names, each, "rules > observations") for each in listed]
    return tuple(tuple(label in plan.labels for label in offered.labels) for plan in plans)


def _check_field(entities: Entities, name: str, field: FieldSpec) -> None:
    """Build a field without rules or score; raise ConfigError if it cannot be built, for example without a kind.

    The missing kinds are added one after another, so that the error lists all of them.
    """
    with locate_errors(f"fields > {name}: "):
        made, missing = list(entities.get(name) or compile_field(field).entities), list[str]()
    error = first = _find_mistake(name, field, made)
    while (kind := _find_sender(error)) and kind not in missing:
        missing.append(kind)
        made.append(load_kind(kind).named([*read_sets(load_kind(kind).file())][-1]))
        error = _find_mistake(name, field, made)
    if first:
        hint = f"; try adding a {' and a '.join(missing)} to its entities" if missing else ""
        raise ConfigError(f"fields > {name}: {first}{hint}")


def _find_mistake(name: str, field: FieldSpec, entities: Sequence[Entity]) -> str:
    """Return the error raised by a farm that consists of one field with these entities; empty if there is none."""
    try:
        _compile_farm(FarmSpec.model_validate({"fields": {name: field}}), {name: entities}, ReadyComponents())
    except ConfigError as error:
        return str(error)
    return ""


def _find_sender(error: str) -> str | None:
    """Return the kind of entity that publishes the message that an error reports as missing; None for other errors."""
    sent = {name: {message.__name__ for message, _ in load_kind(name).published} for name in KINDS}
    return next((name for name in KINDS if "got 0" in error and not sent[name].isdisjoint(error.split())), None)


def _key() -> Any:
    """Return the shape of a key, without compiling anything."""
    return jax.eval_shape(jax.random.key, 0)


@partial(jax.jit, static_argnums=0)
def _first_day(model: FarmModel, key: Array, params: FarmParams) -> DayReport:
    """Return the report of the first day; tracing it also checks that every message has a publisher.

    It is jitted only so that JAX caches the trace: farms of equal structure are traced once.
    """
    none = model.actions.orders(jnp.zeros(model.schedule, jnp.int32))
    return model.day(key, model.initial(key, params), none, params)[1]
