"""Small parts of a page: words, numbers, pictures, buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement


def box(tag: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """An element to be filled; `part` is a name by which tests find it."""
    return _dressed(ui.element(tag), classes, part, attributes)


def words(tag: str, text: str, classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """An element with words in it."""
    return _dressed(TextElement(tag=tag, text=text), classes, part, attributes)


def _dressed(element: ui.element, classes: str, part: str, attributes: dict[str, Any]) -> ui.element:
    element.classes(classes)
    if part:
        element.props["data-part"] = part
    for name, value in attributes.items():
        element.props[name.rstrip("_").replace("_", "-")] = value
    return element


def button(text: str, do: Callable[[], Any], classes: str = "", part: str = "", **attributes: Any) -> ui.element:
    """A button that does `do` when it is clicked."""
    made = words("button", text, f"button {classes}", part, type="button", **attributes)
    made.on("click", lambda _: do(), [])
    return made


def picture(address: str, told: str, classes: str = "") -> ui.element:
    """A picture, and what it shows for those who do not see it."""
    return box("img", f"picture {classes}", src=address, alt=told)


def number(value: str, name: str, classes: str = "", part: str = "") -> None:
    """A number with its name below."""
    with box("div", f"number {classes}", part):
        words("b", value)
        words("span", name)


def shown(value: Any) -> str:
    """A number or a word of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
