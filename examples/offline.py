"""Learn only from recorded seasons, without interaction: behaviour cloning and implicit Q-learning.

    pip install '.[train,data]'
    python examples/offline.py                                        # records seasons first
    harvestgym record farm/bean-1x1-v0 --policy mixed --episodes 500 --split train --out mixed.parquet
    python examples/offline.py --data mixed.parquet                   # from a file
    python examples/offline.py --steps 500 --episodes 20 --seasons 20 # a quick test

The seasons come from the expert, a random policy, or the expert with random actions ("mixed"). Cloning imitates all
recorded actions. Implicit Q-learning (Kostrikov et al. 2021, https://arxiv.org/abs/2110.06169) learns the values of the
recorded actions, and prefers the better ones. Both require ids with integer actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from dqn import Layers, apply_layers, make_layers
from gymnasium import spaces
from jax.tree_util import Partial
from map_results import Found, Task, count_parameters, make_parser, read_settings, run

from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import flatten
from harvestgym.evaluate import splits
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, record_demonstrations
from harvestgym.evaluate.run import policy_named


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        steps, batch: number of gradient steps, and recorded steps per batch.
        rate: step size, which falls to 0.
        expectile: the expectile of action values that is used as the value of a state; 0.5 is the mean.
        weight: how strongly better actions are preferred, per standard deviation of returns.
        trail: rate at which the target network follows the learned one.
        hidden: width of the two layers.
    """

    steps: int = 20_000
    batch: int = 256
    rate: float = 1e-3
    expectile: float = 0.7
    weight: float = 10.0
    trail: float = 0.005
    hidden: int = 128


DATASETS = ("expert", "mixed", "random")
"""Policies whose seasons are recorded."""


class Steps(NamedTuple):
    """All steps of some seasons; `now` and `after` are row indices of `features`, the scaled observations."""

    features: jax.Array
    now: jax.Array
    after: jax.Array
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array


class Scale(NamedTuple):
    """The mean of observations and the inverse of their spread, and the spread of returns."""

    mean: jax.Array
    inverse: jax.Array
    reward: jax.Array


def read_steps(data: Demonstrations, space: gymnasium.Space[Any]) -> tuple[Steps, Scale]:
    """Return the steps of recorded seasons, with features of mean 0 and variance 1."""
    whole = jax.tree.map(lambda *parts: np.concatenate(parts), *(one.observations for one in data.episodes))
    rows = np.asarray(jax.jit(jax.vmap(partial(flatten, space)))(whole))
    spread = rows.std(0)
    inverse = np.where(spread > 1e-4 * (1 + np.abs(rows.mean(0))), 1 / np.maximum(spread, 1e-9), 0.0)
    returns = np.asarray([one.rewards.sum() for one in data.episodes])
    scale = Scale(rows.mean(0), inverse.astype(np.float32), np.float32(max(returns.std(), 1e-6)))
    starts = np.cumsum([0, *(len(one) + 1 for one in data.episodes)])
    now = np.concatenate([np.arange(len(one)) + start for one, start in zip(data.episodes, starts, strict=False)])
    action, reward, terminated = (
        np.concatenate([getattr(one, name) for one in data.episodes]) for name in ("actions", "rewards", "terminated")
    )
    features = scale_features(scale, rows)
    return Steps(features, now, now + 1, action, np.float32(reward / scale.reward), terminated), scale


def scale_features(scale: Scale, rows: Any) -> Any:
    """Return features with mean 0 and variance 1 in the data, clipped to 8; 0 for features that never varied."""
    return ((rows - scale.mean) * scale.inverse).clip(-8, 8)


class Nets(NamedTuple):
    """The networks: action scores for cloning and for Q-learning, action values, target values and state values."""

    clone: Layers
    actor: Layers
    actions: Layers
    trailing: Layers
    states: Layers


def make_nets(key: jax.Array, width: int, choices: int, hidden: int) -> Nets:
    """Return new networks."""
    clone, actor, actions, states = jax.random.split(key, 4)
    many, one = [width, hidden, hidden, choices], [width, hidden, hidden, 1]
    values = make_layers(actions, many)
    return Nets(make_layers(clone, many), make_layers(actor, many), values, values, make_layers(states, one))


