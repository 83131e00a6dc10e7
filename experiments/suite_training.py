"""Train agents on the training split of each suite id, and evaluate their final weights on the test split.

python -m experiments.suite_training train                          # all ids and agents, five seeds each
python -m experiments.suite_training train --ids farm/rotation-v0 --agents ppo
python -m experiments.suite_training test                           # the test seasons of all trained agents
python -m experiments.suite_training table
python -m experiments.suite_training suite                          # results/suite/AGENT.json, for the leaderboard

All agents of an id get the same number of environment steps. A training run is a case of a sweep (`harvestgym.sweep`):
its key is the hash of the id's files and overrides, the agent's settings and sources, and the returns of the random
policy, which change if the environment does. Only runs with a new key are trained when the program starts again.
The folder of results has a file for each id and agent, with a line per seed. Weights stay in the folder of the sweep
(`--work`). Training, settings and learning curves use the training split only, in `splits.sealed()`; `test` is a
separate step, which logs that it opens the test side.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib
import inspect
import json
import pickle
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from gymnasium import spaces
from jax.tree_util import Partial
from pydantic import JsonValue

from experiments.aggregates import bootstrap_strata, mean_of_all
from experiments.leaderboard.run import LONG_EPISODE, count_plot_steps
from experiments.test_side import LOG, log_opening
from harvestgym.cli.console import print_table
from harvestgym.core.config import TUNED_FOLDER
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy, together
from harvestgym.core.view.tables import Table
from harvestgym.core.wrappers import TimeLimit
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named, run_episodes
from harvestgym.evaluate.score import scale_return
from harvestgym.evaluate.suite import RETURN, SuiteResult, round_number
from harvestgym.farm import MapFarm
from harvestgym.registry import locate_file
from harvestgym.registry import spec as spec_of
from harvestgym.sweep.cases import SweepCase, hash_file, list_user_files, read_package_version
from harvestgym.sweep.engine import run_cases
from harvestgym.sweep.result_folder import find_result_path, is_complete, read_result

ROOT = Path(__file__).parents[1]
EXAMPLES, WORK = ROOT / "examples", ROOT / "out" / "training"
RESULTS, SUITE = ROOT / "experiments" / "results" / "training", ROOT / "experiments" / "results" / "suite"

IDS = tuple(splits.list_suite())

SEEDS, SEASONS, FEW_SEASONS = 5, 400, 100
"""Training runs of an agent, and seasons per evaluation; there are fewer seasons if these are long."""

STEP_BUDGET = 1_000_000
"""Environment steps of a training run."""

CHOOSING = 70_001
"""The index, within the training split, of the seed for the seasons on which settings may be compared."""

POINTS = 20
"""Number of points of a stored learning curve."""


def import_learners(*names: str) -> list[Any]:
    """Import modules of `examples/`, which import each other."""
    sys.path.append(str(EXAMPLES))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.pop()


flat_ppo, recurrent_ppo, dqn, map_ppo, map_evolution, map_residual, map_imitation = import_learners(
    "ppo", "recurrent_ppo", "dqn", "map_ppo", "map_evolution", "map_residual", "map_imitation"
)

SPREADS = {"fishing/driver-v0": 0.03}
"""Initial spread of amounts where it differs from the default, from one training run of PPO with each.

