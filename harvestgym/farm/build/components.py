"""Loading of the components that a farm file names: kinds of entities, farmers, rules and reward terms.

Each is a built-in name or `module:Class`. `harvestgym.farm.public_names` has the table of the built-in ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from harvestgym.core.config import build_params
from harvestgym.core.errors import unknown
from harvestgym.core.loading import load_object
from harvestgym.farm.engine.farmers import Farmer, Rule
from harvestgym.farm.engine.reward_terms import Term
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.public_names import FARMERS, KINDS, RULES, TERMS
from harvestgym.farm.schema import ComponentSpec

P = TypeVar("P")


class ReadyComponents(NamedTuple):
    """Instances that take the place of what a farm file says; its own farmers where there is none.

    `functions` are those that its stopping conditions may call.
    """

    farmers: tuple[Farmer, ...] = ()
    rules: Mapping[str, Rule] = {}
    terms: Mapping[str, Term] = {}
    functions: Mapping[str, Any] = {}


BUILT_IN: Mapping[type, Mapping[str, str]] = {Entity: KINDS, Farmer: FARMERS, Rule: RULES, Term: TERMS}
"""The built-in components by the base of their classes."""


def load_class(name: str, base: type[P], where: str) -> type[P]:
    """Return the class of a component by its built-in name or as `module:Class`; ConfigError otherwise."""
    known = BUILT_IN[base]
    target = name if ":" in name else known.get(name)
    if target is None:
        raise unknown(base.__name__.lower(), name, known, where)
    return load_object(target, base, where)


def load_kind(name: str) -> type[Entity]:
    """Return the class of a kind of entity."""
    return load_class(name, Entity, "entities")


def build_component(spec: ComponentSpec, base: type[P], where: str) -> P:
    """Return a farmer, a further rule or a reward term from its entry in a farm file."""
    given: dict[str, Any] = {k: v for k, v in (spec.model_extra or {}).items() if v is not None}
    return build_params(load_class(spec.kind, base, where), given, where)
