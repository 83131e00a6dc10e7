"""The constructors of section 3.1: fields, rules and scores as a person writes them, to be made part of a farm."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.config import build, validate
from harvestgym.core.errors import ConfigError, unknown
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.schema import FieldSpec, RulesSpec, ScoreSpec

from . import paper_files
from .components import KINDS, kind_named
from .names import Names
from .user_predicates import Hosted, condition


def kind_name(cls: type) -> str:
    """How a farm file names a class: one of ours by its name, others as `module:Class`."""
    ours = cls.__module__.startswith("harvestgym.farm.")
    return cls.__name__ if ours else f"{cls.__module__}:{cls.__qualname__}"


def written(part: Any) -> dict[str, Any]:
    """The parameters of a farmer, rule, term or entity as a file has them, without those left at their default."""
    out: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        meta, value = field.metadata.get("meta"), getattr(part, field.name)
        if meta is None:
            out[field.name] = written(value)
        elif meta.kind == "open":
            out[meta.keys[0]] = {name: float(v) for name, v in value.items()}
        elif meta.kind == "static" or np.ndim(value) > int(meta.stacked):
            raise ConfigError(f"{type(part).__name__} > {meta.keys[0]}: cannot be written to a file")
        elif field.default is dataclasses.MISSING or not np.array_equal(value, field.default):
            pairs = zip(meta.keys, np.atleast_1d(value).tolist(), strict=True)
            out |= {key: meta.labels[int(v)] if meta.labels else v for key, v in pairs}
    return out


def part(thing: Any, base: type, where: str) -> Any:
    """A farmer, rule or term with its parameters checked and in the engine's types."""
    if not isinstance(thing, base):
        raise ConfigError(f"{where}: wanted a {base.__name__} such as one of harvestgym.farm, found {thing!r}")
    return build(type(thing), written(thing), f"{where} ({type(thing).__name__})")


class Field:
    """A field: where it lies, its plots, and the entities on it.

    Args:
        localization: `{'latitude#°': …, 'longitude#°': …, 'altitude#m': …}`.
        shape: `{'length#nb': 4, 'width#nb': 3, 'scale#m': 1.}`; `scale` is its second name.
        entities: each `(kind, set)`, the kind a class or a name, the set a name or a mapping of changes to one; or
            an entity that is made already.

    Raises:
        ConfigError: with the path of the mistake and the nearest valid name.
    """

    def __init__(
        self,
        localization: Mapping[str, float],
        shape: Mapping[str, float] | None = None,
        entities: Sequence[Any] = (),
        *,
        scale: Mapping[str, float] | None = None,
    ) -> None:
        if (shape is None) == (scale is None):
            raise ConfigError("Field: wanted its shape, {'length#nb': …, 'width#nb': …, 'scale#m': …}, once")
        made = [_entity(e, f"Field > entities > {i}") for i, e in enumerate(entities)]
        data = {"localization": localization, "shape": shape or scale, "entities": [(k, s) for k, s, _ in made]}
        self.spec = validate(FieldSpec, data, "Field")
        self.entities = tuple(entity for _, _, entity in made)


def _entity(given: Any, where: str) -> tuple[str, Any, Entity]:
    """Kind, set and instance of an entity in any of its forms."""
    if isinstance(given, Entity):
        return kind_name(type(given)), _whole(given), given
    kind, which = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, {})
    if isinstance(kind, str):
        kind = kind_named(next((k for k in KINDS if k.casefold() == kind.casefold()), kind))
    if not (isinstance(kind, type) and issubclass(kind, Entity)) or not isinstance(which, (str, Mapping)):
        raise ConfigError(f"{where}: wanted (kind, set) such as (Plant, 'bean'), or an entity, found {given!r}")
    return kind_name(kind), which, kind.named(which)


def _whole(entity: Entity) -> dict[str, Any]:
    """The parameters of a ready-made entity; one that no file can hold says so when a file is wanted."""
    try:
        return written(entity)
    except ConfigError as error:
        return {paper_files.NOT_IN_A_FILE: str(error)}


