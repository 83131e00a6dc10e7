"""Several stocks side by side as fish in the sea, and the ages of one stock as bubbles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harvestgym.core.scene import Map, Mark, Sprite, sprites
from harvestgym.fishing.analysis import levels
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.structured import AgeStructured, Patches, ThreeSpecies

FISH = 10
"""Fish that stand for a stock of K."""

WIDE, DEEP = 2, 8
"""Columns of fish of each stock, and rows: a stock of 1.6 K and more fills them."""

LAST = 30
"""Years of cohorts shown."""

WATER = ("#dceef7", "#cfe6f2")


def names(env: FishingModel) -> tuple[str, ...]:
    """The stocks as people call them."""
    law = env.params.law
    if isinstance(law, AgeStructured):
        return ("vulnerable biomass",)
    if isinstance(law, ThreeSpecies):
        return "first prey", "second prey", "predator"
    one = "patch" if isinstance(law, Patches) else "stock"
    return tuple(f"{one} {i + 1}" for i in range(law.stocks)) if law.stocks > 1 else ("stock",)


def sea(env: FishingModel, stock: np.ndarray, catch: np.ndarray) -> Map:
    """A column of the sea for each stock: a fish for each tenth of K, and on deck what was caught this year."""
    called, drawn = names(env), _sprites(env)
    capacity = levels.capacity(env)
    marks: list[Mark] = []
    for i, name in enumerate(called):
        water, left = WATER[i % 2], i * WIDE
        marks += [Mark("square", (left + x + 0.5, y + 1.5), 1, water) for y in range(DEEP) for x in range(WIDE)]
        marks.append(Mark("square", (left + WIDE / 2, -0.5), WIDE, water, 0.0, name))
        marks += _shoal(stock[i] / capacity, left, drawn[i])
        if i < len(catch):
            marks += _deck(catch[i] / capacity, left)
    caught = Mark(_sprite("caught"), (0, 0), meaning="caught this year, a tenth of K")
    fish = [Mark(s, (0, 0), meaning=m) for s, m in _told(drawn, called)]
    return Map("", (WIDE * len(called), DEEP + 1), tuple(marks), margin=1.0, legend=(*fish, caught))


def _sprites(env: FishingModel) -> list[Sprite]:
    kinds = ["fish", "other prey", "predator"] if isinstance(env.params.law, ThreeSpecies) else []
    return [_sprite(kind) for kind in kinds or ["fish"] * env.params.law.stocks]


def _sprite(name: str) -> Sprite:
    return sprites(Path(__file__).with_name("sprites.yaml"))[name]


def _told(drawn: list[Sprite], called: tuple[str, ...]) -> Iterator[tuple[Sprite, str]]:
    """What the legend says of the fish."""
    if len(set(drawn)) == 1:
        yield drawn[0], "a tenth of K of fish"
    else:
        yield from ((fish, f"{name}, a tenth of K") for fish, name in zip(drawn, called, strict=True))


def _shoal(share: float, left: int, fish: Sprite) -> list[Mark]:
    """Fish from the bottom up; the last one as large as what is left of a whole one."""
    sizes = _sizes(share, WIDE * DEEP)
    place = ((left + n % WIDE + 0.5, DEEP + 0.5 - n // WIDE) for n in range(len(sizes)))
    return [Mark(fish, at, 0.95 * size) for at, size in zip(place, sizes, strict=True)]


def _deck(share: float, left: int) -> list[Mark]:
    """What was caught, in the row above the water."""
    sizes = _sizes(share, WIDE)
    return [Mark(_sprite("caught"), (left + n + 0.5, 0.5), 0.95 * size) for n, size in enumerate(sizes)]


def _sizes(share: float, most: int) -> list[float]:
    """Sides of the fish that stand for a share of K, areas in proportion."""
    parts = np.clip(FISH * share - np.arange(most), 0.0, 1.0)
    return [float(np.sqrt(part)) for part in parts if part > 0.02]


def cohorts(law: AgeStructured, stock: np.ndarray) -> Map:
    """Biomass at age (downwards) in the last years (eastwards): a year class is a diagonal of bubbles."""
    weight, usual = np.asarray(law.weight), np.asarray(law.weight * law.unfished)
    biomass = np.asarray(stock)[-LAST:, : law.ages] * weight / usual.max()
    size = np.sqrt(np.clip(biomass, 0.0, 1.6))
    open_ = np.asarray(law.vulnerability) > 0.5
    marks = [
        Mark("disc", (year + 0.5, age + 0.5), float(size[year, age]), "#0072b2" if open_[age] else "#56b4e9")
        for year, age in zip(*np.nonzero(size > 0.08), strict=True)
    ]
    ages = [Mark("text", (-0.6, age - 0.5), 1.0, "#222222", text=str(age)) for age in range(1, law.ages + 1)]
    legend = (Mark("disc", (0, 0), 1, "#0072b2", meaning="biomass at an age that is caught"),
              Mark("disc", (0, 0), 1, "#56b4e9", meaning="biomass at an age not yet caught"))  # fmt: skip
    title = f"Ages 1 to {law.ages} (down) over the last {LAST} years (across)"
    return Map(title, (LAST, law.ages), (*ages, *marks), margin=1.0, legend=legend)
