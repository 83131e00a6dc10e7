"""Train RLlib's PPO directly on our vector environment: one compiled program steps all farms in a batch.

    python -m venv rllib && rllib/bin/pip install . 'ray[rllib]' torch
    rllib/bin/python examples/rllib_ppo.py

It needs a separate virtual environment, because RLlib pins Gymnasium. It trains on the training split of the held-out
protocol, and prints the mean returns of the agent, the expert and the random policy on the test split.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.tune.registry import register_env

import harvestgym
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_id

ID = "farm/bean-1x1-v0"
STEPS = 64
"""Days per farm in a batch."""


def make_env(context: dict[str, Any]) -> Any:
    """Make the vector environment for a split, which RLlib requests by `VECTOR_ENTRY_POINT`."""
    overrides = dict(splits.split(ID, context["split"]).overrides)
    if "num_envs" in context:
        return harvestgym.make_vec(ID, context["num_envs"], **overrides)
    return gymnasium.make(f"harvestgym:{ID}", **overrides)


def make_algorithm(num_envs: int, episodes: int) -> Any:
    """Make PPO with normalised observations and with evaluation on the test split."""
    register_env(ID, make_env)
    config = (
        PPOConfig()
        .environment(ID, env_config={"split": "train"})
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=num_envs,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
            rollout_fragment_length=STEPS,
            env_to_module_connector=lambda *given, **named: MeanStdFilter(),
        )
        .training(train_batch_size=STEPS * num_envs, minibatch_size=1024, num_epochs=6, lr=1e-3, gamma=1.0)
        .evaluation(
            evaluation_duration=episodes,
            evaluation_duration_unit="episodes",
            evaluation_config={"explore": False, "env_config": {"split": "test"}},
        )
    )
    return config.build_algo()


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--num-envs", type=int, default=128)
    parser.add_argument("--episodes", type=int, default=200)
    given = parser.parse_args()
    algorithm = make_algorithm(given.num_envs, given.episodes)
    for i in range(given.iterations):
        found = algorithm.train()["env_runners"]
        print(f"iteration {i}: return {found.get('episode_return_mean', float('nan')):.3f}")
    agent = algorithm.evaluate()["env_runners"]["episode_return_mean"]
    others = {name: evaluate_id(ID, name, given.episodes, split="test").summary.mean for name in ("expert", "random")}
    print(f"agent {agent:.2f}, " + ", ".join(f"{name} {value:.2f}" for name, value in others.items()))


if __name__ == "__main__":
    main()
