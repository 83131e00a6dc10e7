"""Write docs/pictures/<family>-<name>.png: for each id, one step of an expert's episode, chosen for what is visible.

The same step without words, small, is docs/thumbs/<family>-<name>.png.

python tools/make_pictures.py                         # all: every id whose family draws scenes, and season.png
python tools/make_pictures.py fishing farm/game0-v0   # some families or ids
python tools/make_pictures.py season                  # season.png: the season of a farm in one picture
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from harvestgym import registry
from harvestgym.core.view.scene import Chart, Map, Scene
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import family as farm
from harvestgym.render.canvas import to_rgb

FOLDER, THUMBS = (Path(__file__).parent.parent / "docs" / name for name in ("pictures", "thumbs"))
WIDTH, THUMB_WIDTH, COLOURS, SEED, MOST = 800, 208, 256, 2, 400
"""Widths of a picture and of a thumbnail in px, number of colours, seed of the episode, and about how many steps are
compared."""

SEASON, DPI = "farm/polyculture-3x4-v0", 80
"""The farm whose season is drawn in one picture, and the resolution of that picture."""

SHARE = 0.9
"""Fraction of the episode from which pictures are taken: its last days show little."""


def main() -> None:
    """Draw the ids named on the command line, or all ids."""
    wanted = sys.argv[1:]
    for id in (i for i in registry.ids() if not wanted or i in wanted or i.partition("/")[0] in wanted):
        family = importlib.import_module(registry.spec(id).entry_point.partition(":")[0])
        if hasattr(family, "scene"):
            path = draw(id, family)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    if not wanted or "season" in wanted:
        env, record = recorded(SEASON, farm)
        farm.figure(env, record).savefig(FOLDER / "season.png", dpi=DPI)


def recorded(id: str, family: Any) -> tuple[Any, Any]:
    """Return the environment of an id and a recorded episode of its expert; if it has none, of random actions."""
    env = registry.make(id)
    policy = "expert" if "expert" in family.policies(env) else "random"
    return env, record_episode(id, env, policy_named(id, env, policy), SEED)


def draw(id: str, family: Any) -> Path:
    """Write the picture of an id; return its path."""
    env, record = recorded(id, family)
    length = round(SHARE * len(record["reward"]))
    steps = range(0, length, max(1, length // MOST))[::-1]
    scenes = (family.scene(env, record, step) for step in steps)
    fullest = max(scenes, key=lambda scene: len(scene.legend))
    name = f"{id.replace('/', '-')}.png"
    save(fullest, WIDTH, FOLDER / name)
    save(Scene("", (choose_panel(fullest),)), THUMB_WIDTH, THUMBS / name)
    return FOLDER / name


def save(scene: Scene, width: int, path: Path) -> None:
    """Write a scene as a small PNG."""
    picture = Image.fromarray(to_rgb(scene, width)).quantize(COLOURS, kmeans=1, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)


def choose_panel(scene: Scene) -> Map | Chart:
    """Return the field, the world around a forager, or the first chart of a fishery, without words."""
    maps = scene.select(Map)
    if not maps:
        return scene.select(Chart)[0]
    panel = maps[scene.title.startswith("Step")]
    marks = (replace(mark, text="") for mark in panel.marks if mark.what != "text")
    return replace(panel, title="", marks=tuple(marks), margin=min(panel.margin, 0.3))


if __name__ == "__main__":
    main()
