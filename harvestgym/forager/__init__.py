"""Foraging worlds: endless grids of objects to bump into, collect and learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvestgym.forager.numba_engine.env import ForagerConfig, ForagerEnv

__all__ = ["ForagerConfig", "ForagerEnv"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from harvestgym.forager.jax_engine import traced_env
        from harvestgym.forager.numba_engine import env

        from . import numba_support

        if name == "ForagerEnv" and not numba_support.FAST:
            return traced_env.TracedForagerEnv
        return getattr(env, name)
    raise AttributeError(f"module 'harvestgym.forager' has no attribute {name!r}")
