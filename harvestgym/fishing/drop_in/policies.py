"""The published baseline policies: objects with `predict(obs)`, which returns an action and the observation."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from harvestgym.fishing.analysis.reference_points import ReferencePoint, find_reference_point

from .base import StandIn


def _find_reference(env: StandIn) -> ReferencePoint:
    """Return the reference point of the first year's law."""
    params = env.model.params
    return find_reference_point(params.drift(params.law, jnp.int32(0)) if params.drift else params.law)


def BMSY(env: StandIn) -> float:  # noqa: N802
    """Return the stock after harvest with the largest growth."""
    return _find_reference(env).escapement


class _Rule:
    """A policy that computes a quota or an amount from the biomass."""

    def __init__(self, env: StandIn, **kwargs: Any) -> None:
        self.env = env

    def decide(self, stock: float) -> float:
        raise NotImplementedError

    def predict(self, obs: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the action for an observation, and the observation."""
        return self.env.get_action(self.decide(self.env.get_fish_population(obs))), obs


class msy(_Rule):  # noqa: N801
    """Take the maximum sustainable yield every year."""

    def __init__(self, env: StandIn, **kwargs: Any) -> None:
        super().__init__(env)
        found = _find_reference(env)
        self.S, self.msy = found.escapement, found.catch

    def decide(self, stock: float) -> float:
        return self.msy


class escapement(msy):  # noqa: N801
    """Take everything above the most productive stock."""

    def decide(self, stock: float) -> float:
        return max(stock - self.S, 0.0)


class user_action(_Rule):  # noqa: N801
    """Ask on the terminal for each year's quota or amount."""

    def decide(self, stock: float) -> float:
        return float(input(f"biomass {stock:.3f}; quota: "))


class fixed_action(_Rule):  # noqa: N801
    """Take the same action every year."""

    def __init__(self, env: StandIn, fixed_action: float = 0.0, **kwargs: Any) -> None:
        super().__init__(env)
        self.fixed_action = fixed_action

    def decide(self, stock: float) -> float:
        return self.fixed_action


class target_state(_Rule):  # noqa: N801
    """Add what is missing from a target."""

    def __init__(self, env: StandIn, target_state: float = 1.0, **kwargs: Any) -> None:
        super().__init__(env)
        self.target_state = target_state

    def decide(self, stock: float) -> float:
        return max(self.target_state - stock, 0.0)


class target_a(_Rule):  # noqa: N801
    """Lower the driver to a target; reads the driver, which is not observed."""

    def __init__(self, env: StandIn, target_a: float = 0.2, **kwargs: Any) -> None:
        super().__init__(env)
        self.target_a = target_a

    def decide(self, stock: float) -> float:
        return max(0.0, self.env.params["a"] - self.target_a) * 200 * self.env.K
