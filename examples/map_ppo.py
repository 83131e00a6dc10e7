"""PPO on the map interface in one file: a network with the same weights on every plot, trained in one jit.

    pip install 'harvestgym[train]'
    python examples/map_ppo.py                                       # some minutes on two cores
    python examples/map_ppo.py --id farm/full-1x1-v1 farm/full-3x4-v1   # a curriculum: the weights go along
    python examples/map_ppo.py --updates 2 --num-envs 8 --seasons 8  # a quick look that everything works

The trunk is a small convolution over the plots with a pooled summary; the heads choose what, then where, then how much,
each under its mask. Since no weight belongs to a plot, an agent of a small farm can go on learning on a larger one.
Trains on the training side of the held-out protocol, and prints mean returns over seasons of the other side.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.vector import AutoresetMode
from jax.tree_util import Partial

from harvestgym.core.autoreset import advance, is_done, start_episode
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.wrappers import Log
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm import MapFarm

HELD_OUT = 70_001
"""Number, within its side of the held-out protocol, of the seed of the seasons that are reported."""


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters."""

    num_envs: int = 64
    num_steps: int = 128
    updates: int = 60
    epochs: int = 3
    minibatches: int = 8
    learning_rate: float = 1.5e-3
    trace: float = 0.97
    clip: float = 0.2
    entropy: float = 0.01
    width: int = 32
    blocks: int = 2


# The network.

Weights = dict[str, Any]


def make_weights(key: jax.Array, env: MapFarm, settings: Settings) -> Weights:
    """Draw weights for the channels, numbers, orders and amounts of a farm."""
    width, (orders, _, amounts) = settings.width, env.table.shape
    keys = iter(jax.random.split(key, 10 + 3 * settings.blocks))

    def dense(*shape: int, scale: float = 1.0) -> jax.Array:
        return scale * jax.random.normal(next(keys), shape) / np.sqrt(shape[-2])

    blocks = [{"own": dense(width, width), "near": dense(width, width), "all": dense(width, width)}
              for _ in range(settings.blocks)]  # fmt: skip
    return {
        "plots": dense(len(env.plot_channels), width), "farm": dense(len(env.farm_channels), width), "blocks": blocks,
        "actor": dense(2 * width, width), "what": dense(width, orders, scale=0.01),
        "key": dense(width, width), "query": dense(orders, width, scale=0.01),
        "amount": dense(orders, 2 * width, amounts, scale=0.01),
        "critic": dense(2 * width, 2 * width), "value": dense(2 * width, 1, scale=0.1),
    }  # fmt: skip


def look(weights: Weights, obs: Any) -> tuple[jax.Array, jax.Array]:
    """Return the features of each plot, (fields, X, Y, width), and of the farm, (2 width,)."""
    there = obs["plots"][..., :1]
    plots, farm = (jnp.clip(obs[name], -5.0, 5.0) for name in ("plots", "farm"))
    x = jax.nn.relu(plots @ weights["plots"] + farm @ weights["farm"]) * there
    for block in weights["blocks"]:
        mean = x.sum((0, 1, 2)) / there.sum()
        x = (x + jax.nn.relu(x @ block["own"] + neighbours(x) @ block["near"] + mean @ block["all"])) * there
    return x, jnp.concatenate([x.sum((0, 1, 2)) / there.sum(), x.max((0, 1, 2))])


def neighbours(x: jax.Array) -> jax.Array:
    """Return the mean over the four neighbours of each cell; 0 beyond the edge."""
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return (padded[:, 2:, 1:-1] + padded[:, :-2, 1:-1] + padded[:, 1:-1, 2:] + padded[:, 1:-1, :-2]) / 4


def value(weights: Weights, farm: jax.Array) -> jax.Array:
    """Return the value of a state, in units of the scale of returns."""
    return (jax.nn.relu(farm @ weights["critic"]) @ weights["value"])[0]


