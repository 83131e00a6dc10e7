"""The value of memory: agents that differ only in their memory, on partially observed fisheries.

In `logistic-survey-v0`, surveys have an error of about a fifth and quotas are not kept exactly; in `driver-v0`, the
driver of the tipping point is never observed. Each agent is a small network trained with the gradient of its return
through the simulator, on the same episodes with the same step sizes. The memoryless agent gets the last survey, the
stacked agent the last eight surveys and actions, and the recurrent agent the last survey and the memory of a gated
recurrent unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.episode import Loop, scan_steps, seed_key
from harvestgym.core.errors import check_extras
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.statistics import summarise
from harvestgym.fishing.family import make, policies
from harvestgym.fishing.model import FishingModel

from .common.report import open_figure, write_columns

FISHERIES = {"logistic-survey-v0": "escapement", "driver-v0": "steady"}
"""The fisheries, each with a memoryless rule that does well."""

AGENTS = ("memoryless", "stacked", "recurrent")
UNITS, DEPTH, TRAINING_EPISODES = 16, 8, 32
TRAINING_SEED, TEST_SEED = 5, 80_001
"""Seeds: agents learn on episodes of the first seed; results are from the second."""


class AgentReturns(NamedTuple):
    """The returns of an agent on a fishery, (training runs, episodes); all agents have the same episodes."""

    fishery: str
    agent: str
    returns: np.ndarray


def run(
    replicates: int = 1000,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    updates: int = 200,
    trainings: int = 3,
    games: Sequence[str] = tuple(FISHERIES),
    seed: int = TEST_SEED,
) -> Table:
    """Tabulate the return of each agent, and its gain over the memoryless agent on the same episodes.

    Args:
        replicates, out, progress: as in every study; progress counts agents and rules.
        updates: steps of gradient ascent (needs the extra `train`).
        trainings: number of training runs per agent, with different initial weights and episodes.
        games: names of fisheries.
        seed: seed of the reported episodes; agents are trained on other episodes.
    """
    found = []
    for game in games:
        env = make(game)
        for agent in AGENTS:
            trained = train_agents(env, agent, updates, trainings)
            returns = [run_policy(env, policy, replicates, seed) for policy in trained]
            found.append(AgentReturns(game, agent, np.stack(returns)))
            progress(1)
        for rule in (FISHERIES[game], "expert"):
            returns = run_policy(env, policies(env)[rule], replicates, seed)[None]
            found.append(AgentReturns(game, f"rule: {rule}", returns))
            progress(1)
    if out is not None:
        _write_episodes(found, out / "memory.parquet")
        _draw(found, out / "memory.png")
    columns = ("fishery", "agent", "return (95 % interval)", "more than memoryless (95 % interval)")
    title = f"return, {replicates} episodes, {trainings} training runs of {updates} updates"
    return Table(title, columns, [_make_row(each, found) for each in found])


def find_gain(found: Sequence[AgentReturns], game: str, agent: str, than: str = "memoryless") -> np.ndarray:
    """Return the gain of one agent over another in each episode, as a mean over training runs; (episodes,)."""
    mine, other = (next(f for f in found if (f.fishery, f.agent) == (game, name)) for name in (agent, than))
    return mine.returns.mean(0) - other.returns.mean(0)


@dataclass(frozen=True)
class Agent:
    """A network with one hidden layer on the agent's features; the carry is its memory and its last action."""

    kind: str

    @property
    def start(self) -> tuple[jax.Array, jax.Array]:
        """The carry at the start of an episode."""
        size = {"memoryless": (0,), "stacked": (DEPTH, 2), "recurrent": (UNITS,)}[self.kind]
        return jnp.zeros(size, jnp.float32), -jnp.ones(1, jnp.float32)

    @property
    def features(self) -> int:
        """The number of features."""
        return {"memoryless": 1, "stacked": 2 * DEPTH, "recurrent": 1 + UNITS}[self.kind]

    def weights(self, key: jax.Array) -> dict[str, jax.Array]:
        """Draw initial weights with which the agent catches little for any observation."""
        shapes = {"in": (self.features, UNITS), "out": (UNITS, 1)}
        shapes |= {"gate": (2 + UNITS, 2 * UNITS), "new": (2 + UNITS, UNITS)} if self.kind == "recurrent" else {}
        pairs = zip(jax.random.split(key, len(shapes)), shapes.items(), strict=True)
        drawn = {name: jax.random.normal(k, shape, jnp.float32) / np.sqrt(shape[0]) for k, (name, shape) in pairs}
        biases = {f"{name} bias": jnp.zeros(shape[1], jnp.float32) for name, shape in shapes.items()}
        return drawn | biases | {"out": 0.1 * drawn["out"], "out bias": jnp.full(1, -2.5)}

    def __call__(self, weights: Any, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
        memory, last = carry
        memory, known = self._make_features(weights, memory, obs, jnp.concatenate([obs, last]))
        action = 2 * jax.nn.sigmoid(_layer(weights, "out", jnp.tanh(_layer(weights, "in", known)))) - 1
        return (memory, action), action

    def _make_features(
        self, weights: Any, memory: jax.Array, obs: jax.Array, now: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
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
    """Apply the gated recurrent unit of Cho et al. (2014)."""
    keep, reset = jnp.split(jax.nn.sigmoid(_layer(weights, "gate", jnp.concatenate([now, memory]))), 2)
    new = jnp.tanh(_layer(weights, "new", jnp.concatenate([now, reset * memory])))
    return keep * memory + (1 - keep) * new


def train_agents(env: FishingModel, kind: str, updates: int, trainings: int) -> list[Policy]:
    """Train an agent several times; return the policy of each training run."""
    keys = jax.random.split(jax.random.key(TRAINING_SEED), trainings)
    trained = _train(env, Agent(kind), int(env.params.horizon), updates, env.params, keys)
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], trained) for i in range(trainings)]
    return [Policy(Agent(kind).start, Partial(Agent(kind), weights)) for weights in each]


