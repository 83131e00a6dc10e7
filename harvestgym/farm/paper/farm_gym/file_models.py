"""The schema of Farm-Gym's files. Entries that it does not name have no counterpart here."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from harvestgym.farm.engine.actions import BINS
from harvestgym.farm.schema import Localization, Number, Shape
from harvestgym.farm.spelling import ValueSpec

_T = TypeVar("_T")
_Filled = BeforeValidator(lambda given: {} if given is None else given)
ByName = Annotated[dict[str, _T], _Filled]
ByEntity = ByName[ByName[ByName[_T]]]
"""A tree `field: entity: name: value`; empty entries are empty mappings."""

Ending = Annotated[str, Field(pattern=r"^[^/\\]+$")]
"""The suffix of the name of a file next to the farm file."""


class Part(BaseModel):
    """A part of a file; its `model_extra` has the entries that the schema does not name."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class FieldPart(Part):
    """A field; each entity is a mapping such as `{Soil: clay}`."""

    localization: Localization
    shape: Shape
    entities: list[Annotated[dict[str, str], Field(min_length=1, max_length=1)]] = Field(min_length=1)


class FarmerLimits(Part):
    """The daily limits of a farmer."""

    max_daily_interventions: Any
    max_daily_observations: Any


class FarmerPart(Part):
    """A farmer."""

    type: Literal["basic"]
    parameters: FarmerLimits


class FarmFile(Part):
    """The farm file."""

    farm: dict[str, Any] = Field(alias="Farm")
    actions: Ending
    score: Ending
    initialization: Ending
    interaction_mode: Literal["POMDP", "AOMDP"]
    day_path: Any = None


class EndCondition(Part):
    """A condition that ends the episode."""

    state_variable: tuple[str, str, str, Any]
    function: Literal["value", "sum", "mean"]
    operator: Literal["==", "!=", "<=", ">=", "<", ">", "in", "not in", "ni", "not ni"]
    ref_value: Any


class StartFile(Part):
    """The start and the end of an episode."""

    initial: ByEntity[Any] = Field(alias="Initial")
    terminal: list[list[EndCondition]] = Field(alias="Terminal")


class ActionParams(Part):
    """The numeric parameters in the actions file."""

    max_action_schedule_size: Any
    bins: Any = Field(BINS, alias="number_of_bins_to_discretize_continuous_actions")


class ActionsFile(Part):
    """The observations and the interventions of each farmer."""

    params: ActionParams
    observations: dict[str, ByEntity[Any]]
    interventions: dict[str, ByEntity[ByName[ValueSpec]]]


class ScoreFile(Part):
    """The costs, and the weights of the rewards on each day and at the end."""

    observation_cost: ByEntity[Any] = Field({}, alias="observation-cost")
    intervention_cost: ByEntity[Any] = Field({}, alias="intervention-cost")
    daily: ByName[Number] = Field({}, alias="reward-mix")
    final: ByName[Number] = Field({}, alias="final-reward-mix")
