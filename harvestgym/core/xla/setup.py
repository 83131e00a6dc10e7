"""The settings of JAX that every environment wants, made before its first program is compiled."""

from __future__ import annotations

from .compilation import enable_cache
from .dispatch import run_in_calling_thread


def set_up_jax() -> None:
    """Enable the persistent cache of compiled programs, and run programs on the CPU in the calling thread."""
    enable_cache()
    run_in_calling_thread()
