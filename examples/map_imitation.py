"""Imitate a farm's expert on the map interface, in states that the agent reaches, and then improve with PPO.

    pip install '.[train]'
    python examples/map_imitation.py                          # a few minutes on two cores
    python examples/map_imitation.py --ids farm/full-3x4-v0 --seeds 5 --out results.json
    python examples/map_imitation.py --imitate 10 --updates 10 --num-envs 8 --seasons 8  # a quick test

The network and PPO come from `map_ppo.py`. In every state, a wrapper asks the expert which orders it would still give
(DAgger: Ross et al. 2011); any of the day's remaining orders is correct. In the second phase, the weight of imitation
falls to 0 (kickstarting: Schmitt et al. 2018).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from map_ppo import (  # fmt: skip
    Choice,
    Diary,
    Learner,
    Loop,
    Plan,
    Settings,
    Weights,
    begin,
    draw,
    given,
    make_plan,
    make_weights,
    policy_of,
    train,
)
from map_results import Found, Task, make_parser, read_settings, run

from harvestgym.core.autoreset import select
from harvestgym.core.env import Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import Wrapper
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import MapFarm


class Notes(NamedTuple):
    """The expert's memory and decisions on the current day.

    Attributes:
        start: the expert's memory when the day began.
        asked: the expert's memory after its requests on this day.
        wants: bool (offered,), the observations that it requests on this day.
        end: the expert's memory after its orders on this day.
        dawn: bool, whether the day has just begun, so that the expert has not been asked yet.
    """

    start: Any
    asked: Any
    wants: jax.Array
    end: Any
    dawn: jax.Array


class TaughtState(NamedTuple):
    """The wrapped state, and the state of the expert's day."""

    inner: Any
    notes: Notes


