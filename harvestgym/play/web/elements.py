"""Elements of a page: text, numbers, images, charts, legends, buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from harvestgym.core.view.scene import Chart, Scene

from .svg_images import chart_image, legend_images


def box(tag: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """Add a container element; `part` is a name by which tests find it."""
    return _style(ui.element(tag), classes, part, attributes)


def words(tag: str, text: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """Add an element with text in it."""
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
    """Show a message for some seconds, above the bottom bar, where it covers no title and no button."""
    ui.notify(text, type=kind, position="bottom", timeout=1000 * seconds)


def image(address: str, alternative: str, classes: str = "") -> ui.element:
    """Add an image with an alternative text."""
    return box("img", f"picture {classes}", src=address, alt=alternative)


def chart(panel: Chart, alternative: str = "", **size: int) -> None:
    """Add a chart."""
    image(chart_image(panel, **size), alternative or panel.title)


def legend(scene: Scene) -> None:
    """Add the legend of a scene, an icon and a text for each meaning; nothing if it has none."""
    if not scene.legend:
        return
    with box("ul", "legend"):
        for icon, meaning in legend_images(scene):
            with box("li"):
                image(icon, "", "icon")
                words("span", meaning)


def number(value: str, name: str, classes: str = "", part: str = "") -> None:
    """Add a number with its name below."""
    with box("div", f"number {classes}", part):
        words("b", value)
        words("span", name)


def cell_text(value: Any) -> str:
    """Return the text of a value in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
