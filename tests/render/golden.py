"""Golden pictures of fisheries and foragers; `python -m tests.render.golden` writes them again: look before keeping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from harvestgym.core.view.scene import Scene
from harvestgym.render.canvas import to_rgb

FOLDER = Path(__file__).parent.parent / "golden" / "pictures"
WIDTH = 480


def differs(name: str, scene: Scene) -> bool:
    """Return whether a scene looks otherwise than its golden picture: letters may lie a little elsewhere, no more."""
    now = to_rgb(scene, WIDTH).astype(int)
    with Image.open(FOLDER / f"{name}.png") as image:
        then = np.asarray(image.convert("RGB")).astype(int)
    if now.shape != then.shape:
        return True
    away = np.abs(now - then).max(-1)
    return bool(away.mean() >= 2 or (away > 64).mean() >= 0.01)


def keep(name: str, scene: Scene) -> None:
    """Write a golden picture."""
    Image.fromarray(to_rgb(scene, WIDTH)).quantize(64).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    from tests.fishing.view import test_pictures as fishing_pictures
    from tests.forager.view import test_maps as forager_pictures

    for made in (fishing_pictures.SCENES, forager_pictures.SCENES):
        for kept_name, drawn in made.items():
            keep(kept_name, drawn())
