"""Imitate the expert on the map interface, then improve by PPO: the network of `map_ppo.py`, each phase in one jit.

    pip install 'harvestgym[train]'
    python examples/map_imitation.py                                   # some minutes on two cores
    python examples/map_imitation.py --updates 0                       # imitation only
    python examples/map_imitation.py --updates 2 --num-envs 8 --demos 64 --epochs-cloned 2 --seasons 8   # a quick look

The expert of the id plays the training side of the held-out protocol, translated to orders; the agent learns its orders
by maximum likelihood and its returns by least squares, and goes on with PPO. Prints mean returns over held-out seasons.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from map_ppo import Settings, Weights, heads, look, make_weights, policy_of, score, train, value

from harvestgym.core.rollout import Trajectory, rollout
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import MapFarm


def returns_to_go(shown: Trajectory) -> tuple[jax.Array, jax.Array]:
    """Return the sum of rewards from each step to the end of its season, and whether that end was seen."""

    def back(later: Any, now: Any) -> tuple[Any, Any]:
        total, known = later
        reward, ended = now
        found = reward + jnp.where(ended, 0.0, total), known | ended
        return found, found

    ended = shown.terminated | shown.truncated
    start = jnp.zeros(ended.shape[1]), jnp.zeros(ended.shape[1], bool)
    return jax.lax.scan(back, start, (shown.reward, ended), reverse=True)[1]


@partial(jax.jit, static_argnums=(0, 1, 2))
def clone(
    epochs: int, parts: int, rate: float, weights: Weights, shown: Trajectory, key: jax.Array
) -> tuple[Weights, jax.Array, jax.Array]:
    """Return weights that imitate the shown orders, the scale of returns, and the mean log likelihood per epoch."""
    total, known = returns_to_go(shown)
    scale = jnp.maximum(total.std(), 0.01)
    rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (shown.obs, shown.action, total / scale, known))
    optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate))

    def loss(weights: Weights, which: jax.Array) -> tuple[jax.Array, jax.Array]:
        obs, action, target, seen = jax.tree.map(lambda leaf: leaf[which], rows)
        chance = jax.vmap(lambda obs, one: heads(weights, obs, lambda i, logs: one[i])[1])(obs, action)
        worth = jax.vmap(lambda obs: value(weights, look(weights, obs)[1]))(obs)
        return 0.1 * (jnp.square(worth - target) * seen).mean() - chance.mean(), chance.mean()

    def part(now: Any, which: jax.Array) -> tuple[Any, jax.Array]:
        weights, state = now
        slope, likelihood = jax.grad(loss, has_aux=True)(weights, which)
        change, state = optimiser.update(slope, state)
        return (optax.apply_updates(weights, change), state), likelihood

    size = len(rows[2]) // parts * parts
    shuffled = jax.vmap(lambda key: jax.random.permutation(key, len(rows[2]))[:size])(jax.random.split(key, epochs))
    shuffled = shuffled.reshape(epochs * parts, -1)
    (weights, _), likelihood = jax.lax.scan(part, (weights, optimiser.init(weights)), shuffled)
    return weights, scale, likelihood.reshape(epochs, parts).mean(1)


def main() -> None:
    """Imitate, improve, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", default="farm/bean-clay-weeds-3x4-v1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seasons", type=int, default=200, help="how many to report on")
    parser.add_argument("--demos", type=int, default=1024, help="orders that each environment shows")
    parser.add_argument("--epochs-cloned", type=int, default=15)
    parser.add_argument("--out", type=Path, help="a file for settings, learning curves and scores as JSON")
    defaults = asdict(Settings(updates=30, learning_rate=5e-4, entropy=0.003))
    for name, default in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    settings = Settings(**{name: getattr(args, name) for name in defaults})
    plain = splits.make(args.id, "test")
    env: Any = MapFarm(splits.make(args.id, "train"))  # pyright: ignore[reportArgumentType]
    school: Any = MapFarm(plain)  # pyright: ignore[reportArgumentType]
    keys = jax.random.split(splits.split(args.id, "train").key(args.seed), 4)
    start = time.process_time()
    expert = policy_named(args.id, env, "expert")
    shown = rollout(env, expert, keys[0], settings.num_envs, args.demos)
    parts = max(1, settings.num_envs * args.demos // 1024)
    weights, scale, likelihood = clone(
        args.epochs_cloned, parts, 1e-3, make_weights(keys[1], env, settings), shown, keys[2]
    )
    scores = {"expert": score(args.id, plain, policy_named(args.id, plain, "expert"), args.seasons)}
    scores["imitation"] = score(args.id, school, policy_of(weights), args.seasons)
    curve = np.zeros(0)
    if settings.updates:
        weights, curve = jax.device_get(train(env, settings, env.params, keys[3], weights, scale))
        scores["imitation, then PPO"] = score(args.id, school, policy_of(weights), args.seasons)
    cpu = time.process_time() - start
    print(f"{args.id}: {settings.num_envs * args.demos} orders of the expert, then "
          f"{settings.updates * settings.num_envs * settings.num_steps} of its own, in {cpu:.0f} s CPU")  # fmt: skip
    print(f"  log likelihood of an order: {float(likelihood[0]):.2f} at first, {float(likelihood[-1]):.2f} at last")
    for name, s in scores.items():
        print(f"  {name}: {s['mean']:.3f} ({s['low']:.3f} to {s['high']:.3f})", flush=True)
    if args.out is not None:
        report = {"id": args.id, "settings": asdict(settings), "seed": args.seed, "seasons": args.seasons}
        args.out.write_text(
            json.dumps(report | {"scores": scores, "curve": curve.round(4).tolist(), "cpu": cpu}) + "\n"
        )


if __name__ == "__main__":
    main()
