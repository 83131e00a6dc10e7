"""From an id to a session: who a person is there."""

from __future__ import annotations

from typing import Any

from harvestgym import registry
from harvestgym.core.errors import ConfigError

from .farmer import FarmerSession
from .fisher import FisherSession
from .forager import ForagerSession
from .session import Session

FAMILIES: dict[str, type[Session]] = {"farm": FarmerSession, "fishing": FisherSession, "forager": ForagerSession}
CLOCKS = {
    "farm": lambda n: {"rules": {"horizon#day": n}},
    "fishing": lambda n: {"Tmax": n},
    "forager": lambda n: {"horizon": n},
}
"""How each family is told after how many days, years or steps an episode ends."""


def family(id: str) -> str:
    """The family that makes an id; ConfigError if it is none of ours."""
    module = registry.spec(id).entry_point.partition(":")[0].split(".")
    if module[0] != "harvestgym" or module[1] not in FAMILIES:
        raise ConfigError(f"{id}: wanted an id of {', '.join(FAMILIES)}, found one made by {'.'.join(module)}")
    return module[1]


def start(id: str, seed: int = 0, horizon: int | None = None) -> Session:
    """The beginning of an episode of an id, or of a farm file, for a person; ConfigError if it cannot be played."""
    mine = family(id)
    overrides: dict[str, Any] = {} if horizon is None else CLOCKS[mine](horizon)
    session = FAMILIES[mine](id, registry.make(id, **overrides), seed)
    session.overrides = overrides
    return session
