"""The common part of the stand-ins: their arguments are attributes, and they have the published tools."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from itertools import product
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from harvestgym.core.checks import make_plain
from harvestgym.core.config import validate
from harvestgym.core.errors import check_extras, check_keywords, require
from harvestgym.core.pytree import iterate_metas
from harvestgym.core.view.scene import Chart, Line
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.env import FishingEnv
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.spec import GROWTH_LAWS, FishingSpec, build_fishery
from harvestgym.render.figure import draw_figure

Numbers = Mapping[str, Any]

LOGISTIC = {"r": 0.3, "K": 1, "sigma": 0.0}
END = {"init_state": 0.75, "Tmax": 100, "file": None}

IDS: dict[str, type[StandIn]] = {}
"""The published ids and their classes."""

READINGS: dict[str, Callable[[Any], Any]] = {
    "fish_population": lambda env: env._info.get("biomass", env.init_state),
    "unscaled_state": lambda env: env._info.get("biomass", env.init_state),
    "harvest": lambda env: env._info.get("catch", 0.0),
    "unscaled_action": lambda env: env._info.get("quota", 0.0),
    "years_passed": lambda env: env._info.get("year", 0),
    "state": lambda env: env.get_state(env.init_state) if env._obs is None else env._obs,
}
"""Attributes that describe the year; they cannot be set."""


class StandIn(FishingEnv):
    """An environment with the published arguments, attributes and tools that uses the dynamics of `FishingModel`.

    An assignment to an argument (`env.init_state = 0.3`) rebuilds the environment and ends its episode; `reset` then
    starts one. Derived values such as `fish_population` cannot be set.

    Attributes:
        law: the kind of its growth law, given as a keyword in the class definition, as is its published id.
        arguments: the arguments in their published order, with their defaults.
        constants: published attributes that are not arguments.
    """

    changes = ("_shell", "_obs", "_reward", "_info")
    law: ClassVar[str] = "logistic"
    arguments: ClassVar[dict[str, Any]] = LOGISTIC | END
    constants: ClassVar[dict[str, Any]] = {}
    noise_kind: ClassVar[str] = "median-lognormal"

    def __init_subclass__(cls, law: str | None = None, id: str | None = None) -> None:
        super().__init_subclass__()
        cls.law = law or cls.law
        if id is not None:
            IDS[id] = cls

    def __init__(self, *args: Any, **given: Any) -> None:
        check_keywords(type(self).__name__, given, self.arguments, length="Tmax")
        known = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.arguments])
        self._build(self.arguments | known.bind_partial(*args, **given).arguments)

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        """Return the entries of a fishery file for the arguments that are specific to a class."""
        return {"law": make_law(self.law, numbers)}

    def make_model(self, numbers: Numbers) -> FishingModel:
        """Make the model for the arguments."""
        common = {"noise": {"kind": self.noise_kind, "sigma": numbers["sigma"]}, "start": numbers["init_state"]}
        common |= {"bound": 2 * numbers["K"], "Tmax": numbers["Tmax"], "final_price": 0.0}
        name, K = type(self).__name__, numbers["K"]
        require(not isinstance(K, int | float) or K > 0, f"{name} > K", "a number above 0", K)
        return build_fishery(validate(FishingSpec, make_plain(common | self.entries(numbers)), name), name)

    def _build(self, numbers: Numbers) -> None:
        model = self.make_model({**numbers, **self.constants})
        vars(self).pop("_shell", None)
        vars(self).update(_numbers=dict(numbers), _obs=None, _reward=0.0, _info={})
        self._set_up(model, None)

    def __getattr__(self, name: str) -> Any:
        if name in READINGS and "_info" in vars(self):
            return READINGS[name](self)
        numbers = vars(self).get("_numbers", {}) | self.constants
        if name in numbers:
            return numbers[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        require(name not in READINGS, name, "no assignment", repr(value), f"init_state = {value!r} and reset()")
        if name in self.arguments:
            self._build(self._numbers | {name: value})
        else:
            super().__setattr__(name, value)

    @property
    def params(self) -> dict[str, Any]:
        """The arguments by name, with the start as `x0` and the present value of a driver."""
        own = {name: value for name, value in self._numbers.items() if name not in ("init_state", "Tmax", "file")}
        driver = {"a": self._info["driver"]} if "driver" in self._info else {}
        return own | {"x0": self.init_state} | driver

    def recipe(self) -> dict[str, Any]:
        return self._numbers

    @classmethod
    def from_recipe(cls, **numbers: Any) -> StandIn:  # type: ignore[override]
        """Make an environment from its arguments."""
        return cls(**numbers)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = super().reset(seed=seed, options=options)
        vars(self).update(_obs=obs, _reward=0.0, _info=info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Fish for a year; a continuous action may also be a single number."""
        shape = self.action_space.shape
        shown = super().step(np.reshape(np.float32(action), shape) if shape and np.ndim(action) == 0 else action)
        vars(self).update(_obs=shown[0], _reward=shown[1], _info=shown[4])
        return shown

    # -- units ----------------------------------------------------------------------------------------------------

    def get_quota(self, action: Any) -> float:
        """Convert an action to a quota, in biomass."""
        return float(np.ravel(self.model.units.wanted(np.atleast_1d(np.float32(action))))[0])

    def get_action(self, quota: Any) -> Any:
        """Convert a quota to the nearest action: an array of one number, or an integer."""
        action = np.asarray(self.model.units.action(jnp.asarray(np.reshape(quota, (1,)), jnp.float32)))
        return action if action.ndim else min(int(action), int(self.action_space.n) - 1)  # type: ignore[attr-defined]

    def get_fish_population(self, state: Any) -> float:
        """Convert an observation to biomass."""
        return float(np.ravel(self.model.units.survey(jnp.asarray(state, jnp.float32)))[0])

    def get_state(self, fish_population: Any) -> np.ndarray:
        """Convert biomass to an observation."""
        return np.reshape(np.asarray(self.model.units.observation(jnp.asarray(fish_population, jnp.float32))), (1,))

    get_unscaled_action, get_unscaled_state = get_quota, get_fish_population

    # -- tools ----------------------------------------------------------------------------------------------------

    def simulate(self, model: Any, reps: int = 1) -> Any:
        """Run a model with `predict` for `reps` episodes; return a data frame with a row per year, from year 0.

        Its columns are time, state (the biomass), action (the quota of the year before), reward and rep.
        """
        check_extras("simulate", data="pandas")
        from pandas import DataFrame

        rows: list[Any] = []
        for rep in range(reps):
            obs, ends = self.reset()[0], (False, False)
            while True:
                rows.append([self.years_passed, self.get_fish_population(obs), self.unscaled_action, self._reward, rep])
                if any(ends):
                    break
                obs, _, *ends, _ = self.step(model.predict(obs)[0])
        return DataFrame(rows, columns=["time", "state", "action", "reward", "rep"])

    def policyfn(self, model: Any, reps: int = 1, n: int = 50) -> Any:
        """Ask a model for its action at `n` observations; return a data frame of state, action and rep."""
        check_extras("policyfn", data="pandas")
        from pandas import DataFrame

        seen = np.linspace(-1, 1, n, dtype=np.float32)[:, None]
        runs = product(range(reps), seen)
        rows = [[self.get_fish_population(o), self.get_quota(model.predict(o)[0]), rep] for rep, o in runs]
        return DataFrame(rows, columns=["state", "action", "rep"])

    def plot(self, df: Any, output: str = "results.png") -> None:
        """Plot state, action and total reward over time for a result of `simulate`, with a line per episode."""
        totals = df.assign(**{"reward so far": df.groupby("rep").reward.cumsum()})
        _draw_lines(totals, "time", ["state", "action", "reward so far"], output)

    def plot_policy(self, df: Any, output: str = "results.png") -> None:
        """Plot a result of `policyfn`: the stock that each quota leaves or, for conservation, the action."""
        recovers = isinstance(self.model, RecoveryModel)
        left = df.assign(escapement=df.state - df.action)
        _draw_lines(left, "state", ["action" if recovers else "escapement"], output)

    def render(self, mode: str = "human") -> list[Any]:
        """Return year, state, action and reward, and append them to the CSV file `file`, if there is one."""
        row = [self.years_passed, float(self.state[0]), self.unscaled_action, self._reward]
        if self.file is not None:
            with open(self.file, "a", newline="") as out:
                csv.writer(out).writerow(row)
        return row


def make_law(kind: str, numbers: Numbers) -> dict[str, Any]:
    """Return the entry `law` of a file for a kind of law and published arguments."""
    names = [meta.keys[0] for _, meta in iterate_metas(GROWTH_LAWS[kind])]
    growth = {"myers": {"A": numbers["r"] + 1}, "allee": {"r": numbers["r"] * numbers["K"]}}
    return {"kind": kind} | {name: numbers[name] for name in names if name in numbers} | growth.get(kind, {})


def _draw_lines(df: Any, across: str, columns: list[str], output: str) -> None:
    """Draw the given columns, each against the column `across`, with a line for each episode."""
    check_extras("plot", plot="matplotlib")
    rows = [{name: episode[name].to_numpy() for name in df} for _, episode in df.groupby("rep")]
    lines = [tuple(Line("", row[column], "#0072b2", x=row[across]) for row in rows) for column in columns]
    charts = [Chart("", column, 0, drawn, {}) for column, drawn in zip(columns, lines, strict=True)]
    draw_figure(charts, across, columns=1).savefig(output)
