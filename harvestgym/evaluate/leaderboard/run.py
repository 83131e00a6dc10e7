"""The table of baselines: what each policy makes of each id, on seasons that are held out (`harvestgym leaderboard`).

A score of 0 is what comes of doing nothing, 1 what the expert makes of it, and the ceiling what a planner reached who
knew the season. Other policies enter by a function of the id and its test environment (`entrant`); what they made
is kept in the file of the table beside the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy, constant_policy, random_policy, together
from harvestgym.core.rollout import Episodes
from harvestgym.core.spaces import noop_action
from harvestgym.core.wrappers import Wrapper, unwrapped
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import batch_key, horizon, played
from harvestgym.evaluate.statistics import Summary, summarise
from harvestgym.registry import FAMILIES, family_function, ids
from harvestgym.registry import spec as spec_of

from .foresight import Search, ceiling
from .store import CEILING, LOOKS, TRIED, Row

SEASONS, FEW = 1000, 100
LONG = 4000
"""Plots times steps of an episode from which `FEW` are enough by default."""

PLANNED = 16
"""Seasons for which a ceiling is searched."""

THOUGHT = 80_000
"""Generations of a search times plots times steps of an episode, by default."""

Entrant = Callable[[str, Env[Any, Any]], "Policy | tuple[Env[Any, Any], Policy] | None"]
"""Given an id, to train on its training side (`heldout.make(id, "train")`), and the environment of the side that is
reported: a policy for it, None if it has none; with an environment of its own where it acts in another form (a wrapped
one, say)."""


class Bill(NamedTuple):
    """The state inside, and what has been paid for observations."""

    inner: Any
    paid: jax.Array


@dataclass(frozen=True)
class Paying(Wrapper[Any]):
    """Adds up what observations cost, as `total/observation cost` of the info."""

    def opened(self, state: Any, first: Timestep) -> tuple[Bill, Timestep]:
        return self._told(Bill(state, jnp.float32(0.0)), first)

    def step(self, key: jax.Array, state: Bill, action: Any, params: Any) -> tuple[Bill, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        return self._told(Bill(inner, state.paid + timestep.info[LOOKS]), timestep)

    def _told(self, state: Bill, timestep: Timestep) -> tuple[Bill, Timestep]:
        return state, timestep._replace(info=timestep.info | {f"total/{LOOKS}": state.paid})


def chosen(names: Iterable[str]) -> list[str]:
    """The ids that ids and names of families stand for; all, if there are none."""
    found = [id for name in names for id in (ids(name) if name in FAMILIES else [spec_of(name).id])]
    return found or ids()


def rows(
    id: str,
    seasons: int | None = None,
    entrants: Mapping[str, Entrant] | None = None,
    planned: int = PLANNED,
    search: Search | None = None,
    split: str = "test",
) -> list[Row]:
    """The rows of an id: none, random, expert, entrants and, where actions are integers, the ceiling; without scores,
    which `board.merged` gives them.

    Args:
        id: a registered id, or the path of a farm file.
        seasons: how many; by default 1000, or 100 where they are long.
        entrants: further policies by name.
        planned: seasons for which the ceiling is searched, two or more; 0 for none.
        search: how long; by default the shorter, the larger the farm.
        split: the side of the held-out protocol; results are reported on `"test"`.
    """
    if planned == 1:
        raise ConfigError("planned: wanted two or more seasons for a ceiling, or 0 for none, found 1")
    side = splits.split(id, split)
    env, seed = side.make(), side.seed(0)
    number = seasons or (FEW if size(env) > LONG else SEASONS)
    here, apart = _policies(id, env), {}
    for name, enters in (entrants or {}).items():
        match enters(id, env):
            case Policy() as policy:
                here[name] = policy
            case (Env() as own, Policy() as policy):
                apart[name] = own, policy
    acting = dict(zip(here, together(list(here.values())), strict=True))
    games = {name: (env, policy) for name, policy in acting.items()} | apart
    played_by = {name: _played(id, own, policy, number, seed) for name, (own, policy) in games.items()}
    found = [_row(id, name, *played) for name, played in played_by.items()]
    if planned and {"none", "expert"} <= set(here) and noop_action(env.action_space) is not None:
        search = search or Search(generations=int(np.clip(THOUGHT // size(env), 4, 60)))
        planned_by = ceiling(env, batch_key(seed), here["expert"], planned, search)
        gain = planned_by.returns - planned_by.expert
        found.append(_foreseen(id, played_by["expert"][0], gain, search))
    return found


def size(env: Env[Any, Any]) -> int:
    """Steps of an episode times plots."""
    plots = sum(int(np.prod(f.shape)) for f in getattr(env, "fields", ()))
    return horizon(env) * max(plots, 1)


def _policies(id: str, env: Env[Any, Any]) -> dict[str, Policy]:
    """Doing nothing, where there is such a thing; chance; and the expert, where there is one."""
    found = {} if (idle := _idle(id, env)) is None else {"none": constant_policy(idle)}
    found["random"] = random_policy(env)
    own = family_function(id, "policies")(env)
    return found | ({"expert": own["expert"]} if "expert" in own else {})


def _idle(id: str, env: Env[Any, Any]) -> Any:
    """To do nothing: to catch nothing in a fishery; a forager always does something."""
    space = env.action_space
    if spec_of(id).family == "forager":
        return None
    return space.low if isinstance(space, gymnasium.spaces.Box) else noop_action(space)


def _played(
    id: str, env: Env[Any, Any], policy: Policy, seasons: int, seed: int
) -> tuple[np.ndarray, dict[str, float]]:
    """The returns of a policy, and the means of what else is told of its seasons."""
    first = jax.eval_shape(env.reset, jax.random.key(0), env.params)[1]
    game = Paying(env) if LOOKS in first.info else env
    inside = unwrapped(env)
    whole: Episodes = played(game, policy, seasons, seed, horizon(inside))
    columns = family_function(id, "summary")(inside, whole)
    if f"total/{LOOKS}" in whole.info:
        columns = columns | {LOOKS: np.asarray(whole.info[f"total/{LOOKS}"])}
    told = {name: float(np.mean(v)) for name, v in columns.items() if np.asarray(v).dtype.kind in "fiub"}
    return np.asarray(whole.returns), told


def _row(id: str, policy: str, returns: np.ndarray, columns: dict[str, float]) -> Row:
    s: Summary = summarise(returns)
    return Row(id, policy, len(returns), s.mean, float(s.low), float(s.high), s.cvar10, None, columns)


def _foreseen(id: str, expert: np.ndarray, gain: np.ndarray, search: Search) -> Row:
    """The ceiling: the expert over all seasons, and the mean gain of foresight over those planned, with its error."""
    import scipy.stats

    n = len(gain)
    spread = np.std(gain, ddof=1) / np.sqrt(n) if n > 1 else 0.0
    error = np.hypot(
        spread * scipy.stats.t.ppf(0.975, max(n - 1, 1)), 1.96 * np.std(expert, ddof=1) / len(expert) ** 0.5
    )
    mean = float(np.mean(expert) + np.mean(gain))
    told = {TRIED: float(search.trials * (1 + search.generations)), "gain": float(np.mean(gain))}
    return Row(id, CEILING, n, mean, float(mean - error), float(mean + error), None, None, told)
