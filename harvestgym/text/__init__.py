"""Environments played with text: orders in plain English, for language models and people.

`TextGame(id)` has `reset(seed)`, which returns text, and `step(message)`, which returns a `Reply`: text, reward, done
and info. `TextCommons` is a game of several players, who may talk.
"""

from .commons import TextCommons
from .game import Reply, TextGame
from .tasks import COMMONS, TASKS, CommonsTask, TextTask

__all__ = ["COMMONS", "TASKS", "CommonsTask", "Reply", "TextCommons", "TextGame", "TextTask"]
