"""The published baseline policies: objects with `predict(obs)`, which returns an action and the observation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from harvestgym.fishing.analysis.reference_points import ReferencePoint, find_reference_point

from .base import StandIn


def _find_reference(env: StandIn) -> ReferencePoint:
    """Return the reference point of the first year's law."""
    params = env.model.params
    return find_reference_point(params.drift(params.law, jnp.int32(0)) if params.drift else params.law)


def BMSY(env: StandIn) -> float:  # noqa: N802
    """Return the stock after harvest at which growth is largest."""
    return _find_reference(env).escapement


class Rule:
    """A policy that computes a quota or an amount from the biomass and its attributes, the published numbers."""

    def __init__(self, env: StandIn, decide: Callable[[Any, float], float], **numbers: float) -> None:
        self.env, self.decide = env, decide
        vars(self).update(numbers)

    def predict(self, obs: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the action for an observation, and the observation."""
        return self.env.get_action(self.decide(self, self.env.get_fish_population(obs))), obs


def msy(env: StandIn, **kwargs: Any) -> Rule:
    """Take the maximum sustainable yield every year."""
    found = _find_reference(env)
    return Rule(env, lambda rule, stock: rule.msy, S=found.escapement, msy=found.catch)


def escapement(env: StandIn, **kwargs: Any) -> Rule:
    """Take everything above the most productive stock."""
    found = _find_reference(env)
    return Rule(env, lambda rule, stock: max(stock - rule.S, 0.0), S=found.escapement, msy=found.catch)


def user_action(env: StandIn, **kwargs: Any) -> Rule:
    """Ask on the terminal for each year's quota or amount."""
    return Rule(env, lambda rule, stock: float(input(f"biomass {stock:.3f}; quota: ")))


def fixed_action(env: StandIn, fixed_action: float = 0.0, **kwargs: Any) -> Rule:
    """Take the same action every year."""
    return Rule(env, lambda rule, stock: rule.fixed_action, fixed_action=fixed_action)


def target_state(env: StandIn, target_state: float = 1.0, **kwargs: Any) -> Rule:
    """Add the difference between a target and the stock."""
    return Rule(env, lambda rule, stock: max(rule.target_state - stock, 0.0), target_state=target_state)


def target_a(env: StandIn, target_a: float = 0.2, **kwargs: Any) -> Rule:
    """Lower the driver to a target; this policy reads the driver, which is not observed."""
    return Rule(env, lambda rule, stock: max(0.0, env.params["a"] - rule.target_a) * 200 * env.K, target_a=target_a)
