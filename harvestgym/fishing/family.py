"""The fisheries in the catalogue, by name, and the functions that the command line and `evaluate` call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import check_name
from harvestgym.core.loading import LazyMapping
from harvestgym.core.policy import Policy
from harvestgym.core.spaces import noop_action
from harvestgym.core.tuning.rule_family import build_rule
from harvestgym.fishing.analysis.commons import find_equilibrium, share_optimum
from harvestgym.fishing.analysis.dynamic_programming import find_obstacle, find_optimum, is_exact, solve_ahead
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.view.events import explain as explain
from harvestgym.fishing.view.events import find_events as find_events
from harvestgym.fishing.view.scene import figure as figure
from harvestgym.fishing.view.scene import scene as scene
from harvestgym.fishing.view.tables import describe as describe
from harvestgym.fishing.view.tables import say_goal as say_goal
from harvestgym.fishing.view.tables import timeline as timeline

from . import control
from .analysis.tipping import follow_plan, plan_actions, steady_push
from .conservation import DriverModel, RecoveryModel
from .control import make_rule_families as make_rule_families
from .env import FisheryGym
from .metrics import summary as summary
from .model import FishingModel, FishingParams, FishingState
from .shared_stock import CommonsModel, share_stock
from .spec import build_fishery, digest, read_spec
from .structured_growth import Patches

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
    return {"numbers": digest(read_spec(path, {}))}


def make_gymnasium(env: FishingModel, render_mode: str | None = None) -> FisheryGym:
    """Make the Gymnasium environment, which rejects assignments to the fishery's numbers."""
    return FisheryGym(env, render_mode=render_mode)


def policies(env: FishingModel) -> Mapping[str, Policy]:
    """Return the policies available for a fishery, each made at its first use; "expert" is the reference policy.

    The expert is the fishery's tuned rule (`env.expert`). Without a tuned rule, it is the dynamic-programming optimum
    if that can be computed and surveys are exact; otherwise it is constant escapement for patches, for laws that vary
    between episodes and for correlated noise with exact surveys, and the Fisheries and Oceans Canada rule for all other
    fisheries.
    """
    default, makers = _list_policies(env)
    found, tuned = LazyMapping(makers), env.expert

    def make_expert() -> Policy:
        return found[default] if tuned is None else build_rule(tuned, make_rule_families(env), found)

    return LazyMapping({"expert": make_expert} | {name: partial(found.__getitem__, name) for name in found})


def _list_policies(env: FishingModel) -> tuple[str, dict[str, Callable[[], Policy]]]:
    """Return the functions that make the policies, and the name of the expert without tuning."""
    if isinstance(env, CommonsModel):
        follow = partial(control.follow_strategy, env)
        strategies = {"optimum": lambda: follow(share_optimum(env)), "greedy": lambda: follow(find_equilibrium(env))}
        return "optimum", strategies
    if isinstance(env, DriverModel):
        steady = {"steady": partial(steady_push, env, 0.37), "closed": partial(steady_push, env, 0.0)}
        params: Any = env.params
        return "sdp", {"sdp": lambda: follow_plan(env, plan_actions(env, params, int(params.horizon)))} | steady
    if isinstance(env, RecoveryModel):
        capacity = float(jnp.asarray(env.params.law.capacity))
        return "lift", {"lift": partial(control.lift, env, capacity), "closed": partial(control.quota, env, 0.0)}
    return _list_harvest_policies(env)


def explain_missing(env: FishingModel, name: str) -> str | None:
    """Return a policy's unmet requirement as `X, got Y`; None if all are met."""
    return find_obstacle(env, env.params) if name in ("sdp", "sdp-finite") else None


def explain_policy(env: FishingModel, name: str) -> list[str]:
    """Return a note if the optimum that `regret` and some policies use is only a bound; a game shows no regret."""
    if name == "human" or is_exact(env.params) or find_obstacle(env, env.params):
        return []
    what = name if name in ("sdp", "sdp-finite") else "the optimum of `regret`"
    return [f"{what} is computed for exact surveys and quotas, and is only a bound here: other rules may earn more"]


def idle_action(env: FishingModel) -> Any:
    """Return the action that does nothing: the lower bound of the space, or the first level."""
    space = env.action_space
    return space.low if isinstance(space, gymnasium.spaces.Box) else noop_action(space)


def _list_harvest_policies(env: FishingModel) -> tuple[str, dict[str, Callable[[], Policy]]]:
    law = env.params.law
    point, capacity = find_reference_point(law), float(jnp.asarray(law.capacity))
    ramp = partial(control.ramp, env, point.rate)
    rules = {
        "escapement": partial(control.escapement, env, point.escapement),
        "msy": partial(control.quota, env, point.catch),
        "rate": partial(control.rate, env, point.rate),
        "40-10": partial(ramp, 0.1 * capacity, 0.4 * capacity),
        "40-10-catch": partial(ramp, 0.1 * capacity, 0.4 * capacity, on="catch"),
        "dfo": partial(ramp, 0.4 * point.stock, 0.8 * point.stock),
        "closed": partial(control.quota, env, 0.0),
    }
    if find_obstacle(env, env.params):
        lasting = is_exact(env.params) and float(np.max(np.abs(env.params.correlation))) > 0
        constant = env.params.vary is not None or isinstance(law, Patches) or lasting
        return "escapement" if constant else "dfo", rules
    follow: Any = partial(control.follow_solution, env)
    solutions = {"sdp": lambda: follow(solve_ahead(env)), "sdp-finite": lambda: follow(find_optimum(env))}
    return "sdp" if is_exact(env.params) else "dfo", solutions | rules


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
