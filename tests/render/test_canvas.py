"""Scenes become pixels, SVG and text that say what the scene says, in the right place, and nothing lies on a word."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from harvestgym.core.errors import ConfigError
from harvestgym.core.view.scene import Chart, Line, Map, Mark, Panel, Scene, Sprite, Stroke, Words, load_sprites
from harvestgym.render import canvas, layout
from harvestgym.render.canvas import to_rgb
from harvestgym.render.primitives import INK, Box, load_font, text_width
from harvestgym.render.svg import SvgPainter, to_svg
from harvestgym.render.text import to_text

RED, BLUE = "#d55e00", "#0072b2"
SVG = "{http://www.w3.org/2000/svg}"
LEAF = Sprite("leaf", (Stroke("ellipse", ((0.5, 0.5), (0.4, 0.4)), "#009e73"),))


def world(*marks: Mark, shape: tuple[int, int] = (4, 3), others: tuple[Panel, ...] = ()) -> Scene:
    return Scene("A world", (Map("here", shape, marks), *others))


def where(pixels: np.ndarray, colour: str) -> np.ndarray:
    """Return the rows and columns at which a picture has exactly a colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.argwhere((pixels == wanted).all(-1))


class Noting(SvgPainter):
    """A painter that also notes where each line of text lies."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes: list[tuple[str, Box]] = []

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        wide = text_width(text, size)
        left = x - {"l": 0, "m": 0.5, "r": 1}[anchor[0]] * wide
        self.boxes.append((text, Box(left, y - 0.4 * size, wide, 0.8 * size)))
        super().text(x, y, text, size, colour, anchor)


def overlaps(scene: Scene, width: int = 960) -> list[tuple[str, str]]:
    """Return the pairs of texts of a page that lie on one another, and texts that leave the page."""
    painter = Noting()
    layout.draw_scene(scene, painter, width)
    tall, found = layout.page_height(scene, width), []
    for i, (one, a) in enumerate(painter.boxes):
        if a.x < 0 or a.y < 0 or a.x + a.w > width + 1 or a.y + a.h > tall:
            found.append((one, "the edge"))
        for other, b in painter.boxes[:i]:
            apart = a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y
            if not apart:
                found.append((one, other))
    return found


def test_a_mark_is_where_it_is() -> None:
    pixels = to_rgb(world(Mark("square", (0.5, 0.5), 1.0, RED), Mark("square", (3.5, 2.5), 1.0, BLUE)))
    assert pixels.dtype == np.uint8 and pixels.shape[1:] == (960, 3) and pixels.shape[0] % 2 == 0
    first, last = (where(pixels, colour) for colour in (RED, BLUE))
    side = np.ptp(first, axis=0) + 1
    assert abs(side[0] - side[1]) <= 2, "plots are square"
    moved = last.mean(0) - first.mean(0)
    np.testing.assert_allclose(moved, (2 * (side[0] + 1), 3 * (side[1] + 1)), atol=5)


def test_later_marks_lie_above_and_rendering_is_repeatable() -> None:
    scene = world(Mark(LEAF, (1.5, 1.5), 0.8), Mark("disc", (1.5, 1.5), 0.4, RED), Mark("ring", (1.5, 1.5), 0.9, BLUE))
    once, again = to_rgb(scene), to_rgb(scene)
    np.testing.assert_array_equal(once, again)
    red, green = where(once, RED), where(once, "#009e73")
    assert len(red) and len(green) and len(where(once, BLUE))
    inside = np.abs(green - red.mean(0)).max(1) < 2
    assert not inside.any(), "the disc hides the leaf below it"


def test_an_opacity_of_half_lies_between() -> None:
    pixels = to_rgb(
        world(Mark("square", (0.5, 0.5), 1.0, "#000000", opacity=0.5), Mark("disc", (2.5, 1.5), 0.8, RED, 0.5))
    )
    assert len(where(pixels, "#808080")) + len(where(pixels, "#7f7f7f")) > 1000
    assert not len(where(pixels, RED)) and len(where(pixels, "#eaae7f")) + len(where(pixels, "#eaaf80")) > 1000


def test_the_legend_says_each_meaning_once_first_those_of_the_map() -> None:
    marks = [Mark("disc", (x + 0.5, 0.5), 0.3, RED, meaning="pests & <others>") for x in range(4)]
    always = (Mark("square", (0, 0), 1, BLUE, meaning="wet"),)
    scene = Scene("A world", (Map("here", (4, 1), (*marks, Mark(LEAF, (0.5, 0.5))), legend=always),))
    assert [mark.meaning for mark in scene.legend] == ["wet", "pests & <others>"]
    texts = [element.text for element in ET.fromstring(to_svg(scene)).iter(f"{SVG}text")]
    assert texts.count("pests & <others>") == texts.count("wet") == 1


def test_svg_needs_nothing_from_elsewhere_and_writes_a_sprite_once() -> None:
    scene = world(*(Mark(LEAF, (x + 0.5, 0.5), 0.5, meaning="leaf") for x in range(4)))
    root = ET.fromstring(to_svg(scene))
    assert len(list(root.iter(f"{SVG}symbol"))) == 1
    assert {use.get("href") for use in root.iter(f"{SVG}use")} == {"#s0"} and len(list(root.iter(f"{SVG}use"))) == 5
    assert "http" not in to_svg(scene).replace("http://www.w3.org/2000/svg", "")


def test_a_number_is_left_out_where_it_has_no_room() -> None:
    def said(side: int) -> bool:
        return ">1234<" in to_svg(world(Mark("text", (0.5, 0.5), 0.3, text="1234"), shape=(side, side)))

    assert said(1) and said(8) and not said(40)


def test_no_words_lie_on_others_however_long_they_are() -> None:
    long = tuple(f"line {n} of a story that does not end before the edge of the page is reached" for n in range(40))
    words = (Words("One", long), Words("Two", ("short",)), Words("Three", long))
    marks = [Mark("disc", (0.5, 0.5), 0.2, RED, meaning=f"a thing of some kind, number {n}") for n in range(20)]
    levels = {"limit": 0.5, "target": 0.51, "third": 0.49}
    chart = Chart("A series with a long name that goes on", "kg", 30, (Line("line", np.arange(9.0), RED),), levels)
    assert not overlaps(world(*marks, others=(*words, chart, chart)))
    assert not overlaps(world(*marks, others=(*words, chart, chart)), width=640)
    shown = Noting()
    layout.draw_scene(world(*marks, others=words), shown, 960)
    assert any(text.endswith("more lines") for text, _ in shown.boxes) and any(
        text == "short" for text, _ in shown.boxes
    )


def test_a_chart_leaves_gaps_where_nothing_is_known() -> None:
    values = np.array([1.0, 2.0, np.nan, 3.0, 5.0, np.nan, 4.0])
    root = ET.fromstring(to_svg(Scene("s", (Chart("c", "kg", 10, (Line("a", values, RED),), {}),))))
    lines = [line.get("points", "").split() for line in root.iter(f"{SVG}polyline") if line.get("stroke") == RED]
    assert [len(points) for points in lines] == [2, 2], "two pieces of two points"
    dots = [dot for dot in root.iter(f"{SVG}circle") if dot.get("fill") == RED]
    assert len(dots) == 1, "a lone value is a dot"
    heights = [float(point.split(",")[1]) for points in lines for point in points]
    assert heights == sorted(heights, reverse=True), "larger values stand higher"


def test_a_page_of_charts_alone_has_the_same_height_at_every_step() -> None:
    def tall(steps: int) -> int:
        line = Line("a", np.arange(float(steps)), RED)
        return to_rgb(Scene("s", (Chart("c", "", 90, (line,), {}), Words("w", ("x",) * steps)))).shape[0]

    assert tall(1) == tall(80)


def test_text_shows_each_thing_by_a_letter_of_its_own() -> None:
    soil = [
        Mark("square", (x + 0.5, 0.5), 1.0, c, meaning=m)
        for x, (c, m) in enumerate([("#ffffff", "dry"), (BLUE, "wet")])
    ]
    things = [Mark(LEAF, (0.5, 0.5), meaning="pea"), Mark("disc", (1.5, 0.5), meaning="pest")]
    shown = to_text(world(*soil, *things, shape=(2, 1), others=(Words("Today", ("rain",)),)))
    assert (
        "| p|█P|" in shown and "p pea" in shown and "P pest" in shown and "█ wet" in shown and "Today\n  rain" in shown
    )


def test_text_of_a_wide_world_stays_narrow() -> None:
    marks = [Mark("disc", (x + 0.5, 0.5), meaning="x") for x in range(200)]
    assert max(map(len, to_text(world(*marks, shape=(200, 2))).splitlines())) <= 404


@pytest.mark.parametrize(
    "row",
    [
        "[square, '#ffffff', '0 0 1 1']",
        "[line, '#ffffff', '0 0']  # fine\n  - nobody",
        "[line, '#fff', [[0, 0]], 1, 2]",
    ],
)
def test_a_stroke_that_is_none_is_refused_with_what_was_wanted(tmp_path: Path, row: str) -> None:
    path = tmp_path / "sprites.yaml"
    path.write_text(f"mine:\n  - {row}\n")
    with pytest.raises(ConfigError, match="mine: expected the name of a sprite above, or .polygon|ellipse|line"):
        load_sprites(path)


def test_a_sprite_may_go_on_from_one_above(tmp_path: Path) -> None:
    path = tmp_path / "sprites.yaml"
    path.write_text("a:\n  - [line, '#000000', '0 0 1 .5', 0.1]\nb:\n  - a\n  - [ellipse, '#ffffff', '.5 .5 .1 .2']\n")
    one, both = load_sprites(path)["a"], load_sprites(path)["b"]
    assert one.strokes == (Stroke("line", ((0.0, 0.0), (1.0, 0.5)), "#000000", 0.1),)
    assert both.strokes == (*one.strokes, Stroke("ellipse", ((0.5, 0.5), (0.1, 0.2)), "#ffffff"))


@pytest.mark.parametrize("size", [8, 13, 14, 20])
@pytest.mark.parametrize("text", ["sunandclouds,16to28°C(mean22)", "AVATAR:To'fly'", "0.25"])
def test_a_line_is_put_together_of_signs_as_the_font_writes_it(text: str, size: int) -> None:
    _, ink = canvas.draw_text_masks(text, size)
    whole = Image.new("L", ink.size)
    ImageDraw.Draw(whole).text((2, ink.height / 2), text, 255, load_font(size), "lm")
    assert text_width(text, size) == load_font(size).getlength(text)
    np.testing.assert_allclose(np.asarray(ink, int), np.asarray(whole, int), atol=40)
    assert np.asarray(ink).any()


@pytest.mark.parametrize("size", [8, 9, 11, 13, 20])
def test_words_are_apart_at_every_size(size: int) -> None:
    """The space of the font is narrower than the rims of two letters where letters are small."""
    assert text_width("up to", size) - text_width("upto", size) >= 0.3 * size
    _, ink = canvas.draw_text_masks("up to", size)
    gaps = np.diff(np.flatnonzero(np.asarray(ink).max(0) > 64))
    assert gaps.max() >= 0.3 * size


def test_a_number_that_was_never_written_costs_no_new_letters() -> None:
    """Each day of a film has its own numbers: writing them afresh took half of the time of a GIF."""
    to_rgb(Scene("Day 0123456789.", ()))
    known = canvas.draw_glyph_masks.cache_info().misses
    for day in range(100, 150):
        to_rgb(Scene(f"Day {day}.{day}", ()))
    assert canvas.draw_glyph_masks.cache_info().misses == known
