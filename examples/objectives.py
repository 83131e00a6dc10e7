"""Several objectives: a farm whose `step` returns a vector of score terms and of costs, as negative numbers.

It follows the convention of MO-Gymnasium, an environment with a `reward_space`, so MO-Gymnasium's wrappers and learners
accept it; the library itself is not needed. The farm is made with weights of 1, so that each term keeps its unit (kg of
yield, soil index). The rewards of a season can then be computed for any weights.

    python examples/objectives.py

The ids of HarvestGym return scalar rewards, even with `mo_gymnasium.make`, which calls `gymnasium.make`. Importing this
module registers an id with vector rewards for each farm, `objectives/NAME`:

    mo_gymnasium.make("objectives:objectives/bean-1x1-v0")
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import harvestgym

ID = "farm/bean-1x1-v0"
UNWEIGHTED = dict.fromkeys(("stage", "bio", "resource", "soil", "yield", "plant"), 1.0)
"""Score weights that leave each term unchanged."""

GAIN = "reward/"
"""The prefix of the terms' names in the info."""

COSTS = ("intervention cost", "observation cost", "wages")


class RewardVector(gymnasium.Wrapper):
    """A farm whose reward is a vector, float32.

    Attributes:
        objectives: the names of the entries: score terms, then costs.
        reward_space: the space of reward vectors.
    """

    spec: Any = None  # `gymnasium.make` sets it on the unwrapped environment

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        _, info = env.reset()
        self._terms = [name for name in info if name.startswith(GAIN)]
        self.objectives = (*(name.removeprefix(GAIN) for name in self._terms), *COSTS)
        self.reward_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.objectives),), np.float32)

    @property
    def unwrapped(self) -> Any:
        """This environment itself, in which MO-Gymnasium looks for the `reward_space`."""
        return self

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step; the reward is a vector in `reward_space`."""
        obs, _, terminated, truncated, info = self.env.step(action)
        reward = [info[name] for name in self._terms] + [-info[name] for name in COSTS]
        return obs, np.asarray(reward, np.float32), terminated, truncated, info


def make(id: str, **overrides: Any) -> RewardVector:
    """Make a farm with vector rewards."""
    return RewardVector(gymnasium.make(id, scoring=UNWEIGHTED, **overrides))


for _id in harvestgym.ids("farm"):
    gymnasium.register(f"objectives/{_id.removeprefix('farm/')}", make, kwargs={"id": _id}, disable_env_checker=True)


def play(env: gymnasium.Env[Any, Any], seed: int) -> Any:
    """Return the sum of rewards over a season of random actions."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, over = total + reward, terminated or truncated
    return total


def main() -> None:
    env = make(ID)
    total = play(env, seed=0)
    for name, value in zip(env.objectives, total, strict=True):
        print(f"{name}: {value:.3f}")
    score: Any = harvestgym.make(ID).spec.scoring.model_dump(by_alias=True)  # type: ignore[attr-defined]
    weights = [score.get(name, 1.0) for name in env.objectives]
    print(f"weighted as in the file: {np.dot(weights, total):.3f}")
    print(f"the reward of the farm itself: {play(gymnasium.make(ID), seed=0):.3f}")


if __name__ == "__main__":
    main()
