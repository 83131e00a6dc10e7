"""PPO with memory in one file, for partial observations: farms, learner and training are compiled once.

    pip install '.[train]'
    python examples/recurrent_ppo.py                                       # a few minutes on two cores
    python examples/recurrent_ppo.py --ids farm/bean-1x1-v0 --seeds 5 --out results.json
    python examples/recurrent_ppo.py --updates 4 --num-envs 16 --seasons 50  # a quick test

A gated recurrent unit (Cho et al. 2014, https://arxiv.org/abs/1406.1078) reads each observation, and actor and critic
read the observation and its memory. Gradients go back through all steps of an update, to the memory at its start
(truncated backpropagation through time). The rest is PPO as in `ppo.py`, whose only memory is its last observations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flat_actions import Amounts, Choices, make_head
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from jax.tree_util import Partial
from map_results import Found, Task, make_parser, read_settings, run
from ppo import Moments, apply, average, perceptron, task, train_on_devices

from harvestgym.core.autoreset import advance, is_done, start_episode
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import flatten
from harvestgym.core.xla.compilation import SHARDS
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import policy_named


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        num_envs, num_steps: number of environments, and of steps per update, through which gradients go back.
        updates: number of updates, over which the step size and the entropy bonus fall to 0.
        epochs, minibatches: number of passes over the data of an update, and of groups of environments per pass.
        gamma: discount per step; below 1 for episodes that are cut off instead of ending.
        trace: weight of later temporal-difference errors in an advantage, lambda (Schulman et al. 2016).
        hidden: width of the layers and of the memory.
        idle: initial log odds in favour of the first choice, which does nothing, or of the lowest amount.
        spread: initial standard deviation of an amount, as a share of its range.
    """

    num_envs: int = 128
    num_steps: int = 64
    updates: int = 200
    epochs: int = 3
    minibatches: int = 4
    rate: float = 1.5e-3
    gamma: float = 1.0
    trace: float = 0.98
    clip: float = 0.2
    entropy: float = 0.003
    hidden: int = 64
    idle: float = 2.0
    spread: float = 0.15


class Nets(NamedTuple):
    """Layers that read an observation, the gates of the memory, and the layers of actor and critic.

    Attributes:
        gates: input weights, memory weights and biases of the update gate, the reset gate and the candidate memory.
    """

    eye: list[Any]
    gates: tuple[jax.Array, jax.Array, jax.Array]
    actor: list[Any]
    critic: list[Any]


def make_nets(key: jax.Array, width: int, head: Choices | Amounts, settings: Settings) -> Nets:
    """Return new networks."""
    eye, inner, own, actor, critic = jax.random.split(key, 5)
    n = settings.hidden
    orthogonal = jax.nn.initializers.orthogonal(1.0)
    gates = orthogonal(inner, (n, 3 * n)), orthogonal(own, (n, 3 * n)), jnp.zeros(3 * n)
    *layers, (weights, _) = perceptron(actor, [2 * n, n, head.outputs], 0.01)
    return Nets(
        perceptron(eye, [width, n], float(np.sqrt(2))),
        gates,
        [*layers, (weights, head.bias(settings.idle, settings.spread))],
        perceptron(critic, [2 * n, n, 1], 1.0),
    )


