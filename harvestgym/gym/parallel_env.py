"""Base of PettingZoo parallel environments: names, spaces, checks and results by agent.

A subclass defines how an episode begins and what the joint action of all agents does.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, check_extras

check_extras("harvestgym.gym.parallel_env", multi="pettingzoo")

from pettingzoo import ParallelEnv  # noqa: E402

from .env import GymEnv  # noqa: E402

Infos = dict[str, dict[str, Any]]


class JointStep(NamedTuple):
    """The outcome of a step, one entry for each possible agent."""

    obs: Sequence[Any]
    rewards: Sequence[float]
    terminated: Sequence[bool]
    truncated: Sequence[bool]
    infos: Sequence[dict[str, Any]]


class MultiAgentEnv(ParallelEnv[str, Any, Any]):
    """An environment whose agents act at the same time.

    An action outside its space, NaN included, or for the wrong agents, raises ConfigError and changes nothing. An agent
    whose episode is over leaves; its entry in later joint actions is `None`.
    """

    render_mode = None

    def _set_agents(
        self, names: Sequence[str], observation: gymnasium.Space[Any], action: gymnasium.Space[Any]
    ) -> None:
        """Name the agents, all with the same spaces."""
        self.possible_agents, self.agents = list(names), []
        self.observation_spaces = dict.fromkeys(names, observation)
        self.action_spaces = dict.fromkeys(names, action)

    def _begin(self, seed: int | None) -> tuple[Sequence[Any], Sequence[dict[str, Any]]]:
        """Begin an episode; return the observation and the info of each agent."""
        raise NotImplementedError

    def _advance(self, actions: list[Any]) -> JointStep:
        """Do the actions of all possible agents, None for agents that have left."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        """Return an independent copy in mid-episode."""
        return deepcopy(self)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Infos]:
        """Begin an episode; the same seed gives the same episode."""
        obs, infos = self._begin(seed)
        self.agents = list(self.possible_agents)  # last, because the line above may fail
        return self._by_agent(obs), self._by_agent(infos)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Do the actions of all agents; return observations, rewards, terminations, truncations, infos by agent."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("step: expected an episode, got none; try reset() first")
        self._check(actions)
        outcome = self._advance([actions.get(agent) for agent in self.possible_agents])
        obs, rewards, terminated, truncated, infos = map(self._by_agent, outcome)
        self.agents = [agent for agent in self.agents if not (terminated[agent] or truncated[agent])]
        return obs, rewards, terminated, truncated, infos

    def _by_agent(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the values of the present agents, by agent."""
        named = zip(self.possible_agents, values, strict=True)
        return {agent: value for agent, value in named if agent in self.agents}

    def _check(self, actions: dict[str, Any]) -> None:
        if sorted(actions) != sorted(self.agents):
            raise ConfigError(f"step: expected an action for each of {self.agents}, got {sorted(actions)}")
        for agent, action in actions.items():
            space = self.action_spaces[agent]
            given = int(action) if isinstance(action, np.integer) else action
            if not space.contains(given):
                raise ConfigError(f"step: {agent}: expected an action in {space}, got {action!r}")


class JointEnv(MultiAgentEnv):
    """Agents of one functional environment with a joint action. Checkpoints save its episode."""

    def _join(self, core: Env[Any, Any]) -> None:
        self._joint = GymEnv(core)

    def kept(self) -> dict[str, Any]:
        """Return the changing state, for `core.saving.checkpoint`."""
        return {"joint": self._joint.kept(), "agents": self.agents}

    def restore(self, kept: dict[str, Any]) -> Self:
        """Continue from a saved state."""
        self._joint.restore(kept["joint"])
        self.agents = kept["agents"]
        return self
