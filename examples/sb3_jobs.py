"""Train Stable-Baselines3's PPO or DQN on a farm with many plots, through macro jobs.

    pip install '.[sb3,train]'
    python examples/sb3_jobs.py                              # two or three minutes on two cores
    python examples/sb3_jobs.py --learner dqn                # needs Stable-Baselines3 2.7, for three-step returns
    python examples/sb3_jobs.py --ids farm/pollination-3x4-v0 --seeds 3 --out results.json
    python examples/sb3_jobs.py --steps 20000 --seasons 4    # a quick test

It trains on the training split of the held-out protocol, and prints the mean returns of the expert, doing nothing and
the trained agent over seasons of the test split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from macro_jobs import MacroJobs
from map_ppo import returns_of
from map_results import Found, Task, count_parameters, make_parser, read_settings, run
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from harvestgym.adapters.sb3 import SB3VecEnv
from harvestgym.core.policy import Policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import policy_named


@dataclass(frozen=True)
class Settings:
    """Settings of the task and of the learner.

    Attributes:
        learner: ppo or dqn.
        steps: number of jobs to choose in training, over all environments.
        num_envs: number of environments that are stepped together.
        active: how much lower the initial weight of "stop" is than the weight of a job. Learners that stop as often as
            they choose each job lose most days of a season, and rarely see the benefit of jobs.
    """

    learner: str = "ppo"
    steps: int = 500_000
    num_envs: int = 32
    active: float = 3.0


CURVE, CURVE_SEASONS = 20, 100
"""Number of points on the learning curve, and of training seasons for each."""


DRY = "Soil-0.available_Water#L < 140"
WATER = {
    "when": DRY, "do": "Soil-0.watering_discrete", "plot": "least Soil-0.available_Water#L", "amount#L": 20,
}  # fmt: skip
WATER_PLANTS = WATER | {"when": f"{DRY} and Plant-0.stage not in [none, ripe, dead]"}
HARVEST = {"when": "Plant-0.stage == ripe", "do": "Plant-0.micro_harvest", "plot": "most Plant-0.fruit_weight#g"}
HARVEST_FIELD = {"when": "Weather-0.day#int365 > 220", "do": "Plant-0.harvest"}
WEED = {"when": "Weeds-0.grow#nb > 2", "do": "Weeds-0.remove", "plot": "most Weeds-0.grow#nb"}
PESTS = "Pests-0.plot_population#nb"
JOBS: dict[str, dict[str, Any]] = {
    "farm/bean-clay-weeds-3x4": {"water the driest": WATER, "harvest the ripest": HARVEST, "weed the weediest": WEED},
    "farm/pollination-3x4": {
        "water the driest": WATER,
        "harvest the ripest": HARVEST,
        "scatter": {
            "when": f"{PESTS} > 0 and Cide-0.amount#kg < 0.1", "do": "Cide-0.scatter_bag", "plot": f"most {PESTS}",
        },
    },
    "farm/game0": {
        "water the driest": WATER_PLANTS,
        "harvest the field": HARVEST_FIELD | {"when": "Weather-0.day#int365 > 110"},
    },
    "farm/game0-weeds": {
        "water the driest": WATER_PLANTS,
        "harvest the field": HARVEST_FIELD,
        "weed the weediest": WEED,
        "scatter": WEED | {"do": "Cide-0.scatter_bag"},
    },
}  # fmt: skip


def make(id: str, side: str) -> MacroJobs:
    """Make the environment for an id and split, with its jobs."""
    return MacroJobs.of(splits.make(id, side), JOBS[id.rpartition("-v")[0]])


def make_agent(id: str, env: MacroJobs, settings: Settings, seed: int) -> Any:
    """Return an untrained agent with its environments; only rewards are scaled, since observations already are."""
    farms = SB3VecEnv(env, settings.num_envs)
    farms.seed(splits.split(id, "train").seed(seed))
    envs = VecNormalize(farms, norm_obs=False, clip_reward=100.0, gamma=1.0)
    net = {"net_arch": [128, 128], "activation_fn": nn.ReLU}
    if settings.learner == "ppo":
        model: Any = PPO(
            "MlpPolicy", envs, n_steps=512, batch_size=1024, n_epochs=6, learning_rate=5e-4, gamma=0.999,
            gae_lambda=0.98, ent_coef=0.01, seed=seed, device="cpu", policy_kwargs=net,
        )  # fmt: skip
        last = [model.policy.action_net]
    else:
        model = DQN(
            "MlpPolicy", envs, learning_rate=5e-4, gamma=0.999, n_steps=3, train_freq=4, gradient_steps=8,
            batch_size=256, learning_starts=2_000, target_update_interval=2_000, exploration_initial_eps=0.2,
            exploration_fraction=0.3, seed=seed, device="cpu", policy_kwargs=net,
        )  # fmt: skip
        last = [model.q_net.q_net[-1], model.q_net_target.q_net[-1]]
    for layer in last:
        layer.bias.data[0] -= settings.active
    return model


def train(id: str, env: MacroJobs, settings: Settings, seed: int) -> tuple[Any, Curve]:
    """Train an agent, and return it with its learning curve."""
    model, curve = make_agent(id, env, settings, seed), Curve(id, env, settings.steps // CURVE)
    model.learn(settings.steps, callback=curve)
    return model, curve


class Curve(BaseCallback):
    """A callback that evaluates the agent on training seasons without exploration, and keeps the best weights."""

    def __init__(self, id: str, env: MacroJobs, every: int) -> None:
        super().__init__()
        self.id, self.env, self.every = id, env, every
        self.means: list[float] = []
        self.best: Policy | None = None

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.every * (len(self.means) + 1):
            policy = make_policy(self.model)
            mean = float(returns_of(self.id, self.env, policy, CURVE_SEASONS, "train").mean())
            if mean > max(self.means, default=-np.inf):
                self.best = policy
            self.means.append(round(mean, 4))
        return True


def make_policy(model: Any) -> Policy:
    """Return an agent's network as a JAX policy without exploration, so that all seasons run in one compiled call."""
    ppo = isinstance(model, PPO)
    parts = [*model.policy.mlp_extractor.policy_net, model.policy.action_net] if ppo else model.q_net.q_net
    layers = [layer.parameters() for layer in parts if isinstance(layer, nn.Linear)]
    return Policy((), Partial(_choose, [[jnp.asarray(each.detach().numpy()) for each in layer] for layer in layers]))


def _choose(layers: Any, memory: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
    for weights, bias in layers[:-1]:
        obs = jax.nn.relu(weights @ obs + bias)
    weights, bias = layers[-1]
    return memory, jnp.argmax(weights @ obs + bias).astype(jnp.int32)


def make_task(id: str, settings: Settings) -> Task:
    """Return the task of learning on one farm."""
    test, school = splits.make(id, "test"), make(id, "train")
    known = {name: policy_named(id, test, name) for name in ("expert", "none")}

    def train_seed(seed: int) -> Found:
        model, curve = train(id, school, settings, seed)
        # DQN may forget what it has learned within a few thousand jobs; PPO does not.
        best = curve.best if settings.learner == "dqn" else None
        return curve.means, {"agent": best or make_policy(model)}

    sizes = [int(np.prod(school.observation_space.shape or ())), 128, 128, len(school.jobs) + 1]
    return Task(test, known, train_seed, count_parameters(sizes), make(id, "test"))


def main() -> None:
    """Train on each id."""
    args = make_parser(__doc__ or "", Settings()).parse_args()
    run(args, partial(make_task, settings=read_settings(Settings, args)))


if __name__ == "__main__":
    main()
