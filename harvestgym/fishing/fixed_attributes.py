"""Attributes that scripts for other packages set on an environment; here, setting one raises an error with a hint."""

from __future__ import annotations

from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import iterate_metas

from .spec import GROWTH_LAWS, FishingSpec

START_NAMES = ("init_state", "s0", "start", "fish_population")
"""Names of the stock at the start."""

TEXTS = ("doc", "hard", "history", "problem", "expert")
LAW_PARAMETERS = {key for law in GROWTH_LAWS.values() for _, meta in iterate_metas(law) for key in meta.keys}
REFUSED = {*START_NAMES, *LAW_PARAMETERS, "sigma", "n_actions", "years_passed"}
FIXED = REFUSED.union(FishingSpec.model_fields).difference(TEXTS)
"""Names that cannot be set."""


class FixedAttributes:
    """A base class of environments that refuse assignments to the names in `FIXED`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED:
            start = f"reset(options={{'start': {value!r}}})"
            hint = start if name in START_NAMES else f"a new environment, with {name}={value!r}"
            raise ConfigError(f"{name}: expected no assignment, as it would have no effect, got {value!r}; try {hint}")
        super().__setattr__(name, value)
