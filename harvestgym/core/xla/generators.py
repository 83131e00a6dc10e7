"""Generators of random bits that are not JAX's own, behind typed keys.

Internals: `jax.extend.random.define_prng_impl`.
Gain: a year of a fishery takes 12 ns with the generator of `fishing.keys`, 39 ns with the default one
(`benchmarks/fishing.py`).
Without it: keys of JAX's default generator, which give other numbers.
"""

from __future__ import annotations

from typing import Any

from .fallback import is_enabled, report


def define_generator(**parts: Any) -> Any:
    """Define a generator, as `define_prng_impl` does, for the `impl` of `jax.random.key`; None is the default one."""
    if not is_enabled():
        return None
    try:
        from jax.extend.random import define_prng_impl

        return define_prng_impl(**parts)
    except Exception as error:
        report("core.xla.generators", error)
        return None
