"""A scene as SVG: the page of the canvas, each sprite written once and used where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from harvestgym.core.scene import Scene, Sprite, Stroke

from . import layout
from .primitives import INK, PAPER, Box, Pen

ANCHORS = {"l": "start", "m": "middle", "r": "end"}


def to_svg(scene: Scene, width: int = 960) -> str:
    """The scene as one `<svg>` element, which needs nothing from elsewhere."""
    pen, tall = Vector(), layout.height(scene, width)
    layout.lay(scene, pen, width)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif"><title>{escape(scene.title)}</title>'
    )
    page_ = f'<rect width="{width}" height="{tall}" fill="{PAPER}"/>'
    return "".join((head, "<defs>", *pen.symbols.values(), "</defs>", page_, *pen.parts, "</svg>"))


class Vector(Pen):
    """A pen that writes SVG elements, and the symbols that they use."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.symbols: dict[Sprite, str] = {}

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        """A filled rectangle."""
        x, y, w, h = map(_n, box)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{colour}"{_opacity(opacity)}/>')

    def disc(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        """A filled circle."""
        at = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(side / 2)}"'
        self.parts.append(f'<circle {at} fill="{colour}"{_opacity(opacity)}/>')

    def ring(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        """A circle."""
        at = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(0.44 * side)}" stroke-width="{_n(0.1 * side)}"'
        self.parts.append(f'<circle {at} fill="none" stroke="{colour}"{_opacity(opacity)}/>')

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dashed: bool = False
    ) -> None:
        """A line through the points."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        style = f'fill="none" stroke="{colour}" stroke-width="{_n(width)}"{dash}'
        self.parts.append(f'<polyline points="{_points(points)}" {style}/>')

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        """A sprite, by reference to its symbol."""
        name = f"s{list(self.symbols).index(sprite)}" if sprite in self.symbols else f"s{len(self.symbols)}"
        if sprite not in self.symbols:
            strokes = "".join(map(_stroke, sprite.strokes))
            self.symbols[sprite] = f'<symbol id="{name}" viewBox="0 0 1 1">{strokes}</symbol>'
        at = f'x="{_n(x - side / 2)}" y="{_n(y - side / 2)}" width="{_n(side)}" height="{_n(side)}"'
        self.parts.append(f'<use href="#{name}" {at}{_opacity(opacity)}/>')

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        """A line of text."""
        at = f'x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{colour}" text-anchor="{ANCHORS[anchor[0]]}"'
        rim = 'dominant-baseline="central" stroke="#fff" stroke-opacity=".7" stroke-width="3" paint-order="stroke"'
        self.parts.append(f"<text {at} {rim}>{escape(text)}</text>")


def _stroke(stroke: Stroke) -> str:
    if stroke.shape == "polygon":
        return f'<polygon points="{_points(stroke.points)}" fill={quoteattr(stroke.colour)}/>'
    if stroke.shape == "ellipse":
        (x, y), (a, b) = stroke.points
        return f'<ellipse cx="{_n(x)}" cy="{_n(y)}" rx="{_n(a)}" ry="{_n(b)}" fill={quoteattr(stroke.colour)}/>'
    style = f'fill="none" stroke={quoteattr(stroke.colour)} stroke-width="{_n(stroke.width)}"'
    return f'<polyline points="{_points(stroke.points)}" {style}/>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.4g}"


def _opacity(opacity: float) -> str:
    return f' opacity="{_n(opacity)}"' if opacity < 1 else ""
