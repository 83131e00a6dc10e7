"""Stand-ins for the classes in `gym_fishing.envs`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import gymnasium
import jax.numpy as jnp
from jax import Array

from harvestgym.core.errors import check_each_name
from harvestgym.core.pytree import par
from harvestgym.core.pytree import replace as replace_fields
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.noise import MAX_SIGMA, Noise
from harvestgym.fishing.units import Units

from .base import END, LOGISTIC, Numbers, StandIn, make_law


@dataclass(frozen=True)
class _LevelsBelowK(Units):
    """Discrete quotas without the highest level, so that action a of n sets a quota of a K / n."""

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Discrete(self.levels - 1)


class _Vanishing(Noise):
    """value * exp(sigma left z): the noise of fishing-v2, which vanishes at low stock."""

    sigma: Array = par("sigma", "standard deviation of the logarithm at a stock of 1", low=0.0, high=MAX_SIGMA)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return value * jnp.exp(self.sigma * left * z)


class FishingCtsEnv(StandIn, id="fishing-v1"):
    """fishing-v1: logistic growth and a continuous quota."""

    noise_kind = "proportional"


class FishingEnv(FishingCtsEnv, id="fishing-v0"):
    """fishing-v0: logistic growth; action a of `n_actions` sets a quota of a K / n_actions."""

    arguments = LOGISTIC | {"n_actions": 100} | END

    def make_model(self, numbers: Numbers) -> FishingModel:
        model = super().make_model(numbers)
        return replace(model, units=_LevelsBelowK(**vars(model.units)))

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        return super().entries(numbers) | {"levels": numbers["n_actions"] + 1}


class FishingTippingEnv(StandIn, law="allee", id="fishing-v2"):
    """fishing-v2: growth below a threshold is negative."""

    arguments = {"r": 0.3, "K": 1, "C": 0.5, "sigma": 0.0} | END

    def make_model(self, numbers: Numbers) -> FishingModel:
        model = super().make_model(numbers)
        return replace(model, defaults=replace_fields(model.defaults, noise=_Vanishing(sigma=numbers["sigma"])))


class FishingModelError(FishingCtsEnv, id="fishing-v4"):
    """fishing-v4: r and K differ between episodes; here they are lognormal, with the published mean and deviation."""

    arguments = {"K_mean": 1.0, "r_mean": 0.3, "price": 1.0, "sigma": 0.0, "sigma_p": 0.1} | END

    def make_model(self, numbers: Numbers) -> FishingModel:
        return super().make_model({**numbers, "r": numbers["r_mean"], "K": numbers["K_mean"]})

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        spread = {name: sqrt(log(1 + (numbers["sigma_p"] / numbers[name]) ** 2)) for name in ("r", "K")}
        return super().entries(numbers) | {"vary": spread, "price": numbers["price"]}

    K = property(lambda self: self.K_mean, doc="The mean of K, which is the scale of observations and actions.")
    r = property(lambda self: self.r_mean, doc="The mean of r.")


class Allen(StandIn, law="allee-published", id="fishing-v5"):
    """fishing-v5: the published exponent, which has no threshold."""

    arguments = {"r": 0.3, "K": 1, "C": 0.5, "sigma": 0.0} | END


class BevertonHolt(StandIn, law="beverton-holt", id="fishing-v6"):
    """fishing-v6: Beverton-Holt growth."""


class May(StandIn, law="may", id="fishing-v7"):
    """fishing-v7: a saturating predator; K is the scale of observations and actions only."""

    arguments = {"r": 0.7, "K": 1.5, "M": 1.5, "q": 3, "b": 0.15, "sigma": 0.0, "a": 0.2} | END


class Myers(StandIn, law="myers", id="fishing-v8"):
    """fishing-v8: depensatory growth; K is the scale of observations and actions only."""

    arguments = {"r": 1.0, "K": 1.0, "M": 1.0, "theta": 3.0, "sigma": 0.0} | END | {"init_state": 1.5}


class Ricker(StandIn, law="ricker", id="fishing-v9"):
    """fishing-v9: Ricker growth."""


class NonStationary(BevertonHolt, id="fishing-v10"):
    """fishing-v10: the growth rate changes by `alpha` every year, but not to below 0, and a reset restores it."""

    arguments = {"r": 0.8, "K": 1, "sigma": 0.0, "alpha": -0.007} | END

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        limit = 20.0 if numbers["alpha"] > 0 else 0.0
        return super().entries(numbers) | {"drift": {"r": {"rate": numbers["alpha"], "limit": limit}}}


MODELS = {"allen": Allen, "beverton_holt": BevertonHolt, "myers": Myers, "may": May, "ricker": Ricker}


class ModelUncertainty(StandIn, id="fishing-v11"):
    """fishing-v11: a growth law drawn for each episode; K is 1 and the start 0.75 for all laws, as published."""

    arguments = {"models": tuple(MODELS), "params": None, "Tmax": 100, "file": None}
    constants = LOGISTIC | {"init_state": 0.75}

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        check_each_name("model", names := numbers["models"], MODELS, "ModelUncertainty > models")
        own = [MODELS[name].arguments | (numbers["params"] or {}).get(name, {}) for name in names]
        laws = [make_law(MODELS[name].law, of_law) for name, of_law in zip(names, own, strict=True)]
        return {"law": {"kind": "one-of", "laws": laws}, "vary": "law"}
