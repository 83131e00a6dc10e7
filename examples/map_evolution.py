"""Start from a farm's expert, and learn better orders with evolution strategies.

    pip install '.[train]'
    python examples/map_evolution.py                          # a few minutes on two cores
    python examples/map_evolution.py --ids farm/full-3x4-v0 --seeds 5 --out results.json
    python examples/map_evolution.py --school farm/full-3x4-v0 --ids farm/full-10x10-v0  # train on few plots
    python examples/map_evolution.py --updates 2 --pairs 2 --train-seasons 4 --seasons 8  # a quick test

Each possible order of a day has a score: plus `--trust` if the expert gives it, otherwise minus `--trust`, plus a
linear function of the maps at its plot and of the farm, with the same weights on every plot. Each day, the agent gives
the orders with the highest scores above 0. The weights are learned from whole seasons: an update perturbs all of them
at random, in pairs of opposite signs, runs the same seasons with each perturbation, and adds the perturbations weighted
by their gains (evolution strategies: Salimans et al. 2017, https://arxiv.org/abs/1703.03864; linear policies: Mania et
al. 2018, https://arxiv.org/abs/1803.07055).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax.tree_util import Partial
from map_results import Found, Task, make_parser, read_settings, run
from rich.progress import track

from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate, rollout
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.farm import MapFarm

LONG_AGO = 64.0  # number of days that means never
LIMIT = 4.0  # inputs are clipped to this many standard deviations
CHUNK = 5  # updates per call of the compiled program
Weights = dict[str, jax.Array]


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        updates: number of updates; each runs `train_seasons` seasons 2 `pairs` + 1 times.
        pairs: perturbations of the weights per update, each with both signs.
        train_seasons: seasons per perturbation.
        noise: typical effect of a perturbation on a score.
        rate: step size, in units of the size of a perturbation.
        momentum: fraction of the last step that is repeated.
        trust: score of the expert's orders; the score of other orders is minus this.
    """

    updates: int = 120
    pairs: int = 32
    train_seasons: int = 8
    noise: float = 0.7
    rate: float = 2.5
    momentum: float = 0.9
    trust: float = 1.0


class Memory(NamedTuple):
    """The memory of an agent.

    Attributes:
        expert: the memory of the expert.
        days: float32 (orders, places), the days since each order was given at each place.
        seen: the last value of each entry of the observation; "mask" shows whether there was one.
        acting: bool, whether the next half-day is for interventions; always true if observations cannot be requested.
    """

    expert: Any
    days: jax.Array
    seen: dict[str, jax.Array]
    acting: jax.Array