def _loss(learned: Nets, settings: Settings, batch: Any) -> jax.Array:
    """Return the sum of the four networks' losses; no loss has a gradient in another network."""
    now, after, action, reward, terminated = batch
    pick = lambda rows: jnp.take_along_axis(rows, action[:, None], -1)[:, 0]  # noqa: E731
    state, later = (apply_layers(learned.states, seen)[:, 0] for seen in (now, after))
    value = pick(apply_layers(jax.lax.stop_gradient(learned.trailing), now))
    over = value - state
    of_states = jnp.where(over > 0, settings.expectile, 1 - settings.expectile) * over**2
    target = reward + jnp.where(terminated, 0.0, jax.lax.stop_gradient(later))
    of_actions = (pick(apply_layers(learned.actions, now)) - target) ** 2
    share = jnp.minimum(jnp.exp(settings.weight * jax.lax.stop_gradient(over)), 100.0)
    of_actor, of_clone = (-pick(jax.nn.log_softmax(apply_layers(net, now))) for net in (learned.actor, learned.clone))
    return (of_states + of_actions + share * of_actor + of_clone).mean()


@partial(jax.jit, static_argnums=0)
def train(settings: Settings, fresh: Nets, steps: Steps, key: jax.Array) -> tuple[Nets, jax.Array]:
    """Return the networks after `settings.steps` batches, and the loss of each."""
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.rate, settings.steps))

    def learn(loop: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        nets, memory = loop
        which = jax.random.randint(key, (settings.batch,), 0, len(steps.now))
        now, after = (steps.features[rows[which]] for rows in (steps.now, steps.after))
        batch = now, after, *(part[which] for part in steps[3:])
        loss, slope = jax.value_and_grad(_loss)(nets, settings, batch)
        change, memory = optimiser.update(slope, memory)
        nets = optax.apply_updates(nets, change)
        trailing = optax.incremental_update(nets.actions, nets.trailing, settings.trail)
        return (nets._replace(trailing=trailing), memory), loss

    (nets, _), losses = jax.lax.scan(learn, (fresh, optimiser.init(fresh)), jax.random.split(key, settings.steps))
    return nets, losses


def _take_best(
    space: gymnasium.Space[Any], scale: Scale, layers: Layers, memory: Any, obs: Any, key: jax.Array
) -> tuple[Any, jax.Array]:
    features = scale_features(scale, flatten(space, obs))
    return memory, jnp.argmax(apply_layers(layers, features)).astype(jnp.int32)


def make_task(id: str, datasets: dict[str, Demonstrations], settings: Settings) -> Task:
    """Return the task of learning from each of an id's datasets, by name."""
    test = splits.make(id, "test")
    if not isinstance(test.action_space, spaces.Discrete):
        raise SystemExit(f"--ids: expected integer actions, got {test.action_space}")
    known = {name: policy_named(id, test, name) for name in ("expert", "none", "random")}
    space, width, choices = test.observation_space, spaces.flatdim(test.observation_space), int(test.action_space.n)

    def train_seed(seed: int) -> Found:
        fresh, draws = jax.random.split(splits.split(id, "train").key(seed))
        agents: dict[str, Policy] = {}
        for name, data in datasets.items():
            steps, scale = read_steps(data, space)
            nets = train(settings, make_nets(fresh, width, choices, settings.hidden), steps, draws)[0]
            act = partial(_take_best, space)
            agents |= {f"{name}, cloned": Policy((), Partial(act, scale, nets.clone))}
            agents |= {f"{name}, IQL": Policy((), Partial(act, scale, nets.actor))}
        return [], agents

    sizes = [width, settings.hidden, settings.hidden, choices]
    return Task(test, known, train_seed, count_parameters(sizes))


def get_data(id: str, name: str, episodes: int) -> Demonstrations:
    """Return a dataset from disk, or record one with a policy on the training split."""
    data = record_demonstrations(id, name, episodes, split="train") if name in DATASETS else read_demonstrations(name)
    returns = np.mean([one.rewards.sum() for one in data.episodes])
    print(f"{id}: {data}, mean return {returns:.3f}", flush=True)
    return data


def main() -> None:
    """Train on each id."""
    parser = make_parser(__doc__ or "", Settings())
    parser.set_defaults(ids=["farm/bean-1x1-v0"])
    parser.add_argument("--data", nargs="+", default=DATASETS, help="policies to record, or paths")
    parser.add_argument("--episodes", type=int, default=500, help="episodes to record per policy")
    args = parser.parse_args()
    settings = read_settings(Settings, args)
    run(args, lambda id: make_task(id, {name: get_data(id, name, args.episodes) for name in args.data}, settings))


if __name__ == "__main__":
    main()
