"""Stand-ins for the classes in `gym_conservation.envs`. They write no file unless `file` is given."""

from __future__ import annotations

from typing import Any

from .base import Numbers, StandIn
from .published_policies import fixed_action, target_a, target_state, user_action

__all__ = [
    "Allen", "BevertonHolt", "May", "Myers", "NonStationaryV3", "NonStationaryV5", "NonStationaryV6", "Ricker",
    "fixed_action", "target_a", "target_state", "user_action",
]  # fmt: skip

COSTS = {"cost": 1.0, "benefit": 5.0, "Tmax": 100, "file": None}
MAY = {"r": 0.7, "K": 1.5, "M": 1.2, "q": 3, "b": 0.15, "sigma": 0.0}


class Ricker(StandIn, law="ricker", id="conservation-v0"):
    """conservation-v0: a Ricker stock to which the action adds, with reward benefit x - A^cost."""

    arguments = {"r": 0.3, "K": 1, "sigma": 0.0, "init_state": 0.75} | COSTS

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        own = {"problem": "recovery", "benefit": numbers["benefit"], "exponent": numbers["cost"]}
        return super().entries(numbers) | own


class BevertonHolt(Ricker, law="beverton-holt"):
    """Beverton-Holt growth instead of Ricker's."""


class Allen(Ricker, law="allee-published"):
    """Growth by the law of fishing-v5, which has no threshold."""

    arguments = {"r": 0.3, "K": 1, "C": 0.5, "sigma": 0.0, "init_state": 0.75} | COSTS


class Myers(Ricker, law="myers"):
    """Depensatory growth."""

    arguments = {"r": 1.0, "K": 1.0, "M": 1.0, "theta": 3.0, "sigma": 0.0, "init_state": 1.5} | COSTS


class May(Ricker, law="may", id="conservation-v2"):
    """conservation-v2: a stock with two stable states."""

    arguments = MAY | {"a": 0.2, "init_state": 0.1} | COSTS


class NonStationaryV3(May, id="conservation-v3"):
    """conservation-v3: consumption rises every year, and the action adds to the stock."""

    arguments = MAY | {"a": 0.2, "alpha": 0.001, "beta": 1.0, "init_state": 0.8}
    arguments |= {"cost": 2.0, "benefit": 1.0, "Tmax": 500, "file": None}

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        limit = 1e6 if numbers["alpha"] > 0 else 0.0
        return super().entries(numbers) | {"drift": {"a": {"rate": numbers["alpha"], "limit": limit}}}


class NonStationaryV5(NonStationaryV3, id="conservation-v5"):
    """conservation-v5: the action lowers the consumption, which otherwise rises, with reward x / (1 + x) - A^cost."""

    arguments = NonStationaryV3.arguments | {"a": 0.19}

    def entries(self, numbers: Numbers) -> dict[str, Any]:
        driver = {"problem": "driver", "satiation": 1.0, "rise": numbers["alpha"], "effect": 0.005 / numbers["K"]}
        return super().entries(numbers) | driver | {"drift": {}}


class NonStationaryV6(NonStationaryV5, id="conservation-v6"):
    """conservation-v6, the paper's tipping point: as V5, with noise."""

    arguments = NonStationaryV5.arguments | {"sigma": 0.2}
