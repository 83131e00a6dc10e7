"""A forager episode played by a user: steps in four directions, and their rewards."""

from __future__ import annotations

from harvestgym.core.errors import ConfigError, check_name

from .session import Session

MOVE_NAMES = {"ArrowUp": "north", "ArrowRight": "east", "ArrowDown": "south", "ArrowLeft": "west"}
"""The arrow keys in the order of the actions, and their directions."""

MOST_STEPS = 10_000
"""Steps of an episode that has no other end."""


class ForagerSession(Session):
    """An episode, step by step."""

    @property
    def goal(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The goal of the game: how the score is computed, and when an episode ends."""
        ends = f"The episode has {self.longest} steps."
        if self.longest == MOST_STEPS:
            ends = "The episode has no end: stop when you like. The rivals then play as many steps as you did."
        return (
            "Walk, and find out what gives a reward: the score is the sum of the rewards of all steps.",
            "Things that look different give different rewards, some negative. Collected things may grow back.",
            ends,
        )

    @property
    def idle(self) -> None:
        """A forager always moves."""
        return None

    @property
    def longest(self) -> int:
        return min(super().longest, MOST_STEPS)

    @property
    def limit(self) -> int:
        """An episode may have no end: a rival gets the steps done so far."""
        return self.steps

    def go(self, direction: str) -> float:
        """Step north, east, south or west; return the reward."""
        check_name("direction", direction, MOVE_NAMES.values())
        if self.steps >= self.longest:
            raise ConfigError(f"episode: expected at most {self.longest} steps by hand, got more; try a new episode")
        return self.act(list(MOVE_NAMES.values()).index(direction))
