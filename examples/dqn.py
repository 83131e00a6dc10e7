"""Q-learning with masks in one file: farms, learner and the whole training loop on the device, compiled once.

    pip install '.[train]'
    python examples/dqn.py                                         # a minute or two on two cores
    python examples/dqn.py --ids farm/full-1x1-v0 --seeds 5 --out results.json
    python examples/dqn.py --updates 4 --num-envs 16 --seasons 50  # a quick test

It is for farms with one order per day. Hundreds of parallel farms replace a replay buffer, and multi-day returns with
normalised layers replace a target network (parallelised Q-learning: Gallici et al. 2024,
https://arxiv.org/abs/2407.04811). Orders that the mask excludes are never chosen and never count as the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from jax.tree_util import Partial
from map_results import Found, Task, count_parameters, make_parser, read_settings, run

from harvestgym.core.autoreset import advance, is_done, start_episode
from harvestgym.core.env import Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import Log, StatelessWrapper
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import MapFarm
from harvestgym.farm.engine.model import FarmModel

Layers = list[tuple[jax.Array, jax.Array]]
"""Weights and biases."""


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        num_envs, num_steps: number of farms, and of days per farm and update.
        updates: number of updates; the step size decays to 0, and the fraction of random orders to a tenth of
            `explore`.
        epochs, minibatches: number of passes over the days of an update, and of minibatches per pass.
        trace: weight of later days' values in a target, the lambda of Q(lambda).
        hidden: width of the two layers.
    """

    num_envs: int = 256
    num_steps: int = 32
    updates: int = 400
    epochs: int = 2
    minibatches: int = 8
    rate: float = 5e-4
    trace: float = 0.95
    explore: float = 0.1
    hidden: int = 128


@dataclass(frozen=True)
class Masked(StatelessWrapper[Any]):
    """A farm whose observation is a dict of "mask", the possible actions, and "features", the scaled observation."""

    env: FarmModel

    def __post_init__(self) -> None:
        if not isinstance(self.env.action_space, spaces.Discrete):
            raise SystemExit(f"--ids: expected farms with one order a day, got the actions {self.env.action_space}")

    @cached_property
    def farm(self) -> MapFarm:
        """The farm with maps; its channels are the features."""
        return MapFarm(self.env)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        width = self.farm.plots.size * len(self.farm.plot_channels) + len(self.farm.farm_channels)
        features = spaces.Box(-np.inf, np.inf, (width,), np.float32)
        mask = spaces.MultiBinary(self.env.actions.size)
        return spaces.Dict({"seen": self.env.observation_space, "features": features, "mask": mask})

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return state, self._shown(state, first, self.params)

    def step(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, Timestep]:
        params = self.params if params is None else params
        state, timestep = self.env.step(key, state, action, params)
        return state, self._shown(state, timestep, params)

    def _shown(self, state: Any, timestep: Timestep, params: Any) -> Timestep:
        seen = self.farm.encode(timestep.obs, jnp.zeros(self.farm.table.shape[:2]), jnp.int32(0))
        features = jnp.concatenate([seen["plots"].ravel(), seen["farm"]])
        mask = self.env.action_mask(state, params)
        return timestep._replace(obs={"seen": timestep.obs, "features": features, "mask": mask})


def make_layers(key: jax.Array, sizes: list[int]) -> Layers:
    """Return new layers, with small weights in the last one."""
    scales = [np.sqrt(2 / n) for n in sizes[:-2]] + [0.01]
    shapes = zip(jax.random.split(key, len(scales)), scales, sizes[:-1], sizes[1:], strict=True)
    return [(scale * jax.random.normal(k, (n, m)), jnp.zeros(m)) for k, scale, n, m in shapes]


def apply_layers(layers: Layers, x: jax.Array) -> jax.Array:
    """Apply layers to features (..., features), with normalisation and rectification between them."""
    for weights, bias in layers[:-1]:
        x = jax.nn.relu(jax.nn.standardize(x @ weights + bias, epsilon=1e-5))
    return x @ layers[-1][0] + layers[-1][1]


def find_values(layers: Layers, obs: Any) -> jax.Array:
    """Return the value of each action, (..., actions); -inf for impossible actions."""
    return jnp.where(obs["mask"], apply_layers(layers, obs["features"]), -jnp.inf)


