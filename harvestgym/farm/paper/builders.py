"""The constructors in section 3.1 of the Farm-Gym paper: fields, rules and scores, and the farm built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harvestgym.core.checks import check_arguments
from harvestgym.core.config import build_params, validate
from harvestgym.core.errors import ConfigError, locate_errors, mismatch, require
from harvestgym.farm.build.canonical_names import resolve_score
from harvestgym.farm.build.compile import build as build_farm
from harvestgym.farm.build.compile import name_farm
from harvestgym.farm.build.components import KINDS, ReadyComponents, compile_field, load_kind
from harvestgym.farm.build.farm_writer import name_kind, write_component, write_parameters, write_set
from harvestgym.farm.engine.farmers import BasicFarmer, CostCap, Farmer, Rule
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import NameTable
from harvestgym.farm.engine.reward_terms import Term
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.paper import files as paper_files
from harvestgym.farm.paper.conditions import Predicate, read_conditions
from harvestgym.farm.paper.observation_items import write_variable
from harvestgym.farm.schema import FieldSpec, RulesSpec, ScoreSpec, farm_spec

CAP = "max_action_schedule_cost"
"""The name of the rule added by `BasicRule(max_action_schedule_cost=...)`."""


class Field:
    """A field: its location, its plots, and the entities on it.

    Args:
        localization: `{'latitude#°': …, 'longitude#°': …, 'altitude#m': …}`.
        shape: `{'length#nb': 4, 'width#nb': 3, 'scale#m': 1.}`; `scale` is an alternative name for this argument.
        entities: `(kind, set)` pairs, where the kind is a class or a name, and the set a name or a mapping of changes
            to a set; or entity instances.
        own_weather: whether its weather is drawn separately from other fields with the same location and set.

    Raises:
        ConfigError: gives the path of the mistake and the nearest valid name.
    """

    @check_arguments
    def __init__(
        self,
        localization: Mapping[str, float],
        shape: Mapping[str, float] | None = None,
        entities: Sequence[Any] = (),
        *,
        scale: Mapping[str, float] | None = None,
        own_weather: bool = False,
    ) -> None:
        if (shape is None) == (scale is None):
            hint = "shape={'length#nb': 1, 'width#nb': 1, 'scale#m': 1}"
            raise mismatch("Field", "either shape or scale", "neither or both", hint)
        made = [_entity(e, f"Field > entities > {i}") for i, e in enumerate(entities)]
        listed = [(kind, which) for kind, which, _ in made]
        data: dict[str, Any] = {"localization": localization, "shape": shape or scale, "own_weather": own_weather}
        self.spec = validate(FieldSpec, data | {"entities": listed}, "Field")
        self.entities = tuple(entity for _, _, entity in made)


def _entity(given: Any, where: str) -> tuple[str, Any, Entity]:
    """Return the kind, set and instance of an entity given in any form."""
    if isinstance(given, Entity):
        with locate_errors(f"{where} > "):
            return name_kind(type(given)), write_set(given), given
    kind, which = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, {})
    if isinstance(kind, str):
        kind = load_kind(next((k for k in KINDS if k.casefold() == kind.casefold()), kind))
    if not (isinstance(kind, type) and issubclass(kind, Entity)) or not isinstance(which, (str, Mapping)):
        raise mismatch(where, "(kind, set) such as (Plant, 'bean'), or an entity", repr(given))
    return name_kind(kind), which, kind.named(which)


class BasicRule:
    """The rules of a farm (section 3.1.3), given by files or by values; all have defaults.

    Args:
        init_configuration, actions_configuration: YAML files; a missing file is generated in its folder.
        free_observations: `(field, entity, name, path)` tuples, or variables as text.
        terminal_conditions: groups of conditions `(observation, mapping, operator, value)`, or conditions as text; the
        episode ends when all conditions in any group are true.
        init, interventions, observations: the content of these files, as mappings.
        horizon: days after which the episode is truncated.
        max_action_schedule_size: the maximum number of actions per step; by default, the file's value or 1.
        max_action_schedule_cost: the maximum total cost of a day's interventions.
        further: custom rules by name.
    """

    @check_arguments
    def __init__(
        self,
        init_configuration: str | Path | None = None,
        actions_configuration: str | Path | None = None,
        free_observations: Sequence[Any] = (),
        terminal_conditions: str | Sequence[Any] = (),
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
        given = {name: block for name, block in blocks.items() if block is not None} or None
        _once("init", init_configuration, init)
        _once("interventions and observations", actions_configuration, given)
        self._init = paper_files.Source(init_configuration, init)
        self._actions = paper_files.Source(actions_configuration, given)
        self._free, self._ends = free_observations, terminal_conditions
        self.functions: dict[str, Predicate] = {}
        self._numbers = {"horizon#day": horizon, "max_action_schedule_size": max_action_schedule_size}
        self.cap, self.further = max_action_schedule_cost, dict(further or {})

    def read(self, names: NameTable) -> dict[str, Any]:
        """Return the rules in the form of a farm file, with names as given; set `functions` for the conditions."""
        where = self._actions.label("rules")
        data = paper_files.read_actions(self._actions.read(), names, where)
        validate(RulesSpec, data, where)
        data |= {name: value for name, value in self._numbers.items() if value is not None}
        data["init"] = paper_files.read_init(self._init.read(), self._init.label("rules > init"))
        ends, self.functions = read_conditions(self._ends, "rules > terminal_conditions")
        free = [write_variable(seen, f"rules > free_observations > {i}") for i, seen in enumerate(self._free)]
        return data | {"free_observations": free, "terminal_conditions": ends}

    def origins(self) -> dict[str, str]:
        """Return the source file of each part of the rules that was read from a file, by its path in a farm file."""
        files = {"init": self._init.label("rules > init")}
        files |= {part: f"{self._actions.label('rules')} > {part}" for part in ("interventions", "observations")}
        return {f"rules > {part}": file for part, file in files.items()}

    def missing(self, names: NameTable) -> dict[Path, str]:
        """Return the contents of the files that are named but do not exist."""
        size = self._numbers[paper_files.SIZE] or RulesSpec.model_fields[paper_files.SIZE].default
        text = paper_files.actions_text(names, size)
        return self._init.missing(paper_files.init_text(names)) | self._actions.missing(text)


class BasicScore:
    """The score of a farm (section 3.1.2): the costs of actions and the weights of the rewards.

    Args:
        score_configuration: a YAML file with the complete score; or
        cost_configuration, reward_configuration: separate files for costs and rewards. A missing file is generated in
            its folder.
        terms: additional terms by name, custom or from `harvestgym.farm.engine.reward_terms`.
        values: entries of these files, such as `intervention_cost=0.5, stage=1, yield_=1`.

    Raises:
        ConfigError: gives the path of the mistake and the nearest valid name.
    """

    @check_arguments
    def __init__(
        self,
        score_configuration: str | Path | None = None,
        cost_configuration: str | Path | None = None,
        reward_configuration: str | Path | None = None,
        *,
        terms: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> None:
        _once("the score", score_configuration, cost_configuration or reward_configuration)
        self._sources = [
            (paper_files.Source(score_configuration, None), paper_files.SCORE_KEYS),
            (paper_files.Source(cost_configuration, None), paper_files.COST_KEYS),
            (paper_files.Source(reward_configuration, None), paper_files.REWARDS),
        ]
        given = {name.rstrip("_"): value for name, value in values.items()}
        self._values = paper_files.read_score(given, paper_files.SCORE_KEYS, "BasicScore")
        self._given = validate(ScoreSpec, self._values, "BasicScore")
        self.terms = dict(terms or {})

    def read(self) -> dict[str, Any]:
        """Return the score in the form of a farm file, with names as given."""
        data: dict[str, Any] = {}
        for source, keys in self._sources:
            said = paper_files.read_score(source.read(), keys, source.label("scoring"))
            validate(ScoreSpec, said, source.label("scoring"))
            data |= said
        return data | self._values

    def missing(self, names: NameTable) -> dict[Path, str]:
        """Return the contents of the files that are named but do not exist."""
        score, out = resolve_score(names, self._given), {}
        for source, keys in self._sources:
            out |= source.missing(paper_files.score_text(names, score, keys))
        return out


def _once(what: str, *given: Any) -> None:
    require(not all(g is not None for g in given), what, "a file or a value", "both", "keeping one")


def build_farm_model(
    fields: Sequence[Field], farmers: Sequence[Any], rules: BasicRule, scoring: BasicScore, mode: str, context: Any
) -> FarmModel:
    """Build a farm's model from its parts.

    Raises:
        ConfigError: gives the path of the mistake, and names the configuration file if the mistake is in one.
    """
    for i, field in enumerate(fields):
        require(isinstance(field, Field), f"fields > {i}", "a Field", repr(field))
    further = dict(rules.further) | ({} if rules.cap is None else {CAP: CostCap(most=rules.cap)})  # type: ignore[arg-type]
    ready = ReadyComponents(
        farmers=tuple(_rebuild(f, Farmer, f"farmers > {i}") for i, f in enumerate(farmers or [BasicFarmer()])),
        rules={name: _rebuild(r, Rule, f"rules > further > {name}") for name, r in further.items()},
        terms={name: _rebuild(t, Term, f"scoring > terms > {name}") for name, t in scoring.terms.items()},
    )
    names = name_farm({f"Field-{i}": compile_field(field.spec, field.entities) for i, field in enumerate(fields)})
    score = scoring.read()
    data = {
        "fields": {f"Field-{i}": field.spec.model_dump(by_alias=True) for i, field in enumerate(fields)},
        "farmers": [write_component(f) for f in ready.farmers],
        "rules": rules.read(names) | {"further": {name: write_component(r) for name, r in ready.rules.items()}},
        "scoring": score | {"terms": score.get("terms", {}) | {n: write_component(t) for n, t in ready.terms.items()}},
        "mode": mode, "context": context,
    }  # fmt: skip
    ready = ready._replace(functions=rules.functions)
    entities = {f"Field-{i}": field.entities for i, field in enumerate(fields)}
    try:
        return build_farm(farm_spec(data, "Farm"), entities, ready)
    except ConfigError as error:
        for inside, file in rules.origins().items():
            if str(error).startswith(inside):
                raise ConfigError(f"{file}{str(error).removeprefix(inside)}") from None
        raise


def _rebuild(thing: Any, base: type, where: str) -> Any:
    """Return a farmer, rule or term with its parameters checked and converted to the engine's types."""
    hint = f"{thing}(), with `from harvestgym.farm import {thing}`" if isinstance(thing, str) else ""
    require(isinstance(thing, base), where, f"a {base.__name__}, such as one from harvestgym.farm", repr(thing), hint)
    return build_params(type(thing), write_parameters(thing), f"{where} ({type(thing).__name__})")
