"""Fisheries: stocks that grow, fleets that harvest them, and the truth by which control rules are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .env import FishingEnv
    from .model import FishingModel

_LAZY = {"FishingEnv": "env", "FishingModel": "model"}
"""Names that need JAX: loaded when first used."""

__all__ = ["FishingEnv", "FishingModel"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
