"""A farm's structure: its parts, its spaces, and the form of its actions and observations.

All modes use the same model. Two of its parts are empty on most farms: `offered`, for requested observations (mode
"ao"), and `contexts`, for drawn parameters.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.loading import load_object
from harvestgym.farm.schema import FarmSpec

from .actions import ActionTable, Orders
from .contexts import ContextSampler
from .formula_compiler import Compiled
from .initial_values import InitialValue
from .name_table import NameTable
from .observation_requests import RequestTable
from .observations import ObservationPlan
from .state import FarmParams, FarmState
from .variables import FieldSlots, Variable


@dataclass(frozen=True, eq=False, repr=False)
class FarmStructure(Env[FarmState, FarmParams]):
    """The parts of a farm; farms of equal structure share one compiled program.

    An action is one integer, `schedule` integers, or `Orders`, and an observation is a flat vector. If `asks` is true,
    an action is `{"request": which items of `offered` to observe, "order": the intervention}`, and each half-step reads
    only its own entry. A request may also be `Requests`, the paper's list of observations; if no observation is
    offered, the entry is left out. An observation is then `{"values", "mask"}` over the free items and the offered
    items, and unobserved entries are 0 in both. The observed part of a context comes last and is free.

    Attributes:
        fields: the fields' names, kinds and shapes.
        actions: the action table.
        variables: every variable of every entity.
        plan: the items observed each day.
        starts: the variables that get an initial value.
        stops: the condition that ends an episode; None if there is none.
        schedule: the number of actions that an agent may request in a day; if it is 1, an action is one integer.
        tallies: the names of the amounts that the score can count.
        defaults: the default parameters (not part of the structure).
        spec: the content of the farm file (not part of the structure).
        asks: whether a day has two half-steps, one for observing and one for acting.
        offered: the items that can be requested.
        observers: which offered numbers each farmer can request; () if all farmers can request all of them.
        contexts: the parameters that are drawn, and how often.
        unread: a sentence about each message that nothing reads, and the module of the message.
    """

    family: ClassVar[str | None] = "harvestgym.farm.family"
    reset_options: ClassVar[tuple[str, ...]] = ("day", "year", "start")
    fields: tuple[FieldSlots, ...]
    actions: ActionTable
    variables: tuple[Variable, ...]
    plan: ObservationPlan
    starts: tuple[InitialValue, ...]
    stops: Compiled
    schedule: int
    tallies: tuple[str, ...]
    defaults: FarmParams
    spec: FarmSpec
    asks: bool = False
    offered: ObservationPlan = ObservationPlan(())
    observers: tuple[tuple[bool, ...], ...] = ()
    contexts: ContextSampler = ContextSampler()
    unread: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        parts = (getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("defaults", "spec"))
        object.__setattr__(self, "_structure", tuple(parts))
        object.__setattr__(self, "_hash", hash(self._structure))  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the fields, not the cached hash, because string hashes differ between processes."""
        return type(self), tuple(getattr(self, f.name) for f in dataclasses.fields(self))

    @property
    def summary(self) -> str:
        """The fields, the kinds of entities and the mode."""
        plots = ", ".join(" x ".join(map(str, field.shape)) for field in self.fields)
        kinds = dict.fromkeys(slot.kind.__name__ for field in self.fields for slot in field.slots)
        return f"{plots} plots, mode {self.spec.mode}, {textwrap.shorten(', '.join(kinds), 100, placeholder=' …')}"

    def recipe(self) -> dict[str, str]:
        """Return the farm file's text, for `core.saving`; raise ConfigError if a part exists only in Python code."""
        return {"text": load_object(f"{self.family}:write_farm")(self.spec)}

    @classmethod
    def from_recipe(cls, text: str) -> FarmStructure:
        """Build the farm from a farm file's text."""
        return load_object(f"{cls.family}:build_text")(text)

    def set_options(self, params: FarmParams, options: Mapping[str, Any]) -> tuple[FarmStructure, FarmParams]:
        """Return the farm and the parameters with which an episode starts, given options of `reset`."""
        return load_object(f"{self.family}:set_options")(self, params, options)

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        same = other is self
        return same or (isinstance(other, FarmStructure) and self._structure == other._structure)  # type: ignore[attr-defined]

    @property
    def params(self) -> FarmParams:
        return self.defaults

    @property
    def steps_per_day(self) -> int:
        """The number of steps in a day."""
        return 2 if self.asks else 1

    @property
    def step_unit(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The name of a step, in the plural."""
        return "half days" if self.asks else "days"

    @cached_property
    def full_plan(self) -> ObservationPlan:
        """The plan of everything that an observation can show: the free items, then the offered items."""
        return ObservationPlan((*self.plan.items, *self.offered.items))

    @cached_property
    def names(self) -> NameTable:
        """Every name on the farm, for look-up in any spelling."""
        return NameTable(self.actions.farmers, self.fields, self.variables)

    @cached_property
    def requests(self) -> RequestTable:
        """The observations that can be requested, in the form of the Farm-Gym paper."""
        return RequestTable(self.variables, self.offered, self.observers)

    @property
    def values_space(self) -> gymnasium.spaces.Box:
        """The space of an observation's numbers; in mode "ao" it includes 0, which represents unobserved values."""
        plan, (low, high) = self.full_plan.space, self.contexts.limits(self.defaults)
        if self.asks:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        return gymnasium.spaces.Box(np.append(plan.low, low), np.append(plan.high, high), dtype=np.float32)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        values = self.values_space
        mask = gymnasium.spaces.Box(0, 1, values.shape, np.float32)
        return gymnasium.spaces.Dict({"values": values, "mask": mask}) if self.asks else values

    def make_observation(self, values: Any, mask: Any) -> Any:
        """Build an observation from numbers and a mask of the observed numbers."""
        return {"values": values, "mask": mask} if self.asks else values

    def split_observation(self, obs: Any) -> tuple[Any, Any]:
        """Return the numbers of an observation and its mask, float32; the mask is all 1 if the farm has no requests."""
        return (obs["values"], obs["mask"]) if self.asks else (obs, jnp.ones_like(obs))

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        n, requests = self.actions.size, len(self.offered.items)
        several = gymnasium.spaces.MultiDiscrete(np.full(self.schedule, n))
        order = gymnasium.spaces.Discrete(n) if self.schedule == 1 else several
        action = self.make_action(gymnasium.spaces.MultiBinary(requests) if requests else None, order)
        return gymnasium.spaces.Dict(action) if self.asks else action

    def make_action(self, request: Any, order: Any) -> Any:
        """Build an action from what to observe and what to do."""
        if not self.asks:
            return order
        return {"order": order} | ({"request": request} if self.offered.items else {})

    def orders(self, action: Any) -> Orders:
        """Return the interventions in an action."""
        return self.actions.orders(action["order"] if self.asks else action)
