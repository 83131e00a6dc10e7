"""A text game for language models and people: the player sends orders and reads what happened and what is known."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

from harvestgym.core.errors import ConfigError, require
from harvestgym.core.view.tables import round_number, write_number
from harvestgym.core.view.timeline import ChatMessage
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.session import Session
from harvestgym.play.start_session import FishingSession, ForagerSession, start_session

from .farm_text import FarmText
from .fishery_text import FisheryText
from .forager_text import ForagerText
from .phrases import find_nearest, is_like, is_sentence, list_lines
from .view import TextView
from .wait import ANY_NEWS, UNLIMITED_WAIT, Wait, parse_wait

COMMANDS = {
    "done": "ends the {unit}, and carries out the orders",
    "wait N {unit}s until {limit} or any news": f"lets time pass; without N, at most {UNLIMITED_WAIT} {{unit}}s",
    "clear": "removes the orders of the {unit}",
    "look": "shows every known number",
    "help": "shows this list",
}
"""The commands of all games and what they do."""

QUEUED = "Queued:"
"""The start of an answer to orders; it is left out where they have been carried out."""

PLAYER, GAME = "player", "game"
"""The senders of messages."""

PASSING = ("done", "wait")
"""The commands that let time pass."""

VIEWS: dict[type[Session], Any] = {FarmSession: FarmText, FishingSession: FisheryText, ForagerSession: ForagerText}

MOST_LINES = 200
"""Maximum number of lines of a message that are read."""

LONGEST_LINE = 2_000
"""Maximum number of characters in an order, or in what a player says."""

SHORT_LINE = 6
"""Maximum number of words in a line that is taken for an order, unless it ends like a sentence."""

MOST_QUOTED = 200
"""Maximum number of characters in an answer's list of ignored lines."""


class Reply(NamedTuple):
    """The answer to a message, like the result of a Gymnasium step.

    Attributes:
        text: what happened, and what is known now.
        reward: the sum of the rewards of the steps that passed.
        done: whether the episode has ended.
        info: the step, the return so far, the steps that passed, the orders that are queued, the lines that were
            mistakes, and those that were ignored as prose.
    """

    text: str
    reward: float
    done: bool
    info: dict[str, Any]