def run_policy(env: FishingModel, policy: Policy, replicates: int, seed: int) -> np.ndarray:
    """Compute a policy's returns, (episodes,); the first is the return of the episode of `reset(seed=seed)`."""
    return np.asarray(evaluate(env, policy, seed_key(seed), replicates, int(env.params.horizon)).returns)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _train(env: FishingModel, agent: Agent, years: int, updates: int, params: Any, keys: jax.Array) -> Any:
    """Return the weights after each training run; all runs are one batch."""
    check_extras("updates", train="optax")
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
    """Return the mean return over some episodes of `years` years, a smooth function of the weights."""

    def episode(key: jax.Array) -> jax.Array:
        begin, later = jax.random.split(key)
        state, first = env.reset(begin, params)

        def act(carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
            return agent(weights, carry, obs, key)

        def step(state: Any, action: Any, key: jax.Array) -> tuple[Any, Any, Any]:
            state, timestep = env.step(key, state, action, params)
            return state, timestep.obs, timestep

        start, keys = Loop(state, first.obs, agent.start), jax.random.split(later, years)
        rewards = lambda loop, action, last: last.reward  # noqa: E731
        return scan_steps(Policy((), act), step, start, keys, rewards).sum()

    return jax.vmap(episode)(jax.random.split(key, TRAINING_EPISODES)).mean()


def _make_row(each: AgentReturns, found: Sequence[AgentReturns]) -> tuple[str, ...]:
    gain = "" if each.agent == "memoryless" else str(summarise(find_gain(found, each.fishery, each.agent)))
    return each.fishery, each.agent, str(summarise(each.returns.mean(0))), gain


def _write_episodes(found: Sequence[AgentReturns], path: Path) -> None:
    names = ("fishery", "agent", "training", "episode", "return")
    rows = [(each.fishery, each.agent, *at, value) for each in found for at, value in np.ndenumerate(each.returns)]
    write_columns(path, dict(zip(names, zip(*rows, strict=True), strict=True)))


def _draw(found: Sequence[AgentReturns], path: Path) -> None:
    games = list(dict.fromkeys(each.fishery for each in found))
    with open_figure(path, 4.2 * len(games) + 0.5, 3.6) as figure:
        for axes, game in zip(figure.subplots(1, len(games), squeeze=False)[0], games, strict=True):
            mine = [each for each in found if each.fishery == game]
            samples = [each.returns.ravel() for each in mine]
            axes.boxplot(samples, whis=(10, 90), showfliers=False, showmeans=True, medianprops={"color": "#1b4965"})
            axes.set(title=game, ylabel="return of an episode", xticks=range(1, len(mine) + 1))
            axes.set_xticklabels([each.agent.replace(": ", ":\n") for each in mine])
