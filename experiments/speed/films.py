"""CPU seconds to draw and write a film of a season, also relative to the time that Pillow takes to write its pictures.

    python -m experiments.speed.films [ID]

Recording the season is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from io import BytesIO

from PIL import Image

from harvestgym.evaluate.record import record_named
from harvestgym.render.video import encode_gif


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print the figures as JSON."""
    film = record_named(sys.argv[1] if len(sys.argv) > 1 else "farm/full-3x4-v0").film()
    pictures = list(film)
    first, *later = [Image.fromarray(picture) for picture in pictures]
    pillow = seconds(lambda: first.save(BytesIO(), "GIF", save_all=True, append_images=later))
    draw, both = seconds(lambda: list(film)), seconds(lambda: encode_gif(film))
    report = {
        "pictures": len(pictures),
        "draw, s": draw,
        "draw and write, s": both,
        "as a ratio to Pillow": both / pillow,
    }
    json.dump({name: round(value, 2) for name, value in report.items()}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
