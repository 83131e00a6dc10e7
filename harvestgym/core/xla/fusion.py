"""Fusion of operations on a CPU: small programs as one kernel, and reductions that fuse with their consumers.

Internals: two attributes of a call that XLA's CPU compiler reads (`xla_cpu_small_call`, `inlineable`), set by
`jax.experimental.xla_metadata`.

XLA launches every fusion as a task, which takes about half a microsecond, longer than the arithmetic for a plot. A call
marked as small becomes one task with the same operations on the same numbers. XLA does this itself for small loops. If
a program contains an operation that XLA cannot emit inline, such as a sort, a scatter-add or a library call, this
fails; plain `jax.jit` then compiles it, and XLA's reason is logged once.

In batches of 4,096 or more, XLA's CPU compiler in JAX 0.8 to 0.10 passes `jnp.sum`, `jnp.max` and `jnp.min` to a
library, some of whose kernels silently return wrong numbers in a loop. It does not recognise `reduce_by_halves`, even
in programs jitted by a user. On a CPU, the log2(n) operations of `reduce_by_halves` fuse with their consumers. It needs
no internals, so `HARVESTGYM_XLA=off` does not affect it.

If several kernels of a batch read a value, XLA computes it in each of them: the sines of the sun's position were
computed 44 instead of 5 times a day. `compute_once` prevents this; a rollout of `farm/full-1x1-v0` takes 0.6 times
as long. It leaves single kernels as they are and needs no internals either.

Benefit: a step of `farm/full-1x1-v0` takes a third of the time that it takes with `HARVESTGYM_XLA=off`.
Without it: plain `jax.jit` compiles the same programs, as on devices other than a CPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from .compilation import announcing
from .setup import is_enabled, is_jit_disabled, report

with suppress(ImportError):  # not during a trace, because JAX drops its traces when this is imported
    import jax.experimental.xla_metadata

_single = ContextVar("single kernel", default=False)


@contextmanager
def tracing_single_kernel() -> Iterator[None]:
    """Mark the code traced in this `with` block as part of a single kernel."""
    token = _single.set(True)
    try:
        yield
    finally:
        _single.reset(token)


def traces_single_kernel() -> bool:
    """Return whether the traced code becomes a single kernel, where joining small arrays costs almost nothing.

    Code under a separate `jit` must not call this, because JAX caches its trace for all callers.
    """
    return _single.get()


Finish = Callable[[Any, Array], Any]
"""`finish(result, number) -> output` of a `CompiledFunction`."""


class CompiledFunction:
    """A jitted function of arrays, optionally one kernel on a CPU, that can be compiled before its first call.

    If it cannot be compiled as one kernel, plain `jax.jit` compiles it. `finish` makes the output from the result and
    from an int32 number that it must use. `name` identifies the function in messages.
    """

    def __init__(
        self, function: Callable[..., Any], finish: Finish, as_single_kernel: bool, name: str = "a function"
    ) -> None:
        self._function, self._finish, self._as_single_kernel, self._name = function, finish, as_single_kernel, name
        self._jitted: Any = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        if self._jitted is None:
            self.compile(*args)
        jitted: Any = self._jitted
        return jitted(*args)

    def compile(self, *args: Any) -> None:
        """Compile the function for arguments or shapes like these, unless it is already compiled."""
        with self._lock, announcing(self._name):
            if self._jitted is None:
                self._jitted = self._compile(args)

    def text(self, *args: Any) -> str:
        """Return the optimised program for these arguments in XLA's HLO language."""
        self.compile(*args)
        return self._jitted.lower(*args).compile().as_text()

    def _compile(self, args: tuple[Any, ...]) -> Any:
        """Return the compiled function."""
        self._as_single_kernel &= is_enabled() and not is_jit_disabled()
        plain = jax.jit(lambda *args: self._finish(self._function(*args), jnp.int32(0)))
        if is_jit_disabled():
            return plain
        try:
            jitted = jax.jit(single_kernel(self._function, self._finish)) if self._as_single_kernel else plain
            jitted.lower(*args).compile()
        except Exception as error:
            if not self._as_single_kernel:
                raise
            self._as_single_kernel = False
            jitted = self._compile(args)
            report("core.xla.fusion.single_kernel", error)
        return jitted


def single_kernel(function: Callable[..., Any], finish: Finish) -> Callable[..., Any]:
    """Make a function for `jit` that runs as one kernel on a CPU and returns what `finish` makes of the result.

    Nothing in a kernel runs in parallel, so this is for small arrays.

    `finish` also receives the sum of the first numbers of all arguments. The compiled program must return it: XLA
    crashes on unused kernel arguments, and removes computations whose results are not returned.
    """

    def with_arguments(*args: Any) -> Any:
        heads = [jnp.ravel(leaf)[:1].astype(jnp.int32) for leaf in jax.tree.leaves(args)]
        with tracing_single_kernel():
            return finish(function(*args), sum((jnp.sum(head, dtype=jnp.int32) for head in heads), jnp.int32(0)))

    inner = jax.jit(with_arguments)
    marked = mark_call(inner, xla_cpu_small_call="true", inlineable="false")
    return partial(jax.lax.platform_dependent, cpu=marked, default=inner)


def mark_call(function: Callable[..., Any], **attributes: str) -> Callable[..., Any]:
    """Return a function that is compiled to one call with the given attributes."""
    from jax.experimental import xla_metadata

    if call := getattr(xla_metadata, "xla_metadata_call", None):  # from JAX 0.11 on
        return call(function, **attributes)
    inner = jax.jit(function)
    return lambda *args: xla_metadata.set_xla_metadata(inner(*args), **attributes)


@custom_vmap
def _stored(tree: Any) -> Any:
    return tree


@_stored.def_vmap
def _store(size: int, batched: Sequence[Any], tree: Any) -> tuple[Any, Any]:
    store = jax.lax.optimization_barrier if jax.default_backend() == "cpu" else _stored
    return store(tree), batched[0]


@jax.custom_jvp
def compute_once(tree: Any) -> Any:
    """Return `tree`, marked so that a batch on a CPU stores its arrays before the kernels that read them run."""
    return _stored(tree)


compute_once.defjvps(lambda slope, out, tree: slope)


def reduce_by_halves(combine: Callable[[Array, Array], Array], x: Array) -> Array:
    """Reduce the last axis, which must not be empty, with `combine`; the result has shape `x.shape[:-1]`."""
    odd = None
    while (n := x.shape[-1]) > 1:
        if n % 2:
            odd = x[..., -1] if odd is None else combine(odd, x[..., -1])
        x = combine(x[..., : n // 2], x[..., n // 2 : n - n % 2])
    return x[..., 0] if odd is None else combine(x[..., 0], odd)


add_up = partial(reduce_by_halves, jnp.add)
find_highest = partial(reduce_by_halves, jnp.maximum)
find_lowest = partial(reduce_by_halves, jnp.minimum)
