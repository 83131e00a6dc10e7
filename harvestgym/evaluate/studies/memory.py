"""What memory is worth: agents that differ in nothing but what they remember, on fisheries that are seen in part.

In `logistic-survey-v0` a survey errs by a fifth and quotas are not kept; in `driver-hidden-v0` the driver of the
tipping point is never seen. Each agent is a small net trained by the gradient of its return through the simulator,
on the same episodes with the same step sizes. The memoryless one sees the last survey; the stacked one the last eight
and what it did after each; the recurrent one the last survey and what a gated unit has kept of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.episode import Loop, scan_steps, step_with_key
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.tables import Table
from harvestgym.evaluate.statistics import summarise
from harvestgym.fishing.family import make, policies
from harvestgym.fishing.model import FishingModel

GAMES = {"logistic-survey-v0": "escapement", "driver-hidden-v0": "steady"}
"""The fisheries, and a rule without memory that is known to do well there."""

AGENTS = ("memoryless", "stacked", "recurrent")
UNITS, DEPTH, LANES = 16, 8, 32
LEARNING, REPORTED = 5, 80_001
"""Seeds: agents learn on episodes of the first, results are of the second."""


class Found(NamedTuple):
    """The returns of an agent on a fishery; (trainings, episodes), the episodes being the same for all agents."""

    game: str
    agent: str
    returns: np.ndarray


def run(
    replicates: int = 1000,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    updates: int = 200,
    trainings: int = 3,
    games: Sequence[str] = tuple(GAMES),
) -> Table:
    """Return of each agent, and what it has more than the memoryless one on the same episodes.

    Args:
        replicates: episodes of each trained agent.
        out: a folder for `memory.parquet` (a row per episode; needs the extra `data`) and `memory.png`.
        progress: told 1 for each agent and rule that is done.
        updates: steps of gradient ascent (needs the extra `train`).
        trainings: how often each agent is trained, from other weights and on other episodes.
        games: names of fisheries.
    """
    found = []
    for game in games:
        env = make(game)
        for agent in AGENTS:
            found.append(Found(game, agent, _agent_returns(env, agent, updates, trainings, replicates)))
            progress(1)
        for rule in (GAMES[game], "expert"):
            found.append(Found(game, f"rule: {rule}", _returns(env, policies(env)[rule], replicates)[None]))
            progress(1)
    if out is not None:
        _write(found, out)
    columns = ("fishery", "agent", "return (95 % interval)", "more than memoryless (95 % interval)")
    title = f"return, {replicates} episodes, {trainings} trainings of {updates} updates"
    return Table(title, columns, [_row(each, found) for each in found])


def gain(found: Sequence[Found], game: str, agent: str, than: str = "memoryless") -> np.ndarray:
    """What an agent has more than another in each episode, mean over trainings; (episodes,)."""
    mine, other = (next(f for f in found if (f.game, f.agent) == (game, name)) for name in (agent, than))
    return mine.returns.mean(0) - other.returns.mean(0)


@dataclass(frozen=True)
class Agent:
    """A net with one hidden layer on what an agent knows. What is carried is its memory and its last action."""

    kind: str

    @property
    def start(self) -> tuple[jax.Array, jax.Array]:
        """What is carried at the start of an episode."""
        size = {"memoryless": (0,), "stacked": (DEPTH, 2), "recurrent": (UNITS,)}[self.kind]
        return jnp.zeros(size), -jnp.ones(1)

    @property
    def features(self) -> int:
        """How many numbers the net is given."""
        return {"memoryless": 1, "stacked": 2 * DEPTH, "recurrent": 1 + UNITS}[self.kind]

    def weights(self, key: jax.Array) -> dict[str, jax.Array]:
        """Random weights of an agent that at first does little, whatever it sees."""
        shapes = {"in": (self.features, UNITS), "out": (UNITS, 1)}
        shapes |= {"gate": (2 + UNITS, 2 * UNITS), "new": (2 + UNITS, UNITS)} if self.kind == "recurrent" else {}
        pairs = zip(jax.random.split(key, len(shapes)), shapes.items(), strict=True)
        drawn = {name: jax.random.normal(k, shape) / np.sqrt(shape[0]) for k, (name, shape) in pairs}
        biases = {f"{name} bias": jnp.zeros(shape[1]) for name, shape in shapes.items()}
        return drawn | biases | {"out": 0.1 * drawn["out"], "out bias": jnp.full(1, -2.5)}

    def __call__(self, weights: Any, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
        memory, last = carry
        memory, known = self._known(weights, memory, obs, jnp.concatenate([obs, last]))
        action = 2 * jax.nn.sigmoid(_layer(weights, "out", jnp.tanh(_layer(weights, "in", known)))) - 1
        return (memory, action), action

    def _known(self, weights: Any, memory: jax.Array, obs: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        if self.kind == "memoryless":
            return memory, obs
        if self.kind == "stacked":
            memory = jnp.concatenate([memory[1:], now[None]])
            return memory, memory.ravel()
        memory = _gated(weights, memory, now)
        return memory, jnp.concatenate([obs, memory])


def _layer(weights: Any, name: str, x: jax.Array) -> jax.Array:
    return x @ weights[name] + weights[f"{name} bias"]


def _gated(weights: Any, memory: jax.Array, now: jax.Array) -> jax.Array:
    """The gated recurrent unit of Cho et al. (2014)."""
    keep, reset = jnp.split(jax.nn.sigmoid(_layer(weights, "gate", jnp.concatenate([now, memory]))), 2)
    new = jnp.tanh(_layer(weights, "new", jnp.concatenate([now, reset * memory])))
    return keep * memory + (1 - keep) * new


def _agent_returns(env: FishingModel, kind: str, updates: int, trainings: int, replicates: int) -> np.ndarray:
    """Returns of an agent after each of its trainings; (trainings, replicates)."""
    keys = jax.random.split(jax.random.key(LEARNING), trainings)
    trained = _train(env, Agent(kind), int(env.params.horizon), updates, env.params, keys)
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], trained) for i in range(trainings)]
    return np.stack([_returns(env, Policy(Agent(kind).start, Partial(Agent(kind), w)), replicates) for w in each])


def _returns(env: FishingModel, policy: Policy, replicates: int) -> np.ndarray:
    key = jax.random.key(REPORTED)
    return np.asarray(evaluate(env, policy, key, replicates, int(env.params.horizon)).returns)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _train(env: FishingModel, agent: Agent, years: int, updates: int, params: Any, keys: jax.Array) -> Any:
    """The weights after each of some trainings, side by side."""
    import optax

    rate = optax.cosine_decay_schedule(1e-2, updates)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))

    def update(now: tuple[Any, Any], key: jax.Array) -> tuple[tuple[Any, Any], None]:
        weights, memory = now
        slope = jax.grad(lambda w: -_mean_return(env, agent, years, params, w, key))(weights)
        change, memory = optimiser.update(slope, memory)
        return (optax.apply_updates(weights, change), memory), None

    def training(key: jax.Array) -> Any:
        first, episodes = jax.random.split(key)
        weights = agent.weights(first)
        start = weights, optimiser.init(weights)
        return jax.lax.scan(update, start, jax.random.split(episodes, updates))[0][0]

    return jax.vmap(training)(keys)


def _mean_return(env: FishingModel, agent: Agent, years: int, params: Any, weights: Any, key: jax.Array) -> jax.Array:
    """Mean return of some episodes of `years`, a smooth function of the weights."""

    def episode(key: jax.Array) -> jax.Array:
        begin, later = jax.random.split(key)
        state, first = env.reset(begin, params)

        def act(carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
            return agent(weights, carry, obs, key)

        start, keys = Loop(state, first.obs, agent.start), jax.random.split(later, years)
        return scan_steps(act, step_with_key(env, params), start, keys, lambda loop, action, last: last.reward).sum()

    return jax.vmap(episode)(jax.random.split(key, LANES)).mean()


def _row(each: Found, found: Sequence[Found]) -> tuple[str, ...]:
    told = summarise(each.returns.mean(0))
    more = summarise(gain(found, each.game, each.agent))
    apart = "" if each.agent == "memoryless" else f"{more.mean:.3f} ({more.low:.3f} to {more.high:.3f})"
    return each.game, each.agent, f"{told.mean:.3f} ({told.low:.3f} to {told.high:.3f})", apart


def _write(found: Sequence[Found], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_episodes(found, out / "memory.parquet")
    _draw(found, out / "memory.png")


def _write_episodes(found: Sequence[Found], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows: dict[str, list[Any]] = {name: [] for name in ("fishery", "agent", "training", "episode", "return")}
    for each in found:
        for (training, episode), value in np.ndenumerate(each.returns):
            for name, cell in zip(rows, (each.game, each.agent, training, episode, float(value)), strict=True):
                rows[name].append(cell)
    pyarrow.parquet.write_table(pyarrow.table(rows), path)


def _draw(found: Sequence[Found], path: Path) -> None:
    from matplotlib.figure import Figure

    games = list(dict.fromkeys(each.game for each in found))
    page = Figure(figsize=(4.2 * len(games) + 0.5, 3.6), layout="constrained")
    for axes, game in zip(page.subplots(1, len(games), squeeze=False)[0], games, strict=True):
        mine = [each for each in found if each.game == game]
        samples = [each.returns.ravel() for each in mine]
        axes.boxplot(samples, whis=(10, 90), showfliers=False, showmeans=True, medianprops={"color": "#1b4965"})
        axes.set(title=game, ylabel="return of an episode", xticks=range(1, len(mine) + 1))
        axes.set_xticklabels([each.agent.replace(": ", ":\n") for each in mine])
    page.savefig(path, dpi=110)
