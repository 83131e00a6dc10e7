"""Scales of actions and observations: [-1, 1], natural units, or levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import gymnasium
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from pydantic import AfterValidator, Field

from harvestgym.core.checks import Checked
from harvestgym.core.view.tables import write_number

Scale = Literal["symmetric", "natural"]
Control = Literal["quota", "rate"]


def _check_levels(levels: int) -> int:
    if levels == 1 or not 0 <= levels <= MAX_LEVELS:
        raise ValueError(f"expected 0 for a continuous action, or 2 to {MAX_LEVELS} choices")
    return levels


MAX_LEVELS = 100_000

LevelCount = Annotated[int, AfterValidator(_check_levels)]
"""Number of choices for a discrete action; with a single choice, the quota would always be 0."""


@dataclass(frozen=True)
class Units(Checked):
    """The scale of actions and observations, and the meaning of an action (quota or rate).

    Attributes:
        bound: biomass at the upper bound of actions and observations (2 K).
        targets: number of quotas to set.
        seen: number of observed values.
        scale: "symmetric" maps [0, bound] to [-1, 1]; "natural" keeps biomass (or the rate).
        control: "quota", a catch in biomass, at most `bound`; or "rate", a fraction of the stock, at most 1.
        levels: 0 for a continuous action, otherwise the number of choices, evenly spaced from 0 to half the bound
            (the carrying capacity) or to a rate of 1, both ends included.
        unit: the unit of biomass and catches, such as "t"; empty if unknown.
    """

    bound: Annotated[float, Field(gt=0)] = 2.0
    targets: Annotated[int, Field(ge=1)] = 1
    seen: Annotated[int, Field(ge=1)] = 1
    scale: Scale = "symmetric"
    control: Control = "quota"
    levels: LevelCount = 0
    unit: str = field(default="", compare=False)

    def say(self, amounts: ArrayLike, digits: int = 4) -> str:
        """Return amounts of biomass with their unit."""
        return " ".join([*(write_number(amount, digits) for amount in np.ravel(amounts)), self.unit]).rstrip()

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Action space: one level per target, or a box."""
        if self.levels:
            one = gymnasium.spaces.Discrete(self.levels)
            return one if self.targets == 1 else gymnasium.spaces.MultiDiscrete([self.levels] * self.targets)
        return self._box(self.targets, self._full)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Observation space, a box."""
        return self._box(self.seen, self.bound)

    def _box(self, size: int, high: float) -> gymnasium.spaces.Box:
        ends = (-1.0, 1.0) if self.scale == "symmetric" else (0.0, high)
        return gymnasium.spaces.Box(*ends, (size,), np.float32)

    @property
    def _full(self) -> float:
        return self.bound if self.control == "quota" else 1.0

    @property
    def highest(self) -> float:
        """The largest quota or rate that an action can request."""
        return self._full * self._top

    @property
    def _top(self) -> float:
        """The highest level or action, as a fraction of the full range."""
        return 0.5 if self.levels and self.control == "quota" else 1.0

    def wanted(self, action: Any) -> Array:
        """Return the quota or rate that an action requests, clipped to its range; NaN requests 0."""
        action = jnp.asarray(action, jnp.float32)
        if self.levels:
            share = jnp.atleast_1d(action) / (self.levels - 1) * self._top
        else:
            share = 0.5 * (action + 1) if self.scale == "symmetric" else action / self._full
        share = jnp.where(share > 0, jnp.minimum(share, self._top), 0.0)  # NaN is not > 0
        return share * self._full

    def action(self, wanted: Array) -> Array:
        """Return the action that requests a quota or rate (the inverse of `wanted`); with levels, the nearest level."""
        share = jnp.clip(wanted / self._full, 0.0, 1.0)
        if self.levels:
            level = jnp.round(jnp.minimum(share / self._top, 1.0) * (self.levels - 1)).astype(jnp.int32)
            return level[0] if self.targets == 1 else level
        return 2 * share - 1 if self.scale == "symmetric" else share * self._full

    def observation(self, survey: Array) -> Array:
        """Return the observation for a survey, clipped to [0, bound]; the stock itself may be larger."""
        seen = jnp.clip(survey, 0.0, self.bound)
        return 2 * seen / self.bound - 1 if self.scale == "symmetric" else seen

    def survey(self, observation: Array) -> Array:
        """Return the biomass that an observation represents (the inverse of `observation`)."""
        return 0.5 * (observation + 1) * self.bound if self.scale == "symmetric" else observation
