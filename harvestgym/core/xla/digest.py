"""A name for a program that says what it computes: equal for equal traces, in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .once import is_literal, is_program

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest(program: ClosedJaxpr) -> str | None:
    """The name of a program, 64 letters; None if it calls back into Python, of which its trace says nothing."""
    try:
        return _Names().program(program)
    except _CallsBackError:
        return None


class _CallsBackError(Exception):
    """A program that is more than its trace."""


class _Names:
    """Names of all that a program is made of; what occurs many times is named once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._types: dict[Any, str] = {}

    def program(self, program: ClosedJaxpr | Jaxpr) -> str:
        if id(program) not in self._known:
            open_: Any = getattr(program, "jaxpr", program)
            told = hashlib.sha256()
            for word in (*map(_constant, getattr(program, "consts", ())), *self._lines(open_)):
                told.update(word.encode() + b"\n")
            self._known[id(program)] = told.hexdigest()
        return self._known[id(program)]

    def _lines(self, program: Jaxpr) -> Iterator[str]:
        """Every equation in a line, its variables numbered as they come."""
        numbers: dict[Any, int] = {}

        def made(variables: Any) -> str:
            start = len(numbers)
            numbers.update((v, start + i) for i, v in enumerate(variables))
            return " ".join([self._type(v.aval) for v in variables])

        def used(atoms: Any) -> str:
            return " ".join([self._literal(a) if is_literal(a) else str(numbers[a]) for a in atoms])

        yield f"{made(program.constvars)} | {made(program.invars)}"
        for e in program.eqns:
            if "callback" in e.primitive.name:
                raise _CallsBackError
            given = ",".join([f"{name}={self._value(e.params[name])}" for name in sorted(e.params)])
            yield f"{e.primitive.name} {used(e.invars)} ({given}) {_marks(e)} {made(e.outvars)}"
        yield used(program.outvars)

    def _literal(self, literal: Any) -> str:
        return f"{literal.val!r}:{self._type(literal.aval)}"

    def _type(self, aval: Any) -> str:
        if aval not in self._types:
            self._types[aval] = repr(aval)
        return self._types[aval]

    def _value(self, value: Any) -> str:
        """A parameter of an operation; of a function its name, as what it does when run is a program beside it."""
        if is_program(value):
            return self.program(value)
        if isinstance(value, (tuple, list)):
            return f"[{','.join([self._value(each) for each in value])}]"
        if isinstance(value, (np.ndarray, jax.Array)):
            return _constant(value)
        return _ADDRESS.sub("", repr(value))


def _marks(equation: Any) -> str:
    """What was asked of XLA around an operation."""
    marks = (getattr(equation.ctx, name, None) for name in ("compute_type", "xla_metadata"))
    return " ".join([str(mark) for mark in marks if mark is not None])


def _constant(value: Any) -> str:
    """An array, or a number, to its last bit."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return f"{value.dtype} {_constant(jax.random.key_data(value))}"
    array = np.asarray(value)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
