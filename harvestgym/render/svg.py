"""Scenes as SVG: each sprite is stored once as a symbol and used by reference."""

from __future__ import annotations

from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

from harvestgym.core.view.scene import Chart, Map, Scene, Sprite, Stroke

from . import layout
from .primitives import INK, PAPER, Box, Painter, Points

ANCHORS = {"l": "start", "m": "middle", "r": "end"}
FONT = "Helvetica, Arial, sans-serif"

RIM = 4
"""Margin around a map that is drawn alone, px."""


def to_svg(scene: Scene, width: int = 960) -> str:
    """Draw a scene as one self-contained `<svg>` element."""
    painter, page = SvgPainter(), Box(0, 0, width, layout.page_height(scene, width))
    painter.rect(page, PAPER)
    layout.draw_scene(scene, painter, width)
    return painter.write(page, scene.title)


def draw_panel(panel: Map | Chart, painter: SvgPainter, width: int) -> tuple[Box, Box]:
    """Draw a chart, or a map without its title and legend, on a page `width` pixels wide.

    Returns the box to show, which includes the margin of a map, and the box of its plots; for a chart, the same box
    twice.
    """
    if isinstance(panel, Chart):
        page = Box(0, 0, width, layout.page_height(Scene("", (panel,)), width))
        layout.draw_scene(Scene("", (panel,)), painter, width)
        return page, page
    marks = tuple(replace(mark, meaning="") for mark in panel.marks)
    bare = replace(panel, title="", marks=marks, legend=())
    (plots,) = layout.draw_scene(Scene("", (bare,)), painter, width)
    room = RIM + panel.margin * plots.w / panel.shape[0]
    return Box(plots.x - room, plots.y - room, plots.w + 2 * room, plots.h + 2 * room), plots


class SvgPainter(Painter):
    """A painter that writes SVG elements and the symbols that they use; several painters may share symbols."""

    def __init__(self, symbols: dict[Sprite, str] | None = None) -> None:
        self.parts: list[str] = []
        self.symbols: dict[Sprite, str] = {} if symbols is None else symbols

    def write(self, box: Box, title: str = "") -> str:
        """Return an `<svg>` element that shows a box of the drawing."""
        view = " ".join(f"{number:g}" for number in box)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" role="img" font-family="{FONT}">'
        named = f"<title>{escape(title)}</title>" if title else ""
        return "".join((head, named, "<defs>", *self.symbols.values(), "</defs>", *self.parts, "</svg>"))

    def rect(self, box: Box, colour: str, opacity: float = 1.0) -> None:
        x, y, w, h = map(_fmt, box)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{colour}"{_format_opacity(opacity)}/>')

    def circle(self, x: float, y: float, side: float, colour: str, opacity: float = 1.0, hollow: bool = False) -> None:
        radius = _fmt(0.44 * side if hollow else side / 2)
        ink = f'fill="none" stroke-width="{_fmt(0.1 * side)}" stroke' if hollow else "fill"
        at = f'cx="{_fmt(x)}" cy="{_fmt(y)}" r="{radius}"'
        self.parts.append(f'<circle {at} {ink}="{colour}"{_format_opacity(opacity)}/>')

    def line(self, points: Points, colour: str, width: float = 1.0, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        style = f'fill="none" stroke="{colour}" stroke-width="{_fmt(width)}"{dash}'
        self.parts.append(f'<polyline points="{_format_points(points)}" {style}/>')

    def sprite(self, sprite: Sprite, x: float, y: float, side: float, opacity: float = 1.0) -> None:
        """Draw a sprite by reference to its symbol."""
        if sprite not in self.symbols:
            strokes = "".join(map(_write_stroke, sprite.strokes))
            self.symbols[sprite] = f'<symbol id="s{len(self.symbols)}" viewBox="0 0 1 1">{strokes}</symbol>'
        name = f"s{list(self.symbols).index(sprite)}"
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


def _format_points(points: Points) -> str:
    return " ".join(f"{_fmt(x)},{_fmt(y)}" for x, y in points)


def _fmt(value: float) -> str:
    return f"{value:.4g}"


def _format_opacity(opacity: float) -> str:
    return f' opacity="{_fmt(opacity)}"' if opacity < 1 else ""