Mean return of training seasons with a spread of 0.15 and 0.03: 52 and 265 on driver, where large catches pass a tipping
point, and 66 and 52 on three-species.
"""

Found = tuple[Sequence[float], Any]
"""The mean return of the seasons in each update (0 without one), and the weights."""


TRAINS = ("train", "enter", "wrap")
"""The methods of an agent whose sources belong to its key; what the others return is in the settings."""


class Agent:
    """A kind of agent and its training; a subclass is a learner in `examples/`.

    Attributes:
        modules: the examples that contain the learner.
        uses_expert: whether it starts from the expert, whose tuned numbers then belong to its key.
    """

    modules: ClassVar[tuple[str, ...]]
    uses_expert: ClassVar[bool] = False

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
    """PPO on the flat interface; with a discount where an episode does not end but is cut off."""

    modules = "ppo", "flat_actions"

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return not has_many_plots(env)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return flat_ppo.Settings(**self._choose(id, env))

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        school = self.wrap(env)
        agent, curve = flat_ppo.train(school, settings, school.params, splits.split(id, "train").key(seed))
        return curve, agent

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return self.wrap(env), flat_ppo.policy_of(self.wrap(env), settings, weights)

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

    modules = "recurrent_ppo", "ppo", "flat_actions"

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return recurrent_ppo.Settings(**self._choose(id, env))

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        school = self.wrap(env)
        agent, curve = recurrent_ppo.train(school, settings, school.params, splits.split(id, "train").key(seed))
        return curve, agent

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return self.wrap(env), recurrent_ppo.policy_of(self.wrap(env), settings, weights)


class MapPpo(Agent):
    """PPO on the map interface, where a step is an order; its orders are sampled, as in training."""

    modules = ("map_ppo",)

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


class Residual(Agent):
    """PPO that starts from the expert, on the map interface; its orders are sampled, as on the leaderboard."""

    modules = "map_residual", "map_imitation", "map_ppo"
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
    """Linear scores of orders that start from the expert, learned with evolution strategies from whole seasons."""

    modules = ("map_evolution",)
    uses_expert = True

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return is_farm(id)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return map_evolution.Settings(pairs=8, train_seasons=4)

    def count_steps(self, env: Env[Any, Any], settings: Any) -> int:
        return settings.updates * settings.train_seasons * (2 * settings.pairs + 1) * horizon(env)

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        return map_evolution.make_learner(id, settings).train(splits.split(id, "train").key(seed))

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        moments = map_evolution.make_learner(id, settings).scorer.moments
        farm: Any = MapFarm(env)  # pyright: ignore[reportArgumentType]
        return env, map_evolution.Scorer(farm, policy_named(id, env, "expert"), settings.trust, moments).policy(weights)


class MaskedDqn(Agent):
    """Q-learning with masks, on farms with one order a day."""

    modules = ("dqn",)

    def fits(self, id: str, env: Env[Any, Any]) -> bool:
        return is_farm(id) and isinstance(env.action_space, spaces.Discrete)

    def settings(self, id: str, env: Env[Any, Any]) -> Any:
        return dqn.Settings()

    def train(self, id: str, env: Env[Any, Any], settings: Any, seed: int) -> Found:
        layers, curve = dqn.train(dqn.Masked(env), settings, splits.split(id, "train").key(seed))
        return curve, layers

    def enter(self, id: str, env: Env[Any, Any], settings: Any, weights: Any) -> tuple[Env[Any, Any], Policy]:
        return dqn.Masked(env), dqn.make_policy(weights)


AGENTS: dict[str, tuple[Agent, ...]] = {
    "ppo": (MapPpo(), FlatPpo()),
    "recurrent": (RecurrentPpo(),),
    "dqn": (MaskedDqn(),),
    "residual": (Residual(),),
    "evolution": (Evolution(),),
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
    env = make_school(id)
    settings = change(agent.settings(id, env), changes)
    per_update = agent.count_steps(env, settings) // settings.updates
    return vars(change(settings, {"updates": max(steps // per_update, 1)}))


def count_seasons(id: str) -> int:
    """Return the number of seasons per evaluation."""
    return FEW_SEASONS if count_plot_steps(make_school(id)) > LONG_EPISODE else SEASONS


@cache
def describe_world(id: str) -> str:
    """Return the mean return and length of the random policy in some training seasons, which identify an environment.

    Three digits, because the last ones differ between machines.
    """
    env, number = make_school(id), 16
    whole = run_episodes(env, policy_named(id, env, "random"), number, _choosing(id), horizon(env))
    return f"{np.mean(whole.returns):.3g} in {np.mean(whole.length):.3g} steps"


def _choosing(id: str) -> int:
    return splits.split(id, "train").seed(CHOOSING)


class TrainingCase(SweepCase):
    """A training run.

    Attributes:
        settings: the agent's settings.
        seasons: number of training seasons that evaluate the final weights.
        world: the description of the environment.
    """

    runner: ClassVar[str] = "experiments.suite_training:run_training_cases"

    id: str
    agent: str
    seed: int
    settings: dict[str, JsonValue]
    seasons: int
    world: str

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "agent": self.agent, "seed": self.seed}

    @property
    def learner(self) -> Agent:
        """The learner of the agent."""
        agent = find_agent(self.agent, self.id)
        assert agent is not None
        return agent

    @property
    def options(self) -> Any:
        """The settings as the learner's own class."""
        return change(self.learner.settings(self.id, make_school(self.id)), self.settings)

    @property
    def files(self) -> list[Path]:
        own = list_user_files(str(locate_file(self.id)))
        expert = self.learner.uses_expert
        return [
            *(path for path in own if expert or path.parent.name != TUNED_FOLDER),
            *(EXAMPLES / f"{module}.py" for module in self.learner.modules),
        ]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 hash of the case, its files, the overrides of the training split, and the agent's class.

        Unlike other cases, it does not cover the package, most of whose changes do not affect a training run.
        """
        overrides = json.dumps(dict(splits.split(self.id, "train").overrides), sort_keys=True, default=str)
        parts = [self.text, overrides, self.learner.source, *(hash_file(path) for path in self.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def list_cases(
    ids: Sequence[str], agents: Sequence[str], seeds: int, steps: int, changes: Mapping[str, Any]
) -> list[TrainingCase]:
    """List the training runs of the agents that can play an id."""
    cases = []
    for id in ids:
        for name in agents:
            if (agent := find_agent(name, id)) is None:
                continue
            settings = choose_settings(agent, id, steps, changes)
            about = {"settings": settings, "seasons": count_seasons(id), "world": describe_world(id)}
            cases += [TrainingCase(id=id, agent=name, seed=seed, **about) for seed in range(seeds)]
    return cases


RECORD, WEIGHTS = "record", "weights"


def run_training_cases(cases: Sequence[TrainingCase]) -> list[dict[str, np.ndarray]]:
    """Train, and evaluate on fresh training seasons; return the records as JSON text, and the weights."""
    return [_run_training(case) for case in cases]


def _run_training(case: TrainingCase) -> dict[str, np.ndarray]:
    free_programs_if_full()
    learner, settings, env = case.learner, case.options, make_school(case.id)
    start = time.process_time()
    curve, weights = jax.device_get(jax.block_until_ready(learner.train(case.id, env, settings, case.seed)))
    seconds = time.process_time() - start
    returns = _play(case.seasons, _choosing(case.id), *learner.enter(case.id, env, settings, weights))
    record = {
        "id": case.id, "agent": case.agent, "seed": case.seed, "key": case.digest, "world": case.world,
        "steps": learner.count_steps(env, settings), "cpu": round(seconds, 1),
        "parameters": sum(np.size(leaf) for leaf in jax.tree.leaves(weights)), "settings": case.settings,
        "curve": shorten(curve), "train": round_number(float(np.mean(returns))),
    }  # fmt: skip
    packed = base64.b64encode(pickle.dumps(weights)).decode()
    return {RECORD: np.asarray([json.dumps(record)]), WEIGHTS: np.asarray([packed])}


def shorten(curve: Sequence[float]) -> list[float | None]:
    """Return the means of equal parts of a learning curve, without updates in which no season ended (0)."""
    parts = [np.asarray(part) for part in np.array_split(np.asarray(curve, float), min(POINTS, len(curve)))]
    return [round_number(part[part != 0].mean()) if part.any() else None for part in parts]


class Store(NamedTuple):
    """A folder of results: a JSON line per seed in `<id>-<agent>.jsonl`, and `references.json`.

    Attributes:
        folder: the folder.
    """

    folder: Path

    def find_path(self, id: str, agent: str) -> Path:
        """Return the file of an agent on an id."""
        return self.folder / f"{id.replace('/', '-')}-{agent}.jsonl"

    def read(self, id: str, agent: str) -> dict[int, dict[str, Any]]:
        """Read the records by seed."""
        path = self.find_path(id, agent)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return {record["seed"]: record for record in map(json.loads, lines)}

    def write(self, record: Mapping[str, Any]) -> None:
        """Write a record, replacing that of the same seed."""
        whole = self.read(record["id"], record["agent"]) | {record["seed"]: dict(record)}
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(whole[seed])}\n" for seed in sorted(whole))
        self.find_path(record["id"], record["agent"]).write_text(text, encoding="utf-8")

    def find(self, case: TrainingCase) -> dict[str, Any] | None:
        """Return the record of a training run with the same key; None if there is none."""
        record = self.read(case.id, case.agent).get(case.seed)
        return record if record is not None and record["key"] == case.digest else None

    def read_references(self) -> dict[str, Any]:
        """Read the mean test returns of the expert and of doing nothing, by id."""
        path = self.folder / "references.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def write_references(self, references: Mapping[str, Any]) -> None:
        """Write the references."""
        text = json.dumps(dict(sorted(references.items())), indent=1)
        (self.folder / "references.json").write_text(f"{text}\n", encoding="utf-8")


def train(cases: Sequence[TrainingCase], store: Store, work: Path, command: str) -> list[str]:
    """Train the runs that are not finished, and store each; return the messages of failures.

    A run is finished if its record has the same key, and either test returns or weights in the folder `work`.
    """
    missing = [case for case in cases if not _is_finished(case, store, work)]
    failures = []
    for case, outcome in run_cases(missing, work) if missing else ():
        if outcome.columns is None:
            failures.append(f"{case}: {outcome.error}")
            continue
        record = json.loads(outcome.columns[RECORD][0]) | {"command": command}
        store.write(record)
        print(f"{case}: train {record['train']:.4g}, {record['cpu']:.0f} CPU s", flush=True)
    return failures


def _is_finished(case: TrainingCase, store: Store, work: Path) -> bool:
    record = store.find(case)
    return record is not None and (is_tested(record) or is_complete(find_result_path(work, case)))


def is_tested(record: Mapping[str, Any]) -> bool:
    """Return whether a training run has returns on this version of the test side."""
    return record.get("digest") == splits.digest()


def test(cases: Sequence[TrainingCase], store: Store, work: Path) -> None:
    """Evaluate the finished runs, and the references of their ids, on the first seasons of the test split."""
    for case in cases:
        record, path = store.find(case), find_result_path(work, case)
        if record is None or is_tested(record) or not is_complete(path):
            continue
        free_programs_if_full()
        side = splits.split(case.id, "test")
        env, references = make_test(case.id), store.read_references()
        play = partial(_play, case.seasons, side.seed(0))
        known = {"world": case.world, "seasons": case.seasons}
        if {**references.get(case.id, {}), **known} != references.get(case.id):
            names = ("expert",) if spec_of(case.id).family == "forager" else ("expert", "none")
            acting = zip(names, together([policy_named(case.id, env, name) for name in names]), strict=True)
            means = {name: round_number(float(np.mean(play(env, policy)))) for name, policy in acting}
            store.write_references(references | {case.id: known | means})
        weights = pickle.loads(base64.b64decode(read_result(work, case)[WEIGHTS][0]))
        returns = play(*case.learner.enter(case.id, env, case.options, weights))
        store.write(record | {"digest": splits.digest(), "test": [round_number(value) for value in returns]})
        print(f"{case}: test {np.mean(returns):.4g}", flush=True)


@cache
def make_test(id: str) -> Env[Any, Any]:
    """Make the environment of an id's test split; the same object each time, for compiled programs."""
    return splits.split(id, "test").make()


