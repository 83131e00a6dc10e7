"""The record of a life on the host engine, of its last steps only: a life has no end, what is kept of it must."""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.view.maps import SMALL
from harvestgym.forager.view.scene import NO_ACTION as NO_ACTION
from harvestgym.forager.view.scene import scene

from .env import ForagerEnv

KEPT = 5000
"""Steps that are kept, at least; at most twice as many are held."""


class Watching:
    """What `make.record` would have kept of the last steps of a life, and the picture of the last one."""

    def __init__(self, env: ForagerEnv, horizon: int) -> None:
        config = env.config
        aperture = env.in_view().shape
        self._model = Forager(env.world, (aperture[0], aperture[1]), config.observation_mode, horizon, config.hint)
        self._rows: dict[str, np.ndarray] = {}
        self._length = 0

    def add(self, env: ForagerEnv, action: int, reward: float, info: dict[str, Any]) -> None:
        """Keep a step; the start is one of no reward."""
        (x, y), told = env.position, ("reward_rate", "collided", "collected", "biome", "biome_regret")
        row = {"action": action, "reward": reward, "x#cell": x, "y#cell": y, "clock#step": env.clock}
        row |= {name: info[name] for name in told} | {"view": env.in_view()}
        if env.world.cells <= SMALL:
            row["world"] = env.cells().astype(np.int8)
        if self._length == 2 * KEPT:
            self._rows = {name: np.roll(values, KEPT, 0) for name, values in self._rows.items()}
            self._length = KEPT
        for name, value in row.items():
            self._put(name, np.asarray(value))
        self._length += 1

    def _put(self, name: str, value: np.ndarray) -> None:
        """Write a value into its buffer, which doubles where it is full."""
        rows = self._rows.get(name, np.zeros((64, *value.shape), value.dtype))
        if self._length == len(rows):
            rows = np.concatenate([rows, np.zeros_like(rows)])[: 2 * KEPT]
        rows[self._length] = value
        self._rows[name] = rows

    @property
    def record(self) -> dict[str, np.ndarray]:
        """Named arrays with a leading time axis."""
        return {name: rows[max(0, self._length - KEPT) : self._length] for name, rows in self._rows.items()}

    def picture(self, mode: str) -> Any:
        """The last step: pixels (uint8, height, width, 3), text or SVG."""
        from harvestgym.render import canvas, svg, text

        record = self.record
        seen = scene(self._model, record, len(record["reward"]) - 1)
        return {"rgb_array": canvas.to_rgb, "ansi": text.to_text, "svg": svg.to_svg}[mode](seen)
