"""`FishingEnv`: the quota problem as a Gymnasium environment whose five parts can be overridden in a subclass."""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import gymnasium
from jax import Array
from pydantic import BeforeValidator

from harvestgym.core.checks import check_arguments, make_plain
from harvestgym.core.config import validate
from harvestgym.core.errors import check_keywords, mismatch, require
from harvestgym.core.pytree import iterate_metas
from harvestgym.core.saving.checkpoint import Savable
from harvestgym.gym.env import GymEnv

from .growth import GrowthLaw
from .model import FishingModel, FishingParams, FishingState, copy_fields
from .noise import Noise
from .parameter_drift import Drift
from .spec import GROWTH_LAWS, NO_NOISE, FishingSpec, StockStart, build_fishery


def _refuse_name(law: Any) -> Any:
    if isinstance(law, str) and law in GROWTH_LAWS:
        raise ValueError(f"expected a law, such as {GROWTH_LAWS[law].__name__}()")
    return law


OVERRIDABLE = ("initial", "transition", "observation", "reward", "terminal")

SETTINGS = (
    "order", "scale", "control", "levels", "shows_year", "price", "final_price", "cost", "discount",
    "correlation", "assessment_interval", "catch_constraint",
)  # fmt: skip
"""The entries of a fishery file that are arguments of `FishingEnv`."""

START_NAMES = ("init_state", "s0", "start", "fish_population")
"""Names of the stock at the start."""

TEXTS = ("doc", "hard", "history", "problem", "expert")
LAW_PARAMETERS = {key for law in GROWTH_LAWS.values() for _, meta in iterate_metas(law) for key in meta.keys}
FIXED = {*START_NAMES, *LAW_PARAMETERS, *FishingSpec.model_fields, "sigma", "n_actions", "years_passed"} - {*TEXTS}
"""Names that cannot be set."""


