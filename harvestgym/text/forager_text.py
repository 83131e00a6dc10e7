"""A forager in text: what is in view, relative to the walker, and moves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from harvestgym.core.errors import ConfigError, require
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES
from harvestgym.play.start_session import MOVE_NAMES, ForagerSession

from .phrases import split_phrase
from .view import TextView

MOST_MOVES = 100
"""Maximum number of moves that can be queued."""

MOST_SEEN = 30
"""Maximum number of objects that are described, the nearest first."""


class ForagerText(TextView):
    """The steps of a forager in words."""

    waits = False
    first_words = frozenset((*MOVE_NAMES.values(), "go", "move", "walk"))
    session: ForagerSession

    def __init__(self, session: ForagerSession) -> None:
        super().__init__(session)
        self.moves: list[str] = []
        self.gained: list[tuple[str, float]] = []

    def list_orders(self) -> list[tuple[str, str]]:
        return [(f"{name} [N]", f"goes one step, or N steps, {name}") for name in MOVE_NAMES.values()]

    def list_examples(self) -> list[str]:
        return list(MOVE_NAMES.values())

    def queue(self, line: str) -> list[str]:
        phrase = split_phrase(re.sub(r"\bsteps?\b", "", line))
        words = [word for word in phrase.words if word not in ("go", "move", "walk", "to", "the")]
        count = phrase.amounts[0].number if phrase.amounts else 1.0
        fits = len(words) == 1 and words[0] in MOVE_NAMES.values() and len(phrase.amounts) <= 1
        if not fits or count < 1 or count % 1:
            raise ConfigError(f"{line!r}: expected {', '.join(MOVE_NAMES.values())}, and a number; try: north 3")
        total = len(self.moves) + count
        require(total <= MOST_MOVES, repr(line), f"at most {MOST_MOVES} moves", f"{total:g}; try: done")
        self.moves += [words[0]] * int(count)
        return [f"{words[0]} {count:g}"]

    def list_queued(self) -> list[str]:
        return list(self.moves)

    def clear(self) -> None:
        self.moves.clear()

    def finish(self) -> None:
        require(self.moves, "done", "a move, because a forager always moves", "none", "north, then done")
        self.gained = []
        while self.moves and not self.session.over:
            direction = self.moves.pop(0)
            reward = self.session.go(direction)
            self.gained += [(direction, reward)] if reward else []
        self.moves.clear()

    def list_news(self, since: int) -> list[str]:
        return [f"going {direction}: {reward:+.3g}" for direction, reward in self.gained]

    def list_facts(self) -> dict[str, object]:
        return {"in view": [{"what": what, "east": x, "north": y} for what, x, y in self._list_objects()]}

    def _list_objects(self) -> Iterator[tuple[str, int, int]]:
        """Yield each object in the observation with its distance east and north, the nearest first."""
        env, seen = self.session.env, np.asarray(self.session.obs)
        names = name_channels(env)
        centre = np.asarray(seen.shape[:2]) // 2
        found = [(at - centre, names[channel]) for *at, channel in np.argwhere(seen).tolist() if channel < len(names)]
        ordered = sorted((int(np.abs(at).sum()), int(at[1]), -int(at[0]), name) for at, name in found)
        for _, east, north, name in ordered:
            yield name, east, north

    def describe(self) -> str:
        seen = list(self._list_objects())
        texts = [f"{name} {_say_place(east, north)}" for name, east, north in seen[:MOST_SEEN]]
        more = f" and {len(seen) - MOST_SEEN} more" if len(seen) > MOST_SEEN else ""
        step = f"Step {self.session.steps}" + f" of {self.session.longest}" * bool(self.session.longest)
        return f"{step}. In view: {', '.join(texts) or 'nothing'}{more}. Points {self.session.total:.4g}."


def name_channels(env: Forager) -> tuple[str, ...]:
    """Return the name of each channel of the observation."""
    shown = MODES[env.mode].has_channels and env.hint == (0, 0)
    require(shown, "text", "observations of objects without a hint", repr(env.mode), "another id")
    return (*env.world.names, "edge")


def _say_place(east: int, north: int) -> str:
    parts = [f"{abs(north)} {'north' if north > 0 else 'south'}"] * bool(north)
    parts += [f"{abs(east)} {'east' if east > 0 else 'west'}"] * bool(east)
    return " ".join(parts) or "here"
