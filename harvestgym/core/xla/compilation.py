"""Compilation of programs: a line on stderr if it is slow, quick compilation, one program for several devices.

Internals: the name of one XLA compiler option, which raises an exception in versions that lack it; the word "compil" in
the names of compiling functions in JAX and Numba; the argument `check_vma` of `jax.shard_map`, whose check rejects
loops that start from constants.
Benefit: `QUICK` halves the compile time; one call to one program uses all devices.
Without it: such programs are compiled with full optimisation, and slow compilations are not reported. There is no other
way to use several devices, so `HARVESTGYM_XLA=off` does not affect `map_over_shards`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

import jax
import numpy as np

from .setup import is_enabled, is_jit_disabled, report

QUICK = {"xla_backend_optimization_level": 0}
"""Compiler options for programs that run once: they take longer to compile than to run, even without optimisation."""

QUIET_VARIABLE = "HARVESTGYM_QUIET"
"""Environment variable that silences the line printed by `announcing`: `HARVESTGYM_QUIET=1`."""

LONG = 2.0
"""Time in seconds after which a compilation is reported."""

REJECTED = "Error reading persistent compilation cache entry"
"""The beginning of JAX's warning when a program in the cache cannot be used."""

SHARDS = "shards"
"""The name of the only mesh axis in `map_over_shards`."""

_announced: set[str] = set()


@contextmanager
def announcing(what: str, kept: bool | None = None) -> Iterator[None]:
    """Report slow compilations in a `with` block: print one line for each `what`.

    `kept` states whether the next process will find the program in the cache; with None, it will if JAX's cache is on.

    Another line, printed once per process, reports that JAX rejects programs from its cache, as it does on some
    processors. If other threads are running, JAX's own warnings appear instead, because Python catches warnings for all
    threads.
    """
    done = threading.Event()
    catching = warnings.catch_warnings(record=True) if threading.active_count() == 1 else nullcontext()
    if what not in _announced and os.environ.get(QUIET_VARIABLE, "") in ("", "0"):
        threading.Thread(target=_watch, args=(what, kept, threading.get_ident(), done), daemon=True).start()
    caught: list[warnings.WarningMessage] | None = None
    try:
        with catching as caught:
            yield
    finally:
        done.set()
        for one in caught or ():
            if str(one.message).startswith(REJECTED):
                report("cache of compiled programs", RuntimeError(str(one.message)), "they are compiled again")
            else:
                warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)


def _watch(what: str, kept: bool | None, thread: int, done: threading.Event) -> None:
    """Inspect a thread every `LONG` seconds until it is `done`; log a line if it is compiling."""
    while not done.wait(LONG):
        frame = sys._current_frames().get(thread)
        while frame is not None and "compil" not in frame.f_code.co_name:
            frame = frame.f_back
        if frame is not None and what not in _announced:
            _announced.add(what)
            kept = bool(getattr(jax.config, "jax_compilation_cache_dir", None)) if kept is None else kept
            later = "the next process will start quickly" if kept else "the cache is off, so each process does this"
            text = "compiling %s; %s (%s=1 hides this line)"
            logging.getLogger("harvestgym").warning(text, what, later, QUIET_VARIABLE)
            return


def jit_quickly(function: Callable[..., Any], what: str, **options: Any) -> Callable[..., Any]:
    """Jit a function that runs once: it compiles in half the time but runs unoptimised. Messages call it `what`.

    If the options are switched off or raise an error, plain `jax.jit` compiles the function.
    """
    quick, plain = jax.jit(function, compiler_options=QUICK, **options), jax.jit(function, **options)

    @wraps(function)
    def call(*args: Any) -> Any:
        with announcing(what):
            if not is_enabled() or is_jit_disabled():
                return plain(*args)
            try:
                return quick(*args)
            except Exception as error:
                result = plain(*args)  # raises the error again if the caller's function caused it
                report("core.xla.compilation.jit_quickly", error)
                return result

    return call


def map_over_shards(
    function: Callable[..., Any], devices: Sequence[Any], in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """Return `function` as one program for all devices; each device runs it on its shard of the arguments."""
    mesh = jax.sharding.Mesh(np.asarray(devices), (SHARDS,))
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
