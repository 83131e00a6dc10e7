"""Helpers for Gymnasium spaces: one-line summaries and no-op actions."""

from __future__ import annotations

import textwrap
from typing import Any

import gymnasium
import numpy as np


def summarise_space(space: gymnasium.Space[Any], most: int = 120) -> str:
    """Return a space as Gymnasium prints it, or only its kind and sizes if that takes more than `most` characters."""
    text = " ".join(str(space).split())
    if len(text) <= most:
        return text
    if isinstance(space, gymnasium.spaces.Box):
        return f"Box({space.low.min():g}, {space.high.max():g}, {space.shape}, {space.dtype})"
    if isinstance(space, gymnasium.spaces.MultiDiscrete | gymnasium.spaces.MultiBinary):
        numbers = np.ravel(space.nvec if isinstance(space, gymnasium.spaces.MultiDiscrete) else space.n)
        text = f"{type(space).__name__} of {space.shape}: {', '.join(map(str, dict.fromkeys(numbers.tolist())))}"
        return textwrap.shorten(text, most, placeholder=" …")
    inside = getattr(space, "spaces", {})
    names = inside if isinstance(inside, dict) else [type(part).__name__ for part in inside]
    return textwrap.shorten(f"{type(space).__name__} of {len(inside)}: {', '.join(names)}", most, placeholder=" …")


def noop_action(space: gymnasium.Space[Any]) -> Any:
    """Return the no-op action, 0 in every part; None if the space does not contain it."""
    match space:
        case gymnasium.spaces.Discrete():
            return np.int32(0)
        case gymnasium.spaces.MultiDiscrete() | gymnasium.spaces.MultiBinary():
            return np.zeros(space.shape, np.int32)
        case gymnasium.spaces.Dict():
            parts = {name: noop_action(inside) for name, inside in space.items()}
            return None if any(part is None for part in parts.values()) else parts
    return None
