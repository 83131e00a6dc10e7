"""The agents: learners of `examples/` and of the search, with settings for each id of the suite."""

from __future__ import annotations

import importlib
import inspect
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import jax
from gymnasium import spaces
from jax.tree_util import Partial

from experiments.plot_steps import count_plot_steps
from experiments.search.forms import restore_policy
from experiments.search.measure import ROWS
from experiments.search.optimise import POPULATION, Effort, search_player
from experiments.search.players import make_player
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.tune import find_costs
from harvestgym.farm import MapFarm
from harvestgym.registry import spec as spec_of

from . import stable_baselines

ROOT = Path(__file__).parents[2]


def import_learners(*names: str) -> list[Any]:
    """Import modules of `examples/`, which import each other."""
    sys.path.append(str(ROOT / "examples"))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.pop()


flat_ppo, recurrent_ppo, dqn, map_ppo, map_residual, map_imitation = import_learners(
    "ppo", "recurrent_ppo", "dqn", "map_ppo", "map_residual", "map_imitation"
)

SPREADS = {"fishing/driver-v0": 0.03}
"""Initial spread of amounts where it differs from the default, from one training run of PPO with each.

Mean return of training seasons with a spread of 0.15 and 0.03: 52 and 265 on driver, where large catches pass a tipping
point, and 66 and 52 on three-species.
"""

LONG_SEASON = 1_000
"""Steps above which evolution tries a candidate in one season instead of four.

More seasons leave too few generations: of two seeds on contexts, the mean return of training seasons was 0.95 and 0.95
with four, and 0.76 and 0.52 with sixteen.
"""

MOST_STEPS = {"farm/full-10x10-v0": 1_000_000}
"""The most environment steps of a training run on an id whose steps are slow."""

Found = tuple[Sequence[float], Any]
"""The mean return of the seasons in each update (0 without one), and the weights."""


TRAINS = ("train", "enter", "wrap")
"""The methods of an agent whose sources belong to its key; what the others return is in the settings."""


class Agent:
    """A kind of agent and its training; a subclass for each learner.

    Attributes:
        files: the files that contain the learner, relative to the root of the clone.
        uses_expert: whether it starts from the expert, whose tuned numbers then belong to its key.
        most_steps: the most environment steps of a training run, where a slow learner has less than the budget.
    """

    files: ClassVar[tuple[str, ...]]
    uses_expert: ClassVar[bool] = False
    most_steps: ClassVar[int | None] = None

    @cached_property
    def source(self) -> str:
        """The source of the methods that affect a training run, other than by its settings."""
        return "\n".join(inspect.getsource(getattr(self, name)) for name in TRAINS if hasattr(self, name))

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        """Return whether the agent can play an id."""
        raise NotImplementedError

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        """Choose the settings, for any number of updates."""
        raise NotImplementedError

    def count_steps(self, env: Env[Any, Any], settings: Any) -> int:
        """Count the environment steps of a training run."""
        return settings.num_envs * settings.num_steps * settings.updates

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        """Train on the environment of the training split."""
        raise NotImplementedError

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        """Return an environment of any split as the agent sees it, and the trained agent."""
        raise NotImplementedError


class FlatPpo(Agent):
    """PPO on the flat interface; with a discount where an episode does not end but is cut off.

    Attributes:
        learner: the module of the learner.
    """

    files = "examples/ppo.py", "examples/flat_actions.py"
    learner: ClassVar[Any] = flat_ppo

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return not has_many_plots(env)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return self.learner.Settings(**self._choose(id, env))

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        school = self.wrap(env)
        agent, curve = self.learner.train(school, settings, school.params, splits.split(id, "train").key(seed))
        return curve, agent

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return self.wrap(env), self.learner.policy_of(self.wrap(env), settings, weights)

    def _choose(self, id: str, env: Env[Any, Any]) -> dict[str, Any]:
        """Return the settings that depend on the id; few environments, so that long episodes end during training."""
        size = {"num_envs": 32, "num_steps": 128} if is_endless(env) else {"num_envs": 128, "num_steps": 64}
        default, gamma = flat_ppo.Settings(), 1.0 if is_farm(id) else 0.99
        idle, spread = 0.0 if is_endless(env) else default.idle, SPREADS.get(id, default.spread)
        return size | {"gamma": gamma, "idle": idle, "spread": spread}

    def wrap(self, env: Env[Any, Any]) -> Env[Any, Any]:
        """Return the environment as the agent sees it."""
        return end(flat_ppo.task(env))


