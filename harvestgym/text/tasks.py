"""Twelve tasks for language models: games in which observing pays, held-out seasons, and a scale from 0 to 1."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from harvestgym.core.yaml_io import read_file
from harvestgym.evaluate import splits
from harvestgym.evaluate.score import scale_on
from harvestgym.play.start_session import start_session

from .commons import FISHERY, TextCommons
from .game import TextGame


class TextTask(NamedTuple):
    """A task: an id, played in the seasons of a split.

    Attributes:
        id: the registered id.
        tests: what a player must do well.

    Example:
        >>> task = TASKS[0]
        >>> game = task.start(season=0)  # the first held-out season; its text is game.reset()
        >>> task.scale(game.session.total)
    """

    id: str
    tests: str

    def start(self, season: int = 0, split: str = "test") -> TextGame:
        """Return the game of a season of the test or the training split."""
        side = splits.split(self.id, split)
        return TextGame(self.id, session=start_session(self.id, side.seed(season), overrides=side.overrides))

    def scale(self, total: float) -> float | None:
        """Return a return, or a mean of returns, on the scale from doing nothing, 0, to the best known policy, 1."""
        return scale_on(self.id, total)


class CommonsTask(NamedTuple):
    """A task for several players: five fleets that fish one stock, may talk, and are paid for their own catches.

    Attributes:
        tests: what the players must do well.

    Example:
        >>> game = COMMONS.start(season=0)
        >>> texts = game.reset()
    """

    tests: str = "restraint among fleets that could take more"

    def start(self, season: int = 0, split: str = "test") -> TextCommons:
        """Return the game of a season of the test or the training split."""
        game = TextCommons()
        game.reset(splits.split(FISHERY, split).seed(season))
        return game

    def scale(self, game: TextCommons) -> float:
        """Return the mean return of the fleets on the scale from no fishing, 0, to the social optimum, 1."""
        mean = game.session.total / len(game.env.agents)
        return (mean - game.nothing) / (game.optimum - game.nothing)


TASKS = tuple(TextTask(*item) for item in read_file(Path(__file__).with_name("tasks.yaml")).items())
"""The tasks of one player; in each, the best policy found that does not observe scores less than 0.8."""

COMMONS = CommonsTask()
"""The task of several players; the best constant quotas score less than 0.8, and the greedy equilibrium below 0."""
