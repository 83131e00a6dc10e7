"""PettingZoo's parallel API for agents that act simultaneously in a shared environment.

Such an environment has one joint action and observation, and defines which parts belong to which agent:

- `agents`: their names; `own_spaces`: each agent's observation and action space;
- `part(obs, i)`: the observation of agent `i`;
- `info["own"]`: arrays with a row for each agent: its "reward", its "terminated" and "truncated" if agents leave at
  different times, and other entries of its info.

It is a functional environment (`fishing.shared_stock.share_stock`, `farm.shared_water.SharedWater`) or has a
`make_gymnasium(render_mode)` method (`forager.shared_world.SharedWorld`).
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import gymnasium
import numpy as np

from harvestgym.core.errors import ConfigError, check_extras
from harvestgym.core.saving.checkpoint import Savable
from harvestgym.core.spaces import make_action_reader

check_extras("harvestgym.gym.pettingzoo_env", multi="pettingzoo")

import pettingzoo  # noqa: E402

from .env import GymEnv  # noqa: E402

_ENDS = ("reward", "terminated", "truncated")

ByAgent = dict[str, Any]


class ParallelEnv(pettingzoo.ParallelEnv[str, Any, Any], Savable):
    """The agents of a shared environment.

    Actions outside their space (including NaN) or for the wrong agents raise ConfigError and change nothing. An agent
    whose episode is over leaves and does nothing afterwards.

    Attributes:
        core: the shared environment.
    """

    made_of = ("core", "render_mode")
    changes = ("_joint", "agents")

    def __init__(self, core: Any, render_mode: str | None = None) -> None:
        if not hasattr(core, "own_spaces"):
            expected = "an environment of several agents, made by share_stock, SharedWater or SharedWorld"
            raise ConfigError(f"ParallelEnv > core: expected {expected}, got {core!r}")
        self.core, self.render_mode = core, render_mode
        make = getattr(core, "make_gymnasium", lambda mode: GymEnv(core, render_mode=mode))
        self._joint: Any = make(render_mode)
        self.metadata = self._joint.metadata | {"name": type(core).__name__}
        self.possible_agents, self.agents = list(core.agents), list[str]()
        observation, action = core.own_spaces
        self.observation_spaces: Any = dict.fromkeys(self.possible_agents, observation)
        self.action_spaces: Any = dict.fromkeys(self.possible_agents, action)
        self._idle = np.zeros(action.shape, action.dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.possible_agents[:3])} … in {self.core!r}>"

    def __copy__(self) -> Self:
        """Return an independent copy in the middle of an episode."""
        return deepcopy(self)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ByAgent, ByAgent]:
        """Start an episode; the same seed gives the same episode."""
        obs, info = self._joint.reset(seed=seed)
        self.agents = list(self.possible_agents)  # set last, because the lines above may fail
        return self._observations(obs), self._infos(info["own"])

    def step(self, actions: ByAgent) -> tuple[ByAgent, dict[str, float], dict[str, bool], dict[str, bool], ByAgent]:
        """Take all agents' actions; return observations, rewards, terminations, truncations and infos by agent."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("step: expected a running episode, got none; try reset() first")
        self._check(actions)
        given = [actions.get(agent, self._idle) for agent in self.possible_agents]
        obs, _, *over, info = self._joint.step(np.reshape(given, self.core.action_space.shape))
        own = dict(zip(_ENDS[1:], over, strict=True)) | info["own"]
        rewards, terminated, truncated = (self._by_agent(own[name]) for name in _ENDS)
        answer = self._observations(obs), rewards, terminated, truncated, self._infos(own)
        self.agents = [agent for agent in self.agents if not (terminated[agent] or truncated[agent])]
        return answer

    def render(self) -> Any:
        """Draw the episode in the chosen `render_mode`; None if there is none."""
        return self._joint.render()

    def _observations(self, obs: Any) -> ByAgent:
        return {agent: self.core.part(obs, i) for i, agent in enumerate(self.possible_agents) if agent in self.agents}

    def _infos(self, own: dict[str, Any]) -> ByAgent:
        named = {name: self._by_agent(values) for name, values in own.items() if name not in _ENDS}
        return {agent: {name: values[agent] for name, values in named.items()} for agent in self.agents}

    def _by_agent(self, values: Any) -> ByAgent:
        """Return the values for the agents that are present; a single number applies to all of them."""
        rows = np.broadcast_to(values, len(self.possible_agents)).tolist()
        return {agent: row for agent, row in zip(self.possible_agents, rows, strict=True) if agent in self.agents}

    def _check(self, actions: ByAgent) -> None:
        if sorted(actions) != sorted(self.agents):
            raise ConfigError(f"step: expected an action for each of {self.agents}, got {sorted(actions)}")
        for agent, action in actions.items():
            make_action_reader(self.action_spaces[agent], name=f"step: {agent}")(action)
