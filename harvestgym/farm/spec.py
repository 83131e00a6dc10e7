"""What a farm file says, as frozen plain data: fields, farmers, rules, scoring, an expert.

The models below are the whole schema: unknown keys, missing parts and wrong types are refused together,
each with its path; `json_schema()` serves editors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt

from ..core import yamlio
from ..core.config import Strict, merge, validate
from ..core.errors import ConfigError, unknown

Plot = tuple[StrictInt, StrictInt]


def parse_plot(value: Any) -> Any:
    """`'(0, 1)'` as the paper writes it, `[0, 1]` as YAML does."""
    if isinstance(value, str) and value.strip().startswith("("):
        parts = value.strip(" ()").split(",")
        return tuple(int(p) if p.strip().lstrip("-").isdigit() else p for p in parts)
    return value


PlotName = Annotated[Plot, BeforeValidator(parse_plot)]
Ref = tuple[str, str, str, list[Any]]
"""An observation: field, entity, variable, path."""


def _parse_interval(value: Any) -> Any:
    """`(1, 10)`, which YAML reads as a text, is an interval; a single number is a list of one."""
    if isinstance(value, str) and value.strip().startswith("("):
        low, _, high = value.strip(" ()").partition(",")
        return {"low": low.strip(), "high": high.strip()}
    return value if isinstance(value, (list, dict)) else [value]


class Interval(Strict):
    """Any number between two ends."""

    low: float
    high: float


Values = Annotated[Interval | list[Any], BeforeValidator(_parse_interval)]


class Localization(Strict):
    """Where on earth a field lies."""

    latitude: float = Field(alias="latitude#°", ge=-90, le=90)
    longitude: float = Field(alias="longitude#°", ge=-180, le=180)
    altitude: float = Field(alias="altitude#m", ge=-430, le=8850)


class Shape(Strict):
    """The plots of a field: length x width squares of side `scale`."""

    length: int = Field(alias="length#nb", ge=1, le=1000)
    width: int = Field(alias="width#nb", ge=1, le=1000)
    scale: float = Field(alias="scale#m", default=1.0, ge=0.01, le=100)


class FieldSpec(Strict):
    """A field: its place, its plots and the entities on it, each a kind and a parameter set."""

    localization: Localization
    shape: Shape
    entities: list[tuple[str, str | dict[str, Any]]] = Field(min_length=1)


class FarmerSpec(Strict):
    """A farmer and the limits of a working day."""

    kind: Literal["BasicFarmer"] = "BasicFarmer"
    max_daily_interventions: StrictInt | None = Field(default=None, ge=0)
    max_daily_observations: StrictInt | None = Field(default=None, ge=0)


class Condition(Strict):
    """One event: `operator(mapping(observation), value)`."""

    observation: Ref
    mapping: Any = "value"
    operator: str
    value: Any


def _parse_condition(value: Any) -> Any:
    """The paper's 4-tuple."""
    if isinstance(value, (list, tuple)) and len(value) == 4:
        return dict(zip(("observation", "mapping", "operator", "value"), value, strict=True))
    return value


AnyOfAll = list[list[Annotated[Condition, BeforeValidator(_parse_condition)]]]


class RulesSpec(Strict):
    """How the game starts, what is seen and allowed, and how it ends."""

    horizon: StrictInt = Field(alias="horizon#day", default=360, ge=1)
    init: dict[str, dict[str, dict[str, Values]]] = {}
    free_observations: list[Ref] = []
    observations: list[Ref] | None = None
    interventions: dict[str, dict[str, dict[str, dict[str, Values] | None]]] | None = None
    terminal_conditions: AnyOfAll = []
    max_action_schedule_size: StrictInt = Field(default=1, ge=1, le=100)


Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ScoreSpec(Strict):
    """BasicScore: what actions and observations cost, what a stage and the final harvest are worth."""

    kind: Literal["BasicScore"] = "BasicScore"
    intervention_cost: Cost = 1.0
    intervention_costs: dict[str, dict[str, dict[str, Cost]]] = {}
    observation_cost: Cost = 1.0
    observation_costs: dict[str, dict[str, dict[str, Cost]]] = {}
    stage: Cost = 1.0
    bio: float = Field(default=0.0, ge=0, le=1)
    resource: float = Field(default=0.0, ge=0, le=1)
    soil: float = Field(default=0.0, ge=0, le=1)
    harvest: float = Field(alias="yield", default=1.0, ge=0, le=1)
    plant: float = Field(default=0.0, ge=0, le=1)


class ExpertRule(Strict):
    """When any of the all-of conditions holds (always, if there are none), do the action.

    An action with `plot: each` is done on every plot on which they hold; one with a list in the place of its
    parameters is an observation asked for. It is done again after `every#day` days at the earliest.
    """

    when: AnyOfAll = []
    do: tuple[str, str, str, str, dict[str, Any] | list[Any]]
    every: StrictInt = Field(alias="every#day", default=1, ge=1)


class FarmSpec(Strict):
    """A whole farm."""

    doc: str = ""
    tags: list[str] = []
    history: dict[str, str] = {}
    fields: dict[str, FieldSpec] = Field(min_length=1)
    farmers: list[FarmerSpec] = Field(default=[FarmerSpec()], min_length=1)
    rules: RulesSpec = RulesSpec.model_validate({})
    scoring: ScoreSpec = ScoreSpec.model_validate({})
    mode: Literal["fo", "po", "ao"] = "po"
    expert: list[ExpertRule] = []


def farm_spec(data: Any, where: str) -> FarmSpec:
    """A farm from a mapping, strictly."""
    spec = validate(FarmSpec, data, where)
    for i, name in enumerate(spec.fields):
        if name != f"Field-{i}":
            raise ConfigError(f"{where} > fields: wanted 'Field-{i}' (fields are numbered in order), found {name!r}")
    return spec


def read_farm(path: Path, overrides: dict[str, Any] | None = None) -> FarmSpec:
    """A farm file with what it `extends:` (a file of the same folder), and `overrides` put in last."""
    return farm_spec(merge(_extended(path, ()), overrides or {}), path.name)


def _extended(path: Path, seen: tuple[str, ...]) -> dict[str, Any]:
    if path.name in seen:
        raise ConfigError(f"{' -> '.join((*seen, path.name))} extend each other; break the circle")
    data = yamlio.read(path)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: wanted a mapping, found a {type(data).__name__}")
    base = data.pop("extends", None)
    if base is None:
        return data
    parent = path.with_name(f"{base}.yaml")
    if not parent.is_file():
        raise unknown("farm", base, (p.stem for p in path.parent.glob("*.yaml")), f"{path.name} > extends")
    return merge(_extended(parent, (*seen, path.name)), data)
