"""Compiled programs on a shelf, found again by what they compute: a second process does not lower them either.

JAX's own cache knows a program by its lowered text, and lowering takes a third of what a second start took.
Here a program is known by its trace (`core.xla.digest`), so a function that was changed, by whomever, is another one.
The shelf is a folder in that of the compilation cache, for machines with a CPU alone; whatever cannot be put there or
found there is compiled as ever.
"""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache as remembered
from pathlib import Path
from typing import Any

import jax
from jax.experimental import serialize_executable

from . import compile_cache
from .digest import digest

Finish = Callable[[Any, Any], Any]
"""From a jitted function and its trace to the function that is compiled in its stead."""


class Shelved:
    """A function of arrays that is compiled for the arguments of its first call, or taken from the shelf.

    Later calls have arguments of the same shapes and dtypes; others are compiled by JAX, as by `jax.jit`.
    """

    def __init__(self, function: Callable[..., Any], finish: Finish) -> None:
        self._jitted, self._finish = jax.jit(function), finish
        self._run: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        run = self._run or self.ready(*args)
        try:
            return run(*args)
        except TypeError:  # what a compiled program says of other shapes, before it has done anything
            return self._jitted(*args)

    def ready(self, *args: Any) -> Callable[..., Any]:
        """The compiled function for arguments, or shapes, such as these."""
        with self._lock:
            self._run = self._run or self._program(self._jitted.trace(*args), args)
            return self._run

    def _program(self, traced: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
        place = _place(traced)
        trees = jax.tree.structure((args, {})), jax.tree.structure(traced.out_info)
        if place is not None and (found := _found(place, *trees)):
            return found
        made = jax.jit(_named(self._finish(self._jitted, traced), place.name if place else traced.fun_name))
        _hits.here = 0
        compiled = made.lower(*args).compile()
        if place is None:
            return made
        if not _hits.here:  # what came from a cache itself lacks what it needs elsewhere
            threading.Thread(target=_put, args=(compiled, place)).start()
        return compiled


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`function` under a name, by which JAX's cache tells apart what the shelf tells apart."""

    def run(*args: Any) -> Any:
        return function(*args)

    run.__name__ = name
    return run


def _place(traced: Any) -> Path | None:
    """Where the program of a trace stands; None if there is no shelf for it."""
    folder, said = compile_cache.folder(), jax.config.values
    debugged = any(said[f"jax_{name}"] for name in ("disable_jit", "debug_nans", "debug_infs"))
    if folder is None or debugged or not said["jax_enable_compilation_cache"]:
        return None
    if jax.default_backend() != "cpu" or jax.device_count() > 1:
        return None
    with suppress(Exception):  # of a JAX to come, whose traces are made of something else
        name = digest(traced.jaxpr)
        return folder / "shelf" / f"{traced.fun_name}_{name[:32]}_{_setting()}" if name else None
    return None


def _setting() -> str:
    """What a compiled program depends on besides its trace: versions, settings, the processor, and our own making."""
    said = sorted((k, repr(v)) for k, v in jax.config.values.items() if "cache" not in k)
    about = (jax.__version__, jax.lib.__version__, os.environ.get("XLA_FLAGS", ""), said, _processor(), _making())
    return hashlib.sha256(repr(about).encode()).hexdigest()[:16]


@remembered
def _processor() -> str:
    """The processor and what it can do, as far as the system tells."""
    told = Path("/proc/cpuinfo")
    lines = set(told.read_text().splitlines()) if told.exists() else set()
    kept = sorted(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU")))
    return repr((platform.machine(), platform.processor(), kept))


@remembered
def _making() -> str:
    """How a program is made of its trace, in words."""
    return "".join(Path(__file__).with_name(name).read_text() for name in ("kernel.py", "once.py"))


def _found(place: Path, *trees: Any) -> Callable[..., Any] | None:
    """The program that stands in a place, for arguments and results of given structures."""
    if place.exists():
        with suppress(Exception):  # damaged: it is made anew
            return serialize_executable.deserialize_and_load(zlib.decompress(place.read_bytes()), *trees)
    return None


def _put(compiled: Any, place: Path) -> None:
    """Write it under another name first: who reads finds all of it or nothing."""
    with suppress(Exception):  # a folder that cannot be written, or a program that cannot leave its process
        packed = zlib.compress(serialize_executable.serialize(compiled)[0], 1)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(packed)
        Path(file.name).replace(place)


class _Hits(threading.local):
    """What JAX's cache gave to this thread."""

    here = 0

    def note(self, event: str, **_: Any) -> None:
        """Listen to JAX."""
        self.here += event.endswith("/cache_hits")


_hits = _Hits()
jax.monitoring.register_event_listener(_hits.note)
