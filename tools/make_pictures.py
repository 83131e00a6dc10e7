"""Draw docs/pictures/<family>-<name>.png, one picture of each registered id: `python tools/make_pictures.py fishing`.

An argument is a family or an id. Each picture is of the expert (where there is none, of random actions), seed 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import harvestgym
from harvestgym.evaluate.evaluation import policy_named
from harvestgym.evaluate.films import film
from harvestgym.evaluate.record import record_episode
from harvestgym.render.video import Colours

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH = 800

SHARE = 0.6
"""Where in the episode the picture is taken."""

LIFE = 400
"""The step of an endless life at which it is."""


def moment(id: str, steps: int) -> int:
    """The step of an episode that is drawn."""
    return min(LIFE, steps - 1) if id.startswith("forager/") else round(SHARE * (steps - 1))


def picture(id: str) -> np.ndarray:
    """The picture of an id."""
    env = harvestgym.make(id)
    try:
        policy = policy_named(id, env, "expert")
    except harvestgym.ConfigError:
        policy = policy_named(id, env, "random")
    kept = record_episode(id, env, policy, 0)
    return film(id, env, kept, WIDTH).draw(moment(id, len(kept["reward"])))


def main(wanted: list[str]) -> None:
    """Write the pictures of the ids, or of the families."""
    for id in (i for i in harvestgym.ids() if not wanted or i in wanted or i.partition("/")[0] in wanted):
        frame = picture(id)
        path = FOLDER / f"{id.replace('/', '-')}.png"
        Colours.of([frame]).still(frame).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
