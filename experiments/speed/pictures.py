"""Frames per second of `render_mode="rgb_array"`, in CPU seconds, with the step that comes before each frame.

    python -m experiments.speed.pictures farm/bean-1x1-v0 fishing/logistic-v0 --widths 960 200 --folder pictures

`--folder` keeps the last frame of each id and width. The machine's load is printed, since a busy machine is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

IDS = ("farm/bean-1x1-v0", "fishing/logistic-v0", "forager/two-biome-v0")
WARM_UP, FRAMES = 5, 100


def play(env: gymnasium.Env[Any, Any], frames: int) -> tuple[np.ndarray, float, float]:
    """Take random steps and draw each; return the last frame, and the CPU seconds of drawing and in total."""
    picture, drawing, start = np.zeros(0), 0.0, time.process_time()
    for _ in range(frames):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
        before = time.process_time()
        picture = np.asarray(env.render())
        drawing += time.process_time() - before
    return picture, drawing, time.process_time() - start


def measure(id: str, width: int, folder: Path | None) -> dict[str, Any]:
    """Measure the frames per second of an id at a width."""
    env = gymnasium.make(f"harvestgym:{id}", render_mode="rgb_array", render_width=width)
    env.action_space.seed(0)
    env.reset(seed=0)
    play(env, WARM_UP)
    picture, drawing, total = play(env, FRAMES)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / f"{id.replace('/', '-')}-{width}.png")
    rates = {"drawn per second": round(FRAMES / drawing), "with steps": round(FRAMES / total)}
    return {"id": id, "shape": picture.shape[:2], **rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", default=IDS)
    parser.add_argument("--widths", type=int, nargs="+", default=[960, 200])
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    rows = [measure(id, width, args.folder) for id in args.ids for width in args.widths]
    print(json.dumps({"cores": os.cpu_count(), "load": os.getloadavg()[0], "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
