"""Maps, charts and legends as images of a page: well-formed SVG, with the plots where the buttons lie."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from harvestgym.core.view.scene import Chart, Line, Map, Mark, Scene
from harvestgym.play.web.elements import chart_image, legend_images, map_image, svg_address

PREFIX = "data:image/svg+xml;base64,"
SHAPES = [(1, 1), (3, 2), (2, 5), (20, 20)]


def decode(address: str) -> ElementTree.Element:
    """Parse the SVG of a data: address."""
    assert address.startswith(PREFIX)
    return ElementTree.fromstring(base64.b64decode(address.removeprefix(PREFIX)))


def view_box(svg: ElementTree.Element) -> tuple[float, ...]:
    return tuple(map(float, svg.attrib["viewBox"].split()))


def make_map(shape: tuple[int, int], margin: float = 0.0) -> Map:
    """Return a square in every plot."""
    squares = [Mark("square", (i + 0.5, j + 0.5), 1.0, "#88aa66", meaning="soil") for i, j in np.ndindex(shape)]
    return Map("a field", shape, tuple(squares), margin=margin)


def test_an_address_holds_the_text_unchanged() -> None:
    text = '<svg xmlns="http://www.w3.org/2000/svg"><text>é &lt; 5 °C</text></svg>'
    assert base64.b64decode(svg_address(text).removeprefix(PREFIX)).decode() == text


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_the_plots_of_a_map_lie_inside_and_in_proportion(shape: tuple[int, int], margin: float) -> None:
    found = map_image(make_map(shape, margin))
    box = found.plots
    assert box.x >= 0 and box.y >= 0 and box.x + box.w <= 1 + 1e-9 and box.y + box.h <= 1 + 1e-9
    assert found.aspect * box.w / box.h == pytest.approx(shape[0] / shape[1], rel=1e-6), "plots are square"
    assert box.x == pytest.approx(1 - box.x - box.w) and box.y == pytest.approx(1 - box.y - box.h), "centred"
    _, _, wide, high = view_box(decode(found.address))
    assert wide / high == pytest.approx(found.aspect, rel=1e-3)


def test_a_margin_makes_the_plots_smaller_on_the_image() -> None:
    bare, wide = (map_image(make_map((3, 3), margin)).plots for margin in (0.0, 1.0))
    assert wide.w < bare.w and wide.w / wide.h == pytest.approx(bare.w / bare.h)


def test_the_image_of_a_map_has_neither_title_nor_legend() -> None:
    """These are text of the page, which can be read aloud and translated."""
    svg = decode(map_image(make_map((2, 2))).address)
    assert not [element.text for element in svg.iter() if element.tag.endswith("}text") and element.text]


@pytest.mark.parametrize(("width", "height"), [(480, 230), (640, 260)])
def test_a_chart_has_the_size_that_was_asked_for(width: int, height: int) -> None:
    lines = (Line("yours", np.asarray([0.0, 1.0, np.nan, 2.0]), "#009e73"),)
    svg = decode(chart_image(Chart("Score", "points", 4, lines, {"best": 2.5}), width, height))
    assert view_box(svg) == (0, 0, width, height)
    texts = [element.text for element in svg.iter() if element.tag.endswith("}text")]
    assert {"Score, points", "yours", "best"} <= set(texts)
    colours = {element.get("stroke") for element in svg.iter() if element.tag.endswith("}polyline")}
    assert "#009e73" in colours


def test_a_legend_has_an_icon_for_each_meaning() -> None:
    marks = (
        Mark("square", (0, 0), 1.0, "#88aa66", meaning="soil"),
        Mark("disc", (0, 0), 1.0, "#aa2222", meaning="pest"),
    )
    field = Map("a field", (1, 1), marks)
    found = legend_images(Scene("", (field,)))
    assert [meaning for _, meaning in found] == [mark.meaning for mark in Scene("", (field,)).legend]
    assert {meaning for _, meaning in found} == {"soil", "pest"}
    icons = [base64.b64decode(icon.removeprefix(PREFIX)).decode() for icon, _ in found]
    assert len(set(icons)) == 2 and all(re.search(r'viewBox="0 0 32 32"', icon) for icon in icons)
