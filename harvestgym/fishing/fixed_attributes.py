"""Attributes that scripts for other packages set on an environment; here, setting one raises an error with a hint."""

from __future__ import annotations

from typing import Any, TypeVar

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import iterate_metas

from .spec import GROWTH_LAWS, FishingSpec

START_NAMES = ("init_state", "s0", "start", "fish_population")
"""Names of the stock at the start."""

TEXTS = ("doc", "hard", "history", "problem", "expert")
LAW_PARAMETERS = {key for law in GROWTH_LAWS.values() for _, meta in iterate_metas(law) for key in meta.keys}
FIXED = sorted(
    {*START_NAMES, *FishingSpec.model_fields, *LAW_PARAMETERS, "sigma", "n_actions", "years_passed"} - {*TEXTS}
)
"""Names that cannot be set."""

EnvT = TypeVar("EnvT")


class FixedAttribute:
    """An attribute that is absent and cannot be set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{type(env).__name__}: expected a known attribute, got {self.name!r}; "
                             "try env.unwrapped.params or info")  # fmt: skip

    def __set__(self, env: object, value: Any) -> None:
        start = f"reset(options={{'start': {value!r}}})"
        hint = start if self.name in START_NAMES else f"a new environment, with {self.name}={value!r}"
        raise ConfigError(f"{self.name}: expected no assignment, as it would have no effect, got {value!r}; try {hint}")


def fix_attributes(cls: type[EnvT]) -> type[EnvT]:
    """Decorate an environment class so that it refuses assignments to the names in `FIXED`."""
    for name in FIXED:
        attribute = FixedAttribute()
        attribute.__set_name__(cls, name)
        setattr(cls, name, attribute)
    return cls
