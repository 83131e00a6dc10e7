"""Drawing of a crop: a sprite for each stage, taller as the crop grows, and its state in words."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.drawing import DrawContext

from .stages import STAGES, Stage
from .state import CAUSES

LETTERS = 0.1
"""Height of the letters below a plant, in plots."""


def draw_stands(crop: Any, seen: DrawContext) -> list[Mark]:
    """Draw the plants on each plot, with their number, stage and height below."""
    if "stage" not in seen:
        return []
    stage = np.asarray(seen["stage"], float)
    drawings = crop.sprites()
    species = next((of for of in seen.sets if f"{of}_{STAGES[Stage.SEED]}" in drawings), "crop")
    middle = 0.5 if seen.kinds == 1 else 0.32 + 0.36 * seen.rank / (seen.kinds - 1)  # next to the field's other crops
    ground = 0.87 - LETTERS * (seen.kinds - 1)
    marks = []
    for x, y in np.argwhere(stage > 0).tolist():
        label, size = STAGES[int(stage[x, y])], seen.number("size#cm", (x, y))
        tall = min(_height(label, size / float(crop.size_max)), ground - 0.03)
        at = (x + middle, y + ground - tall / 2)
        marks.append(Mark(drawings[f"{species}_{label}"], at, tall, meaning=f"{crop_name(seen)}: {label}"))
        row = y + 0.94 - LETTERS * (seen.kinds - 1 - seen.rank)
        marks.append(Mark("text", (x + 0.5, row), LETTERS, text=_words(seen, label, size, x, y)))
    cut = np.argwhere((stage == 0) & (np.asarray(seen.get("harvested", 0.0 * stage), float) == 1)).tolist()
    stubble = partial(Mark, drawings["stubble"], size=0.3, meaning=f"{crop_name(seen)}: harvested")
    return marks + [stubble((x + middle, y + (ground - 0.15))) for x, y in cut]


def crop_name(seen: DrawContext) -> str:
    """Return the name of the crop's parameter set, or the name of the entity if it has no set."""
    return seen.sets[0] if seen.sets else seen.name


def _height(label: str, share: float) -> float:
    """Return the side length of the drawing, in plots; medium if the height is unknown."""
    if label == STAGES[Stage.SEED]:
        return 0.34
    return 0.28 + 0.44 * (min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.5)


def _words(seen: DrawContext, label: str, size: float, x: int, y: int) -> str:
    who = f"{crop_name(seen)} " if seen.kinds > 1 else ""
    if label == STAGES[Stage.DEAD]:
        cause = seen.number("cause_of_death", (x, y))
        return f"{who}dead" + (f" ({CAUSES[int(cause)].partition(': ')[2]})" if cause > 0 else "")
    number = seen.number("population#nb", (x, y))
    count = f"{number:.0f} " if np.isfinite(number) else ""
    tall = f", {size:.0f} cm" if np.isfinite(size) and label != STAGES[Stage.SEED] else ""
    return f"{count}{who}{label}{tall}"


def describe(seen: DrawContext) -> list[str]:
    """Describe the number of plots in each stage and the harvest so far."""
    stage = np.asarray(seen.get("stage", np.nan), float)
    known = stage[np.isfinite(stage)].astype(int)
    if not known.size:
        return [f"{crop_name(seen)}: not seen yet"]
    names = ("no plants", *STAGES[1:])
    found = [(names[s], int((known == s).sum())) for s in range(len(STAGES)) if (known == s).any()]
    plots = f" on {stage.size} plots" if stage.size > 1 else ""
    where = ", ".join(f"{n} {label}" if stage.size > 1 else label for label, n in found)
    size = np.asarray(seen.get("size#cm", np.nan), float)
    tall = np.nanmax(size) if np.isfinite(size).any() else 0.0
    crop = seen.total("harvest_weight#kg")
    parts = [f"{crop_name(seen)}{plots}: {where}"] + [f"up to {tall:.0f} cm"] * bool(tall > 0)
    return [", ".join(parts + ([f"harvested {crop:.2f} kg"] if crop > 0 else []))]
