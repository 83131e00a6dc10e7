"""Train Stable-Baselines3's PPO or DQN on a farm of many plots through macro jobs.

    pip install '.[sb3]'
    python examples/sb3_jobs.py
    python examples/sb3_jobs.py --learner dqn
    python examples/sb3_jobs.py --seeds 3 --out results.json  # a file that examples/map_imitation.py also writes
    python examples/sb3_jobs.py --steps 2048 --seasons 4      # a quick look that everything works

Trains on the training side of the held-out protocol, and prints the mean returns of the expert, of doing nothing and of
the trained agent over seasons of the other side.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import VecNormalize

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm import Job, MacroJobs

HELD_OUT = 70_001
"""Number, within its side of the held-out protocol, of the seed of the seasons that are reported."""

WATER = Job("water the driest", "Soil-0/watering_discrete", least="Soil-0/available_Water#L")
HARVEST = Job(
    "harvest the ripest", "Plant-0/micro_harvest", most="Plant-0/fruit_weight#g", only=("Plant-0/stage=ripe",)
)
WEED = Job("weed the weediest", "Weeds-0/remove", most="Weeds-0/grow#nb")
JOBS = {
    "farm/bean-clay-weeds-3x4": [WATER, HARVEST, WEED],
    "farm/pollination-3x4": [WATER, HARVEST, Job("scatter", "Cide-0/scatter_bag", most="Pests-0/plot_population#nb")],
    "farm/full-3x4": [
        WATER,
        HARVEST,
        WEED,
        Job("sow", "Plant-0/sow", only=("Plant-0/stage=none",)),
        Job("clear", "Plant-0/remove", only=("Plant-0/stage=dead",)),
        Job("scatter", "Cide-1/scatter_bag", most="Pests-0/plot_population#nb"),
        Job("scarecrow", "Facility-0/put_scarecrow"),
    ],
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


def describe(values: np.ndarray) -> dict[str, float]:
    """Return the mean, its interval, CVaR 10 % and IQM of some returns."""
    return {name: round(value, 4) for name, value in asdict(summarise(values)).items() if name != "sd"}


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Train all seeds, and report on held-out seasons."""
    plain = splits.make(args.id, "test")
    key, report = splits.split(args.id, "test").key(HELD_OUT), {"id": args.id, "seasons": args.seasons, "seeds": []}
    for name in ("expert", "none"):
        policy = policy_named(args.id, plain, name)
        report[name] = describe(np.asarray(evaluate(plain, policy, key, args.seasons, horizon(plain)).returns))
    school = make_batch(args.id, "test", args.seasons, HELD_OUT)
    for seed in range(args.seeds):
        wall, cpu = time.perf_counter(), time.process_time()
        model, _ = train(args.learner, args.id, args.steps, args.num_envs, seed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        agent = describe(returns(model, school))
        report["parameters"] = sum(part.numel() for part in model.policy.parameters())
        report["seeds"].append({"seed": seed, "wall": round(wall), "cpu": round(cpu), "agent": agent})
        print(f"seed {seed}, {args.steps} orders in {wall:.0f} s: expert {report['expert']['mean']:.2f}, nothing "
              f"{report['none']['mean']:.2f}, agent {agent['mean']:.2f}", flush=True)  # fmt: skip
    return report | {"orders": args.steps}


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-clay-weeds-3x4-v1")
    parser.add_argument("--learner", default="ppo", choices=["ppo", "dqn"])
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--seasons", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for results as JSON; other results stay in it")
    args = parser.parse_args()
    report = {"command": shlex.join(["python", *sys.argv]), **compare(args)}
    if args.out is not None:
        before = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        found = before | {f"{args.id} {args.learner}": report}
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
