"""An episode played step by step: act, compare with policies on the same seed, save. This module does not use the web
page.

A played episode equals the episode of `gymnasium.make(id)` with the same seed and actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import seed_key
from harvestgym.core.errors import check_extras, require
from harvestgym.core.random import key_for
from harvestgym.core.rollout import Episodes, add_counts
from harvestgym.core.view.events import LOSS, say_event
from harvestgym.core.view.scene import Scene
from harvestgym.core.view.timeline import ChatMessage, Record
from harvestgym.evaluate.datasets.demonstration_files import SUFFIX, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode
from harvestgym.evaluate.export import RecordedEpisode
from harvestgym.evaluate.run import (
    Evaluation,
    count_labels,
    find_idle_action,
    format_counts,
    horizon,
    is_numeric,
    policy_named,
    summarise_episodes,
)
from harvestgym.gym.env import GymEnv
from harvestgym.registry import family_function

RIVALS = {"expert": "the expert", "sdp-finite": "the optimum", "none": "doing nothing"}
"""Policies to compare with, if available for an id, and their names on the page."""


MOST_LOSSES = 12
"""Maximum number of losses that are listed at the end of an episode."""


@jax.jit
def _call(function: Callable[..., Any], *given: Any) -> Any:
    return function(*given)


class Session:
    """An episode played by a user, with its record; families add their own actions in subclasses.

    `overrides` are the keyword arguments used to make the environment.
    """

    unit = "step"

    def __init__(self, id: str, env: Env[Any, Any], seed: int, overrides: Mapping[str, Any] | None = None) -> None:
        self.id, self.seed, self.overrides = id, seed, overrides or {}
        self.env: Any = env
        self._gym = GymEnv(env, render_mode="svg")  # with a render mode, the environment keeps a record
        self.obs, self.info = self._gym.reset(seed=seed)
        self.over = self.terminated = False
        self._observations, self._infos, self._transitions = [self.obs], [self.info], []

    def act(self, action: Any) -> float:
        """Take `action` and return its reward; ConfigError, without a step, if it is outside the action space."""
        require(not self.over, "episode", "a running episode", "one that has ended", "a new episode")
        self.obs, reward, self.terminated, truncated, self.info = self._gym.step(action)
        self.over = self.terminated or truncated
        self._observations.append(self.obs)
        self._infos.append(self.info)
        self._transitions.append((action, reward, self.terminated, truncated))
        return reward

    @property
    def steps(self) -> int:
        """Number of steps taken so far."""
        return len(self._transitions)

    @property
    def time(self) -> int:
        """Time since the start, in days, years or steps."""
        return self.steps

    @property
    def rewards(self) -> np.ndarray:
        """The reward of each step, float (steps,)."""
        return self.record["reward"][1:].astype(float)

    @property
    def total(self) -> float:
        """The return so far."""
        return float(self.rewards.sum())

    @property
    def record(self) -> Record:
        """The record so far, like `record_episode`: named arrays with a leading time axis, from the start."""
        return self._gym.episode_log.record

    @property
    def last(self) -> dict[str, Any]:
        """The last frame of the record."""
        return {name: values[-1] for name, values in self.record.items()}

    @property
    def goal(self) -> tuple[str, ...]:
        """Sentences about how the score is computed and when an episode ends."""
        return family_function(self.id, "say_goal")(self.env)

    @property
    def beliefs(self) -> Record | None:
        """The part of the record that the user knows; None if it cannot be drawn."""
        return self.record

    def news(self, since: int) -> list[str]:
        """Return the events after step `since` that the user knows about, one line each; at the end, all of them."""
        known = self.record if self.over else self.beliefs
        events = () if known is None else family_function(self.id, "find_events")(self.env, known, since, self.steps)
        return [f"{self.when(event.step)}: {say_event(event)}" for event in events]

    def when(self, step: int) -> str:
        """Return the name of a step."""
        return f"{self.unit} {step}"

    @property
    def lessons(self) -> list[str]:
        """Lines about the losses and problems in the episode, from the true record."""
        found = family_function(self.id, "find_events")(self.env, self.record, 0, self.steps)
        losses = [f"{self.when(event.step)}: {say_event(event)}" for event in found if event.severity == LOSS]
        return [*losses[:MOST_LOSSES], *self.result.notes]

    @property
    def episode(self) -> Episode:
        """Observations, actions and rewards so far; raises ConfigError before the first step."""
        columns = zip(*self._transitions, strict=True) if self._transitions else ((), (), (), ())
        actions, rewards, ends, cuts = columns
        return Episode.of(self._observations, actions, rewards, ends, cuts, self._infos, self.seed)

    @property
    def columns(self) -> dict[str, Any]:
        """The family's columns for this episode, as in the table printed by `harvestgym run`."""
        cells = {name: np.asarray(values)[0] for name, values in self.result.columns.items()}
        return {
            name: cell.item() if is_numeric(cell) else format_counts(count_labels(cell)) for name, cell in cells.items()
        }

    @property
    def result(self) -> Evaluation:
        """The evaluation of the episode so far."""
        row = self.total, self.steps, self.terminated, self.over and not self.terminated, self.info
        steps = zip(self._infos[1:], [action for action, *_ in self._transitions], strict=True)
        counts = add_counts(self.env, *jax.tree.map(lambda *parts: np.stack(parts), *steps)) if self.steps else {}
        whole = Episodes(*jax.tree.map(lambda value: np.asarray(value)[None], row), counts=counts)
        return summarise_episodes(self.id, self.env, "human", self.seed, whole)

    @property
    def longest(self) -> int:
        """The maximum number of steps in an episode."""
        return horizon(self.env)

    def again(self, seed: int) -> Self:
        """Start a new episode of the same environment."""
        return type(self)(self.id, self.env, seed, self.overrides)

    def rehearse(self) -> None:
        """Compile everything that an episode needs by stepping a separate one, so that the first step is fast."""
        other = self.again(self.seed)
        other.act(other.idle if other.idle is not None else np.zeros_like(self.env.action_space.sample()))

    def scene(self, record: Record | None = None) -> Scene:
        """Return the scene of the last step of a record, by default the whole record."""
        return family_function(self.id, "scene")(self.env, self.record if record is None else record, self.steps)

    @property
    def recorded(self) -> RecordedEpisode:
        """The episode so far, for drawing."""
        return RecordedEpisode(self.id, self.env, "human", self.seed, self.record, self.result)

    def replay(self, path: str | Path, messages: Sequence[ChatMessage] = ()) -> None:
        """Write the episode so far, with its messages, as an HTML page; needs the extra `plot`."""
        about = f"played {'with text' if messages else 'by a user'}, seed {self.seed}"
        self.recorded.replay(path, about, messages=messages)

    def save(self, folder: str | Path) -> Path:
        """Save the episode as a demonstration in a new file in `folder`; return its path. Needs the extra `data`."""
        check_extras("demonstration", data="pyarrow")
        stem = self.recorded.stem
        paths = (Path(folder) / f"{stem}{f'-{i}' if i else ''}{SUFFIX}" for i in count())
        path = next(path for path in paths if not path.exists())
        return write_demonstrations(Demonstrations(self.id, "human", [self.episode], self.overrides), path)

    @property
    def rivals(self) -> list[str]:
        """The policies with which this episode is compared."""
        available = family_function(self.id, "policies")(self.env)
        return [name for name in RIVALS if name in available or (name == "none" and self.idle is not None)]

    @property
    def idle(self) -> Any:
        """The no-op action; None if there is none."""
        return find_idle_action(self.id, self.env)

    def rival(self, name: str) -> Self:
        """Return the episode of a named policy on this seed; an endless one has as many steps as the user took."""
        other, policy = self.again(self.seed), policy_named(self.id, self.env, name).traced()
        carry, key = policy.init, key_for(seed_key(self.seed), "policy")
        while not other.over and other.steps < self.limit:
            carry, action = _call(policy.act, carry, other.obs, jax.random.fold_in(key, other.steps))
            reward = other.act(jax.tree.map(np.asarray, action))
            ends = jnp.asarray(other.terminated), jnp.asarray(other.over and not other.terminated)
            carry = _call(policy.learn, carry, Timestep(other.obs, jnp.float32(reward), *ends, dict(other.info)))
        return other

    @property
    def limit(self) -> int:
        """The maximum number of steps for a rival."""
        return self.longest
