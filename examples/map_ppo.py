"""PPO on the map interface in one file: a network with the same weights on every plot, trained in one jit.

    pip install '.[train]'
    python examples/map_ppo.py                                          # a few minutes on two cores
    python examples/map_ppo.py --id farm/full-1x1-v0 farm/full-3x4-v0   # a curriculum: the weights are transferred
    python examples/map_ppo.py --updates 2 --num-envs 8 --seasons 8  # a quick test

The trunk is a small convolution over the plots with a pooled summary. Order and place come from one softmax, and the
amount from a second one, each with its mask. Weights do not depend on the plot, so agents can run on larger farms.
It trains on the training split of the held-out protocol, and prints mean returns over seasons of the test split.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.vector import AutoresetMode
from jax.tree_util import Partial

from harvestgym.core.autoreset import advance, is_done, select, start_episode
from harvestgym.core.env import Env, Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.wrappers import Log, Wrapper
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm import MapFarm

HELD_OUT = 70_001  # index of the seed for the reported seasons, within its split
LONG_AGO = 96.0  # number of days that means never
OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.scale_by_adam(eps=1e-5))


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters."""

    num_envs: int = 64
    num_steps: int = 64
    updates: int = 100
    epochs: int = 2
    minibatches: int = 8
    rate: float = 1e-3
    trace: float = 0.97
    clip: float = 0.2
    entropy: float = 0.01
    width: int = 32
    blocks: int = 2


class DiaryState(NamedTuple):
    """The wrapped state, and the days since each order was given at each place, float32 (orders, places)."""

    inner: Any
    days: jax.Array


