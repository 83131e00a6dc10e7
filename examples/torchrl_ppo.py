"""Train TorchRL's PPO directly on our vector environment: one compiled program steps all farms in a batch.

    pip install . torch torchrl
    python examples/torchrl_ppo.py                  # a minute or two on two cores
    python examples/torchrl_ppo.py --steps 32768    # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, of the random
policy and of the trained agent over seasons of the test split.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper, TransformedEnv
from torchrl.envs.transforms import VecNormV2
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import harvestgym
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together

OBSERVATION = "observation"
STEPS, EPOCHS, MINIBATCH = 64, 6, 1024
"""Days per farm in a batch, passes over the batch, and days per gradient step."""

HIDDEN = 64
SEASONS = 200


def make_env(id: str, split: str, num_envs: int, seed: int) -> GymWrapper:
    """Make a batch of farms for a split; TorchRL requires restarts in the same step."""
    chosen = splits.split(id, split)
    farms = harvestgym.make_vec(id, num_envs, autoreset_mode="SameStep", **dict(chosen.overrides))
    farms.reset(seed=chosen.seed(seed))
    return GymWrapper(farms, categorical_action_encoding=True)


def make_network(inputs: int, outputs: int) -> nn.Module:
    """Make a perceptron with two hidden layers."""
    layers = (nn.Linear(inputs, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs))
    return nn.Sequential(*layers)


def train(id: str, steps: int, num_envs: int, seed: int) -> tuple[ProbabilisticActor, VecNormV2]:
    """Train an actor; return it with the moments that standardise its observations."""
    torch.manual_seed(seed)
    moments = VecNormV2(in_keys=[OBSERVATION], decay=0.9999, reduce_batch_dims=True)
    env = TransformedEnv(make_env(id, "train", num_envs, seed), moments)
    inputs, choices = env.observation_spec[OBSERVATION].shape[-1], int(env.action_spec.space.n)
    policy = TensorDictModule(make_network(inputs, choices), in_keys=[OBSERVATION], out_keys=["logits"])
    actor = ProbabilisticActor(
        policy, in_keys=["logits"], distribution_class=torch.distributions.Categorical, return_log_prob=True
    )
    critic = ValueOperator(make_network(inputs, 1), in_keys=[OBSERVATION])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.005, normalize_advantage=True)
    advantages = GAE(gamma=1.0, lmbda=0.98, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for batch in Collector(env, actor, frames_per_batch=STEPS * num_envs, total_frames=steps):
        for _ in range(EPOCHS):
            with torch.no_grad():
                advantages(batch)
            for rows in batch.reshape(-1)[torch.randperm(batch.numel())].split(MINIBATCH):
                found = loss(rows)
                optimizer.zero_grad()
                sum(found[name] for name in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
    return actor, moments


def measure(id: str, actor: ProbabilisticActor, moments: VecNormV2, seed: int) -> float:
    """Return the actor's mean return over seasons of the test split, one per farm."""
    env: Any = TransformedEnv(make_env(id, "test", SEASONS, seed), moments.to_observation_norm())
    total, alive, now = torch.zeros(SEASONS), torch.ones(SEASONS, dtype=torch.bool), env.reset()
    with torch.no_grad():
        while alive.any():
            step, now = env.step_and_maybe_reset(actor(now))
            total += alive * step["next", "reward"].squeeze(-1)
            alive &= ~step["next", "done"].squeeze(-1)
    return float(total.mean())


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-1x1-v0")
    parser.add_argument("--steps", type=int, default=524_288)
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    actor, moments = train(given.id, given.steps, given.num_envs, given.seed)
    seconds = time.perf_counter() - start
    agent = measure(given.id, actor, moments, given.seed)
    others = evaluate_together(given.id, ("expert", "random"), SEASONS, given.seed, split="test")
    expert, random = (others[name].summary.mean for name in ("expert", "random"))
    print(f"trained {given.steps} days in {seconds:.0f} s; mean return over {SEASONS} held-out seasons:")
    print(f"expert {expert:.2f}, random {random:.2f}, agent {agent:.2f}")


if __name__ == "__main__":
    main()
