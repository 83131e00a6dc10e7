"""Macro jobs: a farm with one action per job that a user defines, such as "water the driest plot".

A job fixes the order and its amount and chooses the plot, so that learners of flat actions can play large farms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from harvestgym.core.checks import check_fields
from harvestgym.core.env import Timestep, check_core
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.wrappers import Wrapper
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.learn.map_farm import MapFarm, MapState

Reader = Callable[[str], jax.Array]
"""Returns a channel by its name, in the units of the name, (fields, X, Y); one of the farm is the same on all plots."""

Rank = str | Callable[[Reader], jax.Array]
"""The name of a channel, or a function from a reader of channels to numbers (fields, X, Y)."""


@dataclass(frozen=True)
class Job:
    """An order for the plot that needs it most.

    Attributes:
        name: for people.
        order: the end of the name of an order: `Soil-0/watering_discrete`. Of several, with farmers or fields, any.
        most: the rank of plots; the highest is chosen, or the first possible plot without a rank.
        least: the rank of plots; the lowest is chosen.
        only: ranks that must be above 0 on the plot: `("Plant-0/stage=ripe",)`.
        values: the parameters of the order; the last value of each that is not given.
        again: whether a plot may get the order twice on one day.
    """

    name: str
    order: str
    most: Rank | None = None
    least: Rank | None = None
    only: tuple[Rank, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    again: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


class JobState(NamedTuple):
    """The state of the farm with maps, and its last observation."""

    inner: MapState
    obs: Any


@dataclass(frozen=True)
class MacroJobs(Wrapper[FarmParams]):
    """A farm with `Discrete` actions: 0 is "stop" (the day passes), then one number per job.

    An observation is one float32 vector, the maps and the vector of `MapFarm`. `action_mask` says which jobs are
    possible on some plot. In place of a job that is not, the next one in the list that is possible is carried out
    (after the last comes the first), so that a learner that knows no masks does not lose its days.
    """

    env: MapFarm
    jobs: tuple[Job, ...]

    def __post_init__(self) -> None:
        check_core(self.env, "MacroJobs", MapFarm)
        if not isinstance(self.jobs, tuple) or not all(isinstance(job, Job) for job in self.jobs):
            raise ConfigError(f"jobs: expected a tuple of Job, got {self.jobs!r}; try MacroJobs.of")
        if not self.jobs:
            raise ConfigError("jobs: expected at least one, got none")
        for job in self.jobs:
            self._check(job)

    @classmethod
    def of(cls, env: Any, jobs: Sequence[Job]) -> MacroJobs:
        """Make the jobs of a farm, plain or with maps; ConfigError for an unknown order, channel or value."""
        return cls(env if isinstance(env, MapFarm) else MapFarm(env), tuple(jobs))

    def _check(self, job: Job) -> None:
        where, table = f"jobs > {job.name}", self.env.table
        if not table.find(job.order):
            check_name("order", job.order, ["/".join(name.split("/")[-2:]) for name in table.names[1:]], where)
        if job.most is not None and job.least is not None:
            raise ConfigError(f"{where}: expected most or least, got both")
        for channel in (job.most, job.least, *job.only):
            if isinstance(channel, str):
                check_name("channel", channel, self._channels, where)
        self._sorts(job)

    @cached_property
    def _channels(self) -> dict[str, tuple[str, int, float]]:
        """The part of the observation with each channel, its number there, and its scale."""
        parts = {"farm": self.env.farm_channels, "plots": self.env.plot_channels}
        return {c.name: (part, i, c.scale) for part, channels in parts.items() for i, c in enumerate(channels)}

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
        return jnp.stack([jnp.asarray(True), *(self._need(job, state.obs)[0].any() for job in self.jobs)])

    def check_choice(self, mask: Any, action: Any, waiting: Any = False) -> None:
        """Accept every job: in place of one that is impossible the next possible one is carried out."""

    def orders(self, obs: dict[str, Any]) -> jax.Array:
        """Return the order (what, where, amount) of "stop" and of each job, int32 (1 + jobs, 3); stop if impossible."""
        found = [self._order(job, obs) for job in self.jobs]
        return jnp.stack([jnp.zeros(3, jnp.int32), *found])

    def _choose(self, action: Any, obs: dict[str, Any]) -> jax.Array:
        """Return the order of a job, or of the next one that is possible; "stop" if none is."""
        stop, jobs = jnp.split(self.orders(obs), [1])
        turn = jnp.roll(jobs, 1 - action, 0)
        return jnp.where(action > 0, turn[jax.lax.argmax(turn[:, 0] > 0, 0, jnp.int32)], stop[0])

    def _order(self, job: Job, obs: dict[str, Any]) -> jax.Array:
        possible, need = self._need(job, obs)
        at = jax.lax.argmax(jnp.where(possible, need, -jnp.inf).ravel(), 0, jnp.int32)
        row, where = jnp.divmod(at, possible.shape[1])
        what, amount = (jnp.asarray(each, jnp.int32)[row] for each in zip(*self._sorts(job), strict=True))
        return jnp.where(possible.any(), jnp.stack([what, where, amount]), 0).astype(jnp.int32)

    def _need(self, job: Job, obs: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
        """Return where each order of a job is possible, bool (orders, places), and how much it is needed there."""
        sorts = self._sorts(job)
        what, amount = (np.asarray(each, np.int32) for each in zip(*sorts, strict=True))
        possible = (obs["mask"]["where"][what] > 0) & (obs["mask"]["amount"][what, amount] > 0)[:, None]
        read = partial(self._read, obs)
        find = lambda rank: read(rank) if isinstance(rank, str) else rank(read)  # noqa: E731
        rank = job.least if job.most is None else job.most
        need = jnp.zeros(self.env.plots.shape, jnp.float32) if rank is None else find(rank)
        need = need if job.least is None else -need
        fits = jnp.ones(self.env.plots.shape, bool)
        for condition in job.only:
            fits = fits & (find(condition) > 0)
        fits = jnp.concatenate([jnp.ones(1, bool), fits.ravel()])
        if not job.again:
            fits = fits & ~self._done_today(what, obs)
        need = jnp.concatenate([jnp.zeros(1, jnp.float32), need.ravel()])
        return possible & fits, jnp.broadcast_to(need, possible.shape)

    def _read(self, obs: dict[str, Any], name: str) -> jax.Array:
        """Return a channel in the units of its name, (fields, X, Y)."""
        part, at, scale = self._channels[name]
        return jnp.broadcast_to(obs[part][..., at] * scale, self.env.plots.shape)

    def _done_today(self, what: np.ndarray, obs: dict[str, Any]) -> jax.Array:
        """Return the places that have one of these orders today, bool (places,)."""
        names = {f"today/{self.env.table.names[i]}" for i in what}
        orders = [self._channels[name] for name in names if name in self._channels]

        def done(part: str) -> jax.Array:
            at = np.asarray([i for place, i, _ in orders if place == part], np.int32)
            return (obs[part][..., at] > 0).any(-1).reshape(-1)

        return jnp.concatenate([done("farm"), done("plots")])

    def _sorts(self, job: Job) -> list[tuple[int, int]]:
        """Return the orders of a job, each with the number of its amount."""
        return [(what, self._amount(job, what)) for what in self.env.table.find(job.order)]

    def _amount(self, job: Job, what: int) -> int:
        table, model = self.env.table, self.env.env
        if not job.values:
            return int(table.amounts[what]) - 1
        first, amounts = int(table.first[what]), int(table.amounts[what])
        greatest = model.actions.order(first + amounts - 1)
        assert greatest is not None
        *order, last = model.actions.write(greatest)
        return (model.actions.index((*order, {**last, **job.values})) - first) % amounts

    def inner(self, state: JobState) -> MapState:
        return state.inner

    def read(self, action: Any) -> Any:
        return jnp.zeros(3, jnp.int32)  # the plot depends on the state: pictures show only what was carried out

    def reset(self, key: jax.Array, params: FarmParams | None = None) -> tuple[JobState, Timestep]:
        return self._begin(*self.env.reset(key, params))

    def again(self, key: jax.Array, last: JobState, renew: jax.Array, params: FarmParams) -> tuple[Any, Timestep]:
        return self._begin(*self.env.again(key, last.inner, renew, params))

    def _begin(self, inner: MapState, first: Timestep) -> tuple[JobState, Timestep]:
        return JobState(inner, first.obs), first._replace(obs=flatten_maps(first.obs))

    def step(
        self, key: jax.Array, state: JobState, action: Any, params: FarmParams | None = None
    ) -> tuple[JobState, Timestep]:
        return self._begin(*self.env.step(key, state.inner, self._choose(action, state.obs), params))


def flatten_maps(obs: dict[str, Any]) -> jax.Array:
    """Return the numbers of an observation as one vector, without the mask."""
    return jnp.concatenate([obs["plots"].ravel(), obs["farm"]])
