"""Many text games in one server: games by key, limits on their number, length and idle time, saving and restoring."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, main_thread
from typing import Any, NamedTuple

from harvestgym import registry
from harvestgym.core.errors import MAX_SEED, ConfigError, check_name, mismatch, require
from harvestgym.evaluate import splits
from harvestgym.evaluate.score import scale_on
from harvestgym.play.start_session import start_session

from .game import Reply, TextGame

SIDES = ("train", "test")
"""The splits that the servers offer."""

PLAIN_SEEDS = range(2**31)
"""The seeds without a split; the others belong to the test split, whose seasons are selected by number."""

SAVED = {"id": str, "overrides": dict, "seed": int, "messages": list}
"""The keys of a saved game and their types."""


class Limits(NamedTuple):
    """Limits of a server.

    Attributes:
        games: games at the same time.
        idle: seconds after which an unused game may be removed.
        message: characters of a message.
        game: characters of all messages of a game.
    """

    games: int = 200
    idle: float = 600.0
    message: int = 10_000
    game: int = 1_000_000


@dataclass
class _Place:
    """A game on the server; `used` is the time of its last request."""

    game: TextGame
    used: float
    lock: Lock = field(default_factory=Lock)


class Games:
    """Text games for many clients, each with an unguessable key.

    Each environment is made and compiled once: by `prepare`, or for its first game. Every method raises ConfigError for
    a request that cannot be answered, and then changes nothing.

    Args:
        ids: registered ids or farm files that clients may play.
        sides: the splits that clients may play (`evaluate.splits`); an empty name means the id as registered.
        limits: limits of the server.
        clock: the time in seconds.
    """

    def __init__(
        self,
        ids: Sequence[str],
        sides: Sequence[str] = ("",),
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ids, self.sides = tuple(dict.fromkeys(ids)), tuple(sides)
        self.limits, self._clock = limits or Limits(), clock
        require(self.ids, "ids", "at least one id", "none", "farm/bean-1x1-v0")
        self._made: dict[str, dict[str, TextGame]] = {}
        """The compiled game of each id and split."""
        self._making = {registry.spec(id).id: Lock() for id in self.ids}
        self._places: dict[str, _Place] = {}
        self._lock = Lock()

    def prepare(self, say: Callable[[str], None] = lambda line: None) -> None:
        """Make and compile all environments, in any thread, until the process ends; `say` receives the progress."""
        for id in self.ids:
            if not main_thread().is_alive():
                return
            say(f"preparing {id}")
            try:
                self._find_made(id)
            except ConfigError as error:
                say(f"{id} cannot be played: {error}")
        say("all environments are ready")

    def _find_made(self, id: str) -> dict[str, TextGame]:
        """Return the compiled game of each split of an id; the first request for an id compiles, and others wait."""
        with self._making[id]:
            if id not in self._made:
                self._made[id] = {side: _compile(id, side) for side in self.sides}
            return self._made[id]

    def __len__(self) -> int:
        return len(self._places)

    def list_seeds(self, id: str, side: str) -> range:
        """Return the seeds of a split of an id."""
        check_name("id", id, self.ids)
        check_name("split", side, self.sides)
        return splits.split(id, side).seeds if side else PLAIN_SEEDS

    def start(self, id: str, seed: int = 0, side: str = "") -> tuple[str, str]:
        """Start a game; return its key, and the rules with the first observation. Seeds of a split count from 0."""
        side = side or self.sides[0]
        seeds = self.list_seeds(id, side)
        hint = "" if side else "the split 'test', to which the seeds from 2^31 belong; its seasons count from 0"
        valid = type(seed) is int and 0 <= seed < len(seeds)
        require(valid, "seed", f"an integer from 0 to {len(seeds) - 1}", repr(seed), hint)
        game = TextGame(id, session=self._find_made(id)[side].session)
        text = game.reset(seeds[seed])
        return self._add(game), text

    def send(self, key: str, message: Any) -> Reply:
        """Send a message to a game; a number or another JSON scalar counts as its text."""
        require(isinstance(message, str | int | float | None), "message", "text or a number", type(message).__name__)
        text, limits = message if isinstance(message, str) else json.dumps(message), self.limits
        with self._open(key) as game:
            require(len(text) <= limits.message, "message", f"at most {limits.message} characters", len(text))
            total = sum(map(len, game.messages)) + len(text)
            require(total <= limits.game, "game", f"at most {limits.game} characters in all", "more", "a new game")
            return game.step(text)

    def look(self, key: str) -> str:
        """Return all that the player of a game knows."""
        with self._open(key) as game:
            return game.view.look()

    def score(self, key: str) -> dict[str, Any]:
        """Return the step, the return so far, whether the episode has ended, and the score.

        The score of a finished episode is 0 for doing nothing and 1 for the best known policy; it is None for an id
        without reference points.
        """
        with self._open(key) as game:
            session, scaled = game.session, None
            with suppress(ConfigError):
                scaled = scale_on(session.id, session.total) if session.over else None
            score = None if scaled is None else round(scaled, 4)
            return {"step": session.time, "return": round(session.total, 6), "done": session.over, "score": score}

    def end(self, key: str) -> None:
        """Remove a game."""
        with self._lock:
            self._places.pop(key, None)

    # Saving.

    def save(self, key: str) -> str:
        """Return a game as JSON text: its id, overrides, seed and messages."""
        with self._open(key) as game:
            values = game.session.id, dict(game.session.overrides), game.session.seed, game.messages
            return json.dumps(dict(zip(SAVED, values, strict=True)))

    def load(self, text: str) -> str:
        """Continue a saved game by sending its messages again; return its new key. Only served ids are accepted."""
        id, overrides, seed, messages = _read_saved(text)
        made = self._find_made(id).values() if id in self.ids else ()
        served = [game for game in made if game.session.overrides == overrides]
        require(served, "saved game", f"one of {', '.join(self.ids)}", f"{id!r} with other settings")
        lengths, limits = [len(message) for message in messages], self.limits
        short = max(lengths, default=0) <= limits.message and sum(lengths) <= limits.game
        require(short, "saved game", f"at most {limits.game} characters of messages", "more")
        return self._add(served[0].replay(seed, messages))

    # Places.

    @contextmanager
    def _open(self, key: str) -> Iterator[TextGame]:
        """Give a game to one request at a time; ConfigError if there is none with this key."""
        with self._lock:
            require(key in self._places, "game", "the key of a running game", "another text", "a new game")
            place = self._places[key]
            place.used = self._clock()
        with place.lock:
            yield place.game

    def _add(self, game: TextGame) -> str:
        """Remove the games that were not used for too long, and add a game; ConfigError if there is no room for it."""
        with self._lock:
            now = self._clock()
            for key in [key for key, place in self._places.items() if now - place.used > self.limits.idle]:
                del self._places[key]
            most = self.limits.games
            require(len(self._places) < most, "games", f"at most {most} at once", "one more", "later")
            key = secrets.token_urlsafe(16)
            self._places[key] = _Place(game, now)
            return key


def _compile(id: str, side: str) -> TextGame:
    """Return the game of an id and a split with all its programs compiled."""
    overrides = splits.split(id, side).overrides if side else {}
    game = TextGame(id, session=start_session(id, overrides=overrides))
    game.session.rehearse()
    game.again(0).step(f"{game.view.list_examples()[0]}\ndone")
    return game


def _read_saved(text: str) -> tuple[str, dict[str, Any], int, list[str]]:
    """Read the text of a saved game; ConfigError if it is not one."""
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError):
        saved = None
    if not isinstance(saved, dict) or {name: type(value) for name, value in saved.items()} != SAVED:
        raise mismatch("saved game", f"JSON with {', '.join(SAVED)}", repr(text[:40]))
    id, overrides, seed, messages = (saved[name] for name in SAVED)
    if not 0 <= seed <= MAX_SEED or not all(isinstance(message, str) for message in messages):
        raise mismatch("saved game", f"a seed up to {MAX_SEED} and messages in text", "other values")
    return id, overrides, seed, messages
