"""Fisheries: stocks that grow, fleets that harvest them, and optimal policies as references for control rules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .env import FishingEnv
    from .model import FishingModel

_CLASSES = {"FishingEnv": "env", "FishingModel": "model"}
_MODULES = ("analysis", "control", "drop_in", "hash_keys", "metrics", "shared_stock")
"""Modules that need JAX or an extra; like the classes, they are loaded on first use."""

__all__ = ["FishingEnv", "FishingModel"]


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module(f"{__name__}.{_CLASSES[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
