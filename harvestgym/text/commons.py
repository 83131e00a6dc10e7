"""A commons in text: fleets that fish one stock, each played with messages; they may talk to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.episode import seed_key
from harvestgym.core.errors import check_each_name, require
from harvestgym.core.policy import constant_policy
from harvestgym.core.random import key_for
from harvestgym.core.view.tables import round_number
from harvestgym.core.view.timeline import ChatMessage
from harvestgym.evaluate.export import RecordedEpisode
from harvestgym.evaluate.run import horizon, run_episodes
from harvestgym.fishing.analysis.commons import share_optimum
from harvestgym.fishing.family import make_commons, policies
from harvestgym.fishing.shared_stock import CommonsModel
from harvestgym.play.start_session import FishingSession

from .fishery_text import FisheryText
from .game import GAME, LONGEST_LINE, Reply, TextGame
from .phrases import TALK

FISHERY = "fishing/logistic-v0"
"""The id of the stock that the fleets share, whose seasons are held out."""

GAME_ID = "fishing/commons-v0"

SEASONS = 200
"""The number of seasons in which the return without fishing is measured."""


class FleetText(FisheryText):
    """A year as one fleet sees it: the stock, the catch of each fleet, and its own return."""

    first_words = FisheryText.first_words | {TALK}
    waits = False

    def __init__(self, session: FishingSession, fleet: int) -> None:
        super().__init__(session)
        self.units = replace(self.units, targets=1)
        self.fleet, self.amounts, self.own_total = fleet, self.amounts[:1], 0.0
        self.spoken: list[str] = []
        """What the fleet said and the others have not heard yet."""
        self.ready = False
        """Whether the fleet has ended its year."""

    @property
    def total(self) -> float:
        return self.own_total

    def list_orders(self) -> list[tuple[str, str]]:
        heard = f"is heard by all other fleets; at most {LONGEST_LINE} characters"
        return [*super().list_orders(), (f"{TALK} TEXT", heard)]

    def queue(self, line: str) -> list[str]:
        word, _, text = line.partition(" ")
        if word.lower().rstrip(":") != TALK:
            return super().queue(line)
        require(text.strip(), TALK, "a text", "nothing", "say I take 0.01")
        text = text.replace('"', "'").strip()
        self.spoken.append(text)
        return [f"{TALK} {text}"]

    def finish(self) -> None:
        """End the year of this fleet; the year passes when all fleets have ended it."""
        self.ready = True

    def _say_catch(self) -> str:
        caught = zip(self.session.env.agents, np.ravel(self.session.last["catch"]), strict=True)
        return f" Caught last year: {', '.join(f'{name} {amount:.4g}' for name, amount in caught)}."


class _RecordedCommons(RecordedEpisode):
    """An episode on the fleets' stock under the name of their game."""

    @property
    def title(self) -> str:
        return GAME_ID


class _Seat(TextGame):
    """The messages of one fleet."""

    def __init__(self, session: FishingSession, fleet: int) -> None:
        super().__init__(GAME_ID, session=session)
        self.view: FleetText = FleetText(session, fleet)  # pyright: ignore[reportIncompatibleVariableOverride]


