"""Train sb3-contrib's maskable PPO on a farm whose action mask has one more rule: harvest only if there is fruit.

    pip install '.[sb3]' sb3-contrib
    python examples/sb3_maskable_ppo.py                  # a minute or two on two cores
    python examples/sb3_maskable_ppo.py --steps 4096     # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, the random policy
and the trained agent over seasons of the test split.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.plant.stages import Stage


@dataclass(frozen=True, eq=False)
class Masked(FarmModel):
    """A farm with a stricter mask for its integer actions; adapters find it by the name `action_mask`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Masked) and super().__eq__(other)

    __hash__ = FarmModel.__hash__

    def action_mask(self, state: Any, params: Any) -> jax.Array:
        """Return for each action whether it is permitted, as on every farm, and can also have an effect; bool."""
        stages = [self.value(v, state, params).ravel() for v in self.variables if v.key == "stage"]
        has_fruit = jnp.isin(jnp.concatenate(stages), jnp.asarray([Stage.FRUIT, Stage.RIPE])).any()
        harvests = [order is not None and order.row.action.name == "harvest" for order in self.actions.list_orders()]
        return super().action_mask(state, params) & jnp.where(np.asarray(harvests), has_fruit, True)


def masked(farm: Any) -> Masked:
    """Return a farm with a mask."""
    return Masked(**{field.name: getattr(farm, field.name) for field in dataclasses.fields(farm)})


def train(id: str, steps: int, num_envs: int, seed: int) -> tuple[MaskablePPO, VecNormalize]:
    """Train maskable PPO on a batch of `num_envs` farms on the device."""
    side = splits.split(id, "train")
    farms = SB3VecEnv(masked(side.make()), num_envs)
    farms.seed(side.seed(seed))
    envs = VecNormalize(farms, clip_reward=100.0, gamma=1.0)
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=6, learning_rate=1e-3, gamma=1.0,
        gae_lambda=0.98, ent_coef=0.005, seed=seed, device="cpu", policy_kwargs={"net_arch": [64, 64]},
    )  # fmt: skip
    model.learn(steps)
    return model, envs


def returns(model: MaskablePPO, envs: VecNormalize, episodes: int, seed: int, id: str) -> np.ndarray:
    """Return the mean return of the trained agent over `episodes` test seasons, without exploration."""
    side = splits.split(id, "test")
    fresh = SB3VecEnv(masked(side.make()), episodes)
    fresh.seed(side.seed(seed))
    obs, total, alive = fresh.reset(), np.zeros(episodes), np.ones(episodes, bool)
    while alive.any():
        mask = np.stack(fresh.env_method("action_masks"))
        action, _ = model.predict(envs.normalize_obs(obs), deterministic=True, action_masks=mask)
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
    model, envs = train(args.id, args.steps, args.num_envs, args.seed)
    agent = returns(model, envs, 200, args.seed, args.id).mean()
    others = evaluate_together(args.id, ("expert", "random"), 200, args.seed, split="test")
    expert, random = (others[name].summary.mean for name in ("expert", "random"))
    print(f"expert {expert:.2f}, random {random:.2f}, agent {agent:.2f} ({agent / expert:.0%} of the expert)")


if __name__ == "__main__":
    main()
