"""The schema of a farm file as frozen plain data: fields, farmers, rules, scoring and an expert.

The models below define the whole schema. Unknown keys, missing parts and wrong types are reported together, each with
its path. `json_schema()` is for editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictInt,
    WithJsonSchema,
    model_validator,
)

from harvestgym.core.config import INT32, Hard, History, Strict, require_one_of, validate
from harvestgym.core.errors import mismatch, require
from harvestgym.core.pytree import WIDE
from harvestgym.core.risk import Risk

from .formula_parser import parse_formula, split_plots
from .spelling import Interval, StartSpec, ValueSpec, parse_interval, parse_plot

Days = Annotated[StrictInt, Field(ge=1, le=int(INT32.max))]


def _number(value: Any) -> Any:
    """Reject values that pydantic would convert to a number: `no`, and numbers in quotes."""
    if isinstance(value, (bool, str)):
        hint = "not yes/no/true/false" if isinstance(value, bool) else "without quotes"
        raise ValueError(f"expected a number, {hint}")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Count = Annotated[int, BeforeValidator(_number)]
Weight = Annotated[Number, Field(ge=0, le=1)]
Cost = Annotated[Number, Field(ge=0, le=WIDE)]
CostsByName = dict[str, dict[str, dict[str, Cost]]]


class Localization(Strict):
    """Location of a field on Earth."""

    latitude: Number = Field(alias="latitude#°", ge=-90, le=90)
    longitude: Number = Field(alias="longitude#°", ge=-180, le=180)
    altitude: Number = Field(alias="altitude#m", ge=-430, le=8850)


class Shape(Strict):
    """The plots of a field: a grid of length x width squares with side `scale`."""

    length: Count = Field(alias="length#nb", ge=1, le=1000)
    width: Count = Field(alias="width#nb", ge=1, le=1000)
    scale: Number = Field(alias="scale#m", default=1.0, ge=0.01, le=100)


class FieldSpec(Strict):
    """A field: its location, its plots, and the kind and parameter set of each entity on it.

    Fields with the same location and weather set have the same weather, unless `own_weather` is set.
    """

    localization: Localization
    shape: Shape
    entities: list[tuple[str, str | dict[str, Any]]] = Field(min_length=1)
    own_weather: StrictBool = False


class ComponentSpec(Strict):
    """A farmer, a rule or a reward term: a built-in name or `module:Class`, and its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str

    @model_validator(mode="before")
    @classmethod
    def _refuse_name(cls, given: Any) -> Any:
        require(not isinstance(given, str), "", "a mapping", repr(given), repr({"kind": given}))
        return given


class FarmerSpec(ComponentSpec):
    """A farmer; by default a farmer with daily limits, where null means no limit."""

    kind: str = "BasicFarmer"


def _check_condition(text: Any) -> str:
    """Parse a condition to check it, and return it unchanged."""
    parse_formula(text)
    return " ".join(text.split())


Condition = Annotated[str, BeforeValidator(_check_condition)]
AnyOf = Annotated[
    list[Condition],
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    PlainSerializer(lambda given: given[0] if len(given) == 1 else given),
    WithJsonSchema({"type": ["string", "array"], "description": "a condition, or a list in which one must be true"}),
]


def _check_plots(value: Any) -> Any:
    """Check `each`, `most FORMULA` or `least FORMULA` and return it unchanged; parse anything else as a plot."""
    if not isinstance(value, str) or value.strip().startswith("("):
        return parse_plot(value)
    word, formula = split_plots(value)
    return f"{word} {_check_condition(formula)}" if formula else word


Plots = Annotated[
    Any,
    BeforeValidator(_check_plots),
    WithJsonSchema({"type": ["string", "array", "null"], "description": "each, most VARIABLE, least VARIABLE, [x, y]"}),
]


