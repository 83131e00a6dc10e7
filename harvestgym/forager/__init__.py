"""Foraging worlds: endless grids of objects to bump into, collect and learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .env import ForagerConfig, ForagerEnv

__all__ = ["ForagerConfig", "ForagerEnv"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import compiled, env, traced_env

        if name == "ForagerEnv" and not compiled.FAST:
            return traced_env.TracedForagerEnv
        return getattr(env, name)
    raise AttributeError(f"module 'harvestgym.forager' has no attribute {name!r}")
