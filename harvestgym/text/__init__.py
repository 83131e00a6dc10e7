"""Environments played with text: orders in plain English, for language models and people.

`TextGame(id)` has `reset(seed)`, which returns text, and `step(message)`, which returns a `Reply`: text, reward, done
and info.
"""

from .game import Reply, TextGame
from .tasks import TASKS, TextTask

__all__ = ["TASKS", "Reply", "TextGame", "TextTask"]
