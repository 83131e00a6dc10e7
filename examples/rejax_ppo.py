"""Train rejax's PPO on a farm through the gymnax interface, with learner and farms on the device.

    pip install . rejax    # in a separate environment: gymnax 1.0 requires Gymnasium below 1.4
    python examples/rejax_ppo.py                    # a minute or two on two cores
    python examples/rejax_ppo.py --steps 65536      # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, the random policy
and the trained agent over seasons of the test split.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import numpy as np
from gymnax_env import GymnaxEnv
from jax.tree_util import Partial
from rejax import PPO

from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together, horizon


def train(id: str, steps: int, seed: int) -> tuple[PPO, Any]:
    """Return the algorithm and its trained state."""
    side = splits.split(id, "train")
    env = side.make()
    algorithm = PPO.create(
        env=GymnaxEnv(env).legacy(), total_timesteps=steps, eval_freq=steps,
        num_envs=256, num_steps=64, num_epochs=3, num_minibatches=16, learning_rate=1.5e-3, gamma=1.0, gae_lambda=0.98,
        ent_coef=0.003, max_grad_norm=0.5, normalize_observations=True,
        agent_kwargs={"hidden_layer_sizes": (64, 64), "activation": "tanh"},
        skip_initial_evaluation=True,
    )  # fmt: skip
    state, _ = jax.jit(algorithm.train)(side.key(seed))
    return algorithm, state


def policy(algorithm: PPO, state: Any) -> Policy:
    """Return the trained agent as a `Policy`; weights are an argument, so new weights need no compilation."""
    act = lambda state, carry, obs, key: (carry, algorithm.make_act(state)(obs, key))  # noqa: E731
    return Policy((), Partial(act, state))


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-1x1-v0")
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    side = splits.split(args.id, "test")
    env, learnt = side.make(), policy(*train(args.id, args.steps, args.seed))
    agent = np.mean(evaluate(env, learnt, side.key(args.seed), 200, horizon(env)).returns)
    others = evaluate_together(args.id, ("expert", "random"), 200, args.seed, split="test")
    expert, random = (others[name].summary.mean for name in ("expert", "random"))
    print(f"expert {expert:.2f}, random {random:.2f}, agent {agent:.2f} ({agent / expert:.0%} of the expert)")


if __name__ == "__main__":
    main()
