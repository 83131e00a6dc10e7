"""Train Stable-Baselines3's PPO on a farm until it earns most of the expert's return.

    pip install '.[sb3]'
    python examples/sb3_ppo.py                  # a minute or two on two cores
    python examples/sb3_ppo.py --steps 4096     # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, the random policy
and the trained agent over seasons of the test split.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together


def train(id: str, steps: int, num_envs: int, seed: int) -> tuple[PPO, VecNormalize]:
    """Train PPO on a batch of `num_envs` farms on the device."""
    side = splits.split(id, "train")
    farms = SB3VecEnv(side.make(), num_envs)
    farms.seed(side.seed(seed))
    envs = VecNormalize(farms, clip_reward=100.0, gamma=1.0)
    model = PPO(
        "MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=6, learning_rate=1e-3, gamma=1.0,
        gae_lambda=0.98, ent_coef=0.005, seed=seed, device="cpu", policy_kwargs={"net_arch": [64, 64]},
    )  # fmt: skip
    model.learn(steps)
    return model, envs


def returns(model: PPO, envs: VecNormalize, episodes: int, seed: int, id: str) -> np.ndarray:
    """Return the mean return of the trained agent over `episodes` test seasons, without exploration."""
    side = splits.split(id, "test")
    fresh = SB3VecEnv(side.make(), episodes)
    fresh.seed(side.seed(seed))
    obs, total, alive = fresh.reset(), np.zeros(episodes), np.ones(episodes, bool)
    while alive.any():
        action, _ = model.predict(envs.normalize_obs(obs), deterministic=True)
        obs, reward, done, _ = fresh.step(action)
        total += alive * reward
        alive &= ~done
    return total


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-1x1-v0")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start = time.perf_counter()
    model, envs = train(args.id, args.steps, args.num_envs, args.seed)
    seconds = time.perf_counter() - start
    agent = returns(model, envs, 200, args.seed, args.id).mean()
    others = evaluate_together(args.id, ("expert", "random"), 200, args.seed, split="test")
    expert, random = (others[name].summary.mean for name in ("expert", "random"))
    print(f"trained {args.steps} days in {seconds:.0f} s; mean return over 200 held-out seasons:")
    print(f"expert {expert:.2f}, random {random:.2f}, agent {agent:.2f} ({agent / expert:.0%} of the expert)")


if __name__ == "__main__":
    main()
