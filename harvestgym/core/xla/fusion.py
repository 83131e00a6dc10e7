"""Fusion of operations on a CPU: one kernel for a small program, no repeated computation of costly results, reductions.

Internals: two attributes of a call that XLA's CPU compiler reads (`xla_cpu_small_call`, `inlineable`), set by
`jax.experimental.xla_metadata`; for recomputation also the equations of a jaxpr (`eqns`, `params`,
`jax.extend.core.jaxpr_as_fun`).

Single kernel: XLA launches every fusion as a task, which takes about half a microsecond, more than the arithmetic of a
plot. A call that is marked as small becomes one task: the same operations on the same numbers. XLA does this itself
for small loops. If a program contains an operation that XLA cannot emit inline, such as a sort, an adding scatter or a
library call, this fails; then plain `jax.jit` compiles it, and XLA's reason is logged once.

Recomputation: XLA repeats an operation, and its inputs, in every fusion that uses its result. It repeats the random
bits of a farm's day forty times, so that 5,000 operations become 38,000. It repeats nothing across a call that it may
not inline. A result whose repetition would cost more than `REPEATED` operations goes through such a call.

In batches of 4,096 and more, XLA's CPU compiler in JAX 0.8 to 0.10 passes `jnp.sum`, `jnp.max` and `jnp.min` to a
library, some of whose kernels silently return wrong numbers in a loop. It does not recognise `reduce_by_halves`, even
in programs that a user jits. On a CPU its log2(n) operations fuse with their consumers. It needs no internals, so the
off switch does not apply.

Gain: a step of `farm/full-1x1-v1` takes a third of its time with `HARVESTGYM_XLA=off`; on JAX 0.12 a step of
2,048 `fishing/logistic-v0` takes four fifths of its time without recomputation, while batches of farms gain nothing.
Without it: plain `jax.jit` compiles the same programs, as on other devices than a CPU.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.extend.core  # here, and not in a trace, as JAX forgets its traces when such a module is first imported
import jax.numpy as jnp

from .compilation import announcing
from .fallback import is_enabled, is_jit_disabled, report, with_fallback

with suppress(ImportError):
    import jax.experimental.xla_metadata

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

REPEATED = 100
"""Most operations to repeat because several others use their result. 20 to 200 are equally fast, 1,000 is slower."""
NEVER_REPEATED = frozenset(
    ("scan", "while", "cond", "cumsum", "argmax", "reduce_sum", "reduce_max", "reduce_and", "reduce_or")
)
"""Operations whose result XLA never recomputes."""


_single = ContextVar("single kernel", default=False)


@contextmanager
def tracing_single_kernel() -> Iterator[None]:
    """Declare that the code traced in this block becomes a single kernel."""
    token = _single.set(True)
    try:
        yield
    finally:
        _single.reset(token)


def traces_single_kernel() -> bool:
    """Return whether the traced code becomes a single kernel, in which joining small arrays costs almost nothing.

    Code under a separate `jit` must not call this, because JAX caches its trace for all callers.
    """
    return _single.get()


class CompiledFunction:
    """A jitted function of arrays, on a CPU optionally as one kernel, that can be compiled before its first call.

    If it cannot be compiled as one kernel, plain `jax.jit` compiles it. `name` is its name in messages.
    """

    def __init__(self, function: Callable[..., Any], as_single_kernel: bool, name: str = "a function") -> None:
        self._function, self._as_single_kernel, self._name = function, as_single_kernel, name
        self._jitted: Any = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        if self._jitted is None:
            self.compile(*args)
        jitted: Any = self._jitted
        return jitted(*args)[0] if self._as_single_kernel else jitted(*args)

    def compile(self, *args: Any) -> None:
        """Compile the function for arguments or shapes like these, unless it is compiled already."""
        with self._lock, announcing(self._name):
            if self._jitted is None:
                self._jitted = self._compile(args)

    def text(self, *args: Any) -> str:
        """Return the optimised program for such arguments in XLA's HLO language."""
        self.compile(*args)
        return self._jitted.lower(*args).compile().as_text()

    def _compile(self, args: tuple[Any, ...]) -> Any:
        """Return the jitted function, compiled."""
        self._as_single_kernel &= is_enabled() and not is_jit_disabled()
        if is_jit_disabled():
            return jax.jit(self._function)
        try:
            jitted = jax.jit(single_kernel(self._function) if self._as_single_kernel else self._function)
            jitted.lower(*args).compile()
        except Exception as error:
            if not self._as_single_kernel:
                raise
            self._as_single_kernel = False
            jitted = self._compile(args)
            report("core.xla.fusion.single_kernel", error)
        return jitted


