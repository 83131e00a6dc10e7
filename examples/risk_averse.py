"""Risk-averse learning: rewards whose sum is the utility of the return, on a fishery with noisy growth.

    python examples/risk_averse.py

It prints the best constant escapement for the mean return and for a risk-averse fleet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import harvestgym
from harvestgym.core.env import Timestep
from harvestgym.core.errors import ConfigError
from harvestgym.core.rollout import evaluate
from harvestgym.core.wrappers import Wrapper
from harvestgym.fishing import control

EPISODES, TARGETS = 2_000, (0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True)
class Exponential:
    """The exponential utility, (1 - exp(-aversion x)) / aversion: approximately x near 0, and at most 1 / aversion.

    Maximising its mean maximises the entropic risk measure of the return (`core.risk.Entropic`).
    """

    aversion: float

    def __post_init__(self) -> None:
        if not 0 < self.aversion < np.inf:
            raise ConfigError(f"aversion: expected a finite number above 0, got {self.aversion}")

    def __call__(self, x: jax.Array) -> jax.Array:
        return -jnp.expm1(-self.aversion * x) / self.aversion


@dataclass(frozen=True)
class Shortfall:
    """The utility threshold - max(threshold - x, 0) / level.

    Its mean is at most the CVaR at that level, and equal to it if the threshold is the quantile (Rockafellar & Uryasev
    2000, eq. 4). During training, therefore set the threshold to the quantile of past returns.
    """

    threshold: float
    level: float

    def __post_init__(self) -> None:
        if not 0 < self.level <= 1:
            raise ConfigError(f"level: expected a number above 0, at most 1, got {self.level}")

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.threshold - jnp.maximum(self.threshold - x, 0.0) / self.level


class UtilityState(NamedTuple):
    """The wrapped state, and the sum of rewards since the reset."""

    inner: Any
    total: jax.Array


@dataclass(frozen=True)
class Utility(Wrapper[Any]):
    """Replaces rewards by changes in the utility of their sum, which add up to u(return) - u(0) over an episode.

    A learner that maximises the undiscounted mean return then maximises the mean utility. This works for any risk
    measure that is the mean of a function of the return, which excludes the variance. The best action may depend on the
    sum so far, which is not in the observation but in the info, as `return so far`.
    """

    utility: Callable[[jax.Array], jax.Array]

    def opened(self, state: Any, first: Timestep) -> tuple[UtilityState, Timestep]:
        return self._with_info(UtilityState(state, jnp.float32(0.0)), first)

    def step(
        self, key: jax.Array, state: UtilityState, action: Any, params: Any = None
    ) -> tuple[UtilityState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        total = state.total + timestep.reward
        worth = self.utility(total) - self.utility(state.total)
        return self._with_info(UtilityState(inner, total), timestep._replace(reward=jnp.float32(worth)))

    def _with_info(self, state: UtilityState, timestep: Timestep) -> tuple[UtilityState, Timestep]:
        return state, timestep._replace(info=timestep.info | {"return so far": state.total})


def main() -> None:
    """Compare escapements by the mean return, and by the mean utility of a risk-averse fleet."""
    env = harvestgym.make("fishing/logistic-v0", sigma=0.3, Tmax=20)
    for name, game in {"mean": env, "averse": Utility(env, Exponential(aversion=5.0))}.items():
        runs = [evaluate(game, control.escapement(env, t), jax.random.key(0), EPISODES, 20) for t in TARGETS]
        worth = [float(np.mean(run.returns)) for run in runs]
        print(f"{name}: best escapement {TARGETS[int(np.argmax(worth))]:g}")


if __name__ == "__main__":
    main()
