"""Sessions for fisheries and foragers, and `start_session` for all families."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from harvestgym import registry
from harvestgym.core.config import merge
from harvestgym.core.errors import check_name, mismatch, require
from harvestgym.core.view.timeline import Record
from harvestgym.sweep.grid import nest_path

from .farm_session import FarmSession
from .session import Session

MOVE_NAMES = {"ArrowUp": "north", "ArrowRight": "east", "ArrowDown": "south", "ArrowLeft": "west"}
"""The arrow keys, in the order of the actions, and their directions."""

MOST_STEPS = 10_000
"""Maximum number of steps in an episode that has no other end."""


class FishingSession(Session):
    """A session for a fishery or a protected stock, one decision per year."""

    unit = "year"

    @property
    def rivals(self) -> list[str]:
        """The rivals of other sessions, with the optimum only if it is the expert, because it needs exact surveys."""
        available = registry.family_function(self.id, "policies")(self.env)
        exact = available.get("expert") is available.get("sdp")
        return [name for name in super().rivals if exact or name != "sdp-finite"]

    @property
    def survey(self) -> np.ndarray:
        """The biomass observed at the start of the year."""
        return np.asarray(self.env.units.survey(np.asarray(self.obs)))

    @property
    def protects(self) -> bool:
        """Return whether nothing is caught and the stock itself has a value."""
        return hasattr(self.env.params, "benefit")

    @property
    def allows_catch(self) -> bool:
        """Return whether the user sets a catch, in units of the stock."""
        return not self.protects and self.env.units.control == "quota"

    @property
    def drives(self) -> bool:
        """Return whether an action reduces the pressure on the stock."""
        return hasattr(self.env, "push_driver")

    @property
    def question(self) -> str:
        """The question that the user answers each year."""
        if self.drives:
            return "Effort to reduce the pressure on the stock"
        if self.protects:
            return "Biomass to add"
        return "Share of the stock to catch" if self.env.units.control == "rate" else "Quota: catch to allow"

    @property
    def beliefs(self) -> Record | None:
        """The record with the observed stocks; None if surveys do not distinguish the stocks."""
        record = self.record
        observed = record["seen"].reshape(len(record["reward"]), -1)
        if observed.shape != record["stock"].shape:
            return None
        return {**record, "stock": observed, "biomass": observed.sum(1)}

    @cached_property
    def choices(self) -> np.ndarray:
        """The possible values for a target: the levels, or 201 steps up to the largest value."""
        return np.linspace(0.0, self.env.units.highest, self.env.units.levels or 201)

    def fish(self, amounts: list[float]) -> float:
        """Make the decision for the year, in units of biomass or as fractions, and end the year; return its reward."""
        high, targets = float(self.choices[-1]), self.env.units.targets
        possible = len(amounts) == targets and all(0.0 <= a <= high * (1 + 1e-6) for a in amounts)
        require(possible, "quota", f"{targets} numbers from 0 to {high:g}", amounts)
        return self.act(np.asarray(self.env.units.action(np.asarray(amounts, np.float32))))


class ForagerSession(Session):
    """A session for a forager, step by step."""

    @property
    def idle(self) -> None:
        """None, because a forager always moves."""
        return None

    @property
    def longest(self) -> int:
        return min(super().longest, MOST_STEPS)

    @property
    def limit(self) -> int:
        """The maximum number of steps for a rival; in an endless episode, the number of steps taken so far."""
        return self.steps

    def go(self, direction: str) -> float:
        """Move north, east, south or west; return the reward."""
        check_name("direction", direction, MOVE_NAMES.values())
        require(self.steps < self.longest, "episode", f"at most {self.longest} steps", "more", "a new episode")
        return self.act(list(MOVE_NAMES.values()).index(direction))


SESSIONS: dict[str, type[Session]] = {"farm": FarmSession, "fishing": FishingSession, "forager": ForagerSession}
HORIZONS = {"farm": "rules/horizon#day", "fishing": "Tmax", "forager": "horizon"}
"""The path of the override that limits an episode to a number of days, years or steps, by family."""


def start_session(
    id: str, seed: int = 0, horizon: int | None = None, overrides: Mapping[str, Any] = MappingProxyType({})
) -> Session:
    """Start an episode of an id or a farm file; raise ConfigError if it cannot be played.

    `overrides` are keyword arguments of `harvestgym.make`, such as those of a split.
    """
    package, family, *_ = *registry.spec(id).entry_point.partition(":")[0].split("."), ""
    if package != "harvestgym" or family not in SESSIONS:
        raise mismatch(id, f"an id of {', '.join(SESSIONS)}", f"one made by {package}.{family}")
    used = merge(overrides, {} if horizon is None else nest_path(HORIZONS[family], horizon))
    return SESSIONS[family](id, registry.make(id, **used), seed, used)
