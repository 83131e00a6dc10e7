"""PPO of Stable-Baselines3, and its trained network as a policy in JAX; torch is needed only for training.

It trains through `SB3VecEnv`. Hyper-parameters are the defaults of that library, with three exceptions: an update has
4,096 steps of 64 environments instead of 2,048 of one; minibatches are four times as large, and the learning rate three
times, which costs less; and farms have no discount. Observations and rewards are standardised with the library's own
`VecNormalize`, because observations range from 1 to 10⁸.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax.tree_util import Partial

from harvestgym.core.env import Env
from harvestgym.core.errors import check_extras
from harvestgym.core.policy import Policy

CLIP = 10.0
"""Largest standardised observation, the default of `VecNormalize`."""


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters; `num_steps` are those of each environment in an update."""

    num_envs: int = 64
    num_steps: int = 64
    updates: int = 1
    batch_size: int = 256
    n_epochs: int = 10
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.0


def train(env: Env[Any, Any], settings: Settings, start: int, seed: int) -> tuple[list[float], dict[str, Any]]:
    """Train in seasons from the seed `start` on, with a network from `seed`, on one thread.

    Returns:
        The mean return of the seasons that ended in each update (0 without one), and the weights.
    """
    model, curve = learn(env, settings, start, seed)
    return curve, read_weights(model)


def learn(env: Env[Any, Any], settings: Settings, start: int, seed: int) -> tuple[Any, list[float]]:
    """Return the trained model, and its learning curve."""
    check_extras("the agent sb3-ppo", sb3="stable_baselines3")
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

    from harvestgym.adapters.sb3 import SB3VecEnv

    torch.set_num_threads(1)
    rows = SB3VecEnv(env, settings.num_envs)
    rows.seed(start)
    ended: list[list[float]] = []

    def note(local: dict[str, Any], _: Any) -> bool:
        ended.append([info["episode"]["r"] for info in local["infos"] if "episode" in info])
        return True

    values = dict(vars(settings))
    count, steps, updates = (values.pop(name) for name in ("num_envs", "num_steps", "updates"))
    envs = VecNormalize(VecMonitor(rows), gamma=settings.gamma, clip_obs=CLIP)
    model = PPO("MlpPolicy", envs, n_steps=steps, seed=seed, device="cpu", **values)
    model.learn(count * steps * updates, callback=note)
    parts = [sum(ended[i : i + steps], []) for i in range(0, len(ended), steps)]
    return model, [float(np.mean(part)) if part else 0.0 for part in parts]


def read_weights(model: Any) -> dict[str, Any]:
    """Return the layers of a model's actor, and the mean and spread of the observations in training."""
    moments = model.get_vec_normalize_env()
    actor = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    layers = [tuple(part.detach().numpy().T for part in (layer.weight, layer.bias)) for layer in actor[::2]]
    spread = np.sqrt(moments.obs_rms.var + moments.epsilon)
    return {"mean": np.float32(moments.obs_rms.mean), "spread": np.float32(spread), "layers": layers}


def make_policy(env: Env[Any, Any], weights: dict[str, Any]) -> Policy:
    """Return a trained network as a policy that takes the likeliest action, as the library's evaluation does."""
    space = env.action_space
    return Policy((), Partial(_choose if isinstance(space, spaces.Discrete) else _clip, weights))


def _run(weights: dict[str, Any], obs: jax.Array) -> jax.Array:
    """Return the outputs of the network."""
    x = jnp.clip((obs - weights["mean"]) / weights["spread"], -CLIP, CLIP).reshape(-1)
    *hidden, (last, bias) = weights["layers"]
    for matrix, shift in hidden:
        x = jnp.tanh(x @ matrix + shift)
    return x @ last + bias


def _choose(weights: dict[str, Any], memory: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
    return memory, jnp.argmax(_run(weights, obs))


def _clip(weights: dict[str, Any], memory: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
    return memory, jnp.clip(_run(weights, obs), -1.0, 1.0)
