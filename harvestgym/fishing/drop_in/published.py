"""Stand-ins for the classes in `gym_fishing.envs`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp

from harvestgym.core.errors import check_name
from harvestgym.core.pytree import par, pytree
from harvestgym.core.pytree import replace as replace_fields
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.noise import MAX_SIGMA, Noise
from harvestgym.fishing.units import Units

from .base import Numbers, StandIn

END = {"init_state": 0.75, "Tmax": 100, "file": None}
LOGISTIC = {"r": 0.3, "K": 1, "sigma": 0.0}

LAW_ENTRIES: dict[str, dict[str, str]] = {
    "Logistic": {"r": "r", "K": "K"},
    "Allee": {"r": "r", "K": "K", "C": "C"},
    "Allen": {"r": "r", "K": "K", "C": "C"},
    "BevertonHolt": {"r": "r", "K": "K"},
    "May": {"r": "r", "M": "M", "a": "a", "q": "q", "b": "b"},
    "Myers": {"M": "M", "theta": "theta"},
    "Ricker": {"r": "r", "K": "K"},
}
"""The entries of each law and the arguments that they come from."""

KINDS = {"Allen": "allee-published", "BevertonHolt": "beverton-holt"}


def make_law(name: str, numbers: Numbers) -> dict[str, Any]:
    """Return the entry `law` of a file for a published class and its arguments."""
    law = {entry: numbers[argument] for entry, argument in LAW_ENTRIES[name].items()}
    growth = {"Myers": {"A": numbers["r"] + 1}, "Allee": {"r": numbers["r"] * numbers["K"]}}
    return {"kind": KINDS.get(name, name.lower())} | law | growth.get(name, {})


@dataclass(frozen=True)
class _LevelsBelowK(Units):
    """Levels without the highest, so that action a of n allows a quota of a K / n."""

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Discrete(self.levels - 1)


@pytree
class _Vanishing(Noise):
    """value * exp(sigma left z): the noise of fishing-v2, which vanishes at low stock."""

    sigma: jax.Array = par("sigma", "standard deviation of the logarithm at a stock of 1", low=0.0, high=MAX_SIGMA)

    def __call__(self, z: jax.Array, value: jax.Array, left: jax.Array) -> jax.Array:
        return value * jnp.exp(self.sigma * left * z)


class _Fishery(StandIn):
    """A stock that is fished; the name of its class or base class is the name of its law."""

    arguments = LOGISTIC | END

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        names = (cls.__name__ for cls in type(self).__mro__ if cls.__name__ in LAW_ENTRIES)
        return {"law": make_law(next(names, "Logistic"), numbers)}


class FishingCtsEnv(_Fishery):
    """fishing-v1: logistic growth and a continuous quota."""

    noise_kind = "proportional"


class FishingEnv(FishingCtsEnv):
    """fishing-v0: logistic growth; of `n_actions` actions, action a allows a quota of a K / n_actions."""

    arguments = LOGISTIC | {"n_actions": 100} | END

    def make_model(self, numbers: Numbers) -> FishingModel:
        model = super().make_model(numbers)
        return replace(model, units=_LevelsBelowK(**vars(model.units)))

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        return super().entries(numbers) | {"levels": numbers["n_actions"] + 1}


class FishingTippingEnv(_Fishery):
    """fishing-v2: growth below a threshold is negative."""

    arguments = {"r": 0.3, "K": 1, "C": 0.5, "sigma": 0.0} | END

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        return {"law": make_law("Allee", numbers)}

    def make_model(self, numbers: Numbers) -> FishingModel:
        model = super().make_model(numbers)
        return replace(model, defaults=replace_fields(model.defaults, noise=_Vanishing(sigma=numbers["sigma"])))


class FishingModelError(FishingCtsEnv):
    """fishing-v4: r and K differ between episodes, here with lognormal draws of the published mean and deviation."""

    arguments = {"K_mean": 1.0, "r_mean": 0.3, "price": 1.0, "sigma": 0.0, "sigma_p": 0.1} | END

    def make_model(self, numbers: Numbers) -> FishingModel:
        return super().make_model({**numbers, "r": numbers["r_mean"], "K": numbers["K_mean"]})

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        spread = {name: sqrt(log(1 + (numbers["sigma_p"] / numbers[name]) ** 2)) for name in ("r", "K")}
        return super().entries(numbers) | {"vary": spread, "price": numbers["price"]}

    @property
    def K(self) -> float:  # noqa: N802
        """The mean of K, which is the scale of observations and actions."""
        return self.K_mean


class Allen(_Fishery):
    """fishing-v5: the published exponent, which has no threshold."""

    arguments = {"r": 0.3, "K": 1, "C": 0.5, "sigma": 0.0} | END


class BevertonHolt(_Fishery):
    """fishing-v6: Beverton-Holt growth."""


class May(_Fishery):
    """fishing-v7: a saturating predator; K is the scale of observations and actions only."""

    arguments = {"r": 0.7, "K": 1.5, "M": 1.5, "q": 3, "b": 0.15, "sigma": 0.0, "a": 0.2} | END


class Myers(_Fishery):
    """fishing-v8: depensatory growth; K is the scale of observations and actions only."""

    arguments = {"r": 1.0, "K": 1.0, "M": 1.0, "theta": 3.0, "sigma": 0.0} | END | {"init_state": 1.5}


class Ricker(_Fishery):
    """fishing-v9: Ricker growth."""


class NonStationary(BevertonHolt):
    """fishing-v10: the growth rate changes by `alpha` every year, not below 0, and is restored by a reset."""

    arguments = {"r": 0.8, "K": 1, "sigma": 0.0, "alpha": -0.007} | END

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        limit = 20.0 if numbers["alpha"] > 0 else 0.0
        return super().entries(numbers) | {"drift": {"r": {"rate": numbers["alpha"], "limit": limit}}}


MODELS = {"allen": "Allen", "beverton_holt": "BevertonHolt", "myers": "Myers", "may": "May", "ricker": "Ricker"}


class ModelUncertainty(_Fishery):
    """fishing-v11: a growth law drawn for each episode; K is 1 and the start 0.75 for all laws, as published."""

    arguments = {"models": tuple(MODELS), "params": None, "Tmax": 100, "file": None}
    constants = {"r": 0.3, "K": 1.0, "sigma": 0.0, "init_state": 0.75}

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        laws = []
        for name in numbers["models"]:
            check_name("model", name, MODELS, "ModelUncertainty > models")
            own = globals()[MODELS[name]].arguments | (numbers["params"] or {}).get(name, {})
            laws.append(make_law(MODELS[name], own))
        return {"law": {"kind": "one-of", "laws": laws}, "vary": "law"}
