"""Helpers for Gymnasium spaces: one-line summaries, no-op actions, and conversion between NumPy and the device.

The conversion checks actions, and casts observations to the dtype of their space.
"""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

from .errors import ConfigError

Converter = Callable[[Any], Any]


def summarise_space(space: gymnasium.Space[Any], most: int = 120) -> str:
    """Return a space as Gymnasium prints it, or only its kind and sizes if that takes more than `most` characters."""
    text = " ".join(str(space).split())
    if len(text) <= most:
        return text
    if isinstance(space, spaces.Box):
        return f"Box({space.low.min():g}, {space.high.max():g}, {space.shape}, {space.dtype})"
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        numbers = np.ravel(space.nvec if isinstance(space, spaces.MultiDiscrete) else space.n)
        text = f"{type(space).__name__} of {space.shape}: {', '.join(map(str, dict.fromkeys(numbers.tolist())))}"
        return textwrap.shorten(text, most, placeholder=" …")
    inside = getattr(space, "spaces", {})
    names = inside if isinstance(inside, dict) else [type(part).__name__ for part in inside]
    return textwrap.shorten(f"{type(space).__name__} of {len(inside)}: {', '.join(names)}", most, placeholder=" …")


def noop_action(space: gymnasium.Space[Any]) -> Any:
    """Return the no-op action, 0 in every part; None if the space does not contain it."""
    match space:
        case spaces.Discrete():
            return np.int32(0)
        case spaces.MultiDiscrete() | spaces.MultiBinary():
            return np.zeros(space.shape, np.int32)
        case spaces.Dict():
            parts = {name: noop_action(inside) for name, inside in space.items()}
            return None if any(part is None for part in parts.values()) else parts
    return None


def make_action_reader(space: gymnasium.Space[Any], batch: tuple[int, ...] = (), name: str = "action") -> Converter:
    """Make a function that converts an action, or a batch of actions, to int32 and float32 arrays for `Env.step`.

    The function raises ConfigError for an action outside the space (NaN is outside).
    """
    match space:
        case spaces.Discrete() if not batch:
            return _read_integer(int(space.start), int(space.start + space.n) - 1, name)
        case spaces.Discrete():
            return _read_array(batch, space.start, space.start + space.n - 1, np.int32, name)
        case spaces.MultiDiscrete():
            return _read_array(batch + space.shape, space.start, space.start + space.nvec - 1, np.int32, name)
        case spaces.MultiBinary():
            return _read_array(batch + space.shape, 0, 1, np.int32, name)
        case spaces.Box():
            dtype = np.int32 if np.issubdtype(space.dtype, np.integer) else np.float32
            return _read_array(batch + space.shape, space.low, space.high, dtype, name)
        case spaces.Dict():
            return _read_dict({k: make_action_reader(s, batch, f"{name}[{k!r}]") for k, s in space.items()}, name)
        case spaces.Tuple():
            return _read_tuple([make_action_reader(s, batch, f"{name}[{i}]") for i, s in enumerate(space)], name)
    raise ConfigError(f"{name}: expected a space of numbers, or a Dict or Tuple of them, got {space}")


def make_observation_writer(space: gymnasium.Space[Any], batch: tuple[int, ...] = ()) -> Converter:
    """Make a function that converts an observation from `Layout.read` to the dtypes of the space."""
    match space:
        case spaces.Dict():
            named = {k: make_observation_writer(s, batch) for k, s in space.items()}
            return lambda obs: {k: write(obs[k]) for k, write in named.items()}
        case spaces.Tuple():
            listed = [make_observation_writer(s, batch) for s in space]
            return lambda obs: tuple(write(o) for write, o in zip(listed, obs, strict=True))
        case spaces.Discrete() if not batch:
            return np.dtype(space.dtype).type
        case _:
            return lambda obs: np.asarray(obs, space.dtype)


def _make_error(name: str, expected: str, got: Any) -> ConfigError:
    return ConfigError(f"{name}: expected {expected}, got {got}; nothing was changed")


def _read_integer(low: int, high: int, name: str) -> Converter:
    expected = f"an integer from {low} to {high}"

    def read(action: Any) -> Any:
        try:
            value = operator.index(action)
        except TypeError:
            raise _make_error(name, expected, repr(action)) from None
        if not low <= value <= high:
            raise _make_error(name, expected, value)
        return _send(value)

    return read


@lru_cache(maxsize=1024)
def _send(value: int) -> Any:
    """Return an int32 on the device, where it stays: sending it takes a quarter of the time of a call."""
    with jax.ensure_compile_time_eval():  # also while the user's code is traced
        return jax.device_put(np.int32(value))


def _read_array(shape: tuple[int, ...], low: Any, high: Any, dtype: type[np.number[Any]], name: str) -> Converter:
    kinds, sort = ("biu", "integers") if dtype is np.int32 else ("biuf", "numbers")

    def read(action: Any) -> np.ndarray:
        try:
            given = np.asarray(action)
        except ValueError:
            raise _make_error(name, f"{sort} of shape {shape}", "a ragged sequence") from None
        if given.shape != shape or given.dtype.kind not in kinds:
            raise _make_error(name, f"{sort} of shape {shape}", f"{given.dtype} of shape {given.shape}")
        array = given.astype(dtype)
        inside = (array >= low) & (array <= high)
        if np.count_nonzero(inside) < inside.size:  # faster than `all`
            raise _find_outside(given, inside, low, high, name)
        return array

    return read


def _find_outside(given: np.ndarray, inside: np.ndarray, low: Any, high: Any, name: str) -> ConfigError:
    first = np.unravel_index(int(np.argmin(inside)), inside.shape)
    ends = [np.broadcast_to(bound, inside.shape)[first] for bound in (low, high)]
    place = f"{name}[{', '.join(str(i) for i in first)}]" if first else name
    return _make_error(place, f"a value within [{ends[0]}, {ends[1]}]", given[first])


def _read_dict(inside: dict[str, Converter], name: str) -> Converter:
    def read(action: Any) -> dict[str, Any]:
        if not isinstance(action, dict) or action.keys() != inside.keys():
            got = sorted(action) if isinstance(action, dict) else type(action).__name__
            raise _make_error(name, f"a dict of {sorted(inside)}", got)
        return {key: one(action[key]) for key, one in inside.items()}

    return read


def _read_tuple(inside: list[Converter], name: str) -> Converter:
    def read(action: Any) -> tuple[Any, ...]:
        if not isinstance(action, (tuple, list)) or len(action) != len(inside):
            raise _make_error(name, f"a tuple of {len(inside)}", repr(action))
        return tuple(one(part) for one, part in zip(inside, action, strict=True))

    return read
