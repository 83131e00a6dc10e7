"""Foraging worlds: grids in which an agent moves indefinitely, collects objects and learns their rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harvestgym.core.loading import export_lazily

if TYPE_CHECKING:
    from harvestgym.forager.host_engine.env import ForagerEnv

    from .config import ForagerConfig

__all__ = ["ForagerConfig", "ForagerEnv"]

__getattr__, __dir__ = export_lazily(__name__, {name: f"{__name__}.host_engine.env:{name}" for name in __all__})
