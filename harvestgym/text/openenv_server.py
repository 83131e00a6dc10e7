"""An OpenEnv server of text games, for training language models; needs the extra `openenv`.

A task is an id with a seed of the training or the test split. A client selects it with `reset(split=..., index=...)`,
or plays any other game with `reset(seed=..., id=..., split=...)`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from harvestgym.core.errors import check_extras

from .sessions import SIDES, Games

check_extras("harvestgym.text.openenv_server", openenv="openenv")

from openenv.core.env_server import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    Action,
    ConcurrencyConfig,
    Environment,
    Observation,
    State,
    create_app,
)

NAME = "harvestgym"

TASKS_PER_ID = 100
"""Number of tasks of an id in a split, each with its own seed."""


class TextAction(Action):
    """A message: orders, one per line; the line `done` ends the day, year or step."""

    text: str | float | bool | None


class TextObservation(Observation):
    """The answer to a message; `metadata` has the `info` of `Reply` and, at the end, the `score` (`Games.score`)."""

    text: str


class TextEnvironment(Environment):
    """A client's place on the server, with at most one game."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, games: Games) -> None:
        super().__init__()
        self._games, self._key, self._state = games, "", State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **which: Any) -> TextObservation:
        """Start the game of a task (`split`, `index`; with `id`, a season of the id), or of an id, split and seed."""
        split = which.get("split", SIDES[0])
        if "index" in which and "id" not in which:
            task = self.get_task(split, which["index"])
        else:
            task = {"id": which.get("id", self._games.ids[0]), "split": split, "seed": which.get("index", seed or 0)}
        key, text = self._games.start(task["id"], task["seed"], task["split"])
        self.close()
        self._key, self._state = key, State(episode_id=episode_id, step_count=0)
        return TextObservation(text=text, done=False, reward=0.0, metadata=task)

    def step(self, action: TextAction, timeout_s: float | None = None, **ignored: Any) -> TextObservation:
        """Send a message."""
        reply = self._games.send(self._key, action.text)
        self._state.step_count += 1
        info = reply.info | ({"score": self._games.score(self._key)["score"]} if reply.done else {})
        return TextObservation(text=reply.text, done=reply.done, reward=reply.reward, metadata=info)

    @property
    def state(self) -> State:
        """The number of messages so far."""
        return self._state

    def close(self) -> None:
        """End the game."""
        self._games.end(self._key)

    # Tasks.

    def list_splits(self) -> list[str]:
        """List the splits."""
        return list(SIDES)

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split."""
        if split not in SIDES:
            raise IndexError(f"split: expected one of {', '.join(SIDES)}, got {split!r}")
        return len(self._games.ids) * TASKS_PER_ID

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return the id, the split and the seed of a task; the ids take turns."""
        last = self.num_tasks(split) - 1
        if not isinstance(index, int) or not 0 <= index <= last:
            raise IndexError(f"index: expected an integer from 0 to {last}, got {index!r}")
        seed, number = divmod(index, len(self._games.ids))
        return {"id": self._games.ids[number], "split": split, "seed": seed}

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the tasks of a range."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))[start:stop]]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """List the tasks of a split."""
        return self.get_task_range(split)


def make_app(games: Games) -> Any:
    """Make the ASGI application."""
    limits = ConcurrencyConfig(max_concurrent_envs=games.limits.games, session_timeout=games.limits.idle)
    make = partial(TextEnvironment, games)
    return create_app(make, TextAction, TextObservation, env_name=NAME, concurrency_config=limits)


def serve_openenv(games: Games, port: int, host: str = "127.0.0.1") -> None:
    """Serve games at `http://HOST:PORT` until the process ends."""
    import uvicorn  # pyright: ignore[reportMissingImports]

    uvicorn.run(make_app(games), host=host, port=port, log_level="warning")
