"""A whole function as one kernel of a CPU, for programs of many tiny operations such as the day of one farm.

XLA launches every fusion as a task of its own, for about half a microsecond each, which is more than a plot's
arithmetic takes. A call that is marked as small is emitted as one task instead: the same operations on the same
numbers. XLA does this by itself for small loops (`xla_cpu_small_call`), and only for operations that it can write
out in place: `PLAIN` lists them as JAX names them, and a function with any other is compiled as it is.

XLA also repeats an operation in every fusion that uses its result, and what led to it: the random bits of a day
forty times, and the 5,000 operations of a farm's day became 38,000. It repeats nothing across a call that it may not
inline, so what would cost more than `REPEATED` operations again goes through such a call, of one number or array to
itself: a third of the time to compile, and no more to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxpr_as_fun

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
PLAIN = frozenset(_NAMES.split())
SMALL = 64
"""Elements of a matrix up to which a product is written out and not left to a library."""


REPEATED = 20
"""Operations that may be done again because several use their result."""
HELD = frozenset(("scan", "while", "cond", "cumsum", "argmax", "reduce_sum", "reduce_max", "reduce_and", "reduce_or"))
"""Operations whose result XLA keeps by itself."""


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of positional arrays, to be used inside `jit`: one kernel on a CPU, as it is elsewhere.

    It gives a pair of the result and of what must leave the compiled program with it, a few words of no meaning:
    XLA crashes on an argument of such a call that nothing uses, and optimises away what seems to be used. Nothing
    in a kernel runs in parallel, so this is for small arrays. A JAX that cannot mark a call (before 0.7) or an XLA
    that does not know the mark compiles the function as it is.
    """

    @wraps(function)
    def noted(*args: Any) -> Any:
        heads = [jnp.ravel(leaf)[:1].astype(jnp.int32) for leaf in jax.tree.leaves(args)]
        return function(*args), jnp.concatenate([jnp.zeros(1, jnp.int32), *heads])

    inner = jax.jit(noted)

    @wraps(function)
    def run(*args: Any) -> Any:
        traced = inner.trace(*args)
        if obstacles(traced.jaxpr):
            return inner(*args)
        kernel, tree = jax.jit(_once(traced.jaxpr)), jax.tree.structure(traced.out_info)

        def marked(*args: Any) -> Any:
            found = kernel(*jax.tree.leaves(args))
            return tree.unflatten(_marked(found, xla_cpu_small_call="true", inlineable="false"))

        return jax.lax.platform_dependent(*args, cpu=marked, default=inner)

    return run


def obstacles(program: ClosedJaxpr) -> set[str]:
    """The operations of a program, as JAX names them, that do not go into one kernel."""
    return {equation.primitive.name for equation in _equations(program) if not _plain(equation)}


def _once(program: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The program as a function in which nothing costly is done again for each that uses its result."""
    kept = _costly(program.jaxpr)
    parts = _parts(program.jaxpr.replace(eqns=[_within(equation) for equation in program.jaxpr.eqns]), kept)

    def run(*args: Any) -> list[Any]:
        known = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        known |= zip(program.jaxpr.invars, args, strict=True)
        for part in parts:
            found = jaxpr_as_fun(ClosedJaxpr(part, ()))(*(known[v] for v in part.invars))
            known |= {v: _kept(x) if v in kept else x for v, x in zip(part.outvars, found, strict=True)}
        return [v.val if isinstance(v, Literal) else known[v] for v in program.jaxpr.outvars]

    return run


def _within(equation: JaxprEqn) -> JaxprEqn:
    """The equation with `_once` inside the loop that it may be."""
    if equation.primitive.name != "scan":
        return equation
    inner = equation.params["jaxpr"]
    return equation.replace(params=equation.params | {"jaxpr": jax.make_jaxpr(_once(inner))(*inner.in_avals)})


def _costly(program: Jaxpr) -> set[Any]:
    """The variables whose operations would be repeated at more cost than `REPEATED`."""
    uses = Counter(v for equation in program.eqns for v in set(_variables(equation.invars)))
    uses += Counter(_variables(program.outvars))
    cost, kept = Counter[Any](), set()
    for equation in program.eqns:
        own = max(1, sum(1 for inner in _programs(equation) for _ in _equations(inner)))
        whole = 0 if equation.primitive.name in HELD else own + sum(cost[v] for v in _variables(equation.invars))
        for v in equation.outvars:
            costly = (uses[v] - 1) * whole > REPEATED
            cost[v] = 0 if costly else whole
            kept |= {v} if costly else set()
    return kept


def _parts(program: Jaxpr, ends: set[Any]) -> list[Jaxpr]:
    """A program cut after each operation that gives one of `ends`, as programs to be run one after the other."""
    groups: list[list[JaxprEqn]] = [[]]
    for equation in program.eqns:
        groups[-1].append(equation)
        groups += [[]] if ends.intersection(equation.outvars) else []
    wanted, parts = set(_variables(program.outvars)), []
    for group in reversed(groups):
        made = {v: None for equation in group for v in equation.outvars}
        needs = list(dict.fromkeys(v for e in group for v in _variables(e.invars) if v not in made))
        gives = [v for v in made if v in wanted]
        parts.append(program.replace(constvars=[], invars=needs, outvars=gives, eqns=group))
        wanted |= set(needs)
    return parts[::-1]


def _variables(atoms: Iterable[Any]) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def _kept(x: jax.Array) -> jax.Array:
    """`x` after a call that XLA keeps."""
    return _marked(jax.jit(jax.lax.optimization_barrier)(x), inlineable="false")


def _marked(result: Any, **marks: str) -> Any:
    try:
        return set_xla_metadata(result, **marks)
    except TypeError:
        return result


def _plain(equation: Any) -> bool:
    if equation.primitive.name == "dot_general":
        return all(variable.aval.size <= SMALL for variable in equation.invars)
    return equation.primitive.name in PLAIN


def _equations(program: Any) -> Iterator[Any]:
    """The equations of a jaxpr and of all that it calls."""
    for equation in getattr(program, "jaxpr", program).eqns:
        yield equation
        for inner in _programs(equation):
            yield from _equations(inner)


def _programs(equation: Any) -> list[Any]:
    """The programs that an equation calls."""
    found = jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program)
    return [value for value in found if _is_program(value)]


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")