def _play(seasons: int, seed: int, env: Env[Any, Any], policy: Policy) -> np.ndarray:
    return np.asarray(run_episodes(env, policy, seasons, seed, horizon(env)).returns)


def make_table(ids: Sequence[str], agents: Sequence[str], store: Store) -> Table:
    """Make a table of the stored test returns; the share is the gain over doing nothing divided by the expert's."""
    columns = ("id", "agent", "seeds", "nothing", "expert", "return (95 % over seeds)", "share (95 %)", "steps",
               "CPU s per seed")  # fmt: skip
    return Table("trained agents on test seasons", columns, list(_list_rows(ids, agents, store)))


def _list_rows(ids: Sequence[str], agents: Sequence[str], store: Store) -> Iterator[tuple[str, ...]]:
    references = store.read_references()
    for id in ids:
        for name in agents:
            tested = [record for record in store.read(id, name).values() if is_tested(record)]
            if not tested:
                continue
            known = {key: references[id][key] for key in ("expert", "none") if key in references[id]}
            means = [float(np.mean(record["test"])) for record in tested]
            shares = [share for mean in means if (share := scale_return(mean, known)) is not None]
            cost = f"{tested[0]['steps']:,}", f"{np.median([record['cpu'] for record in tested]):.0f}"
            ends = (f"{known[key]:.4g}" if key in known else "" for key in ("none", "expert"))
            yield id, name, str(len(tested)), *ends, _over_seeds(means), _over_seeds(shares), *cost


