"""What a life is given while it runs - actions, rewards, delays - or a clear error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.kinds import MAX_DELAY


def not_started(*_: Any) -> int:
    """What a step is before the first start."""
    raise RuntimeError("step before start: call obs = env.start() first")


def whole_action(action: Any) -> int:
    """An action as 0-3; ConfigError for anything else."""
    try:
        whole = int(action)
    except (TypeError, ValueError):
        whole = -1
    if not 0 <= whole <= 3 or whole != action:
        raise ConfigError(f"action: wanted 0 (north), 1 (east), 2 (south) or 3 (west), found {action!r}")
    return whole


def finite(reward: Any, name: str) -> float:
    """A reward as a float; ConfigError if it is not a finite number."""
    value = float(reward)
    if not math.isfinite(value):
        raise ConfigError(f"reward of {name!r}: wanted a finite number, found {reward!r}")
    return value


def whole_delay(delay: Any, name: str) -> int | None:
    """A delay as whole steps, or None for never; ConfigError for anything else."""
    if delay is None:
        return None
    whole = int(delay) if isinstance(delay, int | float | np.number) and math.isfinite(delay) else -1
    if whole != delay or not 0 <= whole <= MAX_DELAY:
        raise ConfigError(f"regen_delay of {name!r}: wanted whole steps from 0 to 2^30, or None for never, found "
                          f"{delay!r}")  # fmt: skip
    return whole