class RulesSpec(Strict):
    """The rules of an episode: its start, its observations and actions, and its end."""

    horizon: Days = Field(alias="horizon#day", default=360, description="maximum number of days of an episode")
    init: dict[str, dict[str, dict[str, StartSpec]]] = Field({}, description="initial values, drawn for each episode")
    free_observations: list[Condition] = []
    observations: list[Condition] | dict[str, list[Condition]] | None = Field(
        None, description="observations that can be requested; a list for each farmer if they differ"
    )
    interventions: dict[str, dict[str, dict[str, dict[str, ValueSpec] | None]]] | None = None
    terminal_conditions: AnyOf = Field([], description="ends an episode early")
    max_action_schedule_size: StrictInt = Field(1, ge=1, le=100, description="maximum number of interventions per step")
    further: dict[str, ComponentSpec] = {}

    def requestable(self, farmer: str | None = None) -> list[str] | None:
        """Return the observations that a farmer, or any farmer (None), can request; None for all."""
        if not isinstance(self.observations, dict):
            return self.observations
        listed = self.observations.values() if farmer is None else [self.observations.get(farmer, [])]
        return list(dict.fromkeys(chain(*listed)))


class ConstraintSpec(Strict):
    """A limit on the sum of a tally over an episode, for the whole farm."""

    tally: str = Field(description="any tally that a price list can contain, such as leached_N#g")
    limit: Number = Field(ge=1e-6, le=WIDE, description="maximum sum over an episode, in the tally's unit")


class ScoreSpec(Strict):
    """BasicScore: the costs of actions and observations, and the rewards for stages and the final harvest."""

    kind: Literal["BasicScore"] = "BasicScore"
    intervention_cost: Cost = Field(1.0, description="points lost for each intervention")
    intervention_costs: CostsByName = Field({}, description="points for particular names, instead of the number above")
    observation_cost: Cost = Field(1.0, description="points lost for each number that is observed on request")
    observation_costs: CostsByName = Field({}, description="points for particular names, instead of the number above")
    stage: Cost = Field(1.0, description="points when a plant moves to its next stage")
    bio: Weight = Field(0.0, description="points for the organisms counted on every day of the episode")
    resource: Weight = Field(
        0.0, description="points lost at the end for each litre of water, kg of fertilizer and kg of poison"
    )
    soil: Weight = Field(0.0, description="points for the microlife of the soil at the end, 0 to 1")
    harvest: Weight = Field(1.0, alias="yield", description="points for each kg harvested")
    plant: Weight = Field(0.0, description="points for the development of the plants that are alive at the end, 0 to 1")
    terms: dict[str, ComponentSpec] = Field({}, description="further terms of the reward")
    constraints: dict[str, ConstraintSpec] = Field(
        {}, description="limits on tallies, which do not change the reward; the costs in info sum to 1 at the limit"
    )
    risk: Risk = Field(None, description="risk measure of the returns that `harvestgym run` reports")


class MixtureSpec(Strict):
    """A mixture of parameter sets in randomly drawn proportions."""

    mix: list[str] = Field(min_length=2)


class ContextPeriod(Strict):
    """Interval between context draws: a number of episodes, or a number of days within each episode."""

    episodes: Days | None = None
    days: Days | None = None

    _one = require_one_of("episodes", "days")


def _parse_every(value: Any) -> Any:
    """Parse a period: `episode` means every episode, and `step` every day, because a step of a farm is a day."""
    known = {"episode": {"episodes": 1}, "step": {"days": 1}}
    if isinstance(value, (Mapping, ContextPeriod)):
        return value
    if not isinstance(value, str) or value not in known:
        raise ValueError("expected episode, step, {episodes: 5} or {days: 10}")
    return known[value]


WhenDrawn = Annotated[
    ContextPeriod,
    BeforeValidator(_parse_every),
    WithJsonSchema({"type": ["string", "object"], "description": "episode, step, {episodes: 5} or {days: 10}"}),
]


class ForecastSpec(Strict):
    """The number of days to forecast, and the error variance added per day, as a fraction of the squared range."""

    lookahead: StrictInt = Field(alias="lookahead#day", default=3, ge=1, le=30)
    noise: Number = Field(alias="noise#day-1", default=0.01, ge=0, le=1)


DrawSpec = Annotated[
    Interval | MixtureSpec | list[Any],
    BeforeValidator(parse_interval),
    WithJsonSchema({"description": "a list of choices, an interval '(low, high)', or {mix: [set, set]}"}),
]


