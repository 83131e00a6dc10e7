"""What a page is drawn with: few primitives, so that pixels and SVG come out of one layout."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from PIL import ImageFont

from harvestgym.core.scene import Sprite

INK, PALE, PAPER = "#222222", "#8a8a8a", "#ffffff"

_PLAIN = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "²": "2", "³": "3", "…": "...", "→": "->", "≥": ">="})
"""Signs that the font of Pillow lacks, by those that it has."""


class Box(NamedTuple):
    """A rectangle of the page, in pixels, y down."""

    x: float
    y: float
    w: float
    h: float


class Pen(Protocol):
    """Draws on a page; lengths in pixels, colours "#rrggbb", opacities 0 to 1."""

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        """A filled rectangle."""
        ...

    def disc(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        """A filled circle of diameter `side`."""
        ...

    def ring(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        """A circle of outer diameter `side`."""
        ...

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dashed: bool = False
    ) -> None:
        """A line through the points."""
        ...

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        """A sprite centred on (x, y)."""
        ...

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        """A line of text; `anchor` is "l", "m" or "r" of it, then "m" for its middle. White behind dark letters."""
        ...


def plain(text: str) -> str:
    """The text in signs that every font here has."""
    return text.translate(_PLAIN)


@lru_cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The font that comes with Pillow, the same on every machine; OSError without FreeType."""
    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise OSError("pictures need a Pillow with FreeType (its wheels have it); found one without")
    return found


@lru_cache(maxsize=4096)
def extent(text: str, size: int) -> float:
    """How wide a line of text is, px."""
    return sum(_advance(sign, size) for sign in plain(text))


@lru_cache(maxsize=4096)
def _advance(sign: str, size: int) -> float:
    """How far a sign moves on: in this font, and as it is laid out, by whole pixels whatever stands beside it."""
    return font(size).getlength(sign)


def wrapped(text: str, size: int, width: float) -> list[str]:
    """The text in lines no wider than `width`, unless a word is."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and extent(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def fitting(text: str, width: float, most: int, least: int = 8) -> int:
    """The largest size of letters, at most `most`, at which the text is no wider than `width`; 0 below `least`."""
    size = most if extent(text, most) <= width else int(most * width / extent(text, most))
    return size if size >= least else 0
