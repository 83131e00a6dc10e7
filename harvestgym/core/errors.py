"""Errors that report the location, the expected and actual values, and the nearest valid name."""

from __future__ import annotations

import difflib
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

MAX_SEED = 2**32 - 1
"""The largest seed of an episode."""

LENGTHS = ("horizon", "years", "days", "steps", "length", "max_steps", "max_episode_steps")
"""Names of other libraries for the length of an episode."""


class ConfigError(ValueError):
    """A user error in a file, a name or an action; it is raised before anything is changed.

    Its `args` are the messages; an error from `map_all` may have several.
    """

    def __str__(self) -> str:
        return "\n  ".join(map(str, self.args))


def mismatch(where: object, expected: str, got: object, hint: str = "") -> ConfigError:
    """Return the error `where: expected …, got …; try …`; the first part and the last one may be empty."""
    place, advice = f"{where}: " if where else "", f"; try {hint}" if hint else ""
    return ConfigError(f"{place}expected {expected}, got {got}{advice}")


def require(holds: object, where: object, expected: str, got: object, hint: str = "") -> None:
    """Raise the error that `mismatch` makes from the other arguments unless a condition holds."""
    if not holds:
        raise mismatch(where, expected, got, hint)


class MissingExtraError(ConfigError, ImportError):
    """An error for an extra that is not installed; also an ImportError, for code that tries several libraries."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that led to the warning: the nearest one outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("harvestgym."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def locate_errors(place: str) -> Iterator[None]:
    """Prepend `place`, which ends with a separator, to the message of a ConfigError raised in the block."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(f"{place}{mistake}" for mistake in error.args)) from None


def map_all(function: Callable[..., ResultT], *items: Iterable[Any]) -> list[ResultT]:
    """Return the results as `map` does; if some calls raise ConfigError, raise one error with all of the mistakes."""
    results, mistakes = list[ResultT](), dict[str, None]()
    for each in zip(*items, strict=True):
        try:
            results.append(function(*each))
        except ConfigError as error:
            mistakes.update(dict.fromkeys(error.args))
    if mistakes:
        raise ConfigError(*mistakes)
    return results


_KEPT: list[Exception] = []


@contextmanager
def keep_error() -> Iterator[None]:
    """Store an error from a Python function that compiled code calls, for `reveal_errors`."""
    try:
        yield
    except Exception as error:
        _KEPT.append(error)
        raise


