"""Reference levels that pictures and tables show next to a fishery's record, computed once per fishery, and names."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.timeline import Record
from harvestgym.fishing.analysis.dynamic_programming import cache_by_params
from harvestgym.fishing.analysis.reference_points import find_fixed_points, find_folds, find_reference_point
from harvestgym.fishing.conservation import ConservationParams, DriverModel, RecoveryModel
from harvestgym.fishing.growth import May, OneOf
from harvestgym.fishing.model import FishingModel, FishingParams
from harvestgym.fishing.structured_growth import AgeStructured, Patches, ThreeSpecies


class Levels(NamedTuple):
    """Reference levels of a fishery, each with its display name.

    Attributes:
        capacity: the unfished stock K.
        stock: biomass levels: capacity, the most productive stock, the limits, the tipping point.
        catch: the maximum sustainable yield for each target.
        rate: the harvest rate at the maximum sustainable yield.
        fold: for May's law, the consumption at which the upper equilibrium disappears.
        drifting: each drifting parameter from year 0 to the horizon.
    """

    capacity: float
    stock: dict[str, float]
    catch: dict[str, float]
    rate: dict[str, float]
    fold: dict[str, float]
    drifting: dict[str, np.ndarray]


@cache_by_params
def find_levels(env: FishingModel) -> Levels:
    """Find a fishery's reference levels."""
    params, capacity = env.params, float(jnp.asarray(env.params.law.capacity))
    point = find_reference_point(params.law)
    folds = find_folds(params.law) if isinstance(params.law, May) else []
    return Levels(
        capacity=capacity,
        stock=_stock_levels(env, capacity),
        catch={qualify(env, "MSY"): point.catch},
        rate={qualify(env, "at MSY"): point.rate},
        fold={"fold": max(folds, key=lambda fold: fold.stock).a} if folds else {},
        drifting=_drifting(params),
    )


def _drifting(params: FishingParams) -> dict[str, np.ndarray]:
    if params.drift is None:
        return {}
    law = params.drift(params.law, jnp.arange(int(params.horizon) + 1, dtype=jnp.int32))
    return {name: np.asarray(getattr(law, name)) for name in params.drift.names}


def _stock_levels(env: FishingModel, capacity: float) -> dict[str, float]:
    params, levels = env.params, {qualify(env, "K"): capacity}
    if not isinstance(env, RecoveryModel):
        levels[qualify(env, "B_MSY")] = float(params.b_msy)
    levels["0.2 K"] = float(params.b_low)
    if params.collapse > 0:
        levels["end of the fishery"] = float(params.collapse)
    if params.law.stocks == 1 and params.vary is None and not isinstance(env, DriverModel):
        levels |= {qualify(env, "tipping point"): p.stock for p in find_fixed_points(params.law) if p.slope > 1}
    return levels


def find_requests(env: FishingModel, past: Record) -> np.ndarray:
    """Return the requested catches, in biomass or as rates, shape (years, targets)."""
    action = np.asarray(past["action"])
    # A fixed number of rows, because JAX would recompile this for every new number of years.
    rows = np.zeros((max(int(env.params.horizon) + 1, len(action)), env.units.targets), action.dtype)
    rows[: len(action)] = action.reshape(len(action), -1)
    return np.asarray(env.units.wanted(jnp.asarray(rows)))[: len(action)]


def join_numbers(values: Any, form: str = "{:.2f}") -> str:
    """Write one or more numbers as a list."""
    return ", ".join(form.format(float(value)) for value in np.ravel(values))


def qualify(env: FishingModel, name: str) -> str:
    """Add a remark to the name of a level if the law changes over the years or differs between episodes."""
    params = env.params
    if isinstance(params.law, OneOf):
        return f"{name} of {type(params.law.laws[0]).__name__}"
    if isinstance(params, ConservationParams) and params.loss > 0:
        return f"{name} without losses"
    changes = params.drift is not None or isinstance(env, DriverModel)
    return f"{name} at first" if changes else f"{name} of the mean law" if params.vary else name


def name_stocks(env: FishingModel) -> tuple[str, ...]:
    """Return names for a fishery's stocks in words."""
    law = env.params.law
    if isinstance(law, AgeStructured):
        return ("vulnerable biomass",)
    if isinstance(law, ThreeSpecies):
        return "first prey", "second prey", "predator"
    one = "patch" if isinstance(law, Patches) else "stock"
    return tuple(f"{one} {i + 1}" for i in range(law.stocks)) if law.stocks > 1 else ("stock",)