def head(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Return log probabilities of what is possible."""
    return jax.nn.log_softmax(jnp.where(mask > 0, logits, -1e9))


def heads(weights: Weights, obs: Any, choose: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Choose an order part by part: the order, its log probability, and the entropy of the parts.

    `choose(i, logs)` returns part i from its log probabilities, drawn or given.
    """
    plots, farm = look(weights, obs)
    mask, chosen, logs = obs["mask"], [], []

    def part(logits: jax.Array, mask: jax.Array) -> jax.Array:
        logs.append(head(logits, mask))
        chosen.append(choose(len(chosen), logs[-1]))
        return chosen[-1]

    what = part(jax.nn.relu(farm @ weights["actor"]) @ weights["what"], mask["what"])
    cells = plots.reshape(-1, plots.shape[-1])
    cells = jnp.concatenate([jnp.zeros((1, plots.shape[-1])), cells])  # the first place is "no plot"
    where = part((cells @ weights["key"]) @ weights["query"][what], mask["where"][what])
    here = jnp.concatenate([cells[where], farm[: plots.shape[-1]]])
    part(here @ weights["amount"][what], mask["amount"][what])
    chance = sum(log[at] for log, at in zip(logs, chosen, strict=True))
    spread = sum(-(jnp.exp(log) * jnp.maximum(log, -1e8)).sum() for log in logs)
    return jnp.stack(chosen), jnp.asarray(chance), jnp.asarray(spread)


def draw(weights: Weights, obs: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Draw an order; return it and its log probability."""
    keys = jax.random.split(key, 3)
    return heads(weights, obs, lambda i, logs: jax.random.categorical(keys[i], logs))[:2]


def _act(weights: Weights, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    return memory, draw(weights, obs, key)[0]


def policy_of(weights: Weights) -> Policy:
    """Return an agent as a policy of the map interface; it draws its orders, as in training."""
    return Policy((), Partial(_act, weights))


def transfer(weights: Weights, old: MapFarm, new: MapFarm, fresh: Weights) -> Weights:
    """Return the weights for another farm: rows of channels and orders by their names, and fresh ones for new names."""
    names = {
        "plots": [[c.name for c in env.plot_channels] for env in (old, new)],
        "farm": [[c.name for c in env.farm_channels] for env in (old, new)],
        "query": [env.table.names for env in (old, new)],
        "amount": [env.table.names for env in (old, new)],
    }
    made = dict(weights)
    for part, (before, after) in names.items():
        rows = [weights[part][before.index(n)] if n in before else 0 * fresh[part][i] for i, n in enumerate(after)]
        if part == "amount":
            width = fresh[part].shape[-1]
            rows = [jnp.pad(row, ((0, 0), (0, width)))[:, :width] for row in rows]
        made[part] = jnp.stack(rows)
    before, after = names["query"]
    columns = [weights["what"][:, before.index(n)] if n in before else fresh["what"][:, i] for i, n in enumerate(after)]
    return made | {"what": jnp.stack(columns, 1)}


# Learning.


class Batch(NamedTuple):
    """Steps, with leading axes time and environment."""

    obs: Any
    action: jax.Array
    chance: jax.Array
    value: jax.Array
    reward: jax.Array
    ended: jax.Array
    total: jax.Array


class Loop(NamedTuple):
    """All that goes from one update to the next; `scale` is the size of returns."""

    weights: Weights
    optimiser: Any
    scale: jax.Array
    states: Any
    obs: Any
    key: jax.Array


@dataclass(frozen=True)
class Learner:
    """Proximal policy optimisation (Schulman et al. 2017); a season ends with value 0, also by its horizon."""

    env: Env[Any, Any]
    settings: Settings
    params: Any

    @property
    def optimiser(self) -> optax.GradientTransformation:
        s = self.settings
        rate = optax.linear_schedule(s.learning_rate, 0.1 * s.learning_rate, s.updates * s.epochs * s.minibatches)
        return optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate, eps=1e-5))

    def start(self, key: jax.Array, weights: Weights, scale: Any) -> Loop:
        """Begin with environments at the start of their first seasons."""
        reset, later = jax.random.split(key)
        states, first = start_episode(self.env, jax.random.split(reset, self.settings.num_envs), self.params)
        return Loop(weights, self.optimiser.init(weights), jnp.float32(scale), states, first.obs, later)

    def update(self, loop: Loop, left: jax.Array) -> tuple[Loop, jax.Array]:
        """Run some steps of all environments and learn from them; return the mean return of the seasons that ended."""
        s = self.settings
        key, steps_key, learn_key = jax.random.split(loop.key, 3)
        loop, batch = jax.lax.scan(self._step, loop, jax.random.split(steps_key, s.num_steps))
        last = jax.vmap(lambda obs: value(loop.weights, look(loop.weights, obs)[1]))(loop.obs)
        target, advantage = self._advantages(batch, last * loop.scale)
        scale = 0.9 * loop.scale + 0.1 * jnp.maximum(target.std(), 0.01)
        rows = (batch.obs, batch.action, batch.chance, target / scale, advantage)
        rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows)
        weights, optimiser = self._learn(loop, rows, left * s.entropy, learn_key)
        curve = jnp.where(batch.ended, batch.total, 0.0).sum() / jnp.maximum(batch.ended.sum(), 1)
        return loop._replace(weights=weights, optimiser=optimiser, scale=scale, key=key), curve

    def _step(self, loop: Loop, key: jax.Array) -> tuple[Loop, Batch]:
        keys = jax.random.split(key, self.settings.num_envs)
        action, chance = jax.vmap(partial(draw, loop.weights))(loop.obs, keys)
        worth = jax.vmap(lambda obs: value(loop.weights, look(loop.weights, obs)[1]))(loop.obs) * loop.scale
        states, shown, last = advance(self.env, loop.states, action, self.params, AutoresetMode.SAME_STEP)
        total = last.info["episode_return"]
        done = Batch(loop.obs, action, chance, worth, last.reward, is_done(last), total)
        return loop._replace(states=states, obs=shown.obs), done

    def _advantages(self, batch: Batch, last: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the value targets and the generalised advantages (Schulman 2016), without discount."""

        def back(later: Any, now: Any) -> tuple[Any, jax.Array]:
            advantage, after = later
            reward, worth, ended = now
            after = jnp.where(ended, 0.0, after)
            total = reward + after - worth + self.settings.trace * jnp.where(ended, 0.0, advantage)
            return (total, worth), total

        steps = batch.reward, batch.value, batch.ended
        advantage = jax.lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]
        return batch.value + advantage, advantage

    def _learn(self, loop: Loop, rows: Any, bonus: jax.Array, key: jax.Array) -> tuple[Weights, Any]:
        """Return weights and optimiser after some epochs over the rows in shuffled parts."""
        s = self.settings

        def part(now: Any, which: jax.Array) -> tuple[Any, None]:
            weights, optimiser = now
            slope = jax.grad(self._loss)(weights, jax.tree.map(lambda leaf: leaf[which], rows), bonus)
            change, optimiser = self.optimiser.update(slope, optimiser)
            return (optax.apply_updates(weights, change), optimiser), None

        keys = jax.random.split(key, s.epochs)
        shuffled = jax.vmap(lambda key: jax.random.permutation(key, s.num_envs * s.num_steps))(keys)
        return jax.lax.scan(part, (loop.weights, loop.optimiser), shuffled.reshape(s.epochs * s.minibatches, -1))[0]

    def _loss(self, weights: Weights, rows: Any, bonus: jax.Array) -> jax.Array:
        obs, action, before, target, advantage = rows
        _, chance, spread = jax.vmap(lambda obs, one: heads(weights, obs, lambda i, logs: one[i]))(obs, action)
        worth = jax.vmap(lambda obs: value(weights, look(weights, obs)[1]))(obs)
        ratio = jnp.exp(chance - before)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        clipped = jnp.clip(ratio, 1 - self.settings.clip, 1 + self.settings.clip)
        gain = jnp.minimum(ratio * advantage, clipped * advantage).mean()
        return 0.5 * jnp.square(worth - target).mean() - gain - bonus * spread.mean()


@partial(jax.jit, static_argnums=(0, 1))
def train(
    env: MapFarm, settings: Settings, params: Any, key: jax.Array, weights: Weights, scale: Any = 1.0
) -> tuple[Weights, jax.Array]:
    """Train an agent; return its weights and the mean return of the seasons that ended in each update."""
    learner = Learner(Log(env), settings, params)
    start = learner.start(key, weights, scale)
    loop, curve = jax.lax.scan(learner.update, start, jnp.linspace(1.0, 0.0, settings.updates))
    return loop.weights, curve


# The comparison.


def score(id: str, env: Env[Any, Any], policy: Policy, seasons: int) -> dict[str, float]:
    """Return the mean and interval of the returns of a policy over held-out seasons."""
    key = splits.split(id, "test").key(HELD_OUT)
    return asdict(summarise(np.asarray(evaluate(env, policy, key, seasons, horizon(env)).returns)))


def main() -> None:
    """Train on each id in turn, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", nargs="+", default=["farm/bean-clay-weeds-3x4-v1"], help="of a curriculum, in order")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seasons", type=int, default=200, help="how many to report on")
    parser.add_argument("--out", type=Path, help="a file for settings, learning curves and scores as JSON")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    weights, old, report = None, None, {"settings": asdict(settings), "seed": args.seed, "seasons": args.seasons}
    for id in args.id:
        env: Any = MapFarm(splits.make(id, "train"))  # pyright: ignore[reportArgumentType]
        key = splits.split(id, "train").key(args.seed)
        fresh = make_weights(key, env, settings)
        weights = fresh if weights is None or old is None else transfer(weights, old, env, fresh)
        wall, cpu = time.perf_counter(), time.process_time()
        weights, curve = jax.device_get(train(env, settings, env.params, key, weights))
        wall, cpu, old = time.perf_counter() - wall, time.process_time() - cpu, env
        plain = splits.make(id, "test")
        school: Any = MapFarm(plain)  # pyright: ignore[reportArgumentType]
        scores = {"expert": score(id, plain, policy_named(id, plain, "expert"), args.seasons)}
        scores["nothing"] = score(id, school, constant_policy(np.zeros(3, np.int32)), args.seasons)
        scores["untrained"] = score(id, school, policy_of(make_weights(key, env, settings)), args.seasons)
        scores["agent"] = score(id, school, policy_of(weights), args.seasons)
        report[id] = {"scores": scores, "curve": curve.round(4).tolist(), "wall": wall, "cpu": cpu}
        steps = settings.updates * settings.num_envs * settings.num_steps
        print(f"{id}: {steps} orders in {wall:.0f} s ({cpu:.0f} s CPU); mean return over {args.seasons} seasons")
        for name, s in scores.items():
            print(f"  {name}: {s['mean']:.3f} ({s['low']:.3f} to {s['high']:.3f})", flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
