"""Fusion of operations on a CPU: one kernel for a small program, and no costly result computed twice.

Internals: the equations of a jaxpr (`eqns`, `params`, `jax.extend.core.jaxpr_as_fun`) and two attributes of a call
that XLA's CPU compiler reads (`xla_cpu_small_call`, `inlineable`), set by `jax.experimental.xla_metadata`.

Single kernel: XLA launches every fusion as a task, for about half a microsecond each, which is more than the
arithmetic of a plot takes. A call that is marked as small is emitted as one task: the same operations on the same
numbers. XLA does this by itself for small loops, and only for operations that it can write out in place
(`INLINE_OPERATIONS`). It gives matrix products to a library, which a kernel cannot call, and large reductions too,
unless `library_fusions` keeps them: a program with one of these stays in parts ("Fusion kind not implemented on CPU"
is XLA's error).

Recomputation: XLA repeats an operation, and all that led to it, in every fusion that uses its result: the random bits
of a farm's day forty times, so that 5,000 operations become 38,000. It repeats nothing across a call that it may not
inline. A result that would cost more than `REPEATED` operations again goes through such a call.

Gain: a call of the step of `farm/full-1x1-v1` takes a third of the time that it takes with `HARVESTGYM_XLA=off`
(`benchmarks/kernels.py`); rollouts of 4,096 farms make nearly twice as many days a second without recomputation
(`harvestgym bench`).
Without it: the same programs by plain `jax.jit`. A JAX before 0.7, which cannot mark a call, and other devices
than a CPU use those too.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .compilation import leave_out_set
from .fallback import is_enabled, report, with_fallback
from .library_fusions import takes_reductions
from .tracing import paused_collector

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

MARKS_CALLS = jax.__version_info__ >= (0, 7)
"""Whether this JAX can set attributes of a call."""

_NAMES = """
abs acos add and argmax argmin asin atan atan2 bitcast_convert_type broadcast_in_dim ceil clamp closed_call
concatenate cond convert_element_type copy copy_p cos cosh cumsum custom_jvp_call custom_vmap_call div
dynamic_slice dynamic_update_slice eq erf erf_inv exp exp2 expm1 floor gather ge gt integer_pow iota is_finite
jit le log log1p logistic lt max min mul ne neg not optimization_barrier or pad pjit platform_index pow
random_bits random_fold_in random_seed random_split random_unwrap random_wrap reduce_and reduce_max reduce_min
reduce_or reduce_prod reduce_sum rem reshape rev round rsqrt scan scatter select_n shift_left
shift_right_arithmetic shift_right_logical sign sin sinh slice split sqrt square squeeze stack stop_gradient sub
tan tanh threefry2x32 transpose unstack while xla_metadata_value xor
"""
INLINE_OPERATIONS = frozenset(_NAMES.split())
"""The operations, as JAX names them, that XLA can write out in place in one kernel."""
SMALL_MATRIX = 64
"""Elements of a matrix up to which its product with a vector is written out and not left to a library."""
LARGE_REDUCTION = 4096
"""Elements of an array from which XLA may leave `LIBRARY_REDUCTIONS` of it to a library; JAX 0.10 was measured."""
LIBRARY_REDUCTIONS = frozenset(("reduce_sum", "reduce_max", "reduce_min"))
REPEATED = 100
"""Operations that may be repeated because several use their result. 20 to 200 were alike, 1,000 somewhat slower."""
NEVER_REPEATED = frozenset(
    ("scan", "while", "cond", "cumsum", "argmax", "reduce_sum", "reduce_max", "reduce_and", "reduce_or")
)
"""Operations whose result XLA never computes twice."""


_single = ContextVar("single kernel", default=False)


@contextmanager
def tracing_single_kernel() -> Iterator[None]:
    """Say that what is traced becomes a single kernel."""
    token = _single.set(True)
    try:
        yield
    finally:
        _single.reset(token)


def traces_single_kernel() -> bool:
    """Return whether the code being traced becomes a single kernel, where joining small arrays costs next to nothing.

    Code under a `jit` of its own must not ask: JAX remembers its trace for all.
    """
    return _single.get()


class CompiledFunction:
    """A jitted function of arrays, as one kernel if wanted, that can be compiled before its first call.

    On a CPU it is compiled with those of the compiler `options` that `XLA_FLAGS` does not set. If it cannot be traced
    or compiled in that way, it is compiled by plain `jax.jit`.
    """

    def __init__(
        self, function: Callable[..., Any], as_single_kernel: bool, options: dict[str, Any] | None = None
    ) -> None:
        self._function, self._as_single_kernel, self._options = function, as_single_kernel, options or {}
        self._jitted: Any = None
        self._lowered: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        if self._jitted is None:
            self.compile(*args)
        jitted: Any = self._jitted
        return jitted(*args)[0] if self._as_single_kernel else jitted(*args)

    def lower(self, *args: Any) -> None:
        """Do the part of `compile` that runs in Python; the rest, in another thread, does not wait for Python."""
        with self._lock, suppress(Exception):  # `compile` tries again, and raises what is wrong
            if self._jitted is None:
                self._lowered = self._lower(args)

    def compile(self, *args: Any) -> None:
        """Compile the function for arguments, or shapes, such as these, if that has not been done."""
        with self._lock:
            if self._jitted is None:
                self._jitted, self._lowered = self._compile(args), None

    def text(self, *args: Any) -> str:
        """Return the optimised program for such arguments in XLA's language HLO."""
        self.compile(*args)
        return self._jitted.lower(*args).compile().as_text()

    def _compile(self, args: tuple[Any, ...]) -> Any:
        piece = "core.xla.fusion.single_kernel" if self._as_single_kernel else "core.xla.compilation"
        try:
            jitted, lowered = self._lowered or self._lower(args)
            lowered.compile()
        except Exception as error:
            if not (self._as_single_kernel or self._options):
                raise
            self._as_single_kernel, self._options = False, {}
            jitted, lowered = self._lower(args)
            lowered.compile()
            report(piece, error)
        return jitted

    def _lower(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the jitted function and its program."""
        if not is_enabled():
            self._as_single_kernel, self._options = False, {}
        options = leave_out_set(self._options) if jax.default_backend() == "cpu" else {}
        jitted = jax.jit(
            single_kernel(self._function) if self._as_single_kernel else self._function, compiler_options=options
        )
        with paused_collector():
            return jitted, jitted.lower(*args)


def single_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for `jit` that is one kernel on a CPU; it returns a pair whose first member is the result.

    Nothing in a kernel runs in parallel, so this is for small arrays. A function with other operations than
    `INLINE_OPERATIONS` stays as it is.

    The second member has one number of each argument. It must leave the compiled program with the result: XLA crashes
    on an argument of a kernel that nothing uses, and optimises away what only seems to be used.
    """

    def with_arguments(*args: Any) -> Any:
        heads = [jnp.ravel(leaf)[:1].astype(jnp.int32) for leaf in jax.tree.leaves(args)]
        with tracing_single_kernel():
            result = function(*args)
        return result, jnp.concatenate([jnp.zeros(1, jnp.int32), *heads])

    inner = jax.jit(with_arguments)

    def as_one_call(*args: Any) -> Any:
        if find_obstacles(inner.trace(*args).jaxpr):
            return inner(*args)
        return _on_cpu(inner, xla_cpu_small_call="true", inlineable="false")(*args)

    return with_fallback("core.xla.fusion.single_kernel", as_one_call, inner)


def avoid_recomputation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for `jit` in which nothing costly is computed twice on a CPU."""
    inner = jax.jit(function)

    return with_fallback("core.xla.fusion.avoid_recomputation", _on_cpu(inner), inner)


def find_obstacles(program: ClosedJaxpr) -> set[str]:
    """Return the operations of a program, as JAX names them, that do not go into one kernel."""
    return {equation.primitive.name for equation in iterate_equations(program) if not _is_inline(equation)}


def _is_inline(equation: Any) -> bool:
    name, sizes = equation.primitive.name, [variable.aval.size for variable in equation.invars]
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        products = equation.outvars[0].aval.size * math.prod(equation.invars[0].aval.shape[i] for i in contracted)
        return products == max(sizes) <= SMALL_MATRIX
    is_large = name in LIBRARY_REDUCTIONS and sizes[0] >= LARGE_REDUCTION
    return name in INLINE_OPERATIONS and not (is_large and takes_reductions())


def _on_cpu(inner: Callable[..., Any], **attributes: str) -> Callable[..., Any]:
    """Make a function that is the jitted `inner`, and on a CPU its rewritten program, in a call with `attributes`."""
    if not MARKS_CALLS:
        return inner

    def on_cpu(*args: Any) -> Any:
        from jax.extend.core import jaxpr_as_fun  # takes a tenth of a second, which other devices save

        traced, tree = jax.make_jaxpr(inner, return_shape=True)(*args)
        calls = traced.replace(jaxpr=traced.jaxpr.replace(eqns=[_rewrite_body(call) for call in traced.jaxpr.eqns]))
        results = jaxpr_as_fun(calls)(*jax.tree.leaves(args))
        return jax.tree.structure(tree).unflatten(mark_call(results, **attributes) if attributes else results)

    return partial(jax.lax.platform_dependent, cpu=on_cpu, default=inner)


def _rewrite(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program in which each costly result is computed once for all that use it.

    Its operations are taken as they are: to trace them again took 0.2 s of a start of 3.6 s without compiling.
    """
    costly, kept, equations = _find_costly(program.jaxpr), dict[Any, Any](), list[Any]()

    def now(atoms: Iterable[Any]) -> list[Any]:
        return [atom if _is_literal(atom) else kept.get(atom, atom) for atom in atoms]

    for equation in program.jaxpr.eqns:
        same = equation.replace(invars=now(equation.invars))
        equations.append(_rewrite_body(same) if equation.primitive.name == "scan" else same)
        for v in (v for v in equation.outvars if v in costly):
            keeping = jax.make_jaxpr(lambda x: _keep(x))(v.aval).jaxpr  # a new function, as JAX remembers old ones
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


_barrier = jax.jit(jax.lax.optimization_barrier)


def _keep(x: jax.Array) -> Any:
    """`x` after a call that XLA may not inline."""
    return mark_call(_barrier(x), inlineable="false")


def mark_call(results: Any, **attributes: str) -> Any:
    """Set attributes of the call that gave some results."""
    from jax.experimental.xla_metadata import set_xla_metadata  # here, so that a JAX without it only falls back

    return set_xla_metadata(results, **attributes)


def iterate_equations(program: Any) -> Iterator[Any]:
    """Yield the equations of a jaxpr and of all that it calls."""
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