class RecurrentPpo(FlatPpo):
    """PPO with a memory on the flat interface."""

    files = "examples/recurrent_ppo.py", "examples/ppo.py", "examples/flat_actions.py"
    learner = recurrent_ppo


class MapPpo(Agent):
    """PPO on the map interface, where a step is an order; its orders are sampled, as in training."""

    files = ("examples/map_ppo.py",)

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return has_many_plots(env)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return map_ppo.Settings()

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        farm: Any = MapFarm(env)  # pyright: ignore[reportArgumentType]
        school, key = map_ppo.Diary(farm), splits.split(id, "train").key(seed)
        weights = map_ppo.make_weights(key, farm, settings)
        loop = map_ppo.begin(map_ppo.Learner, school, settings, school.params, key, weights)
        plan = map_ppo.make_plan(settings.updates, settings.rate, settings.entropy)
        loop, curve = map_ppo.train(map_ppo.Learner, school, settings, loop, plan)
        return curve, loop.weights

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        farm: Any = MapFarm(env)  # pyright: ignore[reportArgumentType]
        return map_ppo.Diary(farm), Policy((), Partial(draw_order, weights))


def draw_order(weights: Any, memory: Any, obs: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    """Sample an order of an agent on maps."""
    return memory, map_ppo.draw(weights, obs, key).order


class Imitation(MapPpo):
    """Imitation of the expert in the agent's own states, and then PPO, on maps; only training needs the expert."""

    files = "examples/map_imitation.py", "examples/map_ppo.py"
    uses_expert = True
    most_steps = 245_760

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        own = map_ppo.Settings(rate=3e-4, entropy=0.0, num_envs=8, num_steps=512)
        return Namespace(**vars(own), imitate=40, imitation_rate=2e-3, keep=1.0)

    def count_steps(self, env: Env[Any, Any], settings: Any) -> int:
        return settings.num_envs * settings.num_steps * (settings.imitate + settings.updates)

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        farm: Any = MapFarm(env)  # pyright: ignore[reportArgumentType]
        own = map_ppo.Settings(**{field.name: getattr(settings, field.name) for field in fields(map_ppo.Settings)})
        school = map_imitation.Taught(map_ppo.Diary(farm), policy_named(id, env, "expert"))
        curve, found = map_imitation.train_seed(id, school, own, settings, seed)
        return curve, found["agent"]


class Residual(Agent):
    """PPO that starts from the expert, on the map interface; its orders are sampled, as on the leaderboard."""

    files = "examples/map_residual.py", "examples/map_imitation.py", "examples/map_ppo.py"
    uses_expert = True

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return is_farm(id)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        options = vars(map_residual.read_options([]))
        names = [*(field.name for field in fields(map_ppo.Settings)), "trust", "settle"]
        return Namespace(**{name: options[name] for name in names})

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        own = map_ppo.Settings(**{field.name: getattr(settings, field.name) for field in fields(map_ppo.Settings)})
        curve, found = map_residual.train_seed(id, wrap_advised(id, env, settings.trust), own, settings, seed)
        return curve, found["agent"]

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return wrap_advised(id, env, settings.trust), map_imitation.player_of("drawing agent", weights)


@cache
def wrap_advised(id: str, env: Env[Any, Any], trust: float) -> Any:
    """Return a farm with maps on which the expert gives advice; the same object each time, for compiled programs."""
    farm: Any = MapFarm(env)  # pyright: ignore[reportArgumentType]
    taught = map_imitation.Taught(map_ppo.Diary(farm), policy_named(id, env, "expert"))
    return map_residual.Advised(taught, trust)


class Evolution(Agent):
    """CMA-ES on a linear policy, from whole seasons; it starts from nothing."""

    files = tuple(
        f"experiments/search/{name}.py"
        for name in ("forms", "measure", "optimise", "player", "farm_player", "fleet_player", "forager_player")
    )

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return True

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        seasons = 4 if horizon(env) <= LONG_SEASON else 1
        return Namespace(seasons=seasons, updates=1, finalists=6, fresh=2 * seasons)

    def count_steps(self, env: Env[Any, Any], settings: Any) -> int:
        candidates = POPULATION * settings.seasons * settings.updates
        return horizon(env) * (ROWS + candidates + (settings.finalists + 2) * settings.fresh)

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        effort = Effort(settings.seasons, settings.updates, settings.finalists, settings.fresh)
        key, costs = splits.split(id, "train").key(seed), find_costs(id, env)
        found, arrays = search_player(make_player(env), "linear", key, effort, costs)
        return found.curve, arrays

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return env, restore_policy(make_player(env), "linear", weights)


class MaskedDqn(Agent):
    """Q-learning with masks, on farms with one order a day."""

    files = ("examples/dqn.py",)

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return is_farm(id) and isinstance(env.action_space, spaces.Discrete)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return dqn.Settings()

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        layers, curve = dqn.train(dqn.Masked(env), settings, splits.split(id, "train").key(seed))
        return curve, layers

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return dqn.Masked(env), dqn.make_policy(weights)


class StableBaselinesPpo(Agent):
    """PPO of Stable-Baselines3 on an id of each family."""

    files = ("experiments/training/stable_baselines.py",)
    most_steps = 204_800
    ids: ClassVar[tuple[str, ...]] = "farm/pests-weeds-1x1-v0", "fishing/us-stocks-v0", "forager/two-biome-v0"

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return id in self.ids

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return stable_baselines.Settings(gamma=1.0 if is_farm(id) else 0.99)

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        return stable_baselines.train(end(env), settings, splits.split(id, "train").seed(seed), seed)

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return end(env), stable_baselines.make_policy(env, weights)


AGENTS: dict[str, tuple[Agent, ...]] = {
    "ppo": (MapPpo(), FlatPpo()),
    "recurrent": (RecurrentPpo(),),
    "dqn": (MaskedDqn(),),
    "residual": (Residual(),),
    "evolution": (Evolution(),),
    "imitation": (Imitation(),),
    "sb3-ppo": (StableBaselinesPpo(),),
}
"""The learners of each agent; the first that fits an id trains on it."""


def find_agent(name: str, id: str) -> Agent | None:
    """Return the learner of an agent for an id; None if it has none."""
    env = make_school(id)
    return next((agent for agent in AGENTS[name] if agent.fits(id, env)), None)


@cache
def make_school(id: str) -> Env[Any, Any]:
    """Make the environment of an id's training split; the same object each time, for compiled programs."""
    return splits.split(id, "train").make()


def is_farm(id: str) -> bool:
    """Return whether an id is a farm."""
    return spec_of(id).family == "farm"


def has_many_plots(env: Env[Any, Any]) -> bool:
    """Return whether a farm has more than one plot."""
    return count_plot_steps(env) > horizon(env)


def is_endless(env: Env[Any, Any]) -> bool:
    """Return whether episodes never end."""
    return not int(getattr(env.params, "horizon", 1))


def end(env: Env[Any, Any]) -> Env[Any, Any]:
    """Truncate the episodes of an endless environment at the length of an evaluation."""
    return TimeLimit(env, horizon(env)) if is_endless(env) else env


def change(settings: Any, values: Mapping[str, Any]) -> Any:
    """Return settings with some values changed; raises TypeError for an unknown name."""
    if unknown := set(values) - set(vars(settings)):
        raise TypeError(f"settings: expected some of {sorted(vars(settings))}, got {sorted(unknown)}")
    return type(settings)(**vars(settings) | dict(values))


def choose_settings(agent: Agent, id: str, steps: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's settings with some changes, with as many updates as the environment steps allow."""
    env, steps = make_school(id), min(steps, agent.most_steps or steps, MOST_STEPS.get(id, steps))
    settings = change(agent.settings(id, env), changes)
    one, two = (agent.count_steps(env, change(settings, {"updates": updates})) for updates in (1, 2))
    return vars(change(settings, {"updates": max((steps - one) // (two - one), 0) + 1}))
