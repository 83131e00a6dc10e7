"""A whole function as one kernel of a CPU, for programs of many tiny operations such as the day of one farm.

XLA launches every fusion as a task of its own, for about half a microsecond each, which is more than a plot's
arithmetic takes; and it compiles every one as a function of its own. A call that is marked as small is emitted
as one function instead: the same operations on the same numbers. XLA does this by itself for small loops
(`xla_cpu_small_call`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of positional arrays, to be used inside `jit`: one kernel on a CPU, as it is elsewhere.

    Nothing in it runs in parallel, so this is for small arrays. A JAX that cannot mark a call (before 0.7) or an
    XLA that does not know the mark compiles the function as it is.
    """
    inner = jax.jit(function)

    def on_cpu(*args: Any) -> Any:
        return _marked(inner(*args))

    @wraps(function)
    def run(*args: Any) -> Any:
        return jax.lax.platform_dependent(*args, cpu=on_cpu, default=inner)

    return run


def _marked(result: Any) -> Any:
    """`result`, with the call that gave it marked."""
    try:
        return set_xla_metadata(result, xla_cpu_small_call="true", inlineable="false")
    except TypeError:
        return result
