"""Drawing primitives, with which the same layout produces pixels and SVG, and font metrics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from PIL import ImageColor, ImageFont

from harvestgym.core.view.scene import Sprite

INK, PALE, PAPER = "#222222", "#8a8a8a", "#ffffff"

_PLAIN = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "²": "2", "³": "3", "…": "...", "→": "->", "≥": ">="})
"""Characters missing from Pillow's font, and their replacements."""


Points = Sequence[tuple[float, float]]


class Box(NamedTuple):
    """A rectangle on the page, in pixels, y down."""

    x: float
    y: float
    w: float
    h: float


class Painter(Protocol):
    """An interface for drawing on a page; lengths are in pixels, colours "#rrggbb", opacities 0 to 1."""

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        """Draw a filled rectangle."""

    def circle(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0, hollow: bool = False) -> None:
        """Draw a circle of outer diameter `side`, filled or hollow."""

    def line(self, points: Points, colour: str, width: float = 1.0, dashed: bool = False) -> None:
        """Draw a line through points."""

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        """Draw a sprite centred on (x, y)."""

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        """Draw text; `anchor` is "l", "m" or "r", then "m" (vertical middle). Dark letters are outlined in white."""


def replace_missing_glyphs(text: str) -> str:
    """Replace characters missing from Pillow's font."""
    return text.translate(_PLAIN)


@lru_cache
def lightness(colour: str) -> float:
    """Return the lightness of a colour, from 0 (black) to 1 (white)."""
    red, green, blue = ImageColor.getrgb(colour)[:3]
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


@lru_cache
def load_font(size: int) -> ImageFont.FreeTypeFont:
    """Load Pillow's font, which is the same on every machine; raise OSError without FreeType."""
    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise OSError("Pillow: expected a build with FreeType, got one without it; try its wheels from PyPI")
    return found


LEAST_SPACE = 0.34
"""Width of a space, in font sizes: the font's own space is narrower and would be hidden by the outlines of letters."""


@lru_cache(maxsize=4096)
def text_width(text: str, size: int) -> float:
    """Return the width of a line of text, px."""
    return sum(_advance(sign, size) for sign in replace_missing_glyphs(text))


@lru_cache(maxsize=4096)
def _advance(sign: str, size: int) -> float:
    """Return the advance of a character; text is laid out in whole pixels, without kerning."""
    advance = load_font(size).getlength(sign)
    return max(advance, round(LEAST_SPACE * size)) if sign == " " else advance


def wrap_text(text: str, size: int, width: float) -> list[str]:
    """Break text into lines no wider than `width`; a longer word gets its own line."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def fit_font_size(text: str, width: float, most: int, least: int = 8) -> int:
    """Return the largest font size, at most `most`, at which the text fits `width`; 0 if that is below `least`."""
    size = most if most < least or text_width(text, most) <= width else int(most * width / text_width(text, most))
    return size if size >= least else 0
