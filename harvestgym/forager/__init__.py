"""Foraging worlds: grids in which an agent moves indefinitely, collects objects and learns their rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvestgym.forager.host_engine.env import ForagerEnv

    from .config import ForagerConfig

__all__ = ["ForagerConfig", "ForagerEnv"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from .host_engine import env  # imported here, so that importing the package imports no engine

        return getattr(env, name)
    raise AttributeError(f"module 'harvestgym.forager' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
