"""Fusion of operations on a CPU: one kernel for a small program, and no costly result computed twice.

Internals: two attributes of a call that XLA's CPU compiler reads (`xla_cpu_small_call`, `inlineable`), set by
`jax.experimental.xla_metadata`; for recomputation also the equations of a jaxpr (`eqns`, `params`,
`jax.extend.core.jaxpr_as_fun`).

Single kernel: XLA launches every fusion as a task, for about half a microsecond each, which is more than the
arithmetic of a plot takes. A call that is marked as small is emitted as one task: the same operations on the same
numbers. XLA does this by itself for small loops. A program with an operation that it cannot write out in place, such as
a sort, a scatter that adds or a call of a library, does not compile so: then it is compiled by plain `jax.jit`, and
XLA's reason is logged once.

Recomputation: XLA repeats an operation, and all that led to it, in every fusion that uses its result: the random bits
of a farm's day forty times, so that 5,000 operations become 38,000. It repeats nothing across a call that it may not
inline. A result that would cost more than `REPEATED` operations again goes through such a call.

Gain: a call of the step of `farm/full-1x1-v1` takes a third of the time that it takes with `HARVESTGYM_XLA=off`;
rollouts of 4,096 farms make nearly twice as many days a second without recomputation.
Without it: the same programs by plain `jax.jit`, as on other devices than a CPU.
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
    """A jitted function of arrays, on a CPU as one kernel if wanted, that can be compiled before its first call.

    If it cannot be compiled as one kernel, it is compiled by plain `jax.jit`. `name` is what is said to be compiled.
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
        """Compile the function for arguments, or shapes, such as these, if that has not been done."""
        with self._lock, announcing(self._name):
            if self._jitted is None:
                self._jitted = self._compile(args)

    def text(self, *args: Any) -> str:
        """Return the optimised program for such arguments in XLA's language HLO."""
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
    """Make a function for `jit` that is one kernel on a CPU; it returns a pair whose first member is the result.

    Nothing in a kernel runs in parallel, so this is for small arrays.

    The second member has one number of each argument. It must leave the compiled program with the result: XLA crashes
    on an argument of a kernel that nothing uses, and optimises away what only seems to be used.
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
    """Make a function for `jit` in which nothing costly is computed twice on a CPU."""
    inner = jax.jit(function)

    def on_cpu(*args: Any) -> Any:
        traced, tree = jax.make_jaxpr(inner, return_shape=True)(*args)
        calls = traced.replace(jaxpr=traced.jaxpr.replace(eqns=[_rewrite_body(call) for call in traced.jaxpr.eqns]))
        return jax.tree.structure(tree).unflatten(jax.extend.core.jaxpr_as_fun(calls)(*jax.tree.leaves(args)))

    rewritten = partial(jax.lax.platform_dependent, cpu=on_cpu, default=inner)
    return with_fallback("core.xla.fusion.avoid_recomputation", rewritten, inner)


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


def _keep(x: jax.Array) -> Any:
    """`x` after a call that XLA may not inline."""
    return mark_call(jax.lax.optimization_barrier, inlineable="false")(x)


def mark_call(function: Callable[..., Any], **attributes: str) -> Callable[..., Any]:
    """Make a function that is one call in the program, with some attributes."""
    from jax.experimental import xla_metadata

    if call := getattr(xla_metadata, "xla_metadata_call", None):  # from JAX 0.11 on
        return call(function, **attributes)
    inner = jax.jit(function)
    return lambda *args: xla_metadata.set_xla_metadata(inner(*args), **attributes)


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
