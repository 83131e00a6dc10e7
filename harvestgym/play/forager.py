"""A life in the hands of a forager: what is in view, a step, what it paid."""

from __future__ import annotations

from harvestgym.core.errors import ConfigError, check_name

from .session import Session

WAYS = {"ArrowUp": "north", "ArrowRight": "east", "ArrowDown": "south", "ArrowLeft": "west"}
"""The keys in the order of the actions, and where they lead."""

LONGEST = 10_000
"""Steps of a life by hand, where nothing else ends it."""


class ForagerSession(Session):
    """A life, step by step."""

    @property
    def idle(self) -> None:
        """A forager always goes somewhere."""
        return None

    @property
    def longest(self) -> int:
        return min(super().longest, LONGEST)

    @property
    def limit(self) -> int:
        """A life may have no end: a rival gets as many steps as were done by hand."""
        return self.steps

    def go(self, way: str) -> float:
        """A step north, east, south or west; what it paid."""
        check_name("way", way, WAYS.values())
        if self.steps >= self.longest:
            raise ConfigError(f"a life by hand has at most {self.longest} steps; begin a new one")
        return self.act(list(WAYS.values()).index(way))
