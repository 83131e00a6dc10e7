"""An episode in the hands of a person: look, act, see what came of it, compare, keep it. Knows nothing of the web.

The life is that of `gymnasium.make(id)` with the same seed and the same actions, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import Episodes
from harvestgym.core.spaces import noop_action
from harvestgym.core.timeline import Record
from harvestgym.evaluate.datasets.episodes import SUFFIX, Demonstrations, Episode, write
from harvestgym.evaluate.replay import write_replay
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.gym.env import GymEnv
from harvestgym.registry import FILES, family_function

RIVALS = {"expert": "the expert", "sdp-finite": "the optimum", "none": "doing nothing"}
"""Policies that a person is compared with, where an id has them, as the page calls them."""


class Rival(NamedTuple):
    """What a policy made of the same episode: its name, its return, its rewards by step, the family's own columns."""

    name: str
    total: float
    rewards: np.ndarray
    columns: dict[str, Any]


class Life:
    """One episode step by step, with its record, whoever acts."""

    def __init__(self, id: str, env: Env[Any, Any], seed: int) -> None:
        self.id, self.env, self.seed = id, env, seed
        self._gym = GymEnv(env)
        self._keep = keeper(id, env)
        self.obs, self.info = self._gym.reset(seed=seed)
        self.over = self.terminated = False
        action = jax.tree.map(np.zeros_like, self._gym.action_space.sample())
        self._frames = [self._frame(action, 0.0)]
        self._seen, self._told, self._done = [self.obs], [self.info], []

    def act(self, action: Any) -> float:
        """Do `action`, a member of the action space; its reward. ConfigError, and nothing done, if it is none."""
        if self.over:
            raise ConfigError("the episode is over; begin a new one")
        self.obs, reward, self.terminated, truncated, self.info = self._gym.step(action)
        self.over = self.terminated or truncated
        self._frames.append(self._frame(action, reward))
        self._seen.append(self.obs)
        self._told.append(self.info)
        self._done.append((action, reward, self.terminated, truncated))
        return reward

    def _frame(self, action: Any, reward: float) -> dict[str, Any]:
        done = Timestep(self.obs, np.float32(reward), self.terminated, self.over, self.info)  # pyright: ignore
        kept = self._keep(self._gym.run_state.state, action, done, self._gym.params)
        parts = {f"action/{k}": v for k, v in action.items()} if isinstance(action, dict) else {"action": action}
        return {**parts, "reward": np.float32(reward), **jax.device_get(kept)}

    @property
    def steps(self) -> int:
        """Steps done so far."""
        return len(self._frames) - 1

    @property
    def rewards(self) -> np.ndarray:
        """The reward of each step, float (steps,)."""
        return np.asarray([frame["reward"] for frame in self._frames[1:]], float)

    @property
    def total(self) -> float:
        """The return so far."""
        return float(self.rewards.sum())

    @property
    def record(self) -> Record:
        """Everything so far as `record_episode` gives it: named arrays with a leading time axis, step 0 the start."""
        return {name: np.stack([frame[name] for frame in self._frames]) for name in self._frames[0]}

    @property
    def last(self) -> dict[str, Any]:
        """What the record has of the last step."""
        return self._frames[-1]

    @property
    def episode(self) -> Episode:
        """What was seen, done and earned so far; ConfigError before the first step."""
        actions, rewards, ends, cuts = zip(*self._done, strict=True) if self._done else ((), (), (), ())
        return Episode.of(self._seen, actions, rewards, ends, cuts, self._told, self.seed)

    @property
    def columns(self) -> dict[str, Any]:
        """What the family says of an episode, as in the table of `harvestgym run`."""
        one = jax.tree.map(lambda v: np.asarray(v)[None], self.info)
        ends = np.asarray([self.terminated]), np.asarray([self.over and not self.terminated])
        episode = Episodes(np.asarray([self.total]), np.asarray([self.steps]), *ends, one)  # pyright: ignore
        told = family_function(self.id, "summary")(self.env, episode)
        return {name: np.asarray(value)[0].item() for name, value in told.items()}


@lru_cache(maxsize=8)
def keeper(id: str, env: Env[Any, Any]) -> Callable[..., dict[str, Any]]:
    """The family's `record` for an environment, compiled."""
    return jax.jit(partial(family_function(id, "record"), env))


class Session(Life):
    """An episode in the hands of a person; families say in subclasses what a person can do."""

    unit = "step"
    overrides: Mapping[str, Any] = MappingProxyType({})
    """With what the environment was made."""

    @property
    def longest(self) -> int:
        """Steps after which the clock ends the episode."""
        return horizon(self.env)

    def again(self, seed: int) -> Session:
        """A new episode of the same environment."""
        session = type(self)(self.id, self.env, seed)
        session.overrides = self.overrides
        return session

    def rehearse(self) -> None:
        """Compile what an episode needs, in another one, so that nobody waits for the first step."""
        other = self.again(self.seed)
        other.act(other.idle if other.idle is not None else np.zeros_like(self.env.action_space.sample()))

    def replay(self, path: Path) -> None:
        """Write the episode so far as a page to watch, see `evaluate.replay`; needs the extra `plot`."""
        if find_spec("plotly") is None:
            raise ConfigError("a replay needs pip install 'harvestgym[plot]'")
        write_replay(self.id, self.env, self.record, path, about=f"played by hand, seed {self.seed}")

    def save(self, folder: Path) -> Path:
        """Keep the episode as a demonstration in a new file of a folder; its path. Needs the extra `data`."""
        name = f"{Path(self.id).stem if self.id.endswith(FILES) else self.id.replace('/', '-')}-human-{self.seed}"
        paths = (folder / f"{name}{f'-{i}' if i else ''}{SUFFIX}" for i in count())
        path = next(path for path in paths if not path.exists())
        return write(Demonstrations(self.id, "human", [self.episode], self.overrides), path)

    @property
    def rivals(self) -> list[str]:
        """The policies that this episode can be compared with."""
        own = family_function(self.id, "policies")(self.env)
        known = own if self.idle is None else {**own, "none": None}
        return [name for name in RIVALS if name in known]

    @property
    def idle(self) -> Any:
        """The action that does nothing; None where there is no such thing."""
        return noop_action(self.env.action_space)

    def rival(self, name: str) -> Rival:
        """What a named policy makes of this seed, until its end or, in an endless life, as many steps as done here."""
        life = played(Life(self.id, self.env, self.seed), policy_named(self.id, self.env, name), self.limit)
        return Rival(RIVALS.get(name, name), life.total, life.rewards, life.columns)

    @property
    def limit(self) -> int:
        """Steps that a rival gets."""
        return self.longest

    @property
    def step_unit(self) -> str:
        """What a step is, for the heads of tables."""
        return self.env.step_unit


def played(life: Life, policy: Policy, steps: int) -> Life:
    """`life` after a policy has acted in it until it is over, or for some steps."""
    policy = policy.traced()
    carry, key = policy.init, jax.random.key(life.seed)
    for step in range(steps):
        if life.over:
            break
        carry, action = _act(policy, carry, life.obs, jax.random.fold_in(key, step))
        life.act(jax.tree.map(np.asarray, action))
    return life


@jax.jit
def _act(policy: Policy, carry: Any, obs: Any, key: jax.Array) -> tuple[Any, Any]:
    return policy.act(carry, obs, key)
