"""PPO in one file: farms, learner and the whole training loop on the device, compiled once.

    pip install '.[train]'
    python examples/ppo.py                                            # a minute or two on two cores
    python examples/ppo.py --id farm/paid-looks-1x1-v0                # a farm with paid observations
    python examples/ppo.py --updates 4 --num-envs 64 --seasons 50     # a quick test

It trains on the training split of the held-out protocol, data-parallel over all devices. It prints the mean returns of
the expert, of the random policy, of doing nothing and of each agent over seasons of the test split.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flat_actions import make_head
from gymnasium.vector import AutoresetMode
from jax.sharding import PartitionSpec
from jax.tree_util import Partial

from harvestgym.core.autoreset import advance, is_done, select, start_episode
from harvestgym.core.env import Env, Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.pytree import replace
from harvestgym.core.random import keys_for
from harvestgym.core.rollout import evaluate
from harvestgym.core.wrappers import Log, StatelessWrapper, flatten
from harvestgym.core.xla.compilation import SHARDS, map_over_shards
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.engine.model import FarmModel

average = partial(jax.lax.pmean, axis_name=SHARDS)  # mean over the devices
LONG = 30.0  # limit of the age of observations, in days
HELD_OUT = 70_001  # index of the seed for the reported seasons, within its split


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters; docs/training.md lists those that differ in its learning curves."""

    num_envs: int = 512
    num_steps: int = 64
    updates: int = 100
    epochs: int = 3
    minibatches: int = 16
    learning_rate: float = 1.5e-3
    gamma: float = 1.0
    trace: float = 0.98
    clip: float = 0.2
    entropy: float = 0.003
    hidden: int = 64
    stack: int = 1
    idle: float = 2.0
    spread: float = 0.15


@dataclass(frozen=True)
class Evening(StatelessWrapper[Any]):
    """A farm with paid observations and one choice per day: today's actions, and tomorrow's observations."""

    env: FarmModel

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return replace(state, acting=jnp.asarray(True)), first  # no observations on the first morning

    def step(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, Timestep]:
        half = lambda now, key: self.env.step(key, now, action, params)  # noqa: E731
        state, both = jax.lax.scan(half, state, keys_for(key, ("day", "look")))
        morning = jax.tree.map(lambda leaf: leaf[-1], both)
        return state, morning._replace(reward=both.reward.sum())


def memory_of(space: gymnasium.Space[Any], stack: int) -> tuple[Any, Callable[[Any, Any], tuple[Any, jax.Array]]]:
    """Return the initial memory, and `see(memory, obs) -> (memory, features)`; features are the last `stack` of the
    observations or, where they are masked, the last observed values, their age, and the time since the start."""
    if isinstance(space, gymnasium.spaces.Dict) and set(space.spaces) == {"values", "mask"}:
        return (jnp.zeros(space["values"].shape), jnp.full(space["mask"].shape, LONG), jnp.zeros(1)), _last_seen
    return jnp.zeros((stack, gymnasium.spaces.flatdim(space))), partial(_last_few, space)


def _last_seen(memory: Any, obs: Any) -> tuple[Any, jax.Array]:
    values, age, clock = memory
    seen = obs["mask"] > 0
    memory = jnp.where(seen, obs["values"], values), jnp.where(seen, 0.0, jnp.minimum(age + 1, LONG)), clock + 1
    return memory, jnp.concatenate(memory)


def _last_few(space: gymnasium.Space[Any], memory: jax.Array, obs: Any) -> tuple[Any, jax.Array]:
    memory = jnp.concatenate([memory[1:], flatten(space, obs)[None]])
    return memory, memory.ravel()


class Moments(NamedTuple):
    """Mean and variance of the features so far, and the number of samples."""

    mean: jax.Array
    var: jax.Array
    count: jax.Array

    def scaled(self, features: jax.Array) -> jax.Array:
        """Return features with mean 0 and variance 1; 0 for features that never varied."""
        scaled = jnp.clip((features - self.mean) * jax.lax.rsqrt(self.var + 1e-6), -8.0, 8.0)
        return jnp.where(self.var > 1e-8 * (1 + self.mean**2), scaled, 0.0)

    def with_batch(self, features: jax.Array) -> Moments:
        """Return the moments updated with more features, (..., features), from each device."""
        rows = features.reshape(-1, features.shape[-1])
        mean, number = average(rows.mean(0)), jax.lax.psum(len(rows), SHARDS)
        spread = average(jnp.square(rows - mean).mean(0))
        share, apart = number / (self.count + number), mean - self.mean
        var = (1 - share) * self.var + share * spread + share * (1 - share) * apart**2
        return Moments(self.mean + share * apart, var, self.count + number)


