"""Errors that name the place, the expected and the actual value, and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ConfigError(ValueError):
    """A mistake in a file, a name or an action of the user; nothing was changed."""


def nearest(name: object, valid: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest valid name, or the list of valid names if none is close."""
    names = sorted({str(v) for v in valid})
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; valid: {', '.join(names)}" if names else ""


def check_name(what: str, name: object, valid: Iterable[str], where: str = "") -> None:
    """Raise ConfigError for a name that is not one of the valid ones."""
    known = set(valid)
    if not isinstance(name, str) or name not in known:
        raise unknown(what, name, known, where)


def unknown(what: str, name: object, valid: Iterable[str], where: str = "") -> ConfigError:
    """Return the error for a name that is not one of the valid ones."""
    place = f"{where}: " if where else ""
    return ConfigError(f"{place}unknown {what} {name!r}{nearest(name, valid)}")