def single_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for `jit` that is one kernel on a CPU; it returns a pair whose first entry is the result.

    Nothing in a kernel runs in parallel, so this is for small arrays.

    The second entry has one number from each argument. The compiled program must return it: XLA crashes on unused
    arguments of a kernel, and removes computations whose results are not returned.
    """

    def with_arguments(*args: Any) -> Any:
        heads = [jnp.ravel(leaf)[:1].astype(jnp.int32) for leaf in jax.tree.leaves(args)]
        with tracing_single_kernel():
            result = function(*args)
        return result, jnp.concatenate([jnp.zeros(1, jnp.int32), *heads])

    inner = jax.jit(with_arguments)
    marked = mark_call(inner, xla_cpu_small_call="true", inlineable="false")
    return partial(jax.lax.platform_dependent, cpu=marked, default=inner)


def avoid_recomputation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for `jit` that computes costly results only once on a CPU."""
    inner = jax.jit(function)

    def on_cpu(*args: Any) -> Any:
        traced, tree = jax.make_jaxpr(inner, return_shape=True)(*args)
        calls = traced.replace(jaxpr=traced.jaxpr.replace(eqns=[_rewrite_body(call) for call in traced.jaxpr.eqns]))
        return jax.tree.structure(tree).unflatten(jax.extend.core.jaxpr_as_fun(calls)(*jax.tree.leaves(args)))

    rewritten = partial(jax.lax.platform_dependent, cpu=on_cpu, default=inner)
    return with_fallback("core.xla.fusion.avoid_recomputation", rewritten, inner)


def _rewrite(program: ClosedJaxpr) -> ClosedJaxpr:
    """Rewrite a program such that each costly result is computed once for all its consumers.

    Its operations are reused: tracing them again took 0.2 s of a start of 3.6 s without compilation.
    """
    costly, kept, equations = _find_costly(program.jaxpr), dict[Any, Any](), list[Any]()

    def now(atoms: Iterable[Any]) -> list[Any]:
        return [atom if _is_literal(atom) else kept.get(atom, atom) for atom in atoms]

    for equation in program.jaxpr.eqns:
        same = equation.replace(invars=now(equation.invars))
        equations.append(_rewrite_body(same) if equation.primitive.name == "scan" else same)
        for v in (v for v in equation.outvars if v in costly):
            keeping = jax.make_jaxpr(lambda x: _keep(x))(v.aval).jaxpr  # a new function, because JAX caches old ones
            kept |= {keeping.invars[0]: v}
            equations += [each.replace(invars=now(each.invars)) for each in keeping.eqns]
            kept[v] = keeping.outvars[0]
    return program.replace(jaxpr=program.jaxpr.replace(eqns=equations, outvars=now(program.jaxpr.outvars)))


def _rewrite_body(equation: JaxprEqn) -> JaxprEqn:
    """Return the call or the loop with its program rewritten."""
    return equation.replace(params=equation.params | {"jaxpr": _rewrite(equation.params["jaxpr"])})


def _find_costly(program: Jaxpr) -> set[Any]:
    """Return the variables whose repeated computation would cost more than `REPEATED` operations."""
    uses = Counter(v for equation in program.eqns for v in set(_variables(equation.invars)))
    uses += Counter(_variables(program.outvars))
    cost, costly = Counter[Any](), set()
    for equation in program.eqns:
        own = max(1, sum(1 for inner in _called_programs(equation) for _ in iterate_equations(inner)))
        repeated = equation.primitive.name not in NEVER_REPEATED
        total = own + sum(cost[v] for v in _variables(equation.invars)) if repeated else 0
        for v in equation.outvars:
            if (uses[v] - 1) * total > REPEATED:
                costly.add(v)
            else:
                cost[v] = total
    return costly


def _keep(x: jax.Array) -> Any:
    """Return `x` from a call that XLA may not inline."""
    return mark_call(jax.lax.optimization_barrier, inlineable="false")(x)


def mark_call(function: Callable[..., Any], **attributes: str) -> Callable[..., Any]:
    """Make a function that is one call with attributes in the program."""
    from jax.experimental import xla_metadata

    if call := getattr(xla_metadata, "xla_metadata_call", None):  # from JAX 0.11 on
        return call(function, **attributes)
    inner = jax.jit(function)
    return lambda *args: xla_metadata.set_xla_metadata(inner(*args), **attributes)


def iterate_equations(program: Any) -> Iterator[Any]:
    """Yield the equations of a jaxpr and of all programs that it calls."""
    for equation in getattr(program, "jaxpr", program).eqns:
        yield equation
        for inner in _called_programs(equation):
            yield from iterate_equations(inner)


def _called_programs(equation: Any) -> list[Any]:
    found = jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program)
    return [value for value in found if _is_program(value)]


def _variables(atoms: Iterable[Any]) -> list[Any]:
    return [atom for atom in atoms if not _is_literal(atom)]


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _is_program(value: Any) -> bool:
    """Return whether a parameter of an operation is a jaxpr, open or closed."""
    return hasattr(value, "eqns")


def reduce_by_halves(combine: Callable[[jax.Array, jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Reduce the last axis, with at least one element, by `combine`; the result has shape `x.shape[:-1]`."""
    odd = None
    while (n := x.shape[-1]) > 1:
        if n % 2:
            odd = x[..., -1] if odd is None else combine(odd, x[..., -1])
        x = combine(x[..., : n // 2], x[..., n // 2 : n - n % 2])
    return x[..., 0] if odd is None else combine(x[..., 0], odd)


add_up = partial(reduce_by_halves, jnp.add)
find_highest = partial(reduce_by_halves, jnp.maximum)
find_lowest = partial(reduce_by_halves, jnp.minimum)