class ContextSpec(Strict):
    """The draws of a context, by path (`Field-0/Soil-0`, `Field-0/Soil-0/depth#m`, `Field-0`), and their timing.

    `only` restricts a draw to some of its choices; observations still have an entry for each of the other choices.
    """

    every: WhenDrawn = ContextPeriod(episodes=1)
    shown: StrictBool | list[str] = True
    only: dict[str, Annotated[list[str], Field(min_length=1)]] = {}
    forecast: ForecastSpec | None = None
    draws: dict[str, DrawSpec] = Field(min_length=1)


class OrderRule(Strict):
    """A rule for an expert or a job for a learner: an order, and when and where to give it.

    The other entries are the action's parameters. With `observe` instead of `do`, the rule requests an observation. At
    least `every#day` days pass before the order is repeated; 0 allows repeats on the same day.

    Attributes:
        when: condition, or a list in which at least one must be true; without it, the rule always applies. For an order
        on
            plots, the condition is checked on each plot.
        do: action, such as `Soil-0.watering_discrete`.
        observe: observation, such as `Plant-0.stage`.
        farmer: the farmer who carries it out; the first farmer by default.
        plot: a plot, or `each` plot on which the condition is true, or the same plots in descending (`most`) or
        ascending (`least`) order of a variable.
    """

    model_config = ConfigDict(extra="allow")

    when: AnyOf = []
    do: str | None = None
    observe: str | None = None
    farmer: str | None = None
    plot: Plots = None
    every: StrictInt = Field(alias="every#day", default=1, ge=0, le=int(INT32.max))

    _one = require_one_of("do", "observe")

    @property
    def amounts(self) -> dict[str, Any]:
        """The action's parameters, without its plot."""
        return self.model_extra or {}


class FarmSpec(Strict):
    """A whole farm."""

    doc: str = ""
    hard: Hard = ""
    tags: list[str] = []
    history: History = {}
    presets: dict[str, dict[str, dict[str, Any]]] = Field(
        {}, description="short keywords of make and what each value sets, `soil: {sand: {entities: {Soil-0: sand}}}`"
    )
    fields: dict[str, FieldSpec] = Field(min_length=1)
    farmers: list[FarmerSpec] = Field(default=[FarmerSpec()], min_length=1)
    rules: RulesSpec = RulesSpec.model_validate({})
    scoring: ScoreSpec = ScoreSpec.model_validate({})
    context: ContextSpec | None = None
    mode: Literal["fo", "po", "ao"] = Field(
        default="po",
        description="po: a step is a day; fo: as po, with all variables observed; ao: two steps a day, observe and act",
    )
    expert: list[OrderRule] = []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a farm file, for editors; no entry is required, since a file may extend another."""
    schema = FarmSpec.model_json_schema(by_alias=True)
    parent = {"type": "string", "description": "a farm file in the same folder, or an id, that this one changes"}
    schema["properties"]["extends"] = parent
    for part in (schema, schema["$defs"]["FieldSpec"]):
        del part["required"]
    return schema


def farm_spec(data: Any, where: str) -> FarmSpec:
    """Validate a mapping strictly and return the farm that it describes."""
    given = data if isinstance(data, dict) else {}
    if "entities" in given:
        hint = "fields > Field-0 > entities, or make(FILE, entities={...})"
        raise mismatch(f"{where} > entities", "no such entry", "one", hint)
    for name in given.keys() - FarmSpec.model_fields.keys():
        if isinstance(given.get("presets"), dict) and name in given["presets"]:
            raise mismatch(f"{where} > {name}", "no such entry", "one", f"make(FILE, {name}={given[name]!r})")
    spec = validate(FarmSpec, data, where)
    for i, name in enumerate(spec.fields):
        if name.casefold() != f"field-{i}":
            expected = f"'Field-{i}' (fields are numbered in order)"
            raise mismatch(f"{where} > fields", expected, repr(name), "a comment for a name of your own")
    return spec.model_copy(update={"fields": {f"Field-{i}": f for i, f in enumerate(spec.fields.values())}})