def make_result(name: str, store: Store) -> SuiteResult:
    """Return the result of an agent on the core suite: the mean return over the seeds in each test season."""
    seasons, failures = {}, {}
    for id, item in splits.list_suite().items():
        tested = [record["test"] for record in store.read(id, name).values() if is_tested(record)]
        if item.limits:
            failures[id] = "the costs of trained agents are not stored"
        elif len(tested) < SEEDS:
            failures[id] = f"trained with {len(tested)} of {SEEDS} seeds"
        else:
            seasons[id] = {RETURN: np.asarray([round_number(mean) for mean in np.mean(tested, axis=0)])}
    policy = f"{name}, mean of {SEEDS} seeds"
    return SuiteResult(policy, read_package_version(), splits.digest(), seasons, failures)


def write_results(agents: Sequence[str], store: Store, folder: Path) -> None:
    """Write the result file of each agent that was tested on an id of the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in agents:
        result = make_result(name, store)
        if result.seasons:
            result.write(folder / f"{name}.json")


def _over_seeds(values: list[float]) -> str:
    """Return the mean over the seeds with its interval."""
    return str(bootstrap_strata([values], mean_of_all)) if values else ""


def main(words: Sequence[str] | None = None) -> None:
    """Train, test, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "test", "table", "suite"])
    parser.add_argument("--ids", nargs="+", default=IDS)
    parser.add_argument("--agents", nargs="+", choices=list(AGENTS), default=list(AGENTS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="training runs of an agent")
    parser.add_argument("--steps", type=int, default=STEP_BUDGET, help="environment steps of a training run")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the agents, as JSON")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of results")
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the sweep, with the weights")
    args = parser.parse_args(words)
    store = Store(args.out)
    if args.step == "table":
        print_table(make_table(args.ids, args.agents, store))
        return
    if args.step == "suite":
        write_results(args.agents, store, SUITE)
        return
    changes = {name: json.loads(value) for name, _, value in (word.partition("=") for word in args.set)}
    failures = []
    if args.step == "test":
        log_opening(f"trained agents: {', '.join(args.agents)}", args.ids, args.out.parent / LOG.name)
    for id in args.ids:
        with splits.sealed():
            cases = list_cases([id], args.agents, args.seeds, args.steps, changes)
            if args.step == "train":
                failures += train(cases, store, args.work, _name_command(id, args))
        if args.step == "test":
            test(cases, store, args.work)
    if failures:
        raise SystemExit("\n".join(failures))


def _name_command(id: str, args: Namespace) -> str:
    """Return the command that trains on an id again."""
    words = ["python", "-m", "experiments.suite_training", "train", "--ids", id, "--agents", *args.agents]
    more = ["--steps", str(args.steps)] * (args.steps != STEP_BUDGET) + ["--set", *args.set] * bool(args.set)
    return shlex.join([*words, *more])


if __name__ == "__main__":
    from experiments import suite_training  # not this module's other name, which would be part of the keys of cases

    suite_training.main()
