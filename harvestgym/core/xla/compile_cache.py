"""How programs are compiled: JAX's persistent cache, on by default, so that a second process starts in a second.

It lives in the user's cache directory. `HARVESTGYM_CACHE=off` switches it off, `HARVESTGYM_CACHE=<folder>`
moves it; a cache that the user has already configured in JAX is left alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import jax
import platformdirs

VARIABLE = "HARVESTGYM_CACHE"

QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
"""Compiler options for what runs once: however slow its code is, it runs in a blink, and compiles in half the time."""


def folder() -> Path | None:
    """Where compiled programs are kept; None when the cache is switched off."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted.casefold() == "off":
        return None
    return Path(wanted) if wanted else Path(platformdirs.user_cache_dir("harvestgym")) / "xla"


def enable() -> None:
    """Switch the cache on unless the user has said otherwise, in JAX or by `HARVESTGYM_CACHE`."""
    where = folder()
    if where is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        return
    jax.config.update("jax_compilation_cache_dir", str(where))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
