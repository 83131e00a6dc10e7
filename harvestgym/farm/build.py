"""From what a farm file says to a `FarmModel` and its parameters: every name checked, nothing run."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ConfigError, unknown
from .actions import table_of
from .active import ActiveFarm
from .conditions import compile_conditions
from .entity import Entity, Place
from .farmer import UNLIMITED, BasicFarmer
from .layout import FieldSlots, Variable, entity_names, slots_of, variables_of
from .model import FarmModel, FarmParams, FieldParams
from .observe import Plan, plan_of, plan_of_all
from .rules import starts_of
from .score import score_of
from .spec import FarmSpec, FieldSpec

KINDS = {
    "Weather": "harvestgym.farm.entities.weather:Weather",
    "Soil": "harvestgym.farm.entities.soil:Soil",
    "Plant": "harvestgym.farm.entities.plant:Plant",
    "Birds": "harvestgym.farm.entities.birds:Birds",
    "Weeds": "harvestgym.farm.entities.weeds:Weeds",
    "Pests": "harvestgym.farm.entities.pests:Pests",
    "Pollinators": "harvestgym.farm.entities.pollinators:Pollinators",
    "Cide": "harvestgym.farm.entities.cide:Cide",
    "Fertilizer": "harvestgym.farm.entities.fertilizer:Fertilizer",
    "Facility": "harvestgym.farm.entities.facility:Facility",
}
"""The kinds that a farm file can name; others are given as `module:Class`."""


def kind_named(name: str) -> type[Entity]:
    """The class of a kind by its name, or by `module:Class` for a kind of the user's own."""
    target = name if ":" in name else KINDS.get(name)
    if target is None:
        raise unknown("entity", name, KINDS, "entities")
    module, _, attribute = target.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"entities: cannot load {target!r} ({error})") from None
    if not (isinstance(kind, type) and issubclass(kind, Entity)):
        raise ConfigError(f"entities: {target!r} is not an Entity")
    return kind


def field_params(
    spec: FieldSpec, entities: Sequence[Entity] | None = None, names: Sequence[str] | None = None
) -> FieldParams:
    """The place and the entities of a field; ready-made `entities` replace those of the file."""
    made = tuple(entities) if entities is not None else tuple(kind_named(k).named(s) for k, s in spec.entities)
    labels = names or entity_names([type(e) for e in made])
    hosts = tuple(n for n, e in zip(labels, made, strict=True) if e.host)
    targets = sorted({target for entity in made for target in entity.targets})
    at = spec.localization
    place = Place(
        shape=(spec.shape.length, spec.shape.width), hosts=hosts,
        targets=tuple(targets),
        latitude=_f32(at.latitude), longitude=_f32(at.longitude),
        altitude=_f32(at.altitude), scale=_f32(spec.shape.scale),
    )  # fmt: skip
    return FieldParams(place=place, entities=made)


def build(spec: FarmSpec, ready: Mapping[str, Sequence[Entity]] | None = None) -> FarmModel:
    """The model of a farm; `ready` gives ready-made entities for some fields."""
    params = [field_params(f, (ready or {}).get(name)) for name, f in spec.fields.items()]
    slots = tuple(slots_of(name, p.entities, p.place) for name, p in zip(spec.fields, params, strict=True))
    table = variables_of(slots)
    farmers = [f"{f.kind}-{i}" for i, f in enumerate(spec.farmers)]
    actions = table_of(farmers, slots, spec.rules.interventions)
    plan = plan_of_all(table) if spec.mode == "fo" else plan_of(slots, table, spec.rules.free_observations)
    starts = starts_of(spec.rules.init, slots, table)
    stops, ends = compile_conditions(spec.rules.terminal_conditions, slots, table, "rules > terminal_conditions")
    defaults = FarmParams(
        fields=tuple(params),
        farmers=tuple(_farmer(f.max_daily_interventions, f.max_daily_observations) for f in spec.farmers),
        score=score_of(spec.scoring, actions, table, slots),
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


def _offered(spec: FarmSpec, slots: Sequence[FieldSlots], table: Sequence[Variable], free: Plan) -> Plan:
    """What can be asked for: the `observations` of the rules, or every variable that is not free."""
    if spec.rules.observations is not None:
        return plan_of(slots, table, spec.rules.observations)
    return Plan(tuple(look for look in plan_of_all(table).looks if look not in free.looks))


def _f32(value: float) -> Any:
    return np.float32(value)


def _i32(value: int) -> Any:
    return np.int32(value)


def _farmer(interventions: int | None, observations: int | None) -> BasicFarmer:
    limits = [UNLIMITED if n is None else n for n in (interventions, observations)]
    return BasicFarmer(max_daily_interventions=_i32(limits[0]), max_daily_observations=_i32(limits[1]))


def _tallies(model: FarmModel) -> tuple[str, ...]:
    """What the entities count in a day, found by tracing one day (which also checks who needs whom)."""

    def first_day(key: jax.Array, params: FarmParams) -> Any:
        none = model.actions.orders(jnp.zeros(model.schedule, jnp.int32))
        return model.day(key, model.initial(key, params), none, params)[1].tally

    return tuple(sorted(jax.eval_shape(first_day, jax.random.key(0), model.defaults)))
