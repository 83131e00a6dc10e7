"""Page elements: text, numbers, buttons, and maps, charts and legends as SVG images.

Each image is a data: URL, so that styles and ids of different images cannot collide.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from harvestgym.core.view.scene import Chart, Map, Scene
from harvestgym.render import chart as charts
from harvestgym.render import layout
from harvestgym.render.primitives import Box
from harvestgym.render.svg import SvgPainter, draw_panel

MAP_WIDTH = 560
"""Width of the page for which a map is laid out, px; with a smaller width, letters are larger."""


def box(tag: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """Add a container element; tests find it by the name `part`."""
    return _style(ui.element(tag), classes, part, attributes)


def card(name: str, title: str) -> ui.element:
    """Add a card with a title, to be filled in a `with` block; styles and tests find it by its name."""
    with box("section", f"card {name}", name) as made:
        words("h2", title)
    return made


def words(tag: str, text: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """Add an element that contains text."""
    return _style(TextElement(tag=tag, text=text), classes, part, attributes)


def _style(element: ui.element, classes: str, part: str, attributes: dict[str, Any]) -> ui.element:
    element.classes(classes)
    if part:
        element.props["data-part"] = part
    for name, value in attributes.items():
        element.props[name.rstrip("_").replace("_", "-")] = value
    return element


def button(text: str, do: Callable[[], Any], classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """Add a button that calls `do` when it is clicked."""
    made = words("button", text, f"button {classes}", part, type="button", **attributes)
    made.on("click", lambda _: do(), [])
    return made


def show_message(text: str, kind: Literal["info", "positive", "warning"] = "info", seconds: float = 5) -> None:
    """Show a message for a few seconds above the bottom bar, where it does not cover titles or buttons."""
    ui.notify(text, type=kind, position="bottom", timeout=1000 * seconds)


def image(address: str, alternative: str, classes: str = "") -> ui.element:
    """Add an image with alternative text."""
    return box("img", f"picture {classes}", src=address, alt=alternative)


class MapImage(NamedTuple):
    """A map image: address, aspect ratio (width / height), and the box of its plots relative to width and height."""

    address: str
    aspect: float
    plots: Box


def map_image(panel: Map) -> MapImage:
    """Draw a map without its title and legend, up to the edge of its margin."""
    painter = SvgPainter()
    shown, plots = draw_panel(panel, painter, MAP_WIDTH)
    wide, high = shown.w, shown.h
    inside = Box((plots.x - shown.x) / wide, (plots.y - shown.y) / high, plots.w / wide, plots.h / high)
    return MapImage(svg_address(painter.write(shown)), wide / high, inside)


def chart_image(panel: Chart, width: int = 480, height: int = 230) -> str:
    """Draw a chart."""
    painter = SvgPainter()
    charts.draw_chart(panel, painter, Box(4, 2, width - 8, height - 4), 15)
    return svg_address(painter.write(Box(0, 0, width, height)))


def legend_images(scene: Scene) -> list[tuple[str, str]]:
    """Draw an icon for each meaning in a scene's legend; return icons and meanings."""
    out = []
    for mark in scene.legend:
        painter = SvgPainter()
        layout.draw_mark(mark, painter, 16, 16, 32)
        out.append((svg_address(painter.write(Box(0, 0, 32, 32))), mark.meaning))
    return out


def svg_address(svg: str) -> str:
    """Encode an SVG as a data: URL."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def chart(panel: Chart, alternative: str = "", **size: int) -> None:
    """Add a chart."""
    image(chart_image(panel, **size), alternative or panel.title)


def legend(scene: Scene) -> None:
    """Add a scene's legend, with an icon and text for each meaning, if it has one."""
    if not scene.legend:
        return
    with box("ul", "legend"):
        for icon, meaning in legend_images(scene):
            with box("li"):
                image(icon, "", "icon")
                words("span", meaning)


def bullets(lines: Iterable[str], part: str = "") -> None:
    """Add a list."""
    with box("ul", part=part):
        for line in lines:
            words("li", line)


def columns(classes: str = "", **areas: Sequence[Callable[[], Any]]) -> None:
    """Add a grid of areas by name, each with its parts below each other."""
    with box("div", f"columns {classes}"):
        for area, parts in areas.items():
            with box("div", area):
                for part in parts:
                    part()


def number(value: str, name: str, classes: str = "", part: str = "") -> None:
    """Add a number with its name below."""
    with box("div", f"number {classes}", part):
        words("b", value)
        words("span", name)
