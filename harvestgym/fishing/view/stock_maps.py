"""Maps of the stocks of a fishery: several stocks as columns of fish, or the ages of one stock as bubbles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harvestgym.core.view.scene import Map, Mark, Sprite, load_sprites
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.structured_growth import AgeStructured, Patches, ThreeSpecies

from .levels import find_levels

FISH_PER_K = 10

COLUMNS, ROWS = 2, 8
"""Maximum number of fish drawn for each stock, reached at 1.6 K."""

COHORT_YEARS = 30
"""Number of years shown."""

WATER = ("#dceef7", "#cfe6f2")
CAUGHT_AGES, YOUNG_AGES = "#0072b2", "#56b4e9"


def name_stocks(env: FishingModel) -> tuple[str, ...]:
    """Return names for a fishery's stocks in words."""
    law = env.params.law
    if isinstance(law, AgeStructured):
        return ("vulnerable biomass",)
    if isinstance(law, ThreeSpecies):
        return "first prey", "second prey", "predator"
    one = "patch" if isinstance(law, Patches) else "stock"
    return tuple(f"{one} {i + 1}" for i in range(law.stocks)) if law.stocks > 1 else ("stock",)


def draw_stocks(env: FishingModel, stock: np.ndarray, catch: np.ndarray) -> Map:
    """Draw a column of sea for each stock, with a fish for each tenth of K, and the catch of the year above it."""
    names, capacity = name_stocks(env), find_levels(env).capacity
    species = ["fish", "other prey", "predator"] if isinstance(env.params.law, ThreeSpecies) else ["fish"] * len(names)
    fish = [_find_sprite(kind) for kind in species]
    marks: list[Mark] = []
    for i, name in enumerate(names):
        water, left = WATER[i % 2], i * COLUMNS
        marks += [Mark("square", (left + x + 0.5, y + 1.5), 1, water) for y in range(ROWS) for x in range(COLUMNS)]
        marks.append(Mark("square", (left + COLUMNS / 2, -0.5), COLUMNS, water, 0.0, name))
        for n, size in enumerate(_fish_sizes(stock[i] / capacity, COLUMNS * ROWS)):
            marks.append(Mark(fish[i], (left + n % COLUMNS + 0.5, ROWS + 0.5 - n // COLUMNS), 0.95 * size))
        if i < len(catch):
            sizes = _fish_sizes(catch[i] / capacity, COLUMNS)
            marks += [Mark(_find_sprite("caught"), (left + n + 0.5, 0.5), 0.95 * size) for n, size in enumerate(sizes)]
    meanings = {fish[0]: "a tenth of K of fish"}
    if len(set(fish)) > 1:
        meanings = {one: f"{name}, a tenth of K" for one, name in zip(fish, names, strict=True)}
    meanings[_find_sprite("caught")] = "caught this year, a tenth of K"
    legend = tuple(Mark(one, (0, 0), meaning=meaning) for one, meaning in meanings.items())
    return Map("", (COLUMNS * len(names), ROWS + 1), tuple(marks), margin=1.0, legend=legend)


def _find_sprite(name: str) -> Sprite:
    return load_sprites(Path(__file__).with_name("sprites.yaml"))[name]


def _fish_sizes(share: float, most: int) -> list[float]:
    """Return the side length of each fish drawn for a stock of `share` times K; the last is the remainder."""
    parts = np.clip(FISH_PER_K * share - np.arange(most), 0.0, 1.0)
    return [float(np.sqrt(part)) for part in parts if part > 0.02]


def draw_cohorts(law: AgeStructured, stock: np.ndarray) -> Map:
    """Draw biomass at age (downwards) over the last years (rightwards); a year class is a diagonal of bubbles."""
    weight, usual = np.asarray(law.weight), np.asarray(law.weight * law.unfished)
    biomass = np.asarray(stock)[-COHORT_YEARS:, : law.ages] * weight / usual.max()
    size = np.sqrt(np.clip(biomass, 0.0, 1.6))
    colours = np.where(np.asarray(law.vulnerability) > 0.5, CAUGHT_AGES, YOUNG_AGES)
    shown = zip(*np.nonzero(size > 0.08), strict=True)
    marks = [Mark("disc", (year + 0.5, age + 0.5), float(size[year, age]), str(colours[age])) for year, age in shown]
    ages = [Mark("text", (-0.6, age - 0.5), 1.0, "#222222", text=str(age)) for age in range(1, law.ages + 1)]
    meanings = {CAUGHT_AGES: "biomass at an age that is caught", YOUNG_AGES: "biomass at an age not yet caught"}
    legend = tuple(Mark("disc", (0, 0), 1, colour, meaning=meaning) for colour, meaning in meanings.items())
    title = f"Ages 1 to {law.ages} (down) over the last {COHORT_YEARS} years (across)"
    return Map(title, (COHORT_YEARS, law.ages), (*ages, *marks), margin=1.0, legend=legend)
