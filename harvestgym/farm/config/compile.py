"""From what a farm file says to a `FarmModel` and its parameters: every name checked, nothing run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.actions import table_of
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.conditions import compile_conditions
from harvestgym.farm.engine.initial_values import starts_of
from harvestgym.farm.engine.model import FarmModel, FarmParams, FieldParams
from harvestgym.farm.engine.observations import ObservationPlan, plan_of, plan_of_all
from harvestgym.farm.engine.scoring import score_of
from harvestgym.farm.engine.variables import FieldSlots, Variable, entity_names, numbered, slots_of, variables_of
from harvestgym.farm.entities.base import Entity, Place
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import FarmSpec, FieldSpec, farm_spec

from .components import KINDS, Made, farmer, kind_named, rule
from .context_compiler import contextual
from .names import Names
from .spelling import in_one_spelling


def field_params(
    spec: FieldSpec, entities: Sequence[Entity] | None = None, names: Sequence[str] | None = None
) -> FieldParams:
    """The place and the entities of a field; ready-made `entities` replace those of the file."""
    made = tuple(entities) if entities is not None else tuple(kind_named(k).named(s) for k, s in spec.entities)
    labels = names or entity_names([type(e) for e in made])
    hosts = tuple(sorted(n for n, e in zip(labels, made, strict=True) if e.host))
    targets = sorted({target for entity in made for target in entity.targets})
    at = spec.localization
    place = Place(
        shape=(spec.shape.length, spec.shape.width), hosts=hosts,
        targets=tuple(targets),
        latitude=_f32(at.latitude), longitude=_f32(at.longitude),
        altitude=_f32(at.altitude), scale=_f32(spec.shape.scale),
    )  # fmt: skip
    return FieldParams(place=place, entities=made)


def build(spec: FarmSpec, ready: Mapping[str, Sequence[Entity]] | None = None, made: Made | None = None) -> FarmModel:
    """The model of a farm, its rules and its expert checked.

    `ready` gives ready-made entities for some fields, `made` ready-made farmers, rules and terms.
    """
    try:
        model = contextual(_built(spec, ready, made), field_params)
        _check_expert(model)
        _check_terms(model)
    except ConfigError:
        _check_company(spec, ready or {})
        raise
    return model


def build_text(text: str) -> FarmModel:
    """The model of the text of a farm file, as `Farm.to_yaml` writes it."""
    return build(farm_spec(yaml_io.parse(text, "farm"), "farm"))


def _check_expert(model: FarmModel) -> None:
    """Compile the expert's rules, so that their mistakes are told with those of the file."""
    if not model.spec.expert:
        return
    try:
        rule_policy(model)
    except ConfigError as error:
        told = str(error).removeprefix("expert > ")
        raise ConfigError(f"expert > {told}; mend the rule, or leave the expert out: `expert: []`") from None


def _check_terms(model: FarmModel) -> None:
    """Trace each further term of the score once, so that what it cannot find is told with its name."""
    terms = model.params.score.terms
    if not terms:
        return
    state = jax.eval_shape(model.initial, _key(), model.params)
    for name, term in terms.items():
        try:
            jax.eval_shape(lambda s: term.daily(model.books(s, model.params)), state)  # noqa: B023
            jax.eval_shape(lambda s: term.final(model.books(s, model.params)), state)  # noqa: B023
        except ConfigError as error:
            raise ConfigError(f"scoring > terms > {name}: {error}") from None


def _check_company(spec: FarmSpec, ready: Mapping[str, Sequence[Entity]]) -> None:
    """Build each field without rules or score: an entity that is not there explains many a name that is unknown."""
    for name, field in spec.fields.items():
        try:
            _built(FarmSpec(fields={name: field}), {name: ready[name]} if name in ready else None)
        except ConfigError as error:
            raise ConfigError(f"fields > {name}: {error}{_advice(str(error))}") from None


def _advice(error: str) -> str:
    """Which kind to add, where an error says that a message is sent by none."""
    if "got 0" in error:
        for name in KINDS:
            if any(message.__name__ in error.split() for message, _ in kind_named(name).published):
                return f"; add a {name} to its entities"
    return ""


def _built(spec: FarmSpec, ready: Mapping[str, Sequence[Entity]] | None = None, made: Made | None = None) -> FarmModel:
    made = made or Made()
    params = [field_params(f, (ready or {}).get(name)) for name, f in spec.fields.items()]
    slots = tuple(slots_of(name, p.entities, p.place) for name, p in zip(spec.fields, params, strict=True))
    table = variables_of(slots)
    farmers = made.farmers or tuple(farmer(f, f"farmers > {i}") for i, f in enumerate(spec.farmers))
    names = Names(tuple(numbered([type(f).__name__ for f in farmers])), slots, table)
    spec = in_one_spelling(spec, names)
    actions = table_of(names.farmers, slots, spec.rules.interventions)
    plan = plan_of_all(table) if spec.mode == "fo" else plan_of(slots, table, spec.rules.free_observations)
    starts = starts_of(spec.rules.init, slots, table, lambda f, e: params[f].entities[e].limits(params[f].place))
    stops, ends = compile_conditions(spec.rules.terminal_conditions, slots, table, "rules > terminal_conditions")
    defaults = FarmParams(
        fields=tuple(params),
        farmers=farmers,
        rules={
            name: made.rules.get(name) or rule(r, f"rules > further > {name}") for name, r in spec.rules.further.items()
        },
        score=score_of(spec.scoring, actions, table, slots, made.terms),
        starts=tuple(values for _, values in starts),
        stops=ends,
        horizon=_i32(spec.rules.horizon),
    )
    parts: dict[str, Any] = dict(
        fields=slots, actions=actions, variables=table, plan=plan, starts=tuple(s for s, _ in starts),
        stops=stops, schedule=spec.rules.max_action_schedule_size, defaults=defaults, spec=spec,
    )  # fmt: skip
    tallies = _tallies(FarmModel(**parts, tallies=()))
    if spec.mode != "ao":
        return FarmModel(**parts, tallies=tallies)
    return ActiveFarm(**parts, tallies=tallies, offered=_offered(spec, slots, table, plan))


def _offered(
    spec: FarmSpec, slots: Sequence[FieldSlots], table: Sequence[Variable], free: ObservationPlan
) -> ObservationPlan:
    """What can be asked for, each number once and none that is free: as the rules list it, or every variable."""
    listed = spec.rules.observations
    looks = (plan_of_all(table) if listed is None else plan_of(slots, table, listed)).looks
    whole = {look.variable for look in (*looks, *free.looks) if look.plot is None}
    kept = (look for look in looks if look not in free.looks)
    return ObservationPlan(tuple(look for look in kept if look.plot is None or look.variable not in whole))


def _f32(value: float) -> Any:
    return np.float32(value)


def _i32(value: int) -> Any:
    return np.int32(value)


def _tallies(model: FarmModel) -> tuple[str, ...]:
    """What the entities count in a day, found by tracing one day (which also checks who needs whom)."""
    return tuple(sorted(_first_day.eval_shape(model, _key(), model.defaults)))


def _key() -> Any:
    """The shape of a key, for which nothing is compiled."""
    return jax.eval_shape(jax.random.key, 0)


@partial(jax.jit, static_argnums=0)
def _first_day(model: FarmModel, key: jax.Array, params: FarmParams) -> dict[str, jax.Array]:
    """Jitted only so that JAX remembers the trace: farms of one structure pay for it once."""
    none = model.actions.orders(jnp.zeros(model.schedule, jnp.int32))
    return model.day(key, model.initial(key, params), none, params)[1].tally