@dataclass(frozen=True, eq=False)
class Taught(Wrapper[Any]):
    """A diary whose observation also has "lesson": the orders that the expert would still give on this day.

    They are "orders", int32 (n, 3), and "wanted", bool (n,); the first wanted order is the expert's next one. The
    expert answers in any state, even after days that it did not control.
    """

    env: Diary
    expert: Policy
    words: ClassVar = Diary.words

    @property
    def farm(self) -> MapFarm:
        """The farm with maps."""
        return self.env.env

    def opened(self, state: Any, first: Timestep) -> tuple[TaughtState, Timestep]:
        memory = jax.tree.map(jnp.asarray, self.expert.init)
        wants = jnp.zeros(self.farm.requests, bool)
        return self._shown(state, first, Notes(memory, memory, wants, memory, jnp.asarray(True)))

    def step(self, key: jax.Array, state: TaughtState, action: Any, params: Any = None) -> tuple[Any, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        passed = self.env.day_passed(state.inner.inner, action)
        notes = state.notes._replace(start=select(passed, state.notes.end, state.notes.start), dawn=passed)
        return self._shown(inner, timestep, notes)

    def _shown(self, inner: Any, timestep: Timestep, notes: Notes) -> tuple[TaughtState, Timestep]:
        seen, key, table = self.farm.flatten(timestep.obs), jax.random.key(0), self.farm.table
        if self.farm.env.asks:
            asked, action = self.expert.act(notes.start, seen, key)
            wants = jnp.asarray(action.get("request", notes.wants) > 0)
            notes = select(notes.dawn, notes._replace(asked=asked, wants=wants), notes)
        else:
            notes = notes._replace(asked=notes.start)
        end, action = self.expert.act(notes.asked, seen, key)
        numbers = jnp.atleast_1d(action["order"] if isinstance(action, dict) else action)
        given = (numbers[:, None] == inner.inner.pending).any(1)
        orders = jnp.concatenate([
            np.asarray([table.request_of(i) for i in range(self.farm.requests)], np.int32).reshape(-1, 3),
            jax.vmap(table.order)(numbers), jnp.zeros((1, 3), jnp.int32),
        ])  # fmt: skip
        what, where, amount = orders.T
        mask = timestep.obs["mask"]
        possible = (mask["where"][what, where] > 0) & (mask["amount"][what, amount] > 0)
        requests = possible[: self.farm.requests] & notes.wants
        later = possible[self.farm.requests : -1] & (numbers > 0) & ~given & ~requests.any()
        wanted = jnp.concatenate([requests, later, ~(requests.any() | later.any())[None]])
        lesson = {"orders": orders, "wanted": wanted}
        state = TaughtState(inner, notes._replace(end=end))
        return state, timestep._replace(obs=timestep.obs | {"lesson": lesson})


Learned = tuple[list[float], dict[str, Weights]]
"""A learning curve, and the weights to evaluate, by agent name."""
PLAYERS = ("none", "expert", "agent", "drawing agent")


def _play(weights: Weights, player: jax.Array, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    agent, drawn = policy_of(weights).act(memory, obs, key)[1], draw(weights, obs, key).order
    return memory, jnp.stack([jnp.zeros_like(agent), next_order(obs), agent, drawn])[player]


def player_of(name: str, weights: Weights) -> Policy:
    """Return one of the players as a policy for a taught farm; all players share one compiled program."""
    return Policy((), Partial(_play, weights, jnp.int32(PLAYERS.index(name))))


def next_order(obs: Any) -> jax.Array:
    """Return the expert's next order."""
    return obs["lesson"]["orders"][jnp.argmax(obs["lesson"]["wanted"])]


@dataclass(frozen=True)
class Imitator(Learner):
    """A learner that also imitates: some environments follow the expert, and all are asked for its orders."""

    def _act(self, plan: Plan, loop: Loop, key: jax.Array) -> Choice:
        mine = super()._act(plan, loop, key)
        follows = jnp.arange(self.settings.num_envs) < plan.follow * self.settings.num_envs
        return mine._replace(order=jnp.where(follows[:, None], jax.vmap(next_order)(loop.obs), mine.order))

    def _loss(self, weights: Weights, rows: Any, plan: Plan) -> jax.Array:
        misses = jax.vmap(lambda obs: miss(weights, obs))(rows[0])
        return super()._loss(weights, rows, plan) + plan.copy * misses.mean()


def miss(weights: Weights, obs: Any) -> jax.Array:
    """Return the negative log probability that the order is one that the expert wants."""
    chances = jax.vmap(lambda order: given(weights, obs, order).chance)(obs["lesson"]["orders"])
    return -jax.nn.logsumexp(jnp.where(obs["lesson"]["wanted"], chances, -1e9))


def train_seed(id: str, env: Taught, settings: Settings, args: argparse.Namespace, seed: int) -> Learned:
    """Imitate, then improve; return the learning curve, and the weights of the clone and of the agent."""
    first, later = jax.random.split(splits.split(id, "train").key(seed))
    loop = begin(Imitator, env, settings, env.params, later, make_weights(first, env.farm, settings))
    follow = np.clip(1 - np.arange(args.imitate) / (args.imitate / 2), 0, 1)
    plan = make_plan(args.imitate, args.imitation_rate, 0.0, follow=follow, copy=1.0, gain=0.0)
    loop, curve = train(Imitator, env, settings, loop, plan)
    found = {"clone": loop.weights}
    if settings.updates:
        left = np.linspace(1, 0, settings.updates)
        plan = make_plan(settings.updates, settings.rate, settings.entropy, copy=args.keep * left)
        loop, more = train(Imitator, env, settings, loop, plan)
        curve, found["agent"] = curve + more, loop.weights
    return curve, found


def make_taught(id: str, side: str) -> Taught:
    """Make the environment for an id and split, with its expert."""
    plain: Any = splits.make(id, side)
    return Taught(Diary(MapFarm(plain)), policy_named(id, plain, "expert"))


def make_task(id: str, args: argparse.Namespace, make: Any, train_seed: Any) -> Task:
    """Return the task for a farm made by `make(id, side)`; agents are evaluated with likeliest and sampled orders."""
    env, test = (make(id, side) for side in ("train", "test"))
    settings = read_settings(Settings, args)
    fresh = make_weights(jax.random.key(0), env.farm, settings, env.words)

    def train_one(seed: int) -> Found:
        curve, found = train_seed(id, env, settings, args, seed)
        ways = {"": "agent", "drawing ": "drawing agent"}
        return curve, {way + name: player_of(player, weights)
                       for way, player in ways.items() for name, weights in found.items()}  # fmt: skip

    known = {name: player_of(name, fresh) for name in ("expert", "none")}
    return Task(test, known, train_one, sum(leaf.size for leaf in jax.tree.leaves(fresh)))


def main() -> None:
    """For each id, imitate the expert, then train with PPO."""
    parser = make_parser(__doc__ or "", Settings(rate=3e-4, entropy=0.0, num_envs=8, num_steps=512))
    parser.add_argument("--imitate", type=int, default=100, help="updates of imitation, before --updates of PPO")
    parser.add_argument("--imitation-rate", type=float, default=2e-3)
    parser.add_argument("--keep", type=float, default=1.0, help="weight of imitation when PPO begins; it falls to 0")
    args = parser.parse_args()
    run(args, lambda id: make_task(id, args, make_taught, train_seed))


if __name__ == "__main__":
    main()