class BasicRule:
    """The rules of a game (section 3.1.3), from files, from values, or left at their defaults.

    Args:
        init_configuration, actions_configuration: YAML files; one that is missing is generated, in its folder.
        free_observations: `(field, entity, name, path)` each.
        terminal_conditions: any-of(all-of) `(observation, mapping, operator, value)`.
        init, interventions, observations: what those files would say, as mappings.
        horizon: days after which the game is truncated.
        max_action_schedule_size: the most actions of a step, 1 unless the file says otherwise.
        max_action_schedule_cost: what the interventions of a day may cost.
        further: rules of your own by name.
    """

    def __init__(
        self,
        init_configuration: str | Path | None = None,
        actions_configuration: str | Path | None = None,
        free_observations: Sequence[Any] = (),
        terminal_conditions: Sequence[Any] = (),
        *,
        init: Mapping[str, Any] | None = None,
        interventions: Mapping[str, Any] | None = None,
        observations: Any = None,
        horizon: int | None = None,
        max_action_schedule_size: int | None = None,
        max_action_schedule_cost: float | None = None,
        further: Mapping[str, Any] | None = None,
    ) -> None:
        blocks = {"interventions": interventions, "observations": observations}
        _once("init", init_configuration, init)
        for block in (interventions, observations):
            _once("interventions and observations", actions_configuration, block)
        self._init = paper_files.Source(init_configuration, init)
        given = {name: block for name, block in blocks.items() if block is not None}
        self._actions = paper_files.Source(actions_configuration, given or None)
        self._free, self._ends = free_observations, terminal_conditions
        self._numbers = {"horizon#day": horizon, "max_action_schedule_size": max_action_schedule_size}
        self.cap, self.further = max_action_schedule_cost, dict(further or {})

    def spec(self, names: Names) -> dict[str, Any]:
        """The rules as a farm file has them, every name in its one spelling."""
        data = paper_files.actions_of(self._actions.read(), names, self._actions.label("rules"))
        validate(RulesSpec, data, self._actions.label("rules"))
        data |= {name: value for name, value in self._numbers.items() if value is not None}
        data["init"] = paper_files.init_of(self._init.read(), names, self._init.label("rules > init"))
        data["free_observations"] = [list(names.ref(r, _at("free_observations", i))) for i, r in enumerate(self._free)]
        data["terminal_conditions"] = [
            [condition(event, names, f"{_at('terminal_conditions', i)} > {j}") for j, event in enumerate(group)]
            for i, group in enumerate(self._ends)
        ]
        return data

    def origins(self) -> dict[str, str]:
        """Which file a part of the rules comes from, to be named in errors."""
        return {"rules > init": self._init.label("rules > init"),
                "interventions": self._actions.label("rules") + " > interventions"}  # fmt: skip

    def missing(self, names: Names) -> dict[Path, str]:
        """The texts of the files that are named and not there."""
        size = RulesSpec.model_fields["max_action_schedule_size"].default
        named = self._numbers["max_action_schedule_size"] or size
        return self._init.missing(paper_files.init_text(names)) | self._actions.missing(
            paper_files.actions_text(names, named)
        )


class BasicScore:
    """The score of a game (section 3.1.2): what actions cost, and the weights of the rewards.

    Args:
        score_configuration: a YAML file with all of it; or
        cost_configuration, reward_configuration: one for the costs and one for the rewards. A missing file is
            generated, in its folder.
        terms: further terms by name, of your own or of `harvestgym.farm.engine.reward_terms`.
        values: entries of those files, such as `intervention_cost=0.5, stage=1, yield_=1`.
    """

    def __init__(
        self,
        score_configuration: str | Path | None = None,
        cost_configuration: str | Path | None = None,
        reward_configuration: str | Path | None = None,
        *,
        terms: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> None:
        for path in (cost_configuration, reward_configuration):
            _once("the score", score_configuration, path)
        self._sources = [
            (paper_files.Source(score_configuration, None), paper_files.COSTS + paper_files.REWARDS),
            (paper_files.Source(cost_configuration, None), paper_files.COSTS),
            (paper_files.Source(reward_configuration, None), paper_files.REWARDS),
        ]
        self._values = {name.rstrip("_"): value for name, value in values.items()}
        for name in self._values:
            if name not in paper_files.COSTS + paper_files.REWARDS:
                raise unknown("entry", name, paper_files.COSTS + paper_files.REWARDS, "BasicScore")
        self.terms = dict(terms or {})

    def spec(self, names: Names) -> dict[str, Any]:
        """The score as a farm file has it, every name in its one spelling."""
        data: dict[str, Any] = {}
        for source, keys in self._sources:
            said = paper_files.score_of(source.read(), keys, names, source.label("scoring"))
            validate(ScoreSpec, said, source.label("scoring"))
            data |= said
        return data | paper_files.score_of(self._values, paper_files.COSTS + paper_files.REWARDS, names, "BasicScore")

    def missing(self, names: Names) -> dict[Path, str]:
        """The texts of the files that are named and not there."""
        whole = ScoreSpec.model_validate(
            paper_files.score_of(self._values, paper_files.COSTS + paper_files.REWARDS, names, "BasicScore")
        )
        out: dict[Path, str] = {}
        for source, keys in self._sources:
            out |= source.missing(paper_files.score_text(names, whole, keys))
        return out


def is_compiled(rules: RulesSpec) -> bool:
    """Whether no stopping condition is called in Python."""
    return not any(isinstance(c.mapping, Hosted) for group in rules.terminal_conditions for c in group)


def _once(what: str, *given: Any) -> None:
    if all(g is not None for g in given):
        raise ConfigError(f"{what}: given twice, by a file and by a value; keep one")


def _at(part: str, i: int) -> str:
    return f"rules > {part} > {i}"
