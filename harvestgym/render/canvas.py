"""Scenes as pixels. Sprites and words are rasterised once per size, with oversampling, and then pasted."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from harvestgym.core.view.scene import Scene, Sprite, Stroke

from . import layout
from .primitives import INK, PAPER, Box, Painter, Points, lightness, load_font, replace_missing_glyphs, text_width

OVERSAMPLING = 4
"""Oversampling of sprites: the number of pixels in the raster per pixel on the page."""


def to_rgb(scene: Scene, width: int = 960) -> np.ndarray:
    """Draw a scene as a uint8 array (height, width, 3); the height depends on the kinds of its panels."""
    width = width // 2 * 2
    image = Image.new("RGB", (width, layout.page_height(scene, width)), PAPER)
    layout.draw_scene(scene, ImagePainter(image), width)
    return np.array(image)  # a writable copy, because callers may draw on it


class ImagePainter(Painter):
    """A painter on a Pillow image."""

    def __init__(self, image: Image.Image) -> None:
        self.image, self._draw = image, ImageDraw.Draw(image)

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        x, y, right, down = (round(v) for v in (box.x, box.y, box.x + box.w, box.y + box.h))
        if right <= x or down <= y:
            return
        mask = None if opacity >= 1 else Image.new("L", (right - x, down - y), round(255 * opacity))
        self.image.paste(colour, (x, y, right, down), mask)

    def circle(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0, hollow: bool = False) -> None:
        self.sprite(_make_circle(colour, hollow), x, y, side, opacity)

    def line(self, points: Points, colour: str, width: float = 1.0, dashed: bool = False) -> None:
        """Draw a line; horizontal and vertical lines are sharp."""
        if dashed:
            for piece in _split_dashes(points):
                self.line(piece, colour, width)
            return
        straight = len({x for x, _ in points}) == 1 or len({y for _, y in points}) == 1
        if straight or len(points) < 2:
            self._draw.line([(round(x), round(y)) for x, y in points], colour, max(1, round(width)))
            return
        self._smooth(points, colour, width)

    def _smooth(self, points: Points, colour: str, width: float) -> None:
        at = np.asarray(points)
        low, high = np.floor(at.min(0) - width).astype(int), np.ceil(at.max(0) + width).astype(int)
        mask = Image.new("L", tuple(2 * (high - low)))
        path = [tuple(p) for p in 2 * (at - low)]
        ImageDraw.Draw(mask).line(path, 255, max(2, round(2 * width)), joint="curve")
        mask, (x, y) = mask.reduce(2), low.tolist()
        self.image.paste(colour, (x, y, x + mask.width, y + mask.height), mask)

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        size = max(1, round(side))
        stamp = _draw_sprite(sprite, size, round(20 * opacity))
        self.image.paste(stamp, (round(x - size / 2), round(y - size / 2)), stamp)

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        """Draw a line of text with a contrasting outline, readable on any background."""
        rim, ink = draw_text_masks(replace_missing_glyphs(text), size)
        shift = {"l": 0.0, "m": 0.5, "r": 1.0}[anchor[0]]
        left = round(x - shift * (ink.width - 2 * _HALO) - _HALO)
        at = (left, round(y - ink.height / 2), left + ink.width, round(y - ink.height / 2) + ink.height)
        self.image.paste(PAPER if lightness(colour) < 0.6 else INK, at, rim)
        self.image.paste(colour, at, ink)


_HALO, _RIM = 2, 170
"""The outline of letters: width, px, and opacity, 0 to 255."""


@lru_cache(maxsize=4096)
def _draw_sprite(sprite: Sprite, size: int, twentieths: int) -> Image.Image:
    fine = size * OVERSAMPLING
    image = Image.new("RGBA", (fine, fine))
    draw = ImageDraw.Draw(image)
    for stroke in sprite.strokes:
        _draw_stroke(draw, stroke, fine)
    image = image.convert("RGBa").resize((size, size), Image.Resampling.BOX).convert("RGBA")
    if twentieths < 20:
        image.putalpha(image.getchannel("A").point([a * twentieths // 20 for a in range(256)]))
    return image


def _draw_stroke(draw: ImageDraw.ImageDraw, stroke: Stroke, size: int) -> None:
    points = [(x * size, y * size) for x, y in stroke.points]
    if stroke.shape == "polygon":
        draw.polygon(points, fill=stroke.colour)
    elif stroke.shape == "ellipse":
        (x, y), (a, b) = points
        draw.ellipse((x - a, y - b, x + a, y + b), fill=stroke.colour)
    else:
        draw.line(points, fill=stroke.colour, width=max(1, round(stroke.width * size)), joint="curve")


@lru_cache
def _make_circle(colour: str, hollow: bool) -> Sprite:
    whole = Stroke("ellipse", ((0.5, 0.5), (0.5, 0.5)), colour)
    around = tuple((0.5 + 0.44 * np.cos(a), 0.5 + 0.44 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 41))
    return Sprite("ring", (Stroke("line", around, colour, 0.1),)) if hollow else Sprite("disc", (whole,))


@lru_cache(maxsize=4096)
def draw_text_masks(text: str, size: int) -> tuple[Image.Image, Image.Image]:
    """Draw masks for the outline and ink of a line of text."""
    both = np.zeros((2, round(1.25 * size) + 2 * _HALO, round(text_width(text, size)) + 2 * _HALO), np.uint8)
    x = 0
    for sign in text:
        stamp = draw_glyph_masks(sign, size)
        room = both[..., x : x + stamp.shape[2]]
        np.maximum(room, stamp[..., : room.shape[2]], out=room)
        x += round(text_width(sign, size))
    return Image.fromarray(both[0]), Image.fromarray(both[1])


@lru_cache(maxsize=4096)
def draw_glyph_masks(sign: str, size: int) -> np.ndarray:
    """Draw masks for the outline and ink of one character, uint8 (2, height, width).

    Lines are composed from cached characters, because there are many different lines but few characters. Pillow's font
    has whole-pixel advances and no kerning.
    """
    tall, wide = round(1.25 * size) + 2 * _HALO, round(text_width(sign, size)) + size
    sheets = Image.new("L", (wide, tall)), Image.new("L", (wide, tall))
    for sheet, stroke, cover in zip(sheets, (_HALO, 0), (_RIM, 255), strict=True):
        ImageDraw.Draw(sheet).text((_HALO, tall / 2), sign, cover, load_font(size), "lm", stroke_width=stroke)
    return np.stack([np.asarray(sheet) for sheet in sheets])


def _split_dashes(points: Points, on: float = 5.0, off: float = 4.0) -> list[list[Any]]:
    """Split a dashed line between two points into its dashes."""
    (x, y), (right, down) = points[0], points[-1]
    length = math.hypot(right - x, down - y) or 1.0
    step = complex(right - x, down - y) / length
    ends = [(at, min(at + on, length)) for at in np.arange(0.0, length, on + off).tolist()]
    return [[(x + step.real * at, y + step.imag * at) for at in dash] for dash in ends]
