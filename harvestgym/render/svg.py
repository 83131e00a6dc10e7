"""Scenes as SVG: each sprite is stored once as a symbol and used by reference."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from harvestgym.core.view.scene import Scene, Sprite, Stroke

from . import layout
from .primitives import INK, PAPER, Box, Painter

ANCHORS = {"l": "start", "m": "middle", "r": "end"}


def to_svg(scene: Scene, width: int = 960) -> str:
    """Draw a scene as one self-contained `<svg>` element."""
    painter, tall = SvgPainter(), layout.page_height(scene, width)
    layout.draw_scene(scene, painter, width)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif"><title>{escape(scene.title)}</title>'
    )
    page_ = f'<rect width="{width}" height="{tall}" fill="{PAPER}"/>'
    return "".join((head, "<defs>", *painter.symbols.values(), "</defs>", page_, *painter.parts, "</svg>"))


class SvgPainter(Painter):
    """A painter that writes SVG elements and the symbols that they use."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.symbols: dict[Sprite, str] = {}

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        x, y, w, h = map(_fmt, box)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{colour}"{_format_opacity(opacity)}/>')

    def disc(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        at = f'cx="{_fmt(x)}" cy="{_fmt(y)}" r="{_fmt(side / 2)}"'
        self.parts.append(f'<circle {at} fill="{colour}"{_format_opacity(opacity)}/>')

    def ring(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0) -> None:
        at = f'cx="{_fmt(x)}" cy="{_fmt(y)}" r="{_fmt(0.44 * side)}" stroke-width="{_fmt(0.1 * side)}"'
        self.parts.append(f'<circle {at} fill="none" stroke="{colour}"{_format_opacity(opacity)}/>')

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dashed: bool = False
    ) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        style = f'fill="none" stroke="{colour}" stroke-width="{_fmt(width)}"{dash}'
        self.parts.append(f'<polyline points="{_format_points(points)}" {style}/>')

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        """Draw a sprite, by reference to its symbol."""
        name = f"s{list(self.symbols).index(sprite)}" if sprite in self.symbols else f"s{len(self.symbols)}"
        if sprite not in self.symbols:
            strokes = "".join(map(_write_stroke, sprite.strokes))
            self.symbols[sprite] = f'<symbol id="{name}" viewBox="0 0 1 1">{strokes}</symbol>'
        at = f'x="{_fmt(x - side / 2)}" y="{_fmt(y - side / 2)}" width="{_fmt(side)}" height="{_fmt(side)}"'
        self.parts.append(f'<use href="#{name}" {at}{_format_opacity(opacity)}/>')

    def text(self, x: float, y: float, text: str, size: int, colour: str = INK, anchor: str = "lm") -> None:
        at = f'x="{_fmt(x)}" y="{_fmt(y)}" font-size="{size}" fill="{colour}" text-anchor="{ANCHORS[anchor[0]]}"'
        rim = 'dominant-baseline="central" stroke="#fff" stroke-opacity=".7" stroke-width="3" paint-order="stroke"'
        self.parts.append(f"<text {at} {rim}>{escape(text)}</text>")


def _write_stroke(stroke: Stroke) -> str:
    if stroke.shape == "polygon":
        return f'<polygon points="{_format_points(stroke.points)}" fill={quoteattr(stroke.colour)}/>'
    if stroke.shape == "ellipse":
        (x, y), (a, b) = stroke.points
        return f'<ellipse cx="{_fmt(x)}" cy="{_fmt(y)}" rx="{_fmt(a)}" ry="{_fmt(b)}" fill={quoteattr(stroke.colour)}/>'
    style = f'fill="none" stroke={quoteattr(stroke.colour)} stroke-width="{_fmt(stroke.width)}"'
    return f'<polyline points="{_format_points(stroke.points)}" {style}/>'


def _format_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_fmt(x)},{_fmt(y)}" for x, y in points)


def _fmt(value: float) -> str:
    return f"{value:.4g}"


def _format_opacity(opacity: float) -> str:
    return f' opacity="{_fmt(opacity)}"' if opacity < 1 else ""
