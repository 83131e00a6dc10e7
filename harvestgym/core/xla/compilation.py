"""Compilation of programs: JAX's persistent cache, on by default, and quick compilation of what runs rarely.

Internals: names of JAX's configuration options and of XLA's compiler options.
Gain: a second process starts in a third of the time (`benchmarks/start.py`); `QUICK` halves the time to compile,
`LIGHT` saves a third of it (`benchmarks/compile_options.py`).
Without it: every process compiles its programs, with full optimisation.

The cache is a folder of the user. `HARVESTGYM_CACHE=off` switches it off and `HARVESTGYM_CACHE=<folder>` moves it. A
cache that the user has already configured in JAX is left alone. When a process that added programs ends, those not
used for longest are removed until the folder is below `CACHE_LIMIT`: JAX has a limit too, but it needs a lock for each
program and fails on programs that were stored without one.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import platformdirs

from .fallback import is_enabled, report, with_fallback

CACHE_VARIABLE = "HARVESTGYM_CACHE"

CACHE_LIMIT = 2 * 2**30
"""Bytes of the folder of compiled programs above which the oldest are removed."""

QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
"""Compiler options for programs that run once: compiling takes longer than running even unoptimised code."""

SINGLE = {"xla_backend_optimization_level": 1}
"""Compiler options for a single kernel: a fifth less time to compile than by default, and as fast."""

LIGHT = SINGLE | {"xla_cpu_use_fusion_emitters": False}
"""Compiler options for programs that run now and then: two thirds of the time to compile, a quarter slower."""


def leave_out_set(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the user has not set in the environment variable `XLA_FLAGS`."""
    return {name: value for name, value in options.items() if f"--{name}" not in os.environ.get("XLA_FLAGS", "")}


def cache_folder() -> Path | None:
    """Return the folder of compiled programs; None when the cache is switched off."""
    wanted = os.environ.get(CACHE_VARIABLE, "")
    if wanted.casefold() == "off" or not is_enabled():
        return None
    return Path(wanted) if wanted else Path(platformdirs.user_cache_dir("harvestgym")) / "xla"


def enable_cache() -> None:
    """Switch JAX's persistent cache on, unless the user has decided otherwise in JAX or by `HARVESTGYM_CACHE`."""
    folder = cache_folder()
    if folder is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        return
    try:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.config.update("jax_compilation_cache_dir", str(folder))
    except AttributeError as error:
        report("core.xla.compilation.enable_cache", error)
    else:
        atexit.register(_trim_if_changed, folder, _find_change(folder))


def _find_change(folder: Path) -> int:
    """Return when a file of the folder was last added or removed; 0 without a folder."""
    return folder.stat().st_mtime_ns if folder.is_dir() else 0


def _trim_if_changed(folder: Path, before: int) -> None:
    """Trim the cache at the end of a process if programs were added since `before`: listing thousands takes 0.1 s."""
    if _find_change(folder) != before:
        trim_cache(folder, CACHE_LIMIT)


def list_programs(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Return the files of compiled programs in a folder with their status, those not used for longest first."""
    found = []
    for path in folder.glob("*-cache") if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # another process has removed it
            found.append((path, path.stat()))
    return sorted(found, key=lambda program: max(program[1].st_atime, program[1].st_mtime))


def trim_cache(folder: Path, limit: int) -> int:
    """Remove the programs that were not used for longest until `limit` bytes are left; return how many went."""
    programs = list_programs(folder)
    size, removed = sum(status.st_size for _, status in programs), 0
    for path, status in programs:
        if size <= limit:
            break
        with suppress(OSError):  # in use, or in a folder that may not be written
            path.unlink(missing_ok=True)
            size, removed = size - status.st_size, removed + 1
    return removed


def jit_quickly(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Jit a function that runs once: it compiles in half the time, and runs unoptimised."""
    quick, plain = jax.jit(function, compiler_options=QUICK, **options), jax.jit(function, **options)
    return with_fallback("core.xla.compilation.jit_quickly", quick, plain)
