"""Macro actions: a farm with one action per user-defined job, such as "water the driest plot".

A job is a rule like an expert's: it sets the order, the amount and the condition, and chooses the plot. With
jobs, learners that need a single `Discrete` action can control large farms.

    from macro_jobs import MacroJobs

    env = MacroJobs.of(harvestgym.make("farm/bean-clay-weeds-3x4-v0"), {"weed": RULE})

`sb3_jobs.py` trains with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from harvestgym.core.config import validate
from harvestgym.core.env import Timestep, check_core
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import Wrapper
from harvestgym.farm.build.canonical_names import resolve_order_rule
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.learn.map_farm import MapFarm, MapState
from harvestgym.farm.policies.expert_rules import CompiledRule, compile_rule, make_reader
from harvestgym.farm.schema import OrderRule


class Job(NamedTuple):
    """A job, ready for compilation.

    Attributes:
        name: a readable name.
        rules: its rules; the most urgent rule determines the order.
        values: the reference values of each rule.
        orders: (what, where, amount) of each order that the rules can give.
        again: whether a plot may receive the order twice on one day.
    """

    name: str
    rules: tuple[CompiledRule, ...]
    values: tuple[tuple[Any, ...], ...]
    orders: tuple[tuple[int, int, int], ...]
    again: bool


def make_job(env: MapFarm, name: str, given: Any) -> Job:
    """Make a job from a rule or a list of rules; raise ConfigError for a mistake in any of them."""
    found, orders = [], []
    rules = given if isinstance(given, (list, tuple)) else [given]
    for i, each in enumerate(rules):
        where = f"jobs > {name}" if len(rules) == 1 else f"jobs > {name} > {i}"
        rule = resolve_order_rule(env.env.names, validate(OrderRule, each, where), where)
        if rule.every > 1:
            raise ConfigError(f"{where} > every#day: expected 1, or 0 for several times a day, got {rule.every}")
        compiled, values, numbers = compile_rule(env.env, rule, where)
        found.append((compiled, tuple(tuple(value.ravel().tolist()) for value in values), rule.every))
        asked = [env.table.request_of(item) for item in compiled.requests]
        orders += np.asarray(asked or jax.vmap(env.table.order)(numbers)).tolist()
    if not found:
        raise ConfigError(f"jobs > {name}: expected a rule, or a list of rules, got none")
    of_rules, of_values, pauses = zip(*found, strict=True)
    return Job(name, of_rules, of_values, tuple(map(tuple, orders)), min(pauses) == 0)


class JobState(NamedTuple):
    """The state of the map farm, and its last observation."""

    inner: MapState
    obs: Any


@dataclass(frozen=True)
class MacroJobs(Wrapper[FarmParams]):
    """A farm with `Discrete` actions: 0 is "stop" (the day passes), then one number per job.

    An observation is one float32 vector: the maps and the vector of `MapFarm`. `action_mask` shows which jobs are
    possible on at least one plot. If a job is impossible, the next possible job in the list (cyclically) is carried
    out, so that a learner without mask support does not waste days.
    """

    env: MapFarm
    jobs: tuple[Job, ...]

    def __post_init__(self) -> None:
        check_core(self.env, "MacroJobs", MapFarm)
        if not isinstance(self.jobs, tuple) or not all(isinstance(job, Job) for job in self.jobs):
            raise ConfigError(f"jobs: expected a tuple of Job, got {self.jobs!r}; try MacroJobs.of")
        if not self.jobs:
            raise ConfigError("jobs: expected at least one, got none")

    @classmethod
    def of(cls, env: Any, jobs: Mapping[str, Any]) -> MacroJobs:
        """Wrap a farm, plain or with maps, with jobs from a mapping of job names to rules or lists of rules.

        Raises:
            ConfigError: for an unknown order, variable or value.
        """
        if not isinstance(jobs, Mapping):
            raise ConfigError(f"jobs: expected a mapping of rules, got {jobs!r}; try {{'harvest': {{'do': ...}}}}")
        maps = env if isinstance(env, MapFarm) else MapFarm(env)
        return cls(maps, tuple(make_job(maps, name, given) for name, given in jobs.items()))

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        inside: Any = self.env.observation_space
        low, high = (
            np.concatenate([getattr(inside[part], end).ravel() for part in ("plots", "farm")])
            for end in ("low", "high")
        )
        return spaces.Box(low, high, dtype=np.float32)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return spaces.Discrete(1 + len(self.jobs))

    def action_mask(self, state: JobState, params: FarmParams) -> jax.Array:
        """Return which jobs are possible, bool (1 + jobs,)."""
        return jnp.append(True, self.orders(state)[1:, 0] > 0)

    def check_choice(self, mask: Any, action: Any, waiting: Any = False) -> None:
        """Accept every job: an impossible job is replaced by the next possible one."""

    def orders(self, state: JobState) -> jax.Array:
        """Return the order (what, where, amount) for "stop" and each job, int32 (1 + jobs, 3); stop if impossible."""
        found = [self._order(job, state) for job in self.jobs]
        return jnp.stack([jnp.zeros(3, jnp.int32), *found])

    def _choose(self, action: Any, state: JobState) -> jax.Array:
        """Return the order for a job, or for the next possible job; "stop" if no job is possible."""
        stop, jobs = jnp.split(self.orders(state), [1])
        turn = jnp.roll(jobs, 1 - action, 0)
        return jnp.where(action > 0, turn[jax.lax.argmax(turn[:, 0] > 0, 0, jnp.int32)], stop[0])

    def _order(self, job: Job, state: JobState) -> jax.Array:
        """Return the most urgent order for a job; "stop" if none is possible."""
        read, mask = make_reader(self.env.env.full_plan, self.env.flatten(state.obs)), state.obs["mask"]
        values = [tuple(np.float32(v if len(v) > 1 else v[0]) for v in of_rule) for of_rule in job.values]
        fired = [rule.fires(mine, read) for rule, mine in zip(job.rules, values, strict=True)]
        held, need = (jnp.concatenate(parts) for parts in zip(*fired, strict=True))
        what, where, amount = np.asarray(job.orders, np.int32).T
        possible = held & (mask["where"][what, where] > 0) & (mask["amount"][what, amount] > 0)
        if not job.again:
            today = jax.vmap(self.env.table.order)(state.inner.pending)
            done = jnp.isin(today[:, 0], what)
            possible = possible & ~(done & (today[:, 1] == where[:, None])).any(1)
        at = jax.lax.argmax(jnp.where(possible, need, -jnp.inf), 0, jnp.int32)
        return jnp.where(possible.any(), jnp.asarray(job.orders, jnp.int32)[at], 0)

    def read(self, action: Any) -> Any:
        return jnp.zeros(3, jnp.int32)  # the plot depends on the state, and pictures only show completed orders

    def opened(self, state: MapState, first: Timestep) -> tuple[JobState, Timestep]:
        obs: Any = first.obs
        return JobState(state, obs), first._replace(obs=jnp.concatenate([obs["plots"].ravel(), obs["farm"]]))

    def step(
        self, key: jax.Array, state: JobState, action: Any, params: FarmParams | None = None
    ) -> tuple[JobState, Timestep]:
        return self.opened(*self.env.step(key, state.inner, self._choose(action, state), params))
