"""The off switch of everything in `core.xla`, and the fallback to plain `jax.jit` when a piece fails."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

SWITCH_VARIABLE = "HARVESTGYM_XLA"
"""Environment variable that switches the optional parts of `core.xla` off: `HARVESTGYM_XLA=off`."""

reported: set[str] = set()
"""The pieces whose failure was logged in this process."""


def is_enabled() -> bool:
    """Return whether code that depends on internals may be used."""
    return os.environ.get(SWITCH_VARIABLE, "").casefold() != "off"


def with_fallback(piece: str, special: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls `special`, or `plain` if `special` is switched off or raises.

    An error that `plain` raises too is the caller's own and is raised as it is. Otherwise one warning a process is
    logged for the `piece`.
    """

    @wraps(plain)
    def run(*args: Any) -> Any:
        if not is_enabled():
            return plain(*args)
        try:
            return special(*args)
        except Exception as error:
            result = plain(*args)
            report(piece, error)
            return result

    return run


def report(piece: str, error: Exception) -> None:
    """Log, once a process, that a piece failed and that plain `jax.jit` takes its place."""
    if piece not in reported:
        reported.add(piece)
        text = "%s: failed, so plain jax.jit is used; set %s=off to skip it: %s: %s"
        first_line = str(error).partition("\n")[0]
        logging.getLogger("harvestgym").warning(text, piece, SWITCH_VARIABLE, type(error).__name__, first_line)