def _take_best(layers: Layers, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    return memory, jnp.argmax(find_values(layers, obs)).astype(jnp.int32)


def make_policy(layers: Layers) -> Policy:
    """Make a policy for a `Masked` farm that takes the best action."""
    return Policy((), Partial(_take_best, layers))


def act_on_seen(act: Any, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, Any]:
    """Call the policy of the unwrapped farm with the plain observation, `obs["seen"]`."""
    return act(memory, obs["seen"], key)


class Days(NamedTuple):
    """Days on farms, with leading axes day and farm; `best` is the value of the next state."""

    obs: Any
    action: jax.Array
    reward: jax.Array
    best: jax.Array
    terminated: jax.Array
    ended: jax.Array
    total: jax.Array


class Loop(NamedTuple):
    """The state of training between updates."""

    layers: Layers
    optimiser: Any
    runs: Any
    obs: Any


@dataclass(frozen=True)
class Learner:
    """Q(lambda) on many farms."""

    env: Log[Any]
    settings: Settings

    @property
    def optimiser(self) -> optax.GradientTransformation:
        s = self.settings
        rate = optax.linear_schedule(s.rate, 0.0, s.updates * s.epochs * s.minibatches)
        return optax.chain(optax.clip_by_global_norm(10.0), optax.adam(rate))

    def start(self, key: jax.Array) -> Loop:
        """Return the loop with new layers, and farms at the start of their first seasons."""
        s, (net, own) = self.settings, jax.random.split(key)
        runs, first = start_episode(self.env, jax.random.split(own, s.num_envs), self.env.params)
        width, choices = first.obs["features"].shape[-1], first.obs["mask"].shape[-1]
        layers = make_layers(net, [width, s.hidden, s.hidden, choices])
        return Loop(layers, self.optimiser.init(layers), runs, first.obs)

    def update(self, loop: Loop, now: tuple[jax.Array, jax.Array]) -> tuple[Loop, jax.Array]:
        """Run all farms for some days, with a fraction of random actions, and learn from them."""
        key, explore = now
        day_key, learn_key = jax.random.split(key)
        day = partial(self._day, explore)
        loop, days = jax.lax.scan(day, loop, jax.random.split(day_key, self.settings.num_steps))
        total, ended = jnp.where(days.ended, days.total, 0.0).sum(), days.ended.sum()
        return self._learn(loop, days, learn_key), total / jnp.maximum(ended, 1)

    def _day(self, explore: jax.Array, loop: Loop, key: jax.Array) -> tuple[Loop, Days]:
        whether, which = jax.random.split(key)
        values = find_values(loop.layers, loop.obs)
        tried = jax.random.categorical(which, jnp.where(loop.obs["mask"], 0.0, -jnp.inf))
        tries = jax.random.uniform(whether, tried.shape) < explore
        action = jnp.where(tries, tried, values.argmax(-1)).astype(jnp.int32)
        runs, shown, last = advance(self.env, loop.runs, action, self.env.params, AutoresetMode.SAME_STEP)
        best = find_values(loop.layers, last.obs).max(-1)
        total = last.info["episode_return"]
        days = Days(loop.obs, action, last.reward, best, last.terminated, is_done(last), total)
        return loop._replace(runs=runs, obs=shown.obs), days

    def _learn(self, loop: Loop, days: Days, key: jax.Array) -> Loop:
        """Return the loop after learning from the days for some epochs, in shuffled minibatches."""
        s, rows = self.settings, (days.obs, days.action, self.targets(days))
        rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows)

        def part(now: Any, which: jax.Array) -> tuple[Any, None]:
            layers, optimiser = now
            slope = jax.grad(self._loss)(layers, jax.tree.map(lambda leaf: leaf[which], rows))
            change, optimiser = self.optimiser.update(slope, optimiser)
            return (optax.apply_updates(layers, change), optimiser), None

        shuffled = jax.vmap(lambda key: jax.random.permutation(key, rows[1].size))(jax.random.split(key, s.epochs))
        parts = shuffled.reshape(s.epochs * s.minibatches, -1)
        (layers, optimiser), _ = jax.lax.scan(part, (loop.layers, loop.optimiser), parts)
        return loop._replace(layers=layers, optimiser=optimiser)

    def targets(self, days: Days) -> jax.Array:
        """Return lambda returns with lambda = `trace`, each bootstrapped from the best value of the next day."""

        def back(later: jax.Array, day: Days) -> tuple[jax.Array, jax.Array]:
            mixed = jnp.where(day.ended, day.best, self.settings.trace * later + (1 - self.settings.trace) * day.best)
            target = day.reward + jnp.where(day.terminated, 0.0, mixed)
            return target, target

        return jax.lax.scan(back, days.best[-1], days, reverse=True)[1]

    def _loss(self, layers: Layers, rows: Any) -> jax.Array:
        obs, action, target = rows
        chosen = jnp.take_along_axis(find_values(layers, obs), action[:, None], -1)[:, 0]
        return jnp.square(chosen - target).mean()


@partial(jax.jit, static_argnums=(0, 1))
def train(env: Masked, settings: Settings, key: jax.Array) -> tuple[Layers, jax.Array]:
    """Train an agent; return its layers and the mean return of the seasons that ended in each update."""
    learner, (own, later) = Learner(Log(env), settings), jax.random.split(key)
    explore = settings.explore * jnp.linspace(1.0, 0.1, settings.updates)
    now = jax.random.split(later, settings.updates), explore
    loop, curve = jax.lax.scan(learner.update, learner.start(own), now)
    return loop.layers, curve


def make_task(id: str, settings: Settings) -> Task:
    """Return the task of learning on one farm."""
    sides: Any = {side: splits.make(id, side) for side in ("train", "test")}
    env, test = Masked(sides["train"]), Masked(sides["test"])
    named = {name: policy_named(id, sides["test"], name) for name in ("expert", "none")}
    known = {name: Policy(policy.init, Partial(act_on_seen, policy.traced().act)) for name, policy in named.items()}
    width, choices = (env.observation_space[part].shape[0] for part in ("features", "mask"))  # pyright: ignore
    sizes = [width, settings.hidden, settings.hidden, choices]

    def train_seed(seed: int) -> Found:
        layers, curve = train(env, settings, splits.split(id, "train").key(seed))
        return np.asarray(curve, float).round(4).tolist(), {"agent": make_policy(layers)}

    return Task(test, known, train_seed, count_parameters(sizes))


def main() -> None:
    """Train on each id."""
    parser = make_parser(__doc__ or "", Settings())
    parser.set_defaults(ids=["farm/bean-1x1-v0"])
    args = parser.parse_args()
    settings = read_settings(Settings, args)
    run(args, lambda id: make_task(id, settings))


if __name__ == "__main__":
    main()
