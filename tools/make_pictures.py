"""Write docs/pictures/<family>-<name>.png: of each id the last of the steps of an expert's episode with most to see.

python tools/make_pictures.py                         # every id whose family offers a scene, and season.png
python tools/make_pictures.py fishing farm/game0-v2   # of families, or some
python tools/make_pictures.py season                  # the season of a farm in one picture
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from harvestgym import registry
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.render.canvas import to_rgb

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH, COLOURS, SEED, MOST = 800, 256, 2, 400
"""Of a picture, px and colours of its palette; of the episode; and the steps that are looked through."""

SEASON, DPI = "farm/polyculture-3x4-v2", 80
"""Whose season is drawn in one picture, and how fine."""

SHARE = 0.9
"""Of the episode: on its last days little is left to see."""


def main() -> None:
    """Draw the ids named on the command line, or all."""
    wanted = sys.argv[1:]
    for id in (i for i in registry.ids() if not wanted or i in wanted or i.partition("/")[0] in wanted):
        family = importlib.import_module(registry.spec(id).entry_point.partition(":")[0])
        if hasattr(family, "scene"):
            path = draw(id, family)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    if not wanted or "season" in wanted:
        family = importlib.import_module(registry.spec(SEASON).entry_point.partition(":")[0])
        env, record = recorded(SEASON, family)
        family.figure(env, record).savefig(FOLDER / "season.png", dpi=DPI)


def recorded(id: str, family: Any) -> tuple[Any, Any]:
    """Return an id, and an episode of its expert, or of chance where it has none."""
    env = registry.make(id)
    policy = "expert" if "expert" in family.policies(env) else "random"
    return env, record_episode(id, env, policy_named(id, env, policy), SEED)


def draw(id: str, family: Any) -> Path:
    """Return the picture of an id, in its file."""
    env, record = recorded(id, family)
    length = round(SHARE * len(record["reward"]))
    steps = range(0, length, max(1, length // MOST))[::-1]
    scenes = (family.scene(env, record, step) for step in steps)
    fullest = max(scenes, key=lambda scene: len(scene.legend))
    picture = Image.fromarray(to_rgb(fullest, WIDTH)).quantize(COLOURS, kmeans=1, dither=Image.Dither.NONE)
    path = FOLDER / f"{id.replace('/', '-')}.png"
    picture.save(path, optimize=True)
    return path


if __name__ == "__main__":
    main()
