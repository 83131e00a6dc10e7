"""A custom sink: monitored variables in event files for TensorBoard.

    pip install tensorboardX
    python examples/tensorboard_sink.py runs/bean && tensorboard --logdir runs/bean

Weights & Biases copies the files into a run that was started earlier with `wandb.init(sync_tensorboard=True)`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from tensorboardX import SummaryWriter

from harvestgym.render.monitor_readings import Reading, Sink, sum_value

VARIABLES = [("Field-0", "Soil-0", "available_Water#L", sum_value, "Water in the soil", "range_auto")]


class TensorBoardSink(Sink):
    """Event files in a folder: numbers as scalars and pictures as images."""

    def __init__(self, folder: str | Path) -> None:
        self._writer = SummaryWriter(str(folder))

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        for reading in readings:
            for tag, number in reading.named.items():
                self._writer.add_scalar(tag, number, step, display_name=tag, summary_description=reading.watch.meta.doc)
            if reading.picture is not None:
                dataformats = "HW" if reading.picture.ndim == 2 else "HWC"
                self._writer.add_image(reading.watch.label, scale_picture(reading), step, dataformats=dataformats)

    def close(self) -> None:
        self._writer.close()


def scale_picture(reading: Reading) -> np.ndarray:
    """Scale a matrix to [0, 1], where 0 is the low end of its range or its lowest entry; return an image unchanged."""
    picture = np.asarray(reading.picture)
    if picture.ndim == 3:
        return picture
    low, high = reading.watch.ends or (float(picture.min()), float(picture.max()))
    return np.clip((picture - low) / max(high - low, 1e-12), 0, 1)


def main(folder: str) -> None:
    """Log thirty days of beans without any actions."""
    env: Any = gymnasium.make("farm/bean-1x1-v0").unwrapped
    with env.add_monitoring(VARIABLES, TensorBoardSink(folder)):
        env.reset(seed=0)
        for _ in range(30):
            env.step(0)


if __name__ == "__main__":
    main(sys.argv[1])
