"""A game in text: messages of orders in, what happened and what is known out; for language models and people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from harvestgym.core.errors import ConfigError, require
from harvestgym.core.view.tables import round_number
from harvestgym.core.view.timeline import ChatMessage
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.session import Session
from harvestgym.play.start_session import FishingSession, ForagerSession, start_session

from .farm_text import FarmText
from .fishery_text import FisheryText
from .forager_text import ForagerText
from .phrases import find_nearest, is_like, list_lines, split_phrase
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
LONGEST_SLIP = 8
"""Maximum number of words of a line that is taken for an order with a wrong beginning; longer lines are prose."""


class Reply(NamedTuple):
    """The answer to a message, like the result of a Gymnasium step.

    Attributes:
        text: what happened, and what is known now.
        reward: the sum of the rewards of the steps that passed.
        done: whether the episode has ended.
        info: the step, the return so far, the steps that passed, the orders that are queued and the lines that were
            not understood.
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
        self.messages: list[str] = []
        """The messages of this episode; with the seed, they reproduce it."""

    def again(self, seed: int) -> TextGame:
        """Return another game of the same environment, which shares its compiled programs."""
        return TextGame(self.id, session=self.session.again(seed))

    def reset(self, seed: int | None = None) -> str:
        """Start the episode of a seed, by default again that of before; return the rules and the first observation."""
        self._start(self.session.again(self.session.seed if seed is None else seed))
        return f"{self.rules()}\n\n{self.view.describe()}"

    def rules(self) -> str:
        """Return the goal, and the orders and commands with what they do."""
        orders = [f"  {form}: {_first_sentence(what)}" for form, what in self.view.list_orders()]
        waits = self.view.waits
        named = {"unit": self.view.unit, "limit": self.view.example_limit}
        commands = [f"  {name}: {what}".format(**named) for name, what in COMMANDS.items()
                    if waits or not name.startswith("wait")]  # fmt: skip
        goal = [f"  {line[:1].upper()}{line[1:]}" for line in self.view.list_goals()]
        lines = [f"Game {self.id}. Goal:", *goal, "Orders, one a line:", *orders, *self.view.list_hints()]
        return "\n".join([*lines, "Commands:", *commands])

    def step(self, message: str) -> Reply:
        """Read a message line by line; return what it did."""
        if self.session.over:
            return self._reply(["The episode has ended."], 0.0, 0, [])
        self.messages.append(message)
        said, mistakes, before, points = list[str](), list[str](), self.session.steps, self.session.total
        read = False
        for line in list_lines(message):
            word = line.split()[0].lower().rstrip(":")
            if not self._is_order(word, line) and not self._resembles_order(line):
                continue
            read = True
            if mistakes and word in PASSING:
                unit = self.view.unit
                said.append(f"The {unit} has not ended because of the mistake. Correct it, or send only {word}.")
                break
            try:
                text = self._follow(word, line)
            except ConfigError as error:
                text = f"Not done: {error}"
                mistakes.append(line)
            said += [text] if text else []
            if self.session.over:
                break
        if not read:
            mistakes.append(message[:80])
            examples = self.view.list_examples()
            said.append(f"Not understood{find_nearest(message[:80], examples) or f'; try: {examples[0]}, or help'}.")
        return self._reply(said, self.session.total - points, self.session.steps - before, mistakes)

    def _is_order(self, word: str, line: str) -> bool:
        words = {*(name.split()[0] for name in COMMANDS), "observe", *self.view.first_words}
        return word in words or is_like(word, words) or self.view.reads(line)

    def _resembles_order(self, line: str) -> bool:
        """Return whether a short line has the number and the first word of an order, but does not begin with it."""
        phrase = split_phrase(line)
        known = {*self.view.first_words, *PASSING}
        return len(line.split()) <= LONGEST_SLIP and bool(phrase.amounts and known & {*phrase.words})

    def _follow(self, word: str, line: str) -> str:
        """Do what a line says; return what to answer."""
        require(self._is_order(word, line), repr(line), "an order or a command first in the line", repr(word))
        rest = line[len(word) :].strip(" :")
        match word:
            case "done":
                return self._pass(Wait(1))
            case "wait":
                if not self.view.waits:
                    raise ConfigError("wait: expected an order, because nothing happens without one; try: done")
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

    def _reply(self, said: list[str], reward: float, passed: int, mistakes: list[str]) -> Reply:
        over, queued = self.session.over, self.view.list_queued()
        parts = said if mistakes or not passed else [line for line in said if not line.startswith(QUEUED)]
        if over and passed:
            lessons = (f"- {line}" for line in self.session.lessons)
            parts += [f"The episode has ended with {self.session.total:.4g} points.", *lessons]
        elif passed:
            change = f" Change {reward:+.3g}." if reward else ""
            parts.append(self.view.describe() + change)
        elif queued and not over:
            unit = self.view.unit
            parts.append(f"Queued for this {unit}: {', '.join(queued)}. Send done to end the {unit}.")
        info = {
            "step": self.session.time, "return": round(self.session.total, 6), "passed": passed,
            "queued": queued, "mistakes": mistakes,
        }  # fmt: skip
        return Reply("\n".join(parts), round_number(reward), over, info)

    def to_json(self) -> dict[str, Any]:
        """Return what the player knows, as JSON values."""
        state = {"step": self.session.time, "points": round(self.session.total, 6), "over": self.session.over}
        orders = {"queued": self.view.list_queued()}
        return {"id": self.id, "unit": self.view.unit} | state | orders | {"known": self.view.list_facts()}

    def write_page(self, path: str | Path) -> None:
        """Write the episode so far with all messages as an HTML page; needs the extra `plot`."""
        self.session.replay(Path(path), self.list_transcript())

    def list_transcript(self) -> list[ChatMessage]:
        """Return the messages and the answers; for the answers, the episode is played again."""
        game = self.again(self.session.seed)
        said = [ChatMessage(0, GAME, game.reset(self.session.seed))]
        for message in self.messages:
            said.append(ChatMessage(game.session.steps, PLAYER, message))
            text = game.step(message).text
            said.append(ChatMessage(game.session.steps, GAME, text))
        return said

    def replay(self, seed: int, messages: list[str]) -> TextGame:
        """Return a game in which messages were sent; the same seed and messages give the same episode."""
        game = self.again(seed)
        for message in messages:
            game.step(message)
        return game


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
