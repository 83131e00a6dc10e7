"""Demonstrations from any Gymnasium environment and any policy, such as a wrapped farm and an agent of another library.

    from gymnasium_episodes import collect_episodes

    episodes = [*collect_episodes(env, lambda obs: model.predict(obs)[0], seeds=range(10))]
    write_demonstrations(Demonstrations(id, "my agent", episodes), "mine.parquet")

For an environment without Gymnasium's wrappers, `record_demonstrations` is faster: it runs a batch on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.episodes import Episode


def collect_episodes(env: gymnasium.Env[Any, Any], act: Callable[..., Any], seeds: Iterable[int]) -> Iterator[Episode]:
    """Record one episode per seed, with a policy `act(obs) -> action`.

    Raises ConfigError for a `Farm`, whose actions are sets without a fixed structure.
    """
    if isinstance(env.action_space, gymnasium.spaces.Sequence):
        raise ConfigError(f"env: expected actions of a fixed size, got {env.action_space}; try GymEnv(farm.model)")
    for seed in seeds:
        obs, info = env.reset(seed=seed)
        steps: list[Any] = []
        while not steps or not (steps[-1][2] or steps[-1][3]):
            action = act(steps[-1][0] if steps else obs)
            steps.append((*env.step(action), action))
        seen, paid, ends, cuts, infos, done = zip(*steps, strict=True)
        yield Episode.of([obs, *seen], done, paid, ends, cuts, [info, *infos], seed)
