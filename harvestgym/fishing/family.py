"""The fisheries in the catalogue, by name, and the functions that the command line and `evaluate` call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp

from harvestgym.core.errors import check_name
from harvestgym.core.spaces import noop_action
from harvestgym.fishing.view.events import explain as explain
from harvestgym.fishing.view.events import find_events as find_events
from harvestgym.fishing.view.scene import figure as figure
from harvestgym.fishing.view.scene import scene as scene
from harvestgym.fishing.view.tables import describe as describe
from harvestgym.fishing.view.tables import say_goal as say_goal
from harvestgym.fishing.view.tables import timeline as timeline

from .conservation import DriverModel
from .control import make_rule_families as make_rule_families
from .env import FisheryGym
from .metrics import summary as summary
from .model import FishingModel, FishingParams, FishingState
from .policies import explain_missing as explain_missing
from .policies import explain_policy as explain_policy
from .policies import policies as policies
from .shared_stock import CommonsModel, share_stock
from .spec import build_fishery, hash_numbers, read_spec

CATALOGUE = Path(__file__).with_name("catalogue")


def make(name: str, **overrides: Any) -> FishingModel:
    """Make a fishery from the catalogue.

    Args:
        name: the file's name, such as `logistic-v0`.
        overrides: entries of the file (`Tmax=50`, `noise={"kind": "uniform", "sigma": 0.1}`), law parameters by name
            (`r=0.5`), or the noise's `sigma`.

    Raises:
        ConfigError: lists the path of every mistake and the nearest valid name.
    """
    check_name("fishery", name, (path.stem for path in CATALOGUE.glob("*-v*.yaml")))
    return build_fishery(read_spec(CATALOGUE / f"{name}.yaml", overrides), name)


def make_commons(fleets: int = 5, **overrides: Any) -> CommonsModel:
    """Make fleets that fish one stock at a cost of effort, where greed and agreement pay very differently.

    Without the cost, greedy fleets would take the whole stock in the first year. With it, they deplete the stock until
    the effort costs what the catch is worth, and the stock recovers if they stop. `overrides` are as in `make`.
    """
    return share_stock(make("logistic-v0", **{"cost": 0.3, "discount": 1.0} | overrides), fleets)


def from_yaml(path: str | Path, **overrides: Any) -> FishingModel:
    """Make a fishery from your own file; raise ConfigError if it is missing or has mistakes."""
    return build_fishery(read_spec(Path(path), overrides), Path(path).stem)


def name_numbers(env: FishingModel, path: Path) -> dict[str, str]:
    """Return what a tuned rule records of the numbers of its fishery, so that a change of them is noticed."""
    return {"numbers": hash_numbers(read_spec(path, {}))}


def make_gymnasium(env: FishingModel, render_mode: str | None = None) -> FisheryGym:
    """Make the Gymnasium environment, which rejects assignments to the fishery's numbers."""
    return FisheryGym(env, render_mode=render_mode)


def idle_action(env: FishingModel) -> Any:
    """Return the action that does nothing: the lower bound of the space, or the first level."""
    space = env.action_space
    return space.low if isinstance(space, gymnasium.spaces.Box) else noop_action(space)


def record(env: FishingModel, state: FishingState, action: Any, timestep: Any, params: FishingParams) -> dict[str, Any]:
    """Return the arrays to record for a year."""
    law, seen = env.law(state, params), env.units.survey(timestep.obs)
    kept = {
        "stock": state.stock,
        "biomass": law.biomass(state.stock),
        "seen": jnp.delete(seen, law.seen) if env.shows_year else seen,
        "catch": state.catch,
        "quota": state.quota,
        "rate": state.rate,
    }
    return kept | ({"driver": timestep.info["driver"]} if isinstance(env, DriverModel) else {})
