"""Train Stable-Baselines3's DQN on a farm: one learner collects experience from a batch of farms on the device.

    pip install '.[sb3]'
    python examples/sb3_dqn.py                   # a minute or two on two cores
    python examples/sb3_dqn.py --steps 20000     # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, the random policy
and the trained agent over seasons of the test split.
"""

from __future__ import annotations

import argparse

from sb3_ppo import returns
from stable_baselines3 import DQN
from stable_baselines3.common.vec_env import VecNormalize

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together


def train(id: str, steps: int, num_envs: int, seed: int) -> tuple[DQN, VecNormalize]:
    """Train DQN on a batch of `num_envs` farms on the device."""
    side = splits.split(id, "train")
    farms = SB3VecEnv(side.make(), num_envs)
    farms.seed(side.seed(seed))
    envs = VecNormalize(farms, norm_reward=False)
    model = DQN(
        "MlpPolicy", envs, learning_rate=5e-4, buffer_size=100_000, learning_starts=5_000, batch_size=256, gamma=0.995,
        train_freq=1, gradient_steps=4, target_update_interval=4_000, exploration_fraction=0.5,
        exploration_final_eps=0.02, seed=seed, device="cpu", policy_kwargs={"net_arch": [64, 64]},
    )  # fmt: skip
    model.learn(steps)
    return model, envs


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-1x1-v0")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    model, envs = train(args.id, args.steps, args.num_envs, args.seed)
    agent = returns(model, envs, 200, args.seed, args.id).mean()
    others = evaluate_together(args.id, ("expert", "random"), 200, args.seed, split="test")
    expert, random = (others[name].summary.mean for name in ("expert", "random"))
    print(f"expert {expert:.2f}, random {random:.2f}, agent {agent:.2f} ({agent / expert:.0%} of the expert)")


if __name__ == "__main__":
    main()