def remember(nets: Nets, memory: jax.Array, features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the next memory, and the input of actor and critic: the observation and the memory."""
    seen = jnp.tanh(apply(nets.eye, features))
    into, along, bias = nets.gates
    update, reset, new = jnp.split(seen @ into + bias, 3, axis=-1)
    old_update, old_reset, old = jnp.split(memory @ along, 3, axis=-1)
    kept = jax.nn.sigmoid(update + old_update)
    memory = kept * memory + (1 - kept) * jnp.tanh(new + jax.nn.sigmoid(reset + old_reset) * old)
    return memory, jnp.concatenate([seen, memory], -1)


def read_steps(nets: Nets, memory: jax.Array, features: jax.Array, begins: jax.Array) -> jax.Array:
    """Return the input of actor and critic in steps (time, environments, ...), given the memory before the first."""

    def step(memory: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
        begin, seen = now
        return remember(nets, jnp.where(begin[:, None], 0.0, memory), seen)

    return jax.lax.scan(step, memory, (begins, features))[1]


@dataclass(frozen=True)
class Trained:
    """Samples choices, as in training, and takes mean amounts; `agent` is the first argument, as weights are."""

    env: Env[Any, Any]

    def __call__(self, agent: Any, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, Any]:
        nets, moments = agent
        memory, read = remember(nets, memory, moments.scaled(flatten(self.env.observation_space, obs)))
        head = make_head(self.env.action_space)
        return memory, head.unflatten(head.act(key, apply(nets.actor, read)))


def policy_of(env: Env[Any, Any], settings: Settings, agent: Any) -> Policy:
    """Return a trained agent as a policy, with an empty memory at the start of an episode."""
    return Policy(jnp.zeros(settings.hidden), Partial(Trained(env), agent))


class Batch(NamedTuple):
    """Steps, with leading axes time and environment; `begins` marks the first observations of episodes."""

    features: jax.Array
    begins: jax.Array
    chosen: jax.Array
    log_chance: jax.Array
    value: jax.Array
    reward: jax.Array
    after: jax.Array
    terminated: jax.Array
    ended: jax.Array
    total: jax.Array


class Loop(NamedTuple):
    """The state of training between updates."""

    nets: Nets
    optimiser: Any
    moments: Moments
    runs: Any
    memory: jax.Array
    features: jax.Array
    begins: jax.Array
    key: jax.Array


@dataclass(frozen=True)
class Learner:
    """Proximal policy optimisation (Schulman et al. 2017) with memory."""

    env: Env[Any, Any]
    settings: Settings
    params: Any

    @property
    def optimiser(self) -> optax.GradientTransformation:
        s = self.settings
        rate = optax.linear_schedule(s.rate, 0.05 * s.rate, s.updates * s.epochs * s.minibatches)
        return optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate, eps=1e-5))

    def start(self, key: jax.Array) -> Loop:
        """Return new networks, and environments at the start of their first episodes."""
        s, (own, nets_key) = self.settings, jax.random.split(key)
        reset_key, later = jax.random.split(jax.random.fold_in(own, jax.lax.axis_index(SHARDS)))
        runs, first = start_episode(self.env, jax.random.split(reset_key, s.num_envs), self.params)
        features = self._flatten(first.obs)
        width = features.shape[-1]
        nets = make_nets(nets_key, width, make_head(self.env.action_space), s)
        moments = Moments(jnp.zeros(width), jnp.ones(width), jnp.float32(1e-3)).with_batch(features)
        memory, begins = jnp.zeros((s.num_envs, s.hidden)), jnp.ones(s.num_envs, bool)
        return Loop(nets, self.optimiser.init(nets), moments, runs, memory, features, begins, later)

    def update(self, loop: Loop, left: jax.Array) -> tuple[Loop, jax.Array]:
        """Run some steps of all environments, and learn from them; return the mean return of episodes that ended."""
        key, steps_key, learn_key = jax.random.split(loop.key, 3)
        after, batch = self.collect(loop, steps_key)
        nets, optimiser = self._learn(loop, batch, left * self.settings.entropy, learn_key)
        total, ended = average((jnp.where(batch.ended, batch.total, 0.0).mean(), batch.ended.mean()))
        moments = loop.moments.with_batch(batch.features)
        after = after._replace(nets=nets, optimiser=optimiser, moments=moments, key=key)
        return after, total / jnp.maximum(ended, 1e-9)

    def collect(self, loop: Loop, key: jax.Array) -> tuple[Loop, Batch]:
        """Run some steps of all environments."""
        return jax.lax.scan(self._step, loop, jax.random.split(key, self.settings.num_steps))

    def _flatten(self, obs: Any) -> jax.Array:
        return jax.vmap(partial(flatten, self.env.observation_space))(obs)

    def _read(self, nets: Nets, loop: Any, memory: jax.Array, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        return remember(nets, memory, loop.moments.scaled(features))

    def _step(self, loop: Loop, key: jax.Array) -> tuple[Loop, Batch]:
        held = jnp.where(loop.begins[:, None], 0.0, loop.memory)
        memory, read = self._read(loop.nets, loop, held, loop.features)
        head, outputs = make_head(self.env.action_space), apply(loop.nets.actor, read)
        chosen = head.draw(key, outputs)
        action = head.unflatten(chosen)
        runs, shown, last = advance(self.env, loop.runs, action, self.params, AutoresetMode.SAME_STEP)
        after = apply(loop.nets.critic, self._read(loop.nets, loop, memory, self._flatten(last.obs))[1])[..., 0]
        value, total = apply(loop.nets.critic, read)[..., 0], last.info["episode_return"]
        did = loop.features, loop.begins, chosen, head.log_chance(outputs, chosen), value
        done = Batch(*did, last.reward, after, last.terminated, is_done(last), total)
        features = self._flatten(shown.obs)
        return loop._replace(runs=runs, memory=memory, features=features, begins=is_done(last)), done

    def _learn(self, loop: Loop, batch: Batch, bonus: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        """Return the networks and the optimiser after some epochs, in minibatches of environments."""
        s, advantage = self.settings, self._advantages(batch)
        features = loop.moments.scaled(batch.features)
        rows = features, batch.begins, batch.chosen, batch.log_chance, batch.value + advantage, advantage

        def part(now: Any, which: jax.Array) -> tuple[Any, None]:
            nets, optimiser = now
            mine = jax.tree.map(lambda leaf: leaf[:, which], rows)
            slope = jax.grad(self._loss)(nets, loop.memory[which], mine, bonus)
            change, optimiser = self.optimiser.update(average(slope), optimiser)
            return (optax.apply_updates(nets, change), optimiser), None

        shuffled = jax.vmap(lambda key: jax.random.permutation(key, s.num_envs))(jax.random.split(key, s.epochs))
        return jax.lax.scan(part, (loop.nets, loop.optimiser), shuffled.reshape(s.epochs * s.minibatches, -1))[0]

    def _advantages(self, batch: Batch) -> jax.Array:
        """Return the generalised advantages (Schulman et al. 2016)."""
        gamma = self.settings.gamma
        surprise = batch.reward + gamma * jnp.where(batch.terminated, 0.0, batch.after) - batch.value

        def back(later: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
            surprise, over = now
            total = surprise + gamma * self.settings.trace * jnp.where(over, 0.0, later)
            return total, total

        return jax.lax.scan(back, jnp.zeros_like(surprise[0]), (surprise, batch.ended), reverse=True)[1]

    def _loss(self, nets: Nets, memory: jax.Array, rows: Any, bonus: jax.Array) -> jax.Array:
        features, begins, chosen, before, worth, advantage = rows
        read = read_steps(nets, memory, features, begins)
        head, outputs = make_head(self.env.action_space), apply(nets.actor, read)
        ratio = jnp.exp(head.log_chance(outputs, chosen) - before)
        advantage = advantage - average(advantage.mean())
        advantage = advantage / (jnp.sqrt(average(jnp.square(advantage).mean())) + 1e-8)
        kept = jnp.clip(ratio, 1 - self.settings.clip, 1 + self.settings.clip)
        gain = jnp.minimum(ratio * advantage, kept * advantage).mean()
        error = jnp.square(apply(nets.critic, read)[..., 0] - worth).mean()
        return 0.5 * error - gain - bonus * head.entropy(outputs)


@partial(jax.jit, static_argnums=(0, 1))
def train(env: Env[Any, Any], settings: Settings, params: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    """Train an agent, data-parallel over all devices; return it and the mean return of the episodes in each update."""
    return train_on_devices(Learner, env, settings, params, key)


def make_task(id: str, settings: Settings) -> Task:
    """Return the task of learning on one id."""
    school, plain = task(splits.make(id, "train")), splits.make(id, "test")
    test, side = task(plain), splits.split(id, "train")
    known = {name: policy_named(id, plain, name) for name in ("expert", "none")}

    def train_seed(seed: int) -> Found:
        agent, curve = train(school, settings, school.params, side.key(seed))
        return np.asarray(curve, float).round(4).tolist(), {"agent": policy_of(test, settings, agent)}

    width = spaces.flatdim(test.observation_space)
    nets = jax.eval_shape(lambda key: make_nets(key, width, make_head(test.action_space), settings), jax.random.key(0))
    return Task(plain, known, train_seed, sum(leaf.size for leaf in jax.tree.leaves(nets)), test)


def main() -> None:
    """Train on each id."""
    parser = make_parser(__doc__ or "", Settings())
    parser.set_defaults(ids=["farm/paid-looks-1x1-v0"])
    args = parser.parse_args()
    settings = read_settings(Settings, args)
    run(args, lambda id: make_task(id, settings))


if __name__ == "__main__":
    main()
