"""The off switch of `core.xla`, and the fallback to plain `jax.jit` if a part of it fails."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax

SWITCH_VARIABLE = "HARVESTGYM_XLA"
"""Environment variable that turns off the optional parts of `core.xla`: `HARVESTGYM_XLA=off`."""

reported: set[str] = set()
"""Parts whose failure has been logged in this process."""


def is_enabled() -> bool:
    """Return whether code that depends on internals may be used."""
    return os.environ.get(SWITCH_VARIABLE, "").casefold() != "off"


def with_fallback(piece: str, special: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls `special`, or `plain` if `special` is switched off or raises an error.

    If `plain` also raises an error, the caller caused it, and it is raised unchanged. Otherwise one warning per process
    is logged for `piece`.
    """

    @wraps(plain)
    def run(*args: Any) -> Any:
        if not is_enabled() or is_jit_disabled():
            return plain(*args)
        try:
            return special(*args)
        except Exception as error:
            result = plain(*args)
            report(piece, error)
            return result

    return run


def is_jit_disabled() -> bool:
    """Return whether the user has disabled `jax.jit`."""
    return getattr(jax.config, "jax_disable_jit", False)


def report(piece: str, error: Exception, instead: str = "plain jax.jit is used, which gives the same results") -> None:
    """Log once per process that a part failed, why, and what happens instead."""
    if piece not in reported:
        reported.add(piece)
        text = "%s: failed on JAX %s, so %s; %s=off skips it: %s: %s"
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        logging.getLogger("harvestgym").warning(
            text, piece, jax.__version__, instead, SWITCH_VARIABLE, type(error).__name__, reason
        )