@dataclass(frozen=True)
class Diary(Wrapper[Any]):
    """A farm with maps whose observation also has "since": how long ago each order was given at each place.

    Rules such as "weed a plot at most every 40 days" cannot be learned from today's observation alone.
    """

    env: MapFarm
    words: ClassVar = ("short since", "long since")

    def opened(self, state: Any, first: Timestep) -> tuple[DiaryState, Timestep]:
        return self._shown(state, first, jnp.full(self.env.table.shape[:2], LONG_AGO))

    def step(self, key: jax.Array, state: DiaryState, action: Any, params: Any = None) -> tuple[DiaryState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        days = state.days.at[action[0], action[1]].set(0.0) + self.day_passed(state.inner, action)
        return self._shown(inner, timestep, jnp.minimum(days, LONG_AGO))

    def day_passed(self, before: Any, action: jax.Array) -> jax.Array:
        """Return whether the day ended with an order that the mask permits."""
        asks = (action[0] > 0) & (action[0] <= self.env.table.requests)
        return ~asks & ((action[0] == 0) | (before.placed + 1 == self.env.env.schedule))

    def _shown(self, inner: Any, timestep: Timestep, days: jax.Array) -> tuple[DiaryState, Timestep]:
        since = jnp.stack([jnp.exp(-days / 2), days / 32], -1)
        return DiaryState(inner, days), timestep._replace(obs=timestep.obs | {"since": since})


# The network.

Weights = dict[str, Any]


def inputs(env: MapFarm, words: tuple[str, ...] = Diary.words) -> dict[str, list[str]]:
    """Return the names of the network's inputs for a plot and for the farm; `words` are the names in the diary."""
    since = [f"{word} {name}" for name in env.table.names for word in words]
    channels = {"plots": env.plot_channels, "farm": env.farm_channels}
    return {part: [channel.name for channel in named] + since for part, named in channels.items()}


def make_weights(key: jax.Array, env: MapFarm, settings: Settings, words: tuple[str, ...] = Diary.words) -> Weights:
    """Initialise weights for a farm's channels, numbers, orders and amounts."""
    width, (orders, _, amounts) = settings.width, env.table.shape
    keys = iter(jax.random.split(key, 10 + 3 * settings.blocks))
    names = inputs(env, words)

    def dense(*shape: int, scale: float = 1.0) -> jax.Array:
        return scale * jax.random.normal(next(keys), shape) / np.sqrt(shape[-2])

    blocks = [{"own": dense(width, width), "near": dense(width, width), "all": dense(width, width)}
              for _ in range(settings.blocks)]  # fmt: skip
    return {
        "plots": dense(len(names["plots"]), width), "farm": dense(len(names["farm"]), width), "blocks": blocks,
        "actor": dense(2 * width, width), "what": dense(width, orders, scale=0.01),
        "key": dense(width, width), "query": dense(orders, width, scale=0.01),
        "amount": dense(orders, 2 * width, amounts, scale=0.01),
        "critic": dense(2 * width, 2 * width), "value": dense(2 * width, 1, scale=0.1),
    }  # fmt: skip


def look(weights: Weights, obs: Any) -> tuple[jax.Array, jax.Array]:
    """Return the features of each plot, (fields, X, Y, width), and of the farm, (2 width,)."""
    there = obs["plots"][..., :1]
    since = jnp.moveaxis(obs["since"], 1, 0).reshape(obs["since"].shape[1], -1)
    plots = jnp.concatenate([obs["plots"], since[1:].reshape(*there.shape[:-1], -1)], -1)
    plots, farm = (jnp.clip(x, -5.0, 5.0) for x in (plots, jnp.concatenate([obs["farm"], since[0]])))
    x = jax.nn.relu(plots @ weights["plots"] + farm @ weights["farm"]) * there
    for block in weights["blocks"]:
        mean = x.sum((0, 1, 2)) / there.sum()
        x = (x + jax.nn.relu(x @ block["own"] + neighbours(x) @ block["near"] + mean @ block["all"])) * there
    return x, jnp.concatenate([x.sum((0, 1, 2)) / there.sum(), x.max((0, 1, 2))])


def neighbours(x: jax.Array) -> jax.Array:
    """Return the mean over the four neighbours of each cell; 0 beyond the edge."""
    rows, columns = (jnp.eye(n, k=1) + jnp.eye(n, k=-1) for n in x.shape[1:3])
    return (jnp.einsum("ab,fbyw->fayw", rows, x) + jnp.einsum("ab,fxbw->fxaw", columns, x)) / 4


class Choice(NamedTuple):
    """An order (3,), its log probability, the entropy of its parts, and the value of the state in units of `scale`."""

    order: jax.Array
    chance: jax.Array
    spread: jax.Array
    worth: jax.Array


def choose(weights: Weights, obs: Any, pick: Any) -> Choice:
    """Choose an order part by part; `pick(i, logs)` returns part i from its log probabilities (sampled or given)."""
    plots, farm = look(weights, obs)
    mask, chosen, logs = obs["mask"], [], []

    def part(logits: jax.Array, mask: jax.Array) -> jax.Array:
        logs.append(jax.nn.log_softmax(masked(logits, mask)))
        chosen.append(pick(len(chosen), logs[-1]))
        return chosen[-1]

    cells = plots.reshape(-1, plots.shape[-1])
    cells = jnp.concatenate([jnp.zeros((1, plots.shape[-1])), cells])  # the first place is "no plot"
    places = weights["query"] @ jax.nn.relu(cells @ weights["key"]).T
    fitting = jax.nn.logsumexp(masked(places, mask["where"]), axis=1)  # one softmax for what and where
    what = part(jax.nn.relu(farm @ weights["actor"]) @ weights["what"] + fitting, mask["what"])
    where = part(jax.nn.one_hot(what, len(places)) @ places, mask["where"][what])
    here = jnp.concatenate([jax.nn.one_hot(where, len(cells)) @ cells, farm[: plots.shape[-1]]])  # gathers are slow
    sizes = jnp.einsum("i,oia->oa", here, weights["amount"])
    part(jax.nn.one_hot(what, len(sizes)) @ sizes, mask["amount"][what])
    chance = sum(log[at] for log, at in zip(logs, chosen, strict=True))
    spread = sum(-(jnp.exp(log) * jnp.maximum(log, -1e8)).sum() for log in logs)
    worth = (jax.nn.relu(farm @ weights["critic"]) @ weights["value"])[0]
    return Choice(jnp.stack(chosen), jnp.asarray(chance), jnp.asarray(spread), worth)


def masked(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Return masked logits; mask values other than 0 and 1 scale the probabilities."""
    return jnp.where(mask > 0, logits + jnp.log(jnp.maximum(mask, 1e-9)), -1e9)


def draw(weights: Weights, obs: Any, key: jax.Array) -> Choice:
    """Sample an order."""
    return choose(weights, obs, lambda i, logs: jax.random.categorical(jax.random.fold_in(key, i), logs))


def given(weights: Weights, obs: Any, order: jax.Array) -> Choice:
    """Evaluate an order: its log probability, the entropy, and the value of the state."""
    return choose(weights, obs, lambda i, logs: order[i])


def _act(weights: Weights, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    return memory, choose(weights, obs, lambda i, logs: jnp.argmax(logs)).order


def policy_of(weights: Weights) -> Policy:
    """Return an agent as a policy for a `Diary`; it takes the likeliest parts, whereas training samples them."""
    return Policy((), Partial(_act, weights))


def transfer(weights: Weights, old: MapFarm, new: MapFarm, fresh: Weights) -> Weights:
    """Return the weights for a different farm: inputs and orders are matched by name, and new names get 0."""
    made, size = dict(weights), fresh["amount"].shape[-1]
    for part, axis in {"plots": 0, "farm": 0, "query": 0, "amount": 0, "what": 1}.items():
        before, after = (inputs(env).get(part, list(env.table.names)) for env in (old, new))
        given = jnp.moveaxis(weights[part], axis, 0)
        rows = [given[before.index(name)] if name in before else 0 * given[0] for name in after]
        made[part] = jnp.moveaxis(jnp.stack(rows), 0, axis)
    return made | {"amount": jnp.pad(made["amount"], ((0, 0), (0, 0), (0, size)))[..., :size]}


class Batch(NamedTuple):
    """Steps, with leading axes time and environment."""

    obs: Any
    action: jax.Array
    chance: jax.Array
    value: jax.Array
    reward: jax.Array
    ended: jax.Array
    total: jax.Array


class Plan(NamedTuple):
    """Settings of an update; `follow` (where the expert acts) and `copy` (imitation) are for `map_imitation.py`.

    `restart` is the fraction of environments that restart after the update, so that all parts of a season are learned
    at the same time.
    """

    rate: Any
    bonus: Any
    follow: Any = 0.0
    copy: Any = 0.0
    gain: Any = 1.0
    restart: Any = 0.0


class Loop(NamedTuple):
    """The state of training between updates; `scale` is the typical size of returns."""

    weights: Weights
    optimiser: Any
    scale: jax.Array
    states: Any
    obs: Any
    key: jax.Array


@dataclass(frozen=True)
class Learner:
    """Proximal policy optimisation (Schulman et al. 2017); the value after a season is 0, even after its horizon."""

    env: Env[Any, Any]
    settings: Settings
    params: Any

    def start(self, key: jax.Array, weights: Weights, scale: Any = 1.0) -> Loop:
        """Return the initial state, with environments at the start of their first seasons."""
        reset, later = jax.random.split(key)
        states, first = start_episode(self.env, jax.random.split(reset, self.settings.num_envs), self.params)
        return Loop(weights, OPTIMISER.init(weights), jnp.asarray(scale, jnp.float32), states, first.obs, later)

    def update(self, loop: Loop, plan: Plan) -> tuple[Loop, jax.Array]:
        """Run all environments for some steps and learn from them; return the mean return of finished seasons."""
        key, steps_key, learn_key, last_key = jax.random.split(loop.key, 4)
        keys = jax.random.split(steps_key, self.settings.num_steps)
        loop, batch = jax.lax.scan(partial(self._step, plan), loop, keys)
        target, advantage = self._advantages(batch, self._act(plan, loop, last_key).worth * loop.scale)
        scale = 0.9 * loop.scale + 0.1 * jnp.maximum(target.std(), 0.01)
        rows = (batch.obs, batch.action, batch.chance, target / scale, advantage)
        rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows)
        weights, optimiser = self._learn(loop, rows, plan, learn_key)
        curve = jnp.where(batch.ended, batch.total, 0.0).sum() / jnp.maximum(batch.ended.sum(), 1)
        begun = self.start(key, weights, scale)
        again = jnp.arange(self.settings.num_envs) < plan.restart * self.settings.num_envs
        states, obs = select(again, (begun.states, begun.obs), (loop.states, loop.obs))
        return begun._replace(optimiser=optimiser, states=states, obs=obs), curve

    def _act(self, plan: Plan, loop: Loop, key: jax.Array) -> Choice:
        """Return the orders of the environments."""
        return jax.vmap(partial(draw, loop.weights))(loop.obs, jax.random.split(key, self.settings.num_envs))

    def _step(self, plan: Plan, loop: Loop, key: jax.Array) -> tuple[Loop, Batch]:
        act = self._act(plan, loop, key)
        states, shown, last = advance(self.env, loop.states, act.order, self.params, AutoresetMode.SAME_STEP)
        total, worth = last.info["episode_return"], act.worth * loop.scale
        done = Batch(loop.obs, act.order, act.chance, worth, last.reward, is_done(last), total)
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

    def _learn(self, loop: Loop, rows: Any, plan: Plan, key: jax.Array) -> tuple[Weights, Any]:
        """Return weights and optimiser after learning from the rows for some epochs, in shuffled minibatches."""
        s = self.settings

        def part(now: Any, which: jax.Array) -> tuple[Any, None]:
            weights, optimiser = now
            slope = jax.grad(self._loss)(weights, jax.tree.map(lambda leaf: leaf[which], rows), plan)
            change, optimiser = OPTIMISER.update(slope, optimiser)
            return (jax.tree.map(lambda old, by: old - plan.rate * by, weights, change), optimiser), None

        keys = jax.random.split(key, s.epochs)
        shuffled = jax.vmap(lambda key: jax.random.permutation(key, s.num_envs * s.num_steps))(keys)
        return jax.lax.scan(part, (loop.weights, loop.optimiser), shuffled.reshape(s.epochs * s.minibatches, -1))[0]

    def _loss(self, weights: Weights, rows: Any, plan: Plan) -> jax.Array:
        obs, action, before, target, advantage = rows
        now = jax.vmap(partial(given, weights))(obs, action)
        ratio = jnp.exp(now.chance - before)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        clipped = jnp.clip(ratio, 1 - self.settings.clip, 1 + self.settings.clip)
        gain = jnp.minimum(ratio * advantage, clipped * advantage).mean()
        return 0.5 * jnp.square(now.worth - target).mean() - plan.gain * gain - plan.bonus * now.spread.mean()


@partial(jax.jit, static_argnums=(0, 1, 2))
def begin(kind: type[Learner], env: Env[Any, Any], settings: Settings, params: Any, *given: Any) -> Loop:
    """Return the loop of a learner before its first update."""
    return kind(Log(env), settings, params).start(*given)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _learn(kind: type[Learner], env: Env[Any, Any], settings: Settings, params: Any, loop: Loop, plan: Plan) -> Any:
    return jax.lax.scan(kind(Log(env), settings, params).update, loop, plan)


def train(
    kind: type[Learner], env: Env[Any, Any], settings: Settings, loop: Loop, plan: Plan, rows: int = 10
) -> tuple[Loop, list[float]]:
    """Run an update for each row of a plan; return the loop, and the mean return of seasons that ended in each update.

    A compiled program runs `rows` updates at a time, so it can be reused for plans of any length.
    """
    curve: list[float] = []
    for start in range(0, len(plan.rate), rows):
        now = Plan(*(part[start : start + rows] for part in plan))
        loop, part = _learn(kind, env, settings, env.params, loop, now)
        curve += np.asarray(part, np.float64).round(4).tolist()
    return loop, curve


def make_plan(updates: int, rate: float, entropy: float, **more: Any) -> Plan:
    """Return a plan whose step size falls to a tenth and whose entropy weight falls to 0; `more` adds entries."""
    left = np.linspace(1.0, 0.0, updates)
    plan = Plan(rate * (0.1 + 0.9 * left), entropy * left)._replace(**more)
    return jax.tree.map(lambda part: jnp.broadcast_to(jnp.float32(part), (updates,)), plan)


def returns_of(id: str, env: Env[Any, Any], policy: Policy, seasons: int, side: str = "test") -> np.ndarray:
    """Compute the returns of a policy over `seasons` seasons of the split of `env`."""
    return np.asarray(evaluate(env, policy, splits.split(id, side).key(HELD_OUT), seasons, horizon(env)).returns)


def main() -> None:
    """Train on each id in turn, then compare the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", nargs="+", default=["farm/bean-clay-weeds-3x4-v0"], help="curriculum of ids, in order")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seasons", type=int, default=200, help="number of reported seasons")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    trained: Any = None  # weights, and the farm to which they belong
    for id in args.id:
        farm: Any = MapFarm(splits.make(id, "train"))  # pyright: ignore[reportArgumentType]
        env, key = Diary(farm), splits.split(id, "train").key(args.seed)
        fresh = make_weights(key, farm, settings)
        weights = transfer(*trained, farm, fresh) if trained else fresh
        wall = time.perf_counter()
        loop = begin(Learner, env, settings, env.params, key, weights)
        loop, _ = train(Learner, env, settings, loop, make_plan(settings.updates, settings.rate, settings.entropy))
        wall, trained = time.perf_counter() - wall, (loop.weights, farm)
        plain = splits.make(id, "test")
        school = Diary(MapFarm(plain))  # pyright: ignore[reportArgumentType]
        players = {name: (plain, policy_named(id, plain, name)) for name in ("expert", "none")}
        players |= {"untrained": (school, policy_of(fresh)), "agent": (school, policy_of(loop.weights))}
        print(f"{id}: {settings.updates} updates in {wall:.0f} s; mean return over {args.seasons} seasons")
        for name, player in players.items():
            print(f"  {name}: {summarise(returns_of(id, *player, args.seasons))}", flush=True)


if __name__ == "__main__":
    main()
