"""Programs run in the thread that calls them: on a CPU, handing a small program to another thread takes longer.

Internals: JAX's option `jax_cpu_enable_async_dispatch`, read once, when JAX starts its CPU client.
Gain: a step of `farm/full-1x1-v1` through `gymnasium.make` takes 44 us and not 69 us, on two busy cores
(`harvestgym bench`). Rollouts are as fast with and without it.
Without it: every call waits for a thread of XLA to run its program. With it, a program on the CPU, also one of the
user's, has finished when the call returns; programs on other devices are not affected.
"""

from __future__ import annotations

import jax

from .fallback import is_enabled, report


def run_in_calling_thread() -> None:
    """Let XLA run programs on the CPU in the calling thread; no effect once JAX has started its CPU client."""
    if not is_enabled():
        return
    try:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    except AttributeError as error:
        report("core.xla.dispatch.run_in_calling_thread", error)
