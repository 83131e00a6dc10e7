"""Maps, charts and legends as pictures on a page, drawn by the renderer of the pictures.

Each is the address of an SVG (a data: address), so that nothing of one drawing can touch another.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import NamedTuple

from harvestgym.core.scene import Chart, Map, Scene
from harvestgym.render import chart as charts
from harvestgym.render import layout
from harvestgym.render.primitives import Box
from harvestgym.render.svg import Vector
from harvestgym.render.svg_store import Framed

WIDTH = 560
"""Of the page that a map is drawn on, px: the smaller, the larger its letters beside its plots."""

RIM = 4
"""Of `Framed.around`, px."""

FONT = "Helvetica, Arial, sans-serif"


class Drawn(NamedTuple):
    """A map: its address, its width over its height, and where its plots are, in shares of its width and height."""

    address: str
    aspect: float
    plots: Box


def map_of(panel: Map) -> Drawn:
    """A map without its title and legend, to the edge of its margin."""
    marks = tuple(replace(mark, meaning="") for mark in panel.marks)
    pen = Framed({})
    layout.lay(Scene("", (replace(panel, title="", marks=marks, legend=()),)), pen, WIDTH)
    x, y, wide, high = pen.around(panel)
    (length, width), margin = panel.shape, panel.margin
    unit = (wide - 2 * RIM) / (length + 2 * margin)
    edge = RIM + margin * unit
    plots = Box(edge / wide, edge / high, length * unit / wide, width * unit / high)
    return Drawn(_address_of(pen, x, y, wide, high), wide / high, plots)


def chart_of(chart: Chart, width: int = 480, height: int = 230) -> str:
    """The address of a chart."""
    pen = Vector()
    charts.draw(chart, pen, Box(4, 2, width - 8, height - 4), 15)
    return _address_of(pen, 0, 0, width, height)


def legend_of(scene: Scene) -> list[tuple[str, str]]:
    """What the marks of a scene mean: the address of an icon, and the words."""
    out = []
    for mark in scene.legend:
        pen = Vector()
        layout.symbol(mark, pen, 16, 16, 32)
        out.append((_address_of(pen, 0, 0, 32, 32), mark.meaning))
    return out


def _address_of(pen: Vector, x: float, y: float, width: float, height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:g} {y:g} {width:g} {height:g}" font-family="{FONT}">'
    return address("".join((head, "<defs>", *pen.symbols.values(), "</defs>", *pen.parts, "</svg>")))


def address(svg: str) -> str:
    """The data: address of an SVG."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
