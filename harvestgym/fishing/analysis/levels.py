"""The levels that a fishery is compared with, and what its optimum would do: reckoned once, for tables and pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.fishing.conservation import DriverModel, RecoveryModel
from harvestgym.fishing.growth import May, OneOf
from harvestgym.fishing.model import FishingModel, FishingParams

from .dynamic_programming import Solution, find_obstacle, solve
from .reference_points import find_fixed_points, find_folds, find_reference_point

T = TypeVar("T")


class Frozen:
    """Parameters as a hashable value, by their leaves."""

    def __init__(self, params: FishingParams) -> None:
        leaves, shape = jax.tree.flatten(params)
        self.params, self.value = params, (tuple(np.asarray(v).tobytes() for v in leaves), shape)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.value == other.value


def once(function: Callable[[FishingModel, FishingParams], T]) -> Callable[[FishingModel], T]:
    """`function` of a fishery and its parameters, called once for all fisheries of the same numbers."""

    @lru_cache(maxsize=64)
    def found(env: FishingModel, frozen: Frozen) -> T:
        return function(env, frozen.params)

    return lambda env: found(env, Frozen(env.params))


@once
def optimum(env: FishingModel, params: FishingParams) -> Solution | None:
    """The optimum over the episode's own horizon and discount; None where dynamic programming cannot find it."""
    return None if find_obstacle(env, params) else solve(env, params, years=int(params.horizon))


@once
def capacity(env: FishingModel, params: FishingParams) -> float:
    """The stock K that the law holds without fishing."""
    return float(jnp.asarray(params.law.capacity))


@once
def stock_levels(env: FishingModel, params: FishingParams) -> dict[str, float]:
    """Biomasses by name: capacity, the most productive stock, the limits, the tipping point."""
    levels = {_of(env, "K"): capacity(env)}
    if not isinstance(env, RecoveryModel):
        levels[_of(env, "B_MSY")] = float(params.b_msy)
    levels["0.2 K"] = float(params.b_low)
    if params.collapse > 0:
        levels["end of the fishery"] = float(params.collapse)
    if params.law.stocks == 1 and params.vary is None and not isinstance(env, DriverModel):
        levels |= {_of(env, "tipping point"): p.stock for p in find_fixed_points(params.law) if p.slope > 1}
    return levels


@once
def catch_levels(env: FishingModel, params: FishingParams) -> dict[str, float]:
    """The maximum sustainable yield of each target."""
    return {_of(env, "MSY"): find_reference_point(params.law).catch}


@once
def rate_levels(env: FishingModel, params: FishingParams) -> dict[str, float]:
    """The share of the stock whose catch is the maximum sustainable yield."""
    return {_of(env, "at MSY"): find_reference_point(params.law).rate}


@once
def return_levels(env: FishingModel, params: FishingParams) -> dict[str, float]:
    """The return that the optimum expects of an episode, where it can be found."""
    value = best_return(env)
    return {} if value is None else {"expected of the optimum": value}


def best_return(env: FishingModel) -> float | None:
    """The optimum's expected discounted return from the start of an episode; None where it cannot be found."""
    solution = optimum(env)
    return None if solution is None else float(np.interp(float(env.params.start), solution.grid, solution.value[0]))


def _of(env: FishingModel, name: str) -> str:
    """The name of a level of a law that changes, or is another in each episode."""
    params = env.params
    if isinstance(params.law, OneOf):
        return f"{name} of {type(params.law.laws[0]).__name__}"
    changes = params.drift is not None or isinstance(env, DriverModel)
    return f"{name} at first" if changes else f"{name} of the mean law" if params.vary else name


@once
def drifting(env: FishingModel, params: FishingParams) -> dict[str, np.ndarray]:
    """The parameters that drift, each over the years 0 to the horizon."""
    if params.drift is None:
        return {}
    law = params.drift(params.law, jnp.arange(int(params.horizon) + 1))
    return {name: np.asarray(getattr(law, name)) for name in params.drift.names}


@once
def fold_levels(env: FishingModel, params: FishingParams) -> dict[str, float]:
    """Of May's law the consumption at which its upper equilibrium vanishes."""
    found: Any = find_folds(params.law) if isinstance(params.law, May) else []
    return {"fold": max(found, key=lambda fold: fold.stock).a} if found else {}
