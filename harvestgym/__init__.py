"""HarvestGym: fast reinforcement-learning environments for living systems that people harvest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harvestgym.core.loading import export_lazily

from .registry import EnvSpec, ids, make, register, register_catalogues, spec

if TYPE_CHECKING:
    from harvestgym.adapters.pettingzoo import make_parallel
    from harvestgym.core.rollout import rollout
    from harvestgym.core.saving.checkpoint import Snapshot, load, save
    from harvestgym.gym.vector_env import make_vec

__version__ = "0.1.0"

__all__ = [
    "EnvSpec",
    "Snapshot",
    "ids",
    "load",
    "make",
    "make_parallel",
    "make_vec",
    "register",
    "rollout",
    "save",
    "spec",
]

_LAZY = {
    "Snapshot": "harvestgym.core.saving.checkpoint:Snapshot",
    "load": "harvestgym.core.saving.checkpoint:load",
    "make_parallel": "harvestgym.adapters.pettingzoo:make_parallel",
    "make_vec": "harvestgym.gym.vector_env:make_vec",
    "rollout": "harvestgym.core.rollout:rollout",
    "save": "harvestgym.core.saving.checkpoint:save",
}
"""Names that need JAX or PettingZoo, loaded on first use."""

__getattr__, __dir__ = export_lazily(__name__, _LAZY)

register_catalogues()