def perceptron(key: jax.Array, sizes: list[int], last: float) -> list[Any]:
    """Return a perceptron's weights and biases, orthogonal, with the weights of the last layer scaled by `last`."""
    scales = [np.sqrt(2)] * (len(sizes) - 2) + [last]
    shapes = zip(jax.random.split(key, len(scales)), scales, sizes[:-1], sizes[1:], strict=True)
    return [(jax.nn.initializers.orthogonal(scale)(k, (n, m)), jnp.zeros(m)) for k, scale, n, m in shapes]


def apply(layers: list[Any], x: jax.Array) -> jax.Array:
    """Apply a perceptron to features, (..., features)."""
    for weights, bias in layers[:-1]:
        x = jnp.tanh(x @ weights + bias)
    return x @ layers[-1][0] + layers[-1][1]


@dataclass(frozen=True)
class Trained:
    """Samples choices, as in training, and takes mean amounts; `agent` is the first argument, as weights are."""

    env: Env[Any, Any]
    stack: int

    def __call__(self, agent: Any, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, Any]:
        actor, moments = agent
        memory, features = memory_of(self.env.observation_space, self.stack)[1](memory, obs)
        head = make_head(self.env.action_space)
        return memory, head.unflatten(head.act(key, apply(actor, moments.scaled(features))))


def policy_of(env: Env[Any, Any], settings: Settings, agent: Any) -> Policy:
    """Return a trained agent as a policy."""
    return Policy(memory_of(env.observation_space, settings.stack)[0], Partial(Trained(env, settings.stack), agent))


class Batch(NamedTuple):
    """Observations and actions, with leading axes time and environment."""

    features: jax.Array
    chosen: jax.Array
    log_chance: jax.Array
    reward: jax.Array
    after: jax.Array
    terminated: jax.Array
    ended: jax.Array
    total: jax.Array


class Loop(NamedTuple):
    """The state of training between updates."""

    nets: Any
    optimiser: Any
    moments: Moments
    states: Any
    memory: Any
    features: jax.Array
    key: jax.Array


