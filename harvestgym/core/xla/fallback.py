"""The switch that turns off `core.xla`, and the log of the parts that failed and were replaced."""

from __future__ import annotations

import logging
import os

import jax

SWITCH_VARIABLE = "HARVESTGYM_XLA"
"""Environment variable that turns off the optional parts of `core.xla`: `HARVESTGYM_XLA=off`."""

reported: set[str] = set()
"""Parts whose failure has been logged in this process."""


def is_enabled() -> bool:
    """Return whether code that depends on internals may be used."""
    return os.environ.get(SWITCH_VARIABLE, "").casefold() != "off"


def is_jit_disabled() -> bool:
    """Return whether the user has disabled `jax.jit`."""
    return getattr(jax.config, "jax_disable_jit", False)


def report(piece: str, error: Exception, instead: str = "plain jax.jit is used, which gives the same results") -> None:
    """Log once per process that a part failed, why, and what happens instead."""
    if piece not in reported:
        reported.add(piece)
        reason = f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}"
        text = "%s: failed on JAX %s, so %s; %s=off skips it: %s"
        logging.getLogger("harvestgym").warning(text, piece, jax.__version__, instead, SWITCH_VARIABLE, reason)
