"""Compilation of programs: one line on stderr where it takes long, and quick compilation of what runs rarely.

Internals: the name of one option of XLA's compiler, which a version that does not know it refuses with an exception,
and the word "compil" in the names of functions of JAX and Numba that compile.
Gain: `QUICK` takes half of the time to compile.
Without it: such programs are compiled with full optimisation, and no line says that compiling takes long.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

import jax

from .fallback import report, with_fallback

QUICK = {"xla_backend_optimization_level": 0}
"""Compiler options for programs that run once: compiling takes longer than running even unoptimised code."""

QUIET_VARIABLE = "HARVESTGYM_QUIET"
"""Environment variable that silences the line of `announcing`: `HARVESTGYM_QUIET=1`."""

LONG = 2.0
"""Seconds after which a compilation is announced."""

REJECTED = "Error reading persistent compilation cache entry"
"""How the warning of JAX begins when a program in the cache cannot be used."""

_announced: set[str] = set()


@contextmanager
def announcing(what: str, kept: bool | None = None) -> Iterator[None]:
    """Call compiled functions: if one is compiled first and that takes long, one line says so, once for each `what`.

    `kept` says whether the next process finds the program; None asks whether JAX's cache is on.

    Another line, once a process, says if JAX rejects programs of its cache: on some processors it does so always. Where
    other threads run, JAX's own warnings say it, as Python catches warnings for all threads at a time.
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
    """Look into a thread every `LONG` seconds until it is `done`; log a line if it is in a compiler."""
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
    """Jit a function that runs once: it compiles in half the time, and runs unoptimised. `what` is announced."""
    quick, plain = jax.jit(function, compiler_options=QUICK, **options), jax.jit(function, **options)
    call = with_fallback("core.xla.compilation.jit_quickly", quick, plain)

    @wraps(function)
    def announced(*args: Any) -> Any:
        with announcing(what):
            return call(*args)

    return announced