@partial(jax.jit, static_argnums=(0, 1))
def train(env: Env[Any, Any], settings: Settings, params: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    """Train an agent; return it and the mean return of the seasons that ended in each update, with exploration.

    Each device runs an equal part of the environments. Gradients and moments are averaged, so all devices have the same
    networks.
    """
    (nets, moments), curve = train_on_devices(Learner, env, settings, params, key)
    return (nets[0], moments), curve


def train_on_devices(
    kind: Any, env: Env[Any, Any], settings: Any, params: Any, key: jax.Array
) -> tuple[Any, jax.Array]:
    """Train with a learner, data-parallel over all devices; return the networks with the moments, and the curve."""
    share, rest = divmod(settings.num_envs, jax.device_count())
    if rest:
        raise ValueError(f"num_envs: expected a multiple of {jax.device_count()} devices, got {settings.num_envs}")

    def learn(params: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        learner = kind(Log(env), replace(settings, num_envs=share), params)
        loop, curve = jax.lax.scan(learner.update, learner.start(key), jnp.linspace(1.0, 0.0, settings.updates))
        return (loop.nets, loop.moments), curve

    return map_over_shards(learn, jax.devices(), PartitionSpec(), PartitionSpec())(params, key)


@dataclass(frozen=True)
class Learner:
    """Proximal policy optimisation (Schulman et al. 2017) on an environment."""

    env: Env[Any, Any]
    settings: Settings
    params: Any

    @property
    def optimiser(self) -> optax.GradientTransformation:
        s = self.settings
        rate = optax.linear_schedule(s.learning_rate, 0.05 * s.learning_rate, s.updates * s.epochs * s.minibatches)
        return optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate, eps=1e-5))

    def start(self, key: jax.Array) -> Loop:
        """Return new networks, and environments at the start of their first seasons."""
        s = self.settings
        actor_key, critic_key, own = jax.random.split(key, 3)
        reset_key, later = jax.random.split(jax.random.fold_in(own, jax.lax.axis_index(SHARDS)))
        states, first = start_episode(self.env, jax.random.split(reset_key, s.num_envs), self.params)
        memory, features = self._seen(self._blank(), first.obs)
        width = features.shape[-1]
        head = make_head(self.env.action_space)
        actor = perceptron(actor_key, [width, s.hidden, s.hidden, head.outputs], 0.01)
        critic = perceptron(critic_key, [width, s.hidden, s.hidden, 1], 1.0)
        moments = Moments(jnp.zeros(width), jnp.ones(width), jnp.float32(1e-3)).with_batch(features)
        nets = [*actor[:-1], (actor[-1][0], head.bias(s.idle, s.spread))], critic
        return Loop(nets, self.optimiser.init(nets), moments, states, memory, features, later)

    def update(self, loop: Loop, left: jax.Array) -> tuple[Loop, jax.Array]:
        """Run some days of all environments, and learn from them."""
        key, days_key, learn_key = jax.random.split(loop.key, 3)
        loop, batch = jax.lax.scan(self._day, loop, jax.random.split(days_key, self.settings.num_steps))
        nets, optimiser = self._learnt(loop, batch, left * self.settings.entropy, learn_key)
        total, ended = average((jnp.where(batch.ended, batch.total, 0.0).mean(), batch.ended.mean()))
        moments = loop.moments.with_batch(batch.features)
        return loop._replace(nets=nets, optimiser=optimiser, moments=moments, key=key), total / jnp.maximum(ended, 1e-9)

    def _day(self, loop: Loop, key: jax.Array) -> tuple[Loop, Batch]:
        head = make_head(self.env.action_space)
        outputs = apply(loop.nets[0], loop.moments.scaled(loop.features))
        chosen = head.draw(key, outputs)
        action = head.unflatten(chosen)
        states, shown, last = advance(self.env, loop.states, action, self.params, AutoresetMode.SAME_STEP)
        memory, after = self._seen(loop.memory, last.obs)
        memory, features = select(is_done(last), self._seen(self._blank(), shown.obs), (memory, after))
        did = loop.features, chosen, head.log_chance(outputs, chosen)
        done = Batch(*did, last.reward, after, last.terminated, is_done(last), last.info["episode_return"])
        return loop._replace(states=states, memory=memory, features=features), done

    def _blank(self) -> Any:
        start = memory_of(self.env.observation_space, self.settings.stack)[0]
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.settings.num_envs, *leaf.shape)), start)

    def _seen(self, memory: Any, obs: Any) -> tuple[Any, jax.Array]:
        return jax.vmap(memory_of(self.env.observation_space, self.settings.stack)[1])(memory, obs)

    def _learnt(self, loop: Loop, batch: Batch, entropy: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        """Return the networks and the optimiser after some epochs over the batch, in shuffled parts."""
        s = self.settings
        days = loop.moments.scaled(batch.features), batch.chosen, batch.log_chance, *self._advantages(loop, batch)
        rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), days)

        def part(now: Any, which: jax.Array) -> tuple[Any, None]:
            nets, optimiser = now
            slope = jax.grad(self._loss)(nets, jax.tree.map(lambda leaf: leaf[which], rows), entropy)
            change, optimiser = self.optimiser.update(average(slope), optimiser)
            return (optax.apply_updates(nets, change), optimiser), None

        shuffled = jax.vmap(lambda key: jax.random.permutation(key, len(rows[0])))(jax.random.split(key, s.epochs))
        return jax.lax.scan(part, (loop.nets, loop.optimiser), shuffled.reshape(s.epochs * s.minibatches, -1))[0]

    def _advantages(self, loop: Loop, batch: Batch) -> tuple[jax.Array, jax.Array]:
        """Return the value targets and the generalised advantages (Schulman 2016)."""
        s = self.settings
        value, after = (apply(loop.nets[1], loop.moments.scaled(f))[..., 0] for f in (batch.features, batch.after))
        surprise = batch.reward + s.gamma * jnp.where(batch.terminated, 0.0, after) - value

        def back(later: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
            surprise, over = now
            total = surprise + s.gamma * s.trace * jnp.where(over, 0.0, later)
            return total, total

        _, advantage = jax.lax.scan(back, jnp.zeros(s.num_envs), (surprise, batch.ended), reverse=True)
        return value + advantage, advantage

    def _loss(self, nets: Any, rows: Any, bonus: jax.Array) -> jax.Array:
        features, chosen, before, worth, advantage = rows
        head, outputs = make_head(self.env.action_space), apply(nets[0], features)
        ratio = jnp.exp(head.log_chance(outputs, chosen) - before)
        advantage = advantage - average(advantage.mean())
        advantage = advantage / (jnp.sqrt(average(jnp.square(advantage).mean())) + 1e-8)
        kept = jnp.clip(ratio, 1 - self.settings.clip, 1 + self.settings.clip)
        gain = jnp.minimum(ratio * advantage, kept * advantage).mean()
        error = jnp.square(apply(nets[1], features)[..., 0] - worth).mean()
        return 0.5 * error - gain - bonus * head.entropy(outputs)


def task(env: Env[Any, Any]) -> Env[Any, Any]:
    """Return the environment for an agent; if observations have a price, it has one choice per day."""
    return Evening(env) if isinstance(env, FarmModel) and env.asks else env


def compare(id: str, settings: Settings, seeds: int, seasons: int, split: str) -> Iterator[dict[str, Any]]:
    """Train an agent with each seed; after each, yield the report so far."""
    env, plain = task(splits.make(id, "train")), splits.make(id, split)
    report: dict[str, Any] = {"id": id, "settings": asdict(settings), "seasons": seasons, "split": split}

    def score(policy: Policy, env: Env[Any, Any]) -> dict[str, float]:
        key = splits.split(id, split).key(HELD_OUT)
        return asdict(summarise(np.asarray(evaluate(env, policy, key, seasons, horizon(plain)).returns)))

    report["scores"] = {name: score(policy_named(id, plain, name), plain) for name in ("expert", "random", "none")}
    for seed in range(seeds):
        wall, cpu = time.perf_counter(), time.process_time()
        agent, curve = jax.device_get(train(env, settings, env.params, splits.split(id, "train").key(seed)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        report[f"seed {seed}"] = {"curve": curve.round(4).tolist(), "wall": wall, "cpu": cpu}
        report["scores"][f"agent {seed}"] = score(policy_of(env, settings, agent), task(plain))
        yield report


def text(report: dict[str, Any]) -> str:
    """Return the report as lines of text."""
    days = np.prod([report["settings"][name] for name in ("updates", "num_envs", "num_steps")])
    lines = [f"{report['id']}: {days} days of training; mean return (95 % interval) over {report['seasons']} seasons"]
    lines += [f"  {n}: {v['mean']:.3f} ({v['low']:.3f} to {v['high']:.3f})" for n, v in report["scores"].items()]
    clocks = [f"{run['wall']:.0f} s, {run['cpu']:.0f} s CPU" for n, run in report.items() if n[:4] == "seed"]
    return "\n".join([*lines, f"  each training run, the first with compiling: {'; '.join(clocks)}"])


def main() -> None:
    """Train, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--id", nargs="+", default=["farm/bean-1x1-v0"], help="ids; farms of the same shape share one compiled program"
    )
    parser.add_argument("--seeds", type=int, default=1, help="number of training runs")
    parser.add_argument("--seasons", type=int, default=1000, help="number of reported seasons")
    parser.add_argument("--split", default="test", help="the split of the protocol to report on")
    parser.add_argument("--out", type=Path, help="a folder for settings, learning curves and scores as JSON")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error(f"--seeds: expected 1 or more, got {args.seeds}")
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    for id in args.id:
        print(f"{id}: training; 100 updates take a minute or two", flush=True)
        for report in compare(id, settings, args.seeds, args.seasons, args.split):
            name, score = list(report["scores"].items())[-1]
            print(f"  {name} is trained and earns {score['mean']:.3f}", flush=True)
            if args.out is not None:
                args.out.mkdir(parents=True, exist_ok=True)
                (args.out / f"ppo-{report['id'].replace('/', '-')}.json").write_text(json.dumps(report) + "\n")
        print(text(report), flush=True)


if __name__ == "__main__":
    main()
