"""Loading the components named in a farm file: fields with their entities, farmers, rules and reward terms.

Each is a built-in name or `module:Class`. `harvestgym.farm.public_names` lists the built-in components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from harvestgym.core.config import build_params
from harvestgym.core.errors import map_all, unknown
from harvestgym.core.loading import load_class_of_file, load_object
from harvestgym.farm.engine.farmers import Farmer, Rule
from harvestgym.farm.engine.reward_terms import Term
from harvestgym.farm.engine.state import FieldParams
from harvestgym.farm.engine.variables import number_repeats
from harvestgym.farm.entities.base import Entity, Place
from harvestgym.farm.public_names import FARMERS, KINDS, RULES, TERMS
from harvestgym.farm.schema import ComponentSpec, FieldSpec

P = TypeVar("P")


class ReadyComponents(NamedTuple):
    """Instances that replace components of a farm file; if there are no farmers here, the file's farmers are used.

    `functions` are the functions that stopping conditions may call.
    """

    farmers: tuple[Farmer, ...] = ()
    rules: Mapping[str, Rule] = {}
    terms: Mapping[str, Term] = {}
    functions: Mapping[str, Any] = {}


BUILT_IN: Mapping[type, Mapping[str, str]] = {Entity: KINDS, Farmer: FARMERS, Rule: RULES, Term: TERMS}
"""The built-in components, by base class."""


def load_class(name: str, base: type[P], where: str) -> type[P]:
    """Return the class of a component given by its built-in name or as `module:Class`; raise ConfigError otherwise."""
    known = BUILT_IN[base]
    if ":" in name:
        return load_class_of_file(name, base, where)
    if name not in known:
        raise unknown(base.__name__.lower(), name, known, where)
    return load_object(known[name], base, where)


def load_kind(name: str) -> type[Entity]:
    """Return the entity class for a kind."""
    return load_class(name, Entity, "entities")


def build_component(spec: ComponentSpec, base: type[P], where: str) -> P:
    """Build a farmer, an additional rule or a reward term from its entry in a farm file."""
    given: dict[str, Any] = {k: v for k, v in (spec.model_extra or {}).items() if v is not None}
    return build_params(load_class(spec.kind, base, where), given, where)


def compile_field(spec: FieldSpec, entities: Sequence[Entity] | None = None) -> FieldParams:
    """Compile the location and entities of a field; instances in `entities` replace the file's entities."""
    kinds = zip(*spec.entities, strict=True)
    made = entities if entities is not None else map_all(lambda kind, which: load_kind(kind).named(which), *kinds)
    labels = number_repeats([type(e).__name__ for e in made])
    hosts = tuple(sorted(n for n, e in zip(labels, made, strict=True) if e.host))
    targets = sorted({target for entity in made for target in entity.targets})
    at = spec.localization
    numbers: Any = {name: np.float32(number) for name, number in [*at, ("scale", spec.shape.scale)]}
    place = Place(shape=(spec.shape.length, spec.shape.width), hosts=hosts, targets=tuple(targets), **numbers)
    return FieldParams(place=place, entities=tuple(made))
