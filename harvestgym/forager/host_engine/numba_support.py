"""Use of numba (extra `fast`); without it, the same functions run as plain Python, hundreds of times slower."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.forager import hashing

try:
    import numba
    from numba import extending
    from numba.core import event
except ImportError:
    numba = extending = event = None

FAST = numba is not None
"""Whether the compiled host engine can run."""

U64, WORD_MASK = np.uint64, 0xFFFFFFFF
"""The type of words on the host, and the largest word (see `hashing`)."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of the host engine once, cache it on disk, and run it without the interpreter lock."""
    return _compile(function) if FAST else np.errstate(over="ignore")(function)  # arithmetic of words wraps around


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function so that it is inlined in its callers, for code that runs once per cell."""
    return _compile(function, forceinline=True) if FAST else function


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function and cache it in the package; if this fails, under HARVESTGYM_CACHE or in memory."""
    compiler: Any = numba
    folder = os.environ.get("HARVESTGYM_CACHE")
    if folder and not compiler.config.CACHE_DIR and not os.access(Path(__file__).parent, os.W_OK):
        compiler.config.CACHE_DIR = str(Path(folder) / "numba")
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return compiler.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable folder
        return compiler.njit(**options)(function)


if event:

    class _Announcer(event.Listener):
        """Listener that announces compilation once, although compiling a function also compiles those it calls."""

        def __init__(self) -> None:
            self._open = list[ExitStack]()

        def on_start(self, event: Any) -> None:
            from harvestgym.core.xla.compilation import announcing  # imports JAX, which a world does not need

            self._open.append(ExitStack())
            if len(self._open) == 1 and event.data["dispatcher"].py_func.__module__.startswith("harvestgym."):
                self._open[-1].enter_context(announcing("the engine of foragers", kept=True))

        def on_end(self, event: Any) -> None:
            self._open.pop().close()

    event.register("numba:compile", _Announcer())


def _borrowed(typing: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = args[0]
        for i, kind in enumerate(arrays.types):
            view = context.make_array(kind)(context, builder, value=builder.extract_value(given, i))
            view.meminfo = view.meminfo.type(None)
            view.parent = view.parent.type(None)
            given = builder.insert_value(given, view._getvalue(), i)
        return given

    return arrays(arrays), generate


borrowed: Any = extending.intrinsic(_borrowed) if extending else lambda arrays: arrays
"""The same tuple of arrays without reference counting, for a compiled step during which the caller keeps them alive.

Counting references to eleven arrays for each cell takes longer than the cell lookups.
"""


def _wide_scale(x, n):  # numba requires an unannotated overload
    return (x * n) >> np.uint32(32)


if extending:
    for name in ("mix", "draw_word", "draw_bell", "rotate", "permute_once", "permute"):
        extending.register_jitable(getattr(hashing, name))
    # The same result as the Python source, in fewer instructions.
    extending.overload(hashing.scale_word)(lambda x, n: _wide_scale)
