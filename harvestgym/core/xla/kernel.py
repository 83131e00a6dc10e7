"""A whole function as one kernel of a CPU, for programs of many tiny operations such as the day of one farm.

XLA launches every fusion as a task of its own, for about half a microsecond each, which is more than a plot's
arithmetic takes. A call that is marked as small is emitted as one task instead: the same operations on the same
numbers. XLA does this by itself for small loops (`xla_cpu_small_call`), and only for operations that it can write
out in place: `PLAIN` lists them as JAX names them, and a function with any other is compiled as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .once import equations, on_cpu_once

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

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


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of positional arrays, with a word of each beside its result.

    These words, of no meaning, must leave the compiled program with the result: XLA crashes on an argument of a
    kernel that nothing uses, and optimises away what seems to be used.
    """

    @wraps(function)
    def run(*args: Any) -> Any:
        heads = [jnp.ravel(leaf)[:1].astype(jnp.int32) for leaf in jax.tree.leaves(args)]
        return function(*args), jnp.concatenate([jnp.zeros(1, jnp.int32), *heads])

    return run


def of_trace(inner: Callable[..., Any], traced: Any) -> Callable[..., Any]:
    """A `noted` function that is jitted, and has been traced, as one kernel on a CPU, and as it is elsewhere.

    Nothing in a kernel runs in parallel, so this is for small arrays. A JAX that cannot mark a call (before 0.7) or an
    XLA that does not know the mark compiles the function as it is.
    """
    if obstacles(traced.jaxpr):
        return inner
    return on_cpu_once(inner, traced, xla_cpu_small_call="true", inlineable="false")


def obstacles(program: ClosedJaxpr) -> set[str]:
    """The operations of a program, as JAX names them, that do not go into one kernel."""
    return {equation.primitive.name for equation in equations(program) if not _plain(equation)}


def _plain(equation: Any) -> bool:
    if equation.primitive.name == "dot_general":
        return all(variable.aval.size <= SMALL for variable in equation.invars)
    return equation.primitive.name in PLAIN
