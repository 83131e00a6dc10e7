"""The switch that turns off `core.xla`, and two process-wide settings, applied when the first environment is made.

Neither setting affects results, and neither is changed if the user has set it in JAX or with an environment variable.

- Folder for compiled programs. JAX's persistent cache is off by default. `HARVESTGYM_CACHE=off` leaves it off;
  `HARVESTGYM_CACHE=<folder>` moves it. When a process that added programs ends, the least recently used programs are
  removed until the folder is below `CACHE_LIMIT`. JAX has a limit too, but it needs a lock for each program and fails
  on programs that were stored without a lock.
- Programs on the CPU run in the calling thread: passing a small program to another XLA thread takes longer than
  simulating a farm day. JAX reads this setting once, when it starts its CPU client; it is not changed afterwards.

Internals: the names of four JAX configuration options.
Benefit: the cache halves the time to the first step; with JAX 0.10, a step of `farm/full-1x1-v0` through
`gymnasium.make` took 44 us in the calling thread and 69 us in another.
Without it: every process compiles its programs, and every call waits for an XLA thread.
"""

from __future__ import annotations

import atexit
import logging
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import jax
import platformdirs

from .process_checks import is_jax_started

SWITCH_VARIABLE = "HARVESTGYM_XLA"
"""Environment variable that turns off the optional parts of `core.xla`: `HARVESTGYM_XLA=off`."""

reported: set[str] = set()
"""Parts whose failure has been logged in this process."""


def is_enabled() -> bool:
    """Return whether code that depends on internals may be used."""
    return os.environ.get(SWITCH_VARIABLE, "").casefold() != "off"


def is_jit_disabled() -> bool:
    """Return whether the user has disabled `jax.jit`."""
    return getattr(jax.config, "jax_disable_jit", False)


def report(piece: str, error: Exception, instead: str = "plain jax.jit is used, which gives the same results") -> None:
    """Log once per process that a part failed, why, and what happens instead."""
    if piece not in reported:
        reported.add(piece)
        reason = f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}"
        text = "%s: failed on JAX %s, so %s; %s=off skips it: %s"
        logging.getLogger("harvestgym").warning(text, piece, jax.__version__, instead, SWITCH_VARIABLE, reason)


CACHE_VARIABLE = "HARVESTGYM_CACHE"

CACHE_LIMIT = 2 * 2**30
"""Size in bytes above which the oldest compiled programs are removed from the folder."""

CACHE_OPTIONS = {"jax_persistent_cache_min_compile_time_secs": 0.2, "jax_persistent_cache_min_entry_size_bytes": -1}
"""Options that store every program that takes at least a fifth of a second to compile, even if it is small."""


@cache
def set_up_jax() -> None:
    """Apply both settings, once per process."""
    if not is_enabled():
        return
    try:
        enable_cache()
        if "JAX_CPU_ENABLE_ASYNC_DISPATCH" not in os.environ and not is_jax_started():
            jax.config.update("jax_cpu_enable_async_dispatch", False)
    except AttributeError as error:
        report("core.xla.setup", error)


def cache_folder() -> Path | None:
    """Return the folder for compiled programs; None if the cache is switched off."""
    wanted = os.environ.get(CACHE_VARIABLE, "")
    if wanted.casefold() == "off" or not is_enabled():
        return None
    return Path(wanted) if wanted else Path(platformdirs.user_cache_dir("harvestgym")) / "xla"


def enable_cache() -> None:
    """Enable JAX's persistent cache, if the user has not set it and the folder is writable."""
    folder = cache_folder()
    if folder is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"no permission to write {folder}")
    except OSError as error:
        text = "compiled programs are not kept: %s; try another folder, %s=<folder>, or %s=off"
        logging.getLogger("harvestgym").warning(text, error, CACHE_VARIABLE, CACHE_VARIABLE)
        return
    for option, value in CACHE_OPTIONS.items():
        if option.upper() not in os.environ:
            jax.config.update(option, value)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    atexit.register(_trim_if_changed, folder, folder.stat().st_mtime_ns)


def _trim_if_changed(folder: Path, before: int) -> None:
    """Trim the cache at the end of a process if it has grown since `before`: listing thousands of files takes 0.1 s."""
    if folder.is_dir() and folder.stat().st_mtime_ns != before:
        trim_cache(folder, CACHE_LIMIT)


def list_programs(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Return the compiled program files in a folder with their status, least recently used first."""
    found = []
    for path in folder.glob("*-cache") if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # another process removed it
            found.append((path, path.stat()))
    return sorted(found, key=lambda program: max(program[1].st_atime, program[1].st_mtime))


def trim_cache(folder: Path, limit: int) -> int:
    """Remove the least recently used programs until at most `limit` bytes are left; return how many were removed."""
    programs = list_programs(folder)
    size, removed = sum(status.st_size for _, status in programs), 0
    for path, status in programs:
        if size <= limit:
            break
        with suppress(OSError):  # in use, or in a read-only folder
            path.unlink(missing_ok=True)
            size, removed = size - status.st_size, removed + 1
    return removed
