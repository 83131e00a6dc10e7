"""The parts of a farm that a file names: kinds of entities, farmers, rules and terms, ours or `module:Class`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from harvestgym.core.config import build
from harvestgym.core.errors import unknown
from harvestgym.core.loading import load_object
from harvestgym.farm.engine.constraints import Rule
from harvestgym.farm.engine.farmers import Farmer
from harvestgym.farm.engine.reward_terms import Term
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.schema import PartSpec

P = TypeVar("P")


class Made(NamedTuple):
    """Parts that are made already and take the place of what a farm file says: farmers (None for those of the file),
    further rules and terms by name."""

    farmers: tuple[Farmer, ...] | None = None
    rules: Mapping[str, Rule] = {}
    terms: Mapping[str, Term] = {}


KINDS = {
    name: f"harvestgym.farm.entities.{name.lower()}:{name}"
    for name in (
        "Weather",
        "Soil",
        "Plant",
        "Birds",
        "Weeds",
        "Pests",
        "Pollinators",
        "Cide",
        "Fertilizer",
        "Facility",
    )  # fmt: skip
}
"""The kinds of entities that a farm file can name; others are given as `module:Class`."""

FARMERS = {name: f"harvestgym.farm.engine.farmers:{name}" for name in ("BasicFarmer", "HourlyFarmer")}
RULES = {"CostCap": "harvestgym.farm.engine.constraints:CostCap"}
TERMS = {
    name: f"harvestgym.farm.engine.reward_terms:{name}" for name in ("Tally", "Market", "Biodiversity", "SoilHealth")
}


def load(name: str, known: Mapping[str, str], base: type[P], where: str) -> type[P]:
    """The class of a part by its name, or by `module:Class` for one of the user's own; ConfigError otherwise."""
    target = name if ":" in name else known.get(name)
    if target is None:
        raise unknown(base.__name__.lower(), name, known, where)
    return load_object(target, base, where)


def kind_named(name: str) -> type[Entity]:
    """The class of an entity by its name."""
    return load(name, KINDS, Entity, "entities")


def farmer(spec: PartSpec, where: str) -> Farmer:
    """A farmer from its entry in a farm file."""
    return _part(spec, FARMERS, Farmer, where)


def rule(spec: PartSpec, where: str) -> Rule:
    """A further rule from its entry in a farm file."""
    return _part(spec, RULES, Rule, where)


def term(spec: PartSpec, where: str) -> Term:
    """A term of the score from its entry in a farm file."""
    return _part(spec, TERMS, Term, where)


def _part(spec: PartSpec, known: Mapping[str, str], base: type[P], where: str) -> P:
    given: dict[str, Any] = {k: v for k, v in (spec.model_extra or {}).items() if v is not None}
    return build(load(spec.kind, known, base, where), given, where)
