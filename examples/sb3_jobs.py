"""Train Stable-Baselines3's PPO or DQN on a farm of many plots through macro jobs.

    pip install 'harvestgym[sb3]'
    python examples/sb3_jobs.py
    python examples/sb3_jobs.py --learner dqn
    python examples/sb3_jobs.py --steps 2048 --seasons 4  # a quick look that everything works

Trains on the training side of the held-out protocol, and prints the mean returns of the expert, of doing nothing and of
the trained agent over seasons of the other side.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import numpy as np
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import VecNormalize

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.core.policy import constant_policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.spaces import noop_action
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.farm import Job, MacroJobs

WATER = Job("water the driest", "Soil-0/watering_discrete", least="Soil-0/available_Water#L")
HARVEST = Job(
    "harvest the ripest", "Plant-0/micro_harvest", most="Plant-0/fruit_weight#g", only=("Plant-0/stage=ripe",)
)
JOBS = {
    "farm/bean-clay-weeds-3x4": [WATER, HARVEST, Job("weed the weediest", "Weeds-0/remove", most="Weeds-0/grow#nb")],
    "farm/game0": [WATER, Job("harvest", "Plant-0/harvest")],
}


def make(id: str, side: str) -> MacroJobs:
    """Make an id of one side of the protocol with its jobs."""
    return MacroJobs.of(splits.make(id, side), JOBS[id.rpartition("-v")[0]])


def make_batch(id: str, side: str, num_envs: int, seed: int) -> SB3VecEnv:
    """Make a batch that begins with the seeds of a side of the protocol."""
    farms = SB3VecEnv(make(id, side), num_envs)
    farms.seed(splits.split(id, side).seed(seed))
    return farms


def train(learner: str, id: str, steps: int, num_envs: int, seed: int) -> tuple[Any, VecNormalize]:
    """Train an agent; rewards are scaled, observations are scaled already."""
    envs = VecNormalize(make_batch(id, "train", num_envs, seed), norm_obs=False, clip_reward=100.0, gamma=1.0)
    net = {"net_arch": [128, 128]}
    if learner == "ppo":
        model: Any = PPO(
            "MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=6, learning_rate=1e-3, gamma=0.999,
            gae_lambda=0.98, ent_coef=0.01, seed=seed, device="cpu", policy_kwargs=net,
        )  # fmt: skip
    else:
        model = DQN(
            "MlpPolicy", envs, learning_rate=5e-4, gamma=0.999, train_freq=4, gradient_steps=8, batch_size=256,
            learning_starts=2_000, target_update_interval=2_000, exploration_fraction=0.3, seed=seed, device="cpu",
            policy_kwargs=net,
        )  # fmt: skip
    model.learn(steps)
    return model, envs


def returns(model: Any, farms: SB3VecEnv) -> np.ndarray:
    """Return the return of a season of each environment, acting without exploration."""
    obs: Any = farms.reset()
    total, alive = np.zeros(farms.num_envs), np.ones(farms.num_envs, bool)
    while alive.any():
        obs, reward, done, _ = farms.step(model.predict(obs, deterministic=True)[0])
        total += alive * reward
        alive &= ~done
    return total


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-clay-weeds-3x4-v1")
    parser.add_argument("--learner", default="ppo", choices=["ppo", "dqn"])
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--seasons", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start = time.perf_counter()
    model, _ = train(args.learner, args.id, args.steps, args.num_envs, args.seed)
    seconds = time.perf_counter() - start
    agent = returns(model, make_batch(args.id, "test", args.seasons, args.seed)).mean()
    plain, key = splits.make(args.id, "test"), splits.split(args.id, "test").key(args.seed)
    days, nothing = horizon(plain), constant_policy(noop_action(plain.action_space))
    expert, idle = (
        float(np.mean(jax.device_get(evaluate(plain, policy, key, args.seasons, days).returns)))
        for policy in (policy_named(args.id, plain, "expert"), nothing)
    )
    print(f"trained {args.steps} steps in {seconds:.0f} s; mean return over {args.seasons} held-out seasons:")
    print(f"expert {expert:.2f}, nothing {idle:.2f}, agent {agent:.2f} ({agent / expert:.0%} of the expert)")


if __name__ == "__main__":
    main()
