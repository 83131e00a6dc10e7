"""Fisheries of the catalogue by name, and what the command line and the evaluation ask of the family."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.env import Timestep
from ..core.errors import unknown
from ..core.policy import Policy
from ..core.rollout import Episodes
from . import control, driver
from .conservation import ConservationParams, DriverModel, RecoveryModel
from .describe import describe
from .figure import figure
from .model import FishingModel, FishingParams, FishingState
from .sdp import Solution, solve
from .spec import build_model, read_spec
from .truth import reference

CATALOGUE = Path(__file__).with_name("catalogue")

__all__ = ["describe", "figure", "from_yaml", "make", "optimum", "policies", "record", "summary"]


def make(name: str, **overrides: Any) -> FishingModel:
    """The fishery of a catalogue file.

    Args:
        name: the file's name, `logistic-v0`.
        overrides: entries of the file (`Tmax=50`, `noise={"kind": "uniform", "sigma": 0.1}`), parameters of its
            law by their names (`r=0.5`), or `sigma` of its noise.

    Raises:
        ConfigError: with the path of every mistake and the nearest valid name.
    """
    path = CATALOGUE / f"{name}.yaml"
    if not path.is_file():
        raise unknown("fishery", name, (p.stem for p in CATALOGUE.glob("*-v*.yaml")))
    return build_model(read_spec(path, overrides), name)


def from_yaml(path: str | Path, **overrides: Any) -> FishingModel:
    """The fishery of a file of your own; ConfigError if it is missing or has mistakes."""
    return build_model(read_spec(Path(path), overrides), Path(path).stem)


def policies(env: FishingModel) -> dict[str, Policy]:
    """The policies that fit a fishery; "expert" is the rule to beat.

    It is the optimum of dynamic programming where that can be found and the stock is seen as it is, constant
    escapement where laws vary between episodes, and the rule of Fisheries and Oceans Canada elsewhere.
    """
    if isinstance(env, DriverModel):
        params = env.params
        assert isinstance(params, ConservationParams)
        best = driver.follow(env, driver.plan(env, params, int(params.horizon)))
        return {"expert": best, "sdp": best, "steady": driver.steady(env, 0.37), "closed": driver.steady(env, 0.0)}
    if isinstance(env, RecoveryModel):
        lifted = control.lift(env, float(jnp.asarray(env.params.law.capacity)))
        return {"expert": lifted, "lift": lifted, "closed": control.quota(env, 0.0)}
    return _harvest_policies(env)


def _harvest_policies(env: FishingModel) -> dict[str, Policy]:
    law = env.params.law
    point, capacity = reference(law), float(jnp.asarray(law.capacity))
    found = {
        "escapement": control.escapement(env, point.escapement),
        "msy": control.quota(env, point.catch),
        "rate": control.rate(env, point.rate),
        "40-10": control.ramp(env, point.rate, 0.1 * capacity, 0.4 * capacity),
        "40-10-catch": control.ramp(env, point.rate, 0.1 * capacity, 0.4 * capacity, on="catch"),
        "dfo": control.ramp(env, point.rate, 0.4 * point.stock, 0.8 * point.stock),
        "closed": control.quota(env, 0.0),
    }
    if not solvable(env):
        return {"expert": found["escapement" if env.params.vary else "dfo"]} | found
    best = control.table(env, solve(env, discount=min(float(env.params.discount), 0.999)))
    blurred = env.params.survey_error.random or env.params.quota_error.random
    finite = control.dated_table(env, optimum(env))
    return {"expert": found["dfo"] if blurred else best, "sdp": best, "sdp-finite": finite} | found


def solvable(env: FishingModel) -> bool:
    """Whether dynamic programming can find the optimum: one stock, harvest first, one law."""
    single = env.params.law.stocks == 1 and env.params.vary is None
    return single and env.order == "harvest first" and not isinstance(env, RecoveryModel)


def optimum(env: FishingModel) -> Solution:
    """The optimum over the episode's own horizon and discount."""
    return solve(env, years=int(env.params.horizon))


def summary(env: FishingModel, episodes: Episodes) -> dict[str, np.ndarray]:
    """What fisheries are judged by, per episode: yields, their variation, and how low the stock fell.

    `aav#1` is sum |C_t - C_t-1| / sum C_t; `regret` (for fisheries that can be solved) is the expected discounted
    return of the optimum with stock and law known, less what this episode made.
    """
    info = {name: np.asarray(value) for name, value in episodes.info.items()}
    years = np.maximum(np.asarray(episodes.length), 1)
    total = info["total_catch"]
    out = {
        "mean_catch": total / years,
        "aav#1": info["catch_change"] / np.maximum(total, 1e-9),
        "collapsed": np.asarray(episodes.terminated),
        "ever_below_0.2K": info["years_low"] > 0,
        "time_below_0.2K#1": info["years_low"] / years,
        "time_below_BMSY#1": info["years_below_bmsy"] / years,
        "closed#year": info["years_closed"],
        "lowest_biomass": info["lowest_biomass"],
        "discounted_return": info["discounted_return"],
    }
    return out | ({"regret": _best_return(env) - info["discounted_return"]} if solvable(env) else {})


def _best_return(env: FishingModel) -> float:
    return _best(env, _Frozen(env.params))


class _Frozen:
    """Parameters as a hashable value, by their leaves."""

    def __init__(self, params: FishingParams) -> None:
        leaves, shape = jax.tree.flatten(params)
        self.params, self.value = params, (tuple(np.asarray(v).tobytes() for v in leaves), shape)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.value == other.value


@lru_cache(maxsize=64)
def _best(env: FishingModel, frozen: _Frozen) -> float:
    """The optimum's expected discounted return from the start of an episode."""
    solution = solve(env, frozen.params, years=int(frozen.params.horizon))
    return float(np.interp(float(frozen.params.start), solution.grid, solution.value[0]))


def record(
    env: FishingModel, state: FishingState, action: Any, timestep: Timestep, params: FishingParams
) -> dict[str, Any]:
    """What is worth keeping of each year."""
    kept = {
        "stock": state.stock,
        "biomass": env.law(state, params).biomass(state.stock),
        "seen": env.units.survey(timestep.obs),
        "catch": state.catch,
        "rate": state.rate,
    }
    return kept | ({"driver": timestep.info["driver"]} if isinstance(env, DriverModel) else {})
