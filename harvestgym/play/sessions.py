"""Sessions by family, and `start_session`."""

from __future__ import annotations

from typing import Any

from harvestgym import registry
from harvestgym.core.errors import ConfigError

from .farm_session import FarmSession
from .fishing_session import FishingSession
from .forager_session import ForagerSession
from .session import Session

SESSIONS: dict[str, type[Session]] = {"farm": FarmSession, "fishing": FishingSession, "forager": ForagerSession}
HORIZONS = {
    "farm": lambda n: {"rules": {"horizon#day": n}},
    "fishing": lambda n: {"Tmax": n},
    "forager": lambda n: {"horizon": n},
}
"""The override of each family that limits an episode to some days, years or steps."""


def start_session(id: str, seed: int = 0, horizon: int | None = None) -> Session:
    """Begin an episode of an id or a farm file; ConfigError if it cannot be played."""
    package, family, *_ = *registry.spec(id).entry_point.partition(":")[0].split("."), ""
    if package != "harvestgym" or family not in SESSIONS:
        raise ConfigError(f"{id}: expected an id of {', '.join(SESSIONS)}, got one made by {package}.{family}")
    overrides: dict[str, Any] = {} if horizon is None else HORIZONS[family](horizon)
    return SESSIONS[family](id, registry.make(id, **overrides), seed, overrides)
