"""A program in which no costly result is computed again: what XLA's fusion does on a CPU, and how to keep it from it.

XLA repeats an operation, and what led to it, in every fusion that uses its result: the random bits of a farm's day
forty times, and of the day's 5,000 operations it makes 38,000. It repeats nothing across a call that it may not
inline, so what would cost more than `REPEATED` operations again goes through such a call, of one array to itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

REPEATED = 100
"""Operations that may be done again because several use their result. 20 to 200 were alike, 1,000 somewhat slower."""
HELD = frozenset(("scan", "while", "cond", "cumsum", "argmax", "reduce_sum", "reduce_max", "reduce_and", "reduce_or"))
"""Operations whose result XLA keeps by itself."""


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of positional arrays, to be used inside `jit`, with nothing costly computed again on a CPU.

    Of 4,096 farms on a day it makes nearly twice as many a second. A JAX that cannot mark a call (before 0.7) compiles
    the function as it is.
    """
    inner = jax.jit(function)

    @wraps(function)
    def run(*args: Any) -> Any:
        return on_cpu_once(inner, inner.trace(*args))(*args)

    return run


def on_cpu_once(inner: Callable[..., Any], traced: Any, **marks: str) -> Callable[..., Any]:
    """A compiled function as it is, and on a CPU its trace `rewritten`, in a call that is marked, if `marks` say so."""
    kept, tree = jax.jit(rewritten(traced.jaxpr)), jax.tree.structure(traced.out_info)

    def on_cpu(*args: Any) -> Any:
        found = kept(*jax.tree.leaves(args))
        return tree.unflatten(marked(found, **marks) if marks else found)

    return partial(jax.lax.platform_dependent, cpu=on_cpu, default=inner)


def rewritten(program: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The program as a function in which nothing costly is done again for each that uses its result."""
    kept = _costly(program.jaxpr)
    parts = _parts(program.jaxpr.replace(eqns=[_within(equation) for equation in program.jaxpr.eqns]), kept)

    def run(*args: Any) -> list[Any]:
        known = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        known |= zip(program.jaxpr.invars, args, strict=True)
        for part in parts:
            found = _as_function(part)(*(known[v] for v in part.invars))
            known |= {v: _kept(x) if v in kept else x for v, x in zip(part.outvars, found, strict=True)}
        return [v.val if is_literal(v) else known[v] for v in program.jaxpr.outvars]

    return run


def _as_function(program: Jaxpr) -> Callable[..., Any]:
    from jax.extend.core import ClosedJaxpr, jaxpr_as_fun  # a tenth of a second, which a second start does without

    return jaxpr_as_fun(ClosedJaxpr(program, ()))


def _within(equation: JaxprEqn) -> JaxprEqn:
    """The equation with `rewritten` inside the loop that it may be."""
    if equation.primitive.name != "scan":
        return equation
    inner = equation.params["jaxpr"]
    return equation.replace(params=equation.params | {"jaxpr": jax.make_jaxpr(rewritten(inner))(*inner.in_avals)})


def _costly(program: Jaxpr) -> set[Any]:
    """The variables whose operations would be repeated at more cost than `REPEATED`."""
    uses = Counter(v for equation in program.eqns for v in set(_variables(equation.invars)))
    uses += Counter(_variables(program.outvars))
    cost, kept = Counter[Any](), set()
    for equation in program.eqns:
        own = max(1, sum(1 for inner in programs(equation) for _ in equations(inner)))
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
    return [atom for atom in atoms if not is_literal(atom)]


_same = jax.jit(jax.lax.optimization_barrier)


def _kept(x: jax.Array) -> jax.Array:
    """`x` after a call that XLA keeps."""
    return marked(_same(x), inlineable="false")


def marked(result: Any, **marks: str) -> Any:
    """`result`, with the call that gave it marked for XLA; as it is where JAX cannot."""
    try:
        return set_xla_metadata(result, **marks)
    except TypeError:
        return result


def equations(program: Any) -> Iterator[Any]:
    """The equations of a jaxpr and of all that it calls."""
    for equation in getattr(program, "jaxpr", program).eqns:
        yield equation
        for inner in programs(equation):
            yield from equations(inner)


def programs(equation: Any) -> list[Any]:
    """The programs that an equation calls."""
    found = jax.tree.leaves(list(equation.params.values()), is_leaf=is_program)
    return [value for value in found if is_program(value)]


def is_literal(atom: Any) -> bool:
    """Whether an operand is a number that stands in the program."""
    return hasattr(atom, "val")


def is_program(value: Any) -> bool:
    """Whether a parameter of an operation is a program, open or closed."""
    return hasattr(value, "eqns")