class FixedAttributes:
    """A base class of environments that reject assignments to the names in `FIXED`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED:
            start = f"reset(options={{'start': {value!r}}})"
            hint = start if name in START_NAMES else f"a new environment, with {name}={value!r}"
            raise mismatch(name, "no assignment, which would have no effect", repr(value), hint)
        super().__setattr__(name, value)


class FisheryGym(FixedAttributes, GymEnv):
    """A `GymEnv` that rejects assignments such as `env.unwrapped.K = 2`, which would have no effect."""


class FishingEnv(FixedAttributes, Savable, gymnasium.Env[Any, Any]):
    """Gymnasium environment of a stock that is fished by yearly quotas: `FishingEnv(r=0.3, K=1, s0=0.75, Tmax=100)`.

    This is a thin wrapper around the compiled `FishingModel`. An environment consists of five functions, `initial`,
    `transition`, `observation`, `reward` and `terminal`; any of them can be overridden with JAX code:

        class Observed(FishingEnv):
            def observation(self, key, state, action, params):
                blurred = 0.0 if action is None else 0.1 * jax.random.normal(key, (1,))
                return jnp.clip(super().observation(key, state, action, params) + blurred, -1, 1)

    An action outside its space, including NaN, and an assignment to an argument (`env.K = 2`) raise ConfigError and
    change nothing. docs/fishing.md lists the differences from the paper's listing.

    Args:
        r, K: growth rate per year and carrying capacity of logistic growth; only without `law`.
        s0: stock at the start, or two stocks between which it is drawn for each episode; None for 0.75 K.
        Tmax: number of years in an episode.
        sigma: standard deviation of lognormal growth noise with mean one; only without `noise`.
        law, noise, survey_error, quota_error, drift: small callables; see `growth`, `noise` and `parameter_drift`.
        order: "harvest first" or "growth first".
        scale: "symmetric" maps [0, 2 K] to [-1, 1]; "natural" keeps biomass, as the paper does.
        control: "quota", or "rate" for the fraction of the stock to take.
        levels: number of discrete quotas; 0 for a continuous quota.
        shows_year: whether the year is observed after the stock, as a fraction of `Tmax`.
        price, cost, discount: price of catch, cost of effort, discount per year; see `info["discounted_return"]`.
        final_price: price of the stock that remains when an episode is truncated; None for `price`.
        correlation: correlation of the growth noise with last year's.
        assessment_interval: number of years for which an action sets the quota; actions in between have no effect.
        catch_constraint: the largest change of a quota, as a fraction of the last quota; None for no limit.
    """

    made_of = ("model", "render_mode")
    changes = ("_shell",)
    metadata = {"render_modes": ["rgb_array", "ansi", "svg"], "render_fps": 4}

    @check_arguments
    def __init__(
        self,
        r: float = 0.3,
        K: float = 1.0,
        s0: StockStart | None = None,
        Tmax: int = 100,
        sigma: float = 0.0,
        *,
        law: Annotated[GrowthLaw | None, BeforeValidator(_refuse_name)] = None,
        noise: Noise | None = None,
        survey_error: Noise | None = None,
        quota_error: Noise | None = None,
        drift: Drift | None = None,
        render_mode: Literal["ansi", "rgb_array", "svg"] | None = None,
        **entries: Any,
    ) -> None:
        valid = (*inspect.signature(FishingEnv).parameters, *SETTINGS)
        check_keywords("FishingEnv", entries, valid, length="Tmax")
        alone, hint = law is None or (r, K) == (0.3, 1.0), f"{type(law).__name__}(...)"
        require(alone, "FishingEnv > law", "no r and K", f"r={r}, K={K}", hint)
        both, hint = noise is not None and sigma, f"{type(noise).__name__}(sigma={sigma})"
        require(not both, "FishingEnv > noise", "either a noise or sigma", f"both, with sigma={sigma}", hint)
        entries |= {"law": {"kind": "logistic", "r": r, "K": K}, "start": s0, "Tmax": Tmax}
        entries |= {"noise": {"kind": "lognormal", "sigma": sigma} if sigma else NO_NOISE}
        spec = validate(FishingSpec, make_plain(entries), "FishingEnv")
        parts = {"law": law, "noise": noise, "survey_error": survey_error, "quota_error": quota_error, "drift": drift}
        self._set_up(build_fishery(spec, "FishingEnv", **parts), render_mode)

    @classmethod
    def from_recipe(cls, model: FishingModel, render_mode: Any) -> FishingEnv:
        """Make an environment from a model."""
        made = cls.__new__(cls)
        made._set_up(model, render_mode)
        return made

    def _set_up(self, model: FishingModel, render_mode: Any) -> None:
        self.model, self.render_mode = model, render_mode
        self.observation_space, self.action_space = model.observation_space, model.action_space

    @cached_property
    def _shell(self) -> GymEnv:
        """The compiled environment, created on first use because a subclass may change the spaces."""
        return GymEnv(self.core, render_mode=self.render_mode)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.model!r}>"

    # The five parts of an environment.

    def initial(self, key: Array, params: FishingParams) -> FishingState:
        """Return the first state of an episode."""
        return self.model.initial(key, params)

    def transition(self, key: Array, state: FishingState, action: Any, params: FishingParams) -> FishingState:
        """Return the next state, f(s, a)."""
        return self.model.transition(key, state, action, params)

    def observation(self, key: Array, state: FishingState, action: Any, params: FishingParams) -> Any:
        """Return the observation of `state`, E(s, a); `action` is the action that led to it, None after a reset."""
        return self.model.observation(key, state, action, params)

    def reward(self, key: Array, state: FishingState, action: Any, after: FishingState, params: FishingParams) -> Array:
        """Return the reward for the catch between `state` and `after`, and for the stock at truncation, U(s, a)."""
        return type(self.model).reward(self.core, key, state, action, after, params)  # uses an overridden `terminal`

    def terminal(self, state: FishingState, params: FishingParams) -> Array:
        """Return whether the stock is extinct."""
        return self.model.terminal(state, params)

    # The Gymnasium interface.

    @property
    def core(self) -> FishingModel:
        """Functional environment: the model, or the model with the parts that a subclass overrides."""
        changed = any(getattr(type(self), part) is not getattr(FishingEnv, part) for part in OVERRIDABLE)
        model = self.model
        return _Overridden(**copy_fields(model), owner=self) if changed else model

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        return self._shell.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Fish for a year; return observation, reward, terminated (extinct stock), truncated (Tmax reached), info."""
        return self._shell.step(action)

    def render(self) -> Any:
        """Render the years so far as a picture or as text ("ansi"); return None without a mode."""
        return self._shell.render()


@dataclass(frozen=True, repr=False)
class _Overridden(FishingModel):
    """Model for a `FishingEnv` subclass that overrides parts; its spaces and its parts are those of `owner`."""

    owner: FishingEnv = field(kw_only=True)


for _part in ("observation_space", "action_space", *OVERRIDABLE):
    setattr(_Overridden, _part, property(operator.attrgetter(f"owner.{_part}")))