class TextGame:
    """An episode of an id, played with messages.

    Only `done` and `wait` let time pass, so a mistake never costs a step: a line that is not understood changes nothing
    and is answered with the nearest valid order. The text contains only what the player has observed.

    Args:
        id: a registered id or the path of a farm file.
        horizon: the length of an episode in days, years or steps; by default as in the id.
        session: an episode to play instead of a new one; used by `again`.

    Example:
        >>> game = TextGame("farm/bean-1x1-v0")
        >>> print(game.reset(seed=3))
        >>> text, reward, done, info = game.step("water 20 L\\ndone")
    """

    def __init__(self, id: str, horizon: int | None = None, session: Session | None = None) -> None:
        self.id = id
        self._start(start_session(id, 0, horizon) if session is None else session)

    def _start(self, session: Session) -> None:
        self.session = session
        self.view: TextView = next(view for family, view in VIEWS.items() if isinstance(session, family))(session)
        self.said: list[ChatMessage] = []
        """The messages and the answers."""

    @property
    def messages(self) -> list[str]:
        """The messages of this episode; with the seed, they reproduce it."""
        return [one.text for one in self.said if one.sender == PLAYER]

    def again(self, seed: int) -> TextGame:
        """Return another game of the same environment, which shares its compiled programs."""
        return TextGame(self.id, session=self.session.again(seed))

    def reset(self, seed: int | None = None) -> str:
        """Start the episode of a seed, by default the same as before; return the rules and the first observation."""
        self._start(self.session.again(self.session.seed if seed is None else seed))
        return f"{self.rules()}\n\n{self.view.describe()}"

    def rules(self) -> str:
        """Return the goal, and the orders and commands with what they do."""
        said = ((form, " ".join(what.split()).partition(". ")[0]) for form, what in self.view.list_orders())
        orders = [f"  {form}: {first.rstrip('.')}" for form, first in said]
        waits = self.view.waits
        named = {"unit": self.view.unit, "limit": self.view.example_limit}
        commands = [f"  {name}: {what}".format(**named) for name, what in COMMANDS.items()
                    if waits or not name.startswith("wait")]  # fmt: skip
        goal = [f"  {line[:1].upper()}{line[1:]}" for line in self.view.list_goals()]
        lines = [f"Game {self.id}. Goal:", *goal, "Orders, one per line:", *orders, *self.view.list_hints()]
        return "\n".join([*lines, "Commands:", *commands])

    def step(self, message: str) -> Reply:
        """Read a message line by line; return what it did. TypeError for anything other than text."""
        if not isinstance(message, str):
            raise TypeError(f"step: expected a message in text, got {message!r}")
        if self.session.over:
            return self._reply(["The episode has ended."], 0.0, 0, {"mistakes": [], "ignored": []})
        self.said.append(ChatMessage(self.session.steps, PLAYER, message))
        said, mistakes, ignored = list[str](), list[str](), list[str]()
        notes = {"mistakes": mistakes, "ignored": ignored}
        before, points, lines = self.session.steps, self.session.total, list_lines(message)
        for line in lines[:MOST_LINES]:
            prose, line = len(line.split()) > SHORT_LINE or is_sentence(line), line.rstrip(".!\"'* ")
            word = line.split()[0].lower().rstrip(":")
            if prose and not self._is_order(word, line):
                ignored.append(line)
                continue
            if mistakes and word in PASSING:
                unit = self.view.unit
                said.append(f"The {unit} has not ended because of the mistake. Correct it, or send only {word}.")
                break
            try:
                text = self._follow(word, line)
            except ConfigError as error:
                text = f"Not done: {error}"
                mistakes.append(line)
            said += [text] if text and (word in PASSING or text not in said) else []
            if self.session.over:
                break
        if len(ignored) == len(lines):
            mistakes.append(message[:80])
            said.append(f"Not understood{self._suggest(message[:80])}.")
        elif ignored:
            said.append(shorten(f"Ignored: {', '.join(map(repr, ignored))}.", MOST_QUOTED, placeholder=" ..."))
        said += [f"Only the first {MOST_LINES} lines of the message were read."] * (len(lines) > MOST_LINES)
        reply = self._reply(said, self.session.total - points, self.session.steps - before, notes)
        self.said.append(ChatMessage(self.session.steps, GAME, reply.text))
        return reply

    def _suggest(self, text: str) -> str:
        examples = self.view.list_examples()
        return find_nearest(text, examples) or f"; try: {examples[0]}, or help"

    def _is_order(self, word: str, line: str) -> bool:
        words = {*(name.split()[0] for name in COMMANDS), "observe", *self.view.first_words}
        return word in words or is_like(word, words) or self.view.reads(line)

    def _follow(self, word: str, line: str) -> str:
        """Do what a line says; return what to answer."""
        require(len(line) <= LONGEST_LINE, repr(line[:40]), f"at most {LONGEST_LINE} characters", len(line))
        if not self._is_order(word, line):
            expected = "an order at the start of the line, or a sentence with a full stop"
            raise ConfigError(f"{line!r}: expected {expected}{self._suggest(line)}")
        rest = line[len(word) :].strip(" :")
        match word:
            case "done":
                longer = f", or wait N {self.view.unit}s for several" * self.view.waits
                require(
                    not any(map(str.isalnum, rest)), word, f"nothing else on the line{longer}", repr(rest[:40]), word
                )
                return self._pass(Wait(1))
            case "wait":
                require(self.view.waits, word, "an order, because nothing happens without one", word, "done")
                return self._pass(parse_wait(rest, self.view.unit, self.view.list_quantities()))
            case "look":
                return self.view.look()
            case "clear":
                self.view.clear()
                return "No orders are queued."
            case "help":
                return self.rules()
            case "observe":
                return self.view.observe(rest)
        queued = self.view.queue(line)
        return f"{QUEUED} {', '.join(queued)}."

    def _pass(self, wait: Wait) -> str:
        """Let steps pass; return the news."""
        since, reason = self.session.steps, ""
        for _ in range(wait.steps):
            self.view.finish()
            if wait.conditions:
                reason = wait.find_reason(self.view.list_quantities())
            if not reason and wait.news and self.view.list_news(since):
                reason = ANY_NEWS
            if self.session.over or reason:
                break
        lines = self.view.list_news(since)
        if (wait.conditions or wait.news) and not self.session.over:
            passed = self.session.steps - since
            time = f"{passed} {self.view.unit}{'s' * (passed > 1)}"
            lines.append(f"Stopped waiting after {time}: {reason or 'no condition holds'}")
        return "\n".join(f"- {line}" for line in lines)

    def _reply(self, said: list[str], reward: float, passed: int, notes: dict[str, list[str]]) -> Reply:
        over, queued = self.session.over, self.view.list_queued()
        parts = said if notes["mistakes"] or not passed else [line for line in said if not line.startswith(QUEUED)]
        if over and passed:
            lessons = (f"- {line}" for line in self.session.lessons)
            parts += [f"The episode has ended with {write_number(self.session.total)} points.", *lessons]
        elif passed:
            change = f" Change {'+' * (reward > 0)}{write_number(reward, 3)}." if reward else ""
            parts.append(self.view.describe() + change)
        elif queued and not over:
            unit = self.view.unit
            parts.append(f"Queued for this {unit}: {', '.join(queued)}. Send done to end the {unit}.")
        state = {"step": self.session.time, "return": round(self.session.total, 6), "passed": passed, "queued": queued}
        return Reply("\n".join(parts), round_number(reward), over, state | notes)

    def to_json(self) -> dict[str, Any]:
        """Return what the player knows, as JSON values."""
        state = {"step": self.session.time, "points": round(self.session.total, 6), "over": self.session.over}
        known = {"queued": self.view.list_queued(), "known": self.view.list_facts()}
        return {"id": self.id, "unit": self.view.unit} | state | known

    def write_page(self, path: str | Path) -> None:
        """Write the episode so far with all messages as an HTML page; needs the extra `plot`."""
        self.session.replay(Path(path), self.list_transcript())

    def list_transcript(self) -> list[ChatMessage]:
        """Return the rules with the first observation, the messages and the answers."""
        return [ChatMessage(0, GAME, self.again(self.session.seed).reset()), *self.said]

    def replay(self, seed: int, messages: list[str]) -> TextGame:
        """Return a game in which messages were sent; the same seed and messages give the same episode."""
        game = self.again(seed)
        for message in messages:
            game.step(message)
        return game