@contextmanager
def reveal_errors() -> Iterator[None]:
    """Raise the error of a Python function in compiled code unchanged, without JAX's error and log around it."""
    log = logging.getLogger("jax._src.callback")
    before, log.disabled = log.disabled, True
    _KEPT.clear()
    try:
        yield
    except RuntimeError as error:
        raise _KEPT[0] if _KEPT else error from None
    finally:
        log.disabled = before
        _KEPT.clear()


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Format a ConfigError as a file error: the file name and the number of mistakes, followed by the mistakes."""
    try:
        yield
    except ConfigError as error:
        raise list_mistakes(path.name, error.args) from None


def list_mistakes(where: str, mistakes: Sequence[str]) -> ConfigError:
    """Return an error that lists several mistakes below their place and number."""
    plural = "mistake" if len(mistakes) == 1 else "mistakes"
    return ConfigError("\n  ".join([f"{where}: {len(mistakes)} {plural}", *mistakes]))


def check_suffix(path: Path, *suffixes: str, exact: bool = False) -> Path:
    """Return a path with one of the suffixes, in lower case if `exact`; ConfigError for any other."""
    if (path.suffix if exact else path.suffix.lower()) not in suffixes:
        better = path.parent / f"{path.stem.strip('.') or 'name'}{suffixes[0]}"
        raise mismatch(path, f"a file name ending in {' or '.join(suffixes)}", path.suffix or "no suffix", str(better))
    return path


def check_parent(path: Path) -> Path:
    """Return a path; raise ConfigError if it is a folder, or if its parent does not exist or is not writable."""
    folder = path.absolute().parent
    require(not path.is_dir(), path, "a file", "a folder", "another name")
    require(folder.is_dir(), path, "an existing folder", "none", f"creating {path.parent} first")
    require(os.access(folder, os.W_OK), path, "a writable folder", f"{folder}, which is read-only")
    return path


def check_extras(where: str = "installation", /, **modules: str) -> None:
    """Raise MissingExtraError with the install command if an extra's module is missing; pass `extra=module`.

    `where` names the feature that needs the extra.
    """
    missing = [extra for extra, module in modules.items() if find_spec(module) is None]
    if missing:
        expected = f"the extra{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
        raise MissingExtraError(f"{where}: expected {expected}, got none; try pip install "
                                f"'harvestgym[{','.join(missing)}]'")  # fmt: skip


def nearest(name: object, valid: Iterable[str]) -> str:
    """Return `; try 'x'` with the closest valid name, or `; try one of` with all valid names if none is close."""
    names = sorted({str(v) for v in valid})
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    if close:
        return f"; try {close[0]!r}"
    return f"; try one of {', '.join(names)}" if names else ""


def check_name(what: str, name: object, valid: Iterable[str], where: str = "") -> None:
    """Raise ConfigError if a name is not valid."""
    known = set(valid)
    if not isinstance(name, str) or name not in known:
        raise unknown(what, name, known, where)


def look_up(what: str, name: object, choices: Mapping[str, ResultT], where: str = "") -> ResultT:
    """Return the choice with a name; raise ConfigError if the name is not valid."""
    check_name(what, name, choices, where)
    return choices[str(name)]


def check_each_name(what: str, names: Iterable[object], valid: Iterable[str], where: str = "") -> None:
    """Raise ConfigError for the first name that is not valid."""
    known = set(valid)
    for name in names:
        check_name(what, name, known, where)


def unknown(what: str, name: object, valid: Iterable[str], where: str = "") -> ConfigError:
    """Return the error for an invalid name."""
    expected = f"{where}: expected a known {what}" if where else f"{what}: expected a known name"
    return ConfigError(f"{expected}, got {name!r}{nearest(name, valid)}")


def is_whole(value: Any, low: int, high: float = math.inf) -> bool:
    """Return whether a value is an integer in a range; a bool is not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high


def check_count(what: str, number: Any) -> int:
    """Return `number` if it is an integer from 1 to 2^31 - 1; raise ConfigError for any other value."""
    require(is_whole(number, 1, 2**31 - 1), what, "an integer, 1 or more", repr(number))
    return int(number)


def check_seed(seed: Any) -> int:
    """Return the seed of an episode; raise ConfigError unless it is an integer from 0 to `MAX_SEED`."""
    if not is_whole(seed, 0, MAX_SEED):  # a batch checks many seeds, so no message is made in advance
        raise mismatch("seed", f"an integer from 0 to {MAX_SEED}", repr(seed))
    return int(seed)


class UnknownKeywordError(ConfigError, TypeError):
    """An error for an unknown keyword argument; also a TypeError, for libraries that retry without the argument."""


def check_keywords(
    function: str,
    given: Iterable[str],
    valid: Iterable[str],
    nested: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    length: str = "",
) -> None:
    """Raise UnknownKeywordError, worded like Python's TypeError, for an unknown keyword argument.

    `nested` maps names that belong inside another argument to that argument and its key. `length` is the valid name of
    an episode's length, which is suggested for any of `LENGTHS`.
    """
    known = set(valid)
    for name in given:
        if name not in known:
            same = [length] if length and name.casefold() in LENGTHS else []
            close = same or difflib.get_close_matches(name, known | set(nested), n=1, cutoff=0.5)
            meant = next(iter(close), name)
            hint = "; try {}={{{!r}: ...}}".format(*nested[meant]) if meant in nested else nearest(meant, known)
            raise UnknownKeywordError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
