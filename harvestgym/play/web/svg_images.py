"""Maps, charts and legends as SVG images of a page, drawn by `harvestgym.render`.

Each is a `data:` URL, so that the styles and ids of images cannot collide.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import NamedTuple

from harvestgym.core.view.scene import Chart, Map, Scene
from harvestgym.render import chart as charts
from harvestgym.render import layout
from harvestgym.render.primitives import Box
from harvestgym.render.svg import SvgPainter
from harvestgym.render.svg_store import PanelPainter

WIDTH = 560
"""Width of the page on which a map is laid out, px; smaller means larger letters."""

RIM = 4
"""Margin of `PanelPainter.view_box`, px."""

FONT = "Helvetica, Arial, sans-serif"


class MapImage(NamedTuple):
    """A map: its URL, its aspect ratio (width over height), and the box of its plots as shares of width and height."""

    address: str
    aspect: float
    plots: Box


def map_image(panel: Map) -> MapImage:
    """Draw a map with its margin, without title and legend."""
    marks = tuple(replace(mark, meaning="") for mark in panel.marks)
    painter = PanelPainter({})
    layout.draw_scene(Scene("", (replace(panel, title="", marks=marks, legend=()),)), painter, WIDTH)
    x, y, wide, high = painter.view_box(panel)
    (length, width), margin = panel.shape, panel.margin
    unit = (wide - 2 * RIM) / (length + 2 * margin)
    edge = RIM + margin * unit
    plots = Box(edge / wide, edge / high, length * unit / wide, width * unit / high)
    return MapImage(_image_address(painter, x, y, wide, high), wide / high, plots)


def chart_image(chart: Chart, width: int = 480, height: int = 230) -> str:
    """Draw a chart."""
    painter = SvgPainter()
    charts.draw_chart(chart, painter, Box(4, 2, width - 8, height - 4), 15)
    return _image_address(painter, 0, 0, width, height)


def legend_images(scene: Scene) -> list[tuple[str, str]]:
    """Draw the icon of each meaning in the legend of a scene; return icons and meanings."""
    out = []
    for mark in scene.legend:
        painter = SvgPainter()
        layout.draw_mark(mark, painter, 16, 16, 32)
        out.append((_image_address(painter, 0, 0, 32, 32), mark.meaning))
    return out


def _image_address(painter: SvgPainter, x: float, y: float, width: float, height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:g} {y:g} {width:g} {height:g}" font-family="{FONT}">'
    return svg_address("".join((head, "<defs>", *painter.symbols.values(), "</defs>", *painter.parts, "</svg>")))


def svg_address(svg: str) -> str:
    """Encode an SVG as a `data:` URL."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
