"""The policies of a fishery by name: the expert, control rules at its reference points, and its optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from harvestgym.core.loading import LazyMapping
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import build_rule
from harvestgym.fishing.analysis.commons import find_equilibrium, share_optimum
from harvestgym.fishing.analysis.dynamic_programming import find_obstacle, find_optimum, is_exact, solve_ahead
from harvestgym.fishing.analysis.reference_points import find_reference_point

from . import control
from .analysis.tipping import follow_plan, plan_actions, steady_push
from .conservation import DriverModel, RecoveryModel
from .control import make_rule_families
from .model import FishingModel
from .shared_stock import CommonsModel
from .structured_growth import Patches


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


def explain_missing(env: FishingModel, name: str) -> str | None:
    """Return a policy's unmet requirement as `X, got Y`; None if all are met."""
    return find_obstacle(env, env.params) if name in ("sdp", "sdp-finite") else None


def explain_policy(env: FishingModel, name: str) -> list[str]:
    """Return a note if the optimum that `regret` and some policies use is only a bound; a game shows no regret."""
    if name == "human" or is_exact(env.params) or find_obstacle(env, env.params):
        return []
    what = name if name in ("sdp", "sdp-finite") else "the optimum of `regret`"
    return [f"{what} is computed for exact surveys and quotas, and is only a bound here: other rules may earn more"]