@dataclass(frozen=True, eq=False)
class Scorer:
    """Chooses the orders of a day by their scores.

    Attributes:
        farm: the farm with maps.
        expert: its expert.
        trust: the score of the expert's orders.
        moments: mean and standard deviation of the maps and of the farm's vector, over the expert's days.
    """

    farm: MapFarm
    expert: Policy
    trust: float
    moments: tuple[tuple[jax.Array, jax.Array], ...] = ()

    @cached_property
    def numbers(self) -> np.ndarray:
        """The index of each order in the action table, (orders, places, amounts); 0 if it is not an intervention."""
        table, found = self.farm.table, np.zeros(self.farm.table.shape, int)
        what, where, amount = table.interventions.T
        found[what, where, amount] = table.first[what] + table.position[what, where] * table.amounts[what] + amount
        return found

    @cached_property
    def requests(self) -> np.ndarray:
        """The order that requests each observation, int (requests, 3)."""
        orders = [self.farm.table.request_of(i) for i in range(self.farm.requests)]
        return np.asarray(orders, int).reshape(-1, 3)

    @cached_property
    def begin(self) -> Memory:
        """The memory at the start of a season."""
        space: Any = self.farm.env.observation_space
        entries = jnp.zeros((space["values"] if isinstance(space, spaces.Dict) else space).shape)
        days = jnp.full(self.farm.table.shape[:2], LONG_AGO)
        expert = jax.tree.map(jnp.asarray, self.expert.init)
        return Memory(expert, days, {"values": entries, "mask": entries}, jnp.asarray(not self.farm.requests))

    def policy(self, weights: Weights) -> Policy:
        """Return the agent with these weights as a policy for the farm without maps."""
        return Policy(self.begin, Partial(self.act, weights))

    def act(self, weights: Weights, memory: Memory, obs: Any, key: jax.Array) -> tuple[Memory, Any]:
        """Return the memory, and the orders of a day or the requests of a morning."""
        expert, advice = self.expert.act(memory.expert, obs, key)
        seen = recall(memory.seen, obs)
        scores = self.scores(weights, seen, memory.days) + self.trust * (2 * self.advised(advice) - 1)
        what, where, _ = self.requests.T
        asked = scores[what, where, 0] > 0
        scores = jnp.where(self.numbers > 0, scores, -jnp.inf)
        score, at = jax.lax.top_k(scores.max(-1).ravel(), self.farm.env.schedule)
        amount = scores.argmax(-1).ravel()[at]
        order = jnp.where(score > 0, jnp.asarray(self.numbers).reshape(-1, scores.shape[-1])[at, amount], 0)
        given = ((at[:, None] == jnp.arange(memory.days.size)) & (score > 0)[:, None]).any(0).reshape(memory.days.shape)
        if self.farm.requests:
            given = jnp.where(memory.acting, given, jnp.zeros_like(given).at[what, where].set(asked))
        days = jnp.where(given, 0.0, jnp.minimum(memory.days + memory.acting, LONG_AGO))
        after = Memory(expert, days, seen, memory.acting ^ (self.farm.requests > 0))
        order = order if self.farm.env.schedule > 1 else order[0]
        return after, {"request": asked.astype(jnp.int32), "order": order} if self.farm.requests else order

    def scores(self, weights: Weights, seen: Any, days: jax.Array) -> jax.Array:
        """Return the contribution of the weights to the score of each order, (orders, places, amounts)."""
        maps, vector = self.inputs(seen, days)
        whole = vector @ weights["farm"] + weights["always"]
        everywhere = jnp.concatenate([whole[None], maps @ weights["plots"] + whole]).T
        return everywhere[..., None] + weights["amount"][:, None]

    def inputs(self, seen: Any, days: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the known features of each plot, (plots, channels), and of the farm, scaled to a typical size of 1."""
        parts = self.encode(seen)
        if self.moments:
            parts = (jnp.clip((part - m) / s, -LIMIT, LIMIT) for part, (m, s) in zip(parts, self.moments, strict=True))
        maps, vector = parts
        since = jnp.concatenate([jnp.exp(-days / 2), days / 32]).T
        return jnp.concatenate([maps, since[1:]], 1), jnp.concatenate([vector, since[0]])

    def encode(self, seen: Any) -> tuple[jax.Array, jax.Array]:
        """Return the maps, (plots, channels), and the farm's vector for an observation or the result of `recall`."""
        seen = self.farm.env.make_observation(**seen) if isinstance(seen, dict) else seen
        found = self.farm.encode(seen, jnp.zeros(self.farm.table.shape[:2]), jnp.int32(0))
        return found["plots"].reshape(-1, found["plots"].shape[-1]), found["farm"]

    def advised(self, advice: Any) -> jax.Array:
        """Return 1 for each of the expert's orders, slightly less for later ones, as float32, shaped like `numbers`."""
        given = jnp.atleast_1d(advice["order"] if isinstance(advice, dict) else advice)
        marks = (self.numbers[..., None] == given) & (given > 0)
        marks = jnp.where(marks, 1 - 1e-3 * np.arange(len(given), dtype=np.float32), 0).max(-1)
        return marks.at[tuple(self.requests.T)].set(advice["request"] > 0) if self.farm.requests else marks


def recall(before: dict[str, jax.Array], obs: Any) -> dict[str, jax.Array]:
    """Return the last known value of each entry of the observation, from `obs` if it has one."""
    if not isinstance(obs, dict):
        return {"values": obs, "mask": jnp.ones(obs.shape)}
    values = jnp.where(obs["mask"] > 0, obs["values"], before["values"])
    return {"values": values, "mask": jnp.maximum(obs["mask"], before["mask"])}


def make_scorer(farm: MapFarm, expert: Policy, trust: float, key: jax.Array) -> Scorer:
    """Make a scorer whose inputs are standardised over the expert's seasons; inputs that never vary are 0."""
    plain = Scorer(farm, expert, trust)
    obs = rollout(farm.env, expert, key, 16, horizon(farm.env)).obs
    encode = jax.vmap(jax.vmap(plain.encode))
    moments = []
    for part in jax.jit(encode)(obs):
        rows = part.reshape(-1, part.shape[-1])
        spread = rows.std(0)
        moments.append((rows.mean(0), jnp.where(spread > 1e-3, spread, jnp.inf)))
    return Scorer(farm, expert, trust, tuple(moments))


def make_weights(scorer: Scorer) -> Weights:
    """Return zero weights, with which an agent acts like the expert."""
    orders, _, amounts = scorer.farm.table.shape
    maps, vector = (part.shape[-1] for part in scorer.inputs(scorer.begin.seen, scorer.begin.days))
    shapes = {"plots": (maps, orders), "farm": (vector, orders), "always": (orders,), "amount": (orders, amounts)}
    return {name: jnp.zeros(shape) for name, shape in shapes.items()}


class Learned(NamedTuple):
    """The weights and the last step that changed them."""

    weights: Weights
    step: Weights


@dataclass(frozen=True, eq=False)
class Evolution:
    """A learner that adapts the weights to the returns of whole seasons."""

    scorer: Scorer
    settings: Settings

    def start(self) -> Learned:
        """Return the state before the first update."""
        return Learned(make_weights(self.scorer), make_weights(self.scorer))

    def update(self, learned: Learned, key: jax.Array) -> tuple[Learned, jax.Array]:
        """Return the state after one more update, and the mean return before it."""
        (weights, last), how = learned, self.settings
        size = how.noise / np.sqrt(len(weights["plots"]) + len(weights["farm"]))
        play, *keys = jax.random.split(key, 1 + len(weights))
        named = zip(weights.items(), keys, strict=True)
        changes = {name: jax.random.normal(k, (how.pairs, *leaf.shape)) for (name, leaf), k in named}
        tried = {name: weights[name] + size * jnp.concatenate([c, -c, 0 * c[:1]]) for name, c in changes.items()}
        env = self.scorer.farm.env

        def mean_return(weights: Weights) -> jax.Array:
            return evaluate(env, self.scorer.policy(weights), play, how.train_seasons, horizon(env)).returns.mean()

        returns = jax.vmap(mean_return)(tried)
        worth = jnp.sign(returns[:-1, None] - returns[:-1]).mean(1)  # ranks limit the effect of outliers
        gains = worth[: how.pairs] - worth[how.pairs :]
        step = {name: how.momentum * last[name] + (1 - how.momentum) * jnp.tensordot(gains, c, 1) / how.pairs
                for name, c in changes.items()}  # fmt: skip
        return Learned({name: weights[name] + how.rate * size * step[name] for name in weights}, step), returns[-1]

    @partial(jax.jit, static_argnums=0)
    def updates(self, learned: Learned, keys: jax.Array) -> tuple[Learned, jax.Array]:
        """Make one update per key."""
        return jax.lax.scan(self.update, learned, keys)

    def train(self, key: jax.Array) -> tuple[list[float], Weights]:
        """Return the learning curve (on training seasons) and the weights."""
        learned, keys, curve = self.start(), jax.random.split(key, self.settings.updates), []
        for start in track(range(0, len(keys), CHUNK), "learning"):
            learned, returns = self.updates(learned, keys[start : start + CHUNK])
            curve += np.asarray(returns, float).round(4).tolist()
        return curve, learned.weights


@cache
def make_learner(id: str, settings: Settings) -> Evolution:
    """Make the learner for a farm, on its training split."""
    env: Any = splits.make(id, "train")
    expert, side = policy_named(id, env, "expert"), splits.split(id, "train")
    return Evolution(make_scorer(MapFarm(env), expert, settings.trust, side.key(len(side.seeds) - 1)), settings)


@cache
def learn(id: str, settings: Settings, seed: int) -> tuple[list[float], Weights]:
    """Return the learning curve and the weights for a seed, trained only once for any number of farms."""
    return make_learner(id, settings).train(splits.split(id, "train").key(seed))


def make_task(id: str, school: str, settings: Settings) -> Task:
    """Return the task of training on the farm `school` for a farm that may have more plots."""
    test: Any = splits.make(id, "test")
    known = {name: policy_named(id, test, name) for name in ("expert", "none")}
    learned_by = make_learner(school, settings).scorer
    scorer = Scorer(MapFarm(test), known["expert"], settings.trust, learned_by.moments)
    inputs, expected = ([c.name for part in (s.farm.plot_channels, s.farm.farm_channels) for c in part]
                        + list(s.farm.table.names) for s in (scorer, learned_by))  # fmt: skip
    if inputs != expected:
        raise SystemExit(f"--school: expected a farm with the channels and orders of {id}, got {school}")

    def train(seed: int) -> Found:
        curve, weights = learn(school, settings, seed)
        return curve, {"agent": scorer.policy(weights)}

    return Task(test, known, train, sum(leaf.size for leaf in make_weights(scorer).values()))


def main() -> None:
    """Train for each id, on the id itself or on another farm."""
    parser = make_parser(__doc__ or "", Settings())
    parser.add_argument("--school", help="another id to train on, with fewer plots; weights do not depend on the plot")
    args = parser.parse_args()
    settings = read_settings(Settings, args)
    run(args, lambda id: make_task(id, args.school or id, settings))


if __name__ == "__main__":
    main()