class TextCommons:
    """Fleets that fish one stock, each played with its own messages and paid for its own catch.

    A year passes when every fleet has sent `done`. Until then, they can talk: `say TEXT` is heard by all others.

    Args:
        env: the fishery; by default `make_commons()`, with five fleets.
        partners: fleets that play by themselves and say nothing, each with the name of a policy (`optimum`, `greedy`).

    Example:
        >>> game = TextCommons(partners={"fleet_4": "greedy"})
        >>> texts = game.reset(seed=0)
        >>> replies = game.step({fleet: "say I take 0.015\\nquota 0.015\\ndone" for fleet in texts})
    """

    def __init__(self, env: CommonsModel | None = None, partners: Mapping[str, str] = MappingProxyType({})) -> None:
        self.env = make_commons() if env is None else env
        self._policies = policies(self.env)
        check_each_name("fleet", partners, self.env.agents)
        check_each_name("policy", partners.values(), self._policies)
        self.partners = dict(partners)
        self._start(FishingSession(FISHERY, self.env, 0))

    def _start(self, session: FishingSession) -> None:
        self.session = session
        players = [i for i, name in enumerate(self.env.agents) if name not in self.partners]
        self.seats = {self.env.agents[i]: _Seat(session, i) for i in players}
        """The text game of each fleet that is played with messages."""
        self.said: list[ChatMessage] = []
        """What the fleets and the game said in this episode."""
        named = {name: self._policies[name].traced() for name in self.partners.values()}
        self._acting = {name: (policy.init, jax.jit(policy.act)) for name, policy in named.items()}

    @cached_property
    def nothing(self) -> float:
        """The mean return of a fleet if nobody fishes: its share of the stock that remains at the end."""
        still = constant_policy(self.env.units.action(jnp.zeros(len(self.env.agents))))
        seasons = run_episodes(self.env, still, SEASONS, 0, horizon(self.env))
        return float(np.mean(seasons.returns)) / len(self.env.agents)

    @cached_property
    def optimum(self) -> float:
        """The expected return of a fleet if all fleets share the catch of a single owner equally."""
        return share_optimum(self.env).start

    def reset(self, seed: int | None = None) -> dict[str, str]:
        """Start the episode of a seed, by default the same as before; return the first text of each fleet played."""
        self._start(self.session.again(self.session.seed if seed is None else seed))
        seat = _Seat(self.session, 0)
        text = f"{self._introduce()}\n{seat.rules()}\n\n{seat.view.describe()}"
        self.said = [ChatMessage(0, f"{GAME} to all", text)]
        return {name: f"You are {name}. {text}" for name in self.seats}

    def write_page(self, path: str | Path) -> None:
        """Write the episode so far with the messages of all fleets as an HTML page; needs the extra `plot`."""
        about = f"played with text, seed {self.session.seed}"
        _RecordedCommons(*self.session.recorded).replay(path, about, messages=self.said)

    def _introduce(self) -> str:
        return (
            f"The fleets {', '.join(self.env.agents)} fish the same stock, and each is paid for its own catch. All "
            "decide at the same time and see the catches of all fleets afterwards. If they ask for more than there is, "
            "each gets the same share of its quota. The stock that remains at the end is shared equally."
        )

    def step(self, messages: Mapping[str, str]) -> dict[str, Reply]:
        """Read the messages of some fleets; return the reply to each fleet, which includes what the others said.

        Raises:
            ConfigError: a message is not from a fleet that is played.
        """
        check_each_name("fleet", messages, self.seats)
        if self.session.over:
            return {name: self.seats[name].step(text) for name, text in messages.items()}
        self.said += [ChatMessage(self.session.steps, name, text) for name, text in messages.items()]
        read = {name: self.seats[name].step(text) for name, text in messages.items()}
        heard = {name: self._list_heard(name) for name in self.seats}
        for seat in self.seats.values():
            seat.view.spoken.clear()
        since = self.session.steps
        if all(seat.view.ready for seat in self.seats.values()):
            self._fish()
        return {name: self._reply(name, heard[name], read.get(name), since) for name in self.seats}

    def _list_heard(self, name: str) -> list[str]:
        speakers = [(other, seat.view.spoken) for other, seat in self.seats.items() if other != name]
        return [f'{other} says: "{text}"' for other, said in speakers for text in said]

    def _fish(self) -> None:
        """Let the year pass with the quotas of all fleets."""
        amounts = {name: seat.view.amounts[0] for name, seat in self.seats.items()}
        key, units = key_for(seed_key(self.session.seed), "policy"), self.env.units
        for policy, (memory, act) in self._acting.items():
            memory, action = act(memory, self.session.obs, jax.random.fold_in(key, self.session.steps))
            self._acting[policy] = memory, act
            asked = dict(zip(self.env.agents, np.ravel(units.wanted(action)).tolist(), strict=True))
            amounts |= {name: asked[name] for name, own in self.partners.items() if own == policy}
        self.session.fish([amounts[name] for name in self.env.agents])
        rewards = dict(zip(self.env.agents, self.session.info["own"]["reward"].tolist(), strict=True))
        for name, seat in self.seats.items():
            seat.view.own_total += rewards[name]
            seat.view.ready = seat.view.changed = False

    def _reply(self, name: str, heard: list[str], read: Reply | None, since: int) -> Reply:
        """Return what a fleet hears, and the next year if it has begun, or else the answer to the fleet's message."""
        view, over, passed = self.seats[name].view, self.session.over, self.session.steps - since
        answers = [line for line in read.text.splitlines() if not line.startswith("Queued")] if read else []
        if passed:
            end = [f"The fishery has ended. Your return is {view.total:.4g} points."] if over else [view.describe()]
            lines = [*heard, *answers, *(f"- {line}" for line in view.list_news(since)), *end]
        elif view.ready:
            lines = [*heard, *answers, "Waiting for the other fleets."]
        else:
            lines = [*heard, *([read.text] if read else [])]
        reward = float(self.session.info["own"]["reward"][view.fleet]) if passed else 0.0
        notes = {name: read.info[name] if read else [] for name in ("mistakes", "ignored")}
        info = {"step": self.session.time, "return": round(view.total, 6), "passed": passed,
                "queued": view.list_queued()} | notes  # fmt: skip
        self.said += [ChatMessage(self.session.steps, f"{GAME} to {name}", "\n".join(lines))] * bool(lines)
        return Reply("\n".join(lines), round_number(reward), over, info)
