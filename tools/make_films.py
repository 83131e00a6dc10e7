"""Write docs/films/<family>-<name>.gif: six episodes of experts with few and big words, for the README.

python tools/make_films.py                       # all six
python tools/make_films.py farm/full-3x4-v0      # one

A page shows a film 270 px wide: three to a row, and one to a row on a phone. Films have their own background, so
that they look the same on white and dark pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harvestgym import registry
from harvestgym.core.view.scene import Map, Mark, Scene, load_sprites
from harvestgym.core.view.timeline import Record
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import family as farm
from harvestgym.farm.view.words import date_of_step
from harvestgym.fishing.view import levels
from harvestgym.fishing.view.levels import find_levels
from harvestgym.forager import family as forager
from harvestgym.render.canvas import ImagePainter
from harvestgym.render.layout import draw_map
from harvestgym.render.primitives import Box
from harvestgym.render.video import write_video

FOLDER = Path(__file__).parent.parent / "docs" / "films"
WIDTH, HEIGHT, BAND, FONT, PAD = 432, 480, 54, 27, 16
"""Sizes in px: a film, its two bands, its letters (17 px high when the film is 270 px wide), and its margin."""

FPS, SEED = 9, 2
"""Frames per second, and the seed of the episodes."""

FISH_PER_K, MOST_FISH, FISH = 16, 24, 46
"""Number of fish for the unfished stock, their largest number, and their size, px."""

WHITE, STOCK, WATER, CATCH, LEVEL = "#ffffff", "#0072b2", "#a9d3ec", "#d55e00", "#333333"

Draw = Callable[[Any, Record, int, ImagePainter, Box], None]
Say = Callable[[Any, Record, int], str]


@dataclass(frozen=True)
class Film:
    """One film.

    Attributes:
        title: the words on the left of the upper band.
        band, ground: the colours of the bands and of the drawing's background.
        steps: the steps of the episode that are shown.
        draw: draws a step into a box.
        when, result: return the words on the right of the upper band, and in the lower band.
    """

    title: str
    band: str
    ground: str
    steps: Sequence[int]
    draw: Draw
    when: Say
    result: Say

    def frame(self, env: Any, record: Record, step: int) -> np.ndarray:
        """Draw a step."""
        image = Image.new("RGB", (WIDTH, HEIGHT), self.ground)
        painter = ImagePainter(image)
        self.draw(env, record, step, painter, Box(0, BAND, WIDTH, HEIGHT - 2 * BAND))
        for top in (0, HEIGHT - BAND):
            painter.rect(Box(0, top, WIDTH, BAND), self.band)
        painter.text(PAD, BAND / 2, self.title, FONT, WHITE)
        painter.text(WIDTH - PAD, BAND / 2, self.when(env, record, step), FONT, WHITE, "rm")
        painter.text(PAD, HEIGHT - BAND / 2, self.result(env, record, step), FONT, WHITE)
        return np.asarray(image)


def main() -> None:
    """Film the ids named on the command line, or all of `FILMS`."""
    FOLDER.mkdir(exist_ok=True)
    for id in sys.argv[1:] or FILMS:
        env = registry.make(id)
        record, film = record_episode(id, env, policy_named(id, env, "expert"), SEED), FILMS[id]
        frames = [film.frame(env, record, step) for step in film.steps if step < len(record["reward"])]
        path = write_video(frames, FOLDER / f"{id.replace('/', '-')}.gif", FPS)
        print(f"{path.name}: {len(frames)} frames, {path.stat().st_size / 1000:.0f} kB", flush=True)


# -- what is drawn ---------------------------------------------------------------------------------------------


def show_map(scene: Callable[[Any, Record, int], Scene], which: int = 0) -> Draw:
    """Return a function that draws one of the maps of a scene, without its words, as large as the box allows."""

    def draw(env: Any, record: Record, step: int, painter: ImagePainter, box: Box) -> None:
        panel = scene(env, record, step).select(Map)[which]
        marks = tuple(_simplify(mark) for mark in panel.marks if mark.what != "text" and "left" not in mark.meaning)
        draw_map(replace(panel, title="", marks=marks), painter, box, FONT)

    return draw


def _simplify(mark: Mark) -> Mark:
    """Return a mark without its text; a forager is drawn larger than its cell."""
    return replace(mark, text="", size=mark.size * (1.7 if mark.meaning == "the agent" else 1.0))


def show_fish(env: Any, record: Record, step: int, painter: ImagePainter, box: Box) -> None:
    """Draw fish that swim, as many as there are of each species, and above the water those caught in the year."""
    sprites = load_sprites(Path(levels.__file__).with_name("sprites.yaml"))
    air, numbers = 1.3 * FISH, np.random.default_rng(SEED)
    painter.rect(Box(box.x, box.y + air, box.w, box.h - air), WATER)
    for name, stock in zip(("fish", "other prey", "predator"), record["stock"][step], strict=True):
        starts, heights, speeds = (numbers.permutation(MOST_FISH) / MOST_FISH for _ in range(3))
        for n in range(min(round(FISH_PER_K * stock), MOST_FISH)):
            x = (starts[n] * (box.w + FISH) + (5 + 6 * speeds[n]) * step) % (box.w + FISH) - FISH / 2
            painter.sprite(sprites[name], x, box.y + air + FISH / 2 + heights[n] * (box.h - air - FISH), FISH)
    for n in range(round(FISH_PER_K * float(np.sum(record["catch"][step])))):
        painter.sprite(sprites["caught"], box.x + PAD + (n + 0.5) * FISH, box.y + air / 2, FISH)


def show_stock(env: Any, record: Record, step: int, painter: ImagePainter, box: Box) -> None:
    """Draw the stock of a fishery as a water level, its catches as bars from the ground, and its tipping point."""
    stock, catch, years = record["biomass"], record["catch"][:, 0], TIPPING_YEARS
    top = 1.1 * find_levels(env).capacity
    wide = box.w / years

    def at(year: float, value: float) -> tuple[float, float]:
        return box.x + wide * year, box.y + box.h * (1 - value / top)

    for year in range(1, step + 1):
        for height, colour in ((stock[year], WATER), (catch[year], CATCH)):
            x, y = at(year - 1, height)
            painter.rect(Box(x, y, wide + 1, box.y + box.h - y), colour)
    painter.line([at(year - 0.5, stock[year]) for year in range(1, step + 1)] * (step > 1), STOCK, 4)
    tipping = find_levels(env).stock["tipping point"]
    painter.line([at(0, tipping), at(years, tipping)], LEVEL, 2, dashed=True)
    painter.text(box.x + PAD, box.y + box.h - 64, "catch", FONT - 4, CATCH)
    painter.text(WIDTH - PAD, at(0, tipping)[1] + 20, "tipping point", FONT - 4, LEVEL, "rm")


# -- what is said ----------------------------------------------------------------------------------------------


def say_year(env: Any, record: Record, step: int) -> str:
    """Say the year of a fishery."""
    return f"year {step}"


def say_year_and_month(env: Any, record: Record, step: int) -> str:
    """Say the year of a farm of several years, and the month."""
    return f"{date_of_step(env, record, step).split()[1]}, year {1 + step // 365}"


def say_step(env: Any, record: Record, step: int) -> str:
    """Say the step of a forager."""
    return f"step {int(record['clock#step'][step]):,}"


def say_harvest(env: Any, record: Record, step: int) -> str:
    """Say what a farm has harvested so far."""
    return f"harvest {float(record['info/total/harvest#kg'][step]):.1f} kg"


def say_catch(env: Any, record: Record, step: int) -> str:
    """Say what a fishery has caught so far, in the unit of the unfished stock."""
    return f"caught {float(np.sum(record['catch'][1 : step + 1])):.1f} K"


def say_reward(env: Any, record: Record, step: int) -> str:
    """Say the reward of a forager so far."""
    return f"reward {float(np.sum(record['reward'][: step + 1])):+,.0f}"


TIPPING_YEARS = 150
"""Years of the fishery with a tipping point that are shown."""

EARTH, FIELD, SEA, SKY, WOOD, SAND = "#2f4a2c", "#f4f0e4", "#0b3d5c", "#eef6fb", "#5a3d1c", "#fbf6ea"

FILMS = {
    "farm/full-3x4-v0": Film(
        "Bean farm", EARTH, FIELD, range(0, 125, 2), show_map(farm.scene), date_of_step, say_harvest
    ),
    "farm/full-10x10-v0": Film(
        "100 plots", EARTH, FIELD, range(0, 180, 3), show_map(farm.scene), date_of_step, say_harvest
    ),
    "fishing/three-species-v0": Film("Three species", SEA, SKY, range(0, 42), show_fish, say_year, say_catch),
    "fishing/tipping-v0": Film(
        "Tipping point", SEA, SKY, range(2, TIPPING_YEARS + 1, 2), show_stock, say_year, say_catch
    ),
    "forager/two-biome-v0": Film(
        "Two biomes", WOOD, SAND, range(0, 60), show_map(forager.scene, 1), say_step, say_reward
    ),
    "forager/seasons-v0": Film(
        "Seasons", WOOD, SAND, range(2000, 2044), show_map(forager.scene, 1), say_step, say_reward
    ),
}
"""The films of the README, two of each family."""


if __name__ == "__main__":
    main()
