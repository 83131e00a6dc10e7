"""Page layout for a scene: maps on the left, words and legend on the right, charts below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Sprite, Words

from . import chart
from .primitives import INK, PALE, Box, Painter, fit_font_size, text_width, wrap_text

GRID_COLOUR = "#c9c4bb"

DENSE_LEGEND = 18
"""Number of entries from which a legend uses smaller line spacing."""

TWO_COLUMN_LEGEND = 7
"""Number of entries from which a legend has two columns, with a smaller font if necessary."""


SMALL_PAGE = 320
"""Width in px below which a page is a square with only maps or chart lines, because text would be illegible."""


def page_height(scene: Scene, width: int) -> int:
    """Return the (even) height of a page, px. It depends only on the kinds of panels, so video frames have one size."""
    if width < SMALL_PAGE:
        return width
    share = 0.62 + 0.24 * bool(scene.select(Chart)) if scene.select(Map) else 0.62
    return round(width * share / 2) * 2


def draw_scene(scene: Scene, painter: Painter, width: int) -> list[Box]:
    """Draw a scene on a page `width` pixels wide; return the box of each map's plots."""
    maps, charts, words = scene.select(Map), scene.select(Chart), scene.select(Words)
    if width < SMALL_PAGE:
        return _draw_small(maps or charts, painter, width)
    size, pad = font_size(width), width // 80
    tall, top = page_height(scene, width), 2.4 * font_size(width)
    painter.text(pad, top / 2, scene.title, fit_font_size(scene.title, width - 2 * pad, round(1.4 * size)) or size)
    side = (0.36 if maps else 0.28) * width if words or scene.legend else 0.0
    low = 0.27 * tall if maps and charts else 0.0
    main = Box(pad, top, width - side - 2 * pad, tall - top - low - pad)
    # wide maps are placed below each other, other maps side by side
    across = 1 if all(m.shape[0] > 1.5 * m.shape[1] for m in maps) else min(len(maps), 4)
    boxes = _split_box(main, len(maps), across)
    plots = [draw_map(panel, painter, box, size) for panel, box in zip(maps, boxes, strict=True)]
    below = Box(pad, tall - low - pad, width - 2 * pad, low) if maps else main
    across = min(len(charts), 3 if maps else 2)
    for panel, box in zip(charts, _split_box(below, len(charts), across), strict=True):
        chart.draw_chart(panel, painter, box, size)
    if side:
        _draw_sidebar(scene.legend, words, painter, Box(width - side, top, side - pad, main.h), size)
    return plots


def _draw_small(panels: Sequence[Map | Chart], painter: Painter, width: int) -> list[Box]:
    """Draw panels without text on a square page."""
    boxes = _split_box(Box(0, 0, width, width), len(panels), math.ceil(math.sqrt(len(panels))))
    plots = []
    for panel, box in zip(panels, boxes, strict=True):
        if isinstance(panel, Map):
            plots.append(draw_map(replace(panel, title=""), painter, box, 0))
        else:
            chart.draw_lines(panel, painter, Box(box.x + 4, box.y + 4, box.w - 8, box.h - 8))
    return plots


def font_size(width: int) -> int:
    """Return the font size for a page `width` pixels wide."""
    return max(9, round(width / 68))


def _split_box(box: Box, number: int, across: int) -> list[Box]:
    if not number:
        return []
    rows = -(-number // across)
    w, h = box.w / across, box.h / rows
    return [Box(box.x + i % across * w, box.y + i // across * h, w, h) for i in range(number)]


def draw_map(panel: Map, painter: Painter, box: Box, size: int) -> Box:
    """Draw the marks of a map, with square plots as large as the box allows; return the box of the plots."""
    head = 1.6 * size if panel.title else 0.0
    if panel.title:
        painter.text(box.x, box.y + head / 2, panel.title, fit_font_size(panel.title, box.w, size, 1))
    length, width = (n + 2 * panel.margin for n in panel.shape)
    unit = min((box.w - 8) / length, (box.h - head - 4) / width)
    unit = float(int(unit)) if unit >= 8 else unit
    x = round(box.x + (box.w - unit * length) / 2 + unit * panel.margin)
    y = round(box.y + head + (box.h - head - unit * width) / 2 + unit * panel.margin)
    squares = [mark for mark in panel.marks if mark.what == "square"]
    for mark in squares:
        _draw_labelled_mark(mark, painter, x, y, unit, size)
    _draw_grid(panel.shape, painter, x, y, unit)
    for mark in panel.marks:
        if mark.what != "square":
            _draw_labelled_mark(mark, painter, x, y, unit, size)
    return Box(x, y, unit * panel.shape[0], unit * panel.shape[1])


def _draw_grid(shape: tuple[int, int], painter: Painter, x: float, y: float, unit: float) -> None:
    length, width = shape
    for i in range(length + 1) if unit >= 10 else (0, length):
        painter.line([(x + i * unit, y), (x + i * unit, y + width * unit)], GRID_COLOUR)
    for j in range(width + 1) if unit >= 10 else (0, width):
        painter.line([(x, y + j * unit), (x + length * unit, y + j * unit)], GRID_COLOUR)


def _draw_labelled_mark(mark: Mark, painter: Painter, x0: float, y0: float, unit: float, size: int) -> None:
    x, y, side = x0 + mark.at[0] * unit, y0 + mark.at[1] * unit, mark.size * unit
    draw_mark(mark, painter, x, y, side)
    if not mark.text:
        return
    if isinstance(mark.what, Sprite):
        most = min(round(0.75 * side), size)
        if most >= 8:
            painter.text(x + side / 2 + 1, y, mark.text, most)
        return
    plain = mark.what == "text"
    width, most = (0.98 * unit, min(side, 1.3 * size)) if plain else (0.9 * side, min(0.6 * side, size))
    room = fit_font_size(mark.text, width, round(most))
    if room:
        painter.text(x, y, mark.text, room, mark.colour if plain else INK, "mm")


def draw_mark(mark: Mark, painter: Painter, x: float, y: float, side: float) -> None:
    """Draw a mark without its text, `side` px wide."""
    if isinstance(mark.what, Sprite):
        if side >= 3:
            painter.sprite(mark.what, x, y, side, mark.opacity)
    elif mark.what == "square":
        painter.rect(Box(x - side / 2, y - side / 2, side, side), mark.colour, mark.opacity)
    elif mark.what in ("disc", "ring"):
        painter.circle(x, y, side, mark.colour, mark.opacity, hollow=mark.what == "ring")


def _draw_sidebar(legend: tuple[Mark, ...], words: list[Words], painter: Painter, box: Box, size: int) -> None:
    """Draw words from the top and the legend at the bottom; the longest blocks of words are shortened to fit."""
    foot, step = _draw_legend(legend, painter, box, size), 1.36 * size
    blocks = [[line for text in w.lines for line in wrap_text(text, size - 1, box.w)] for w in words]
    room = (foot - box.y - 0.5 * size) / step - 0.7 * (len(words) - 1) - sum(bool(w.title) for w in words)
    _shorten(blocks, int(room))
    y = box.y + 0.5 * step
    for n, (panel, lines) in enumerate(zip(words, blocks, strict=True)):
        if n:
            painter.line([(box.x, y - 0.1 * step), (box.x + box.w, y - 0.1 * step)], GRID_COLOUR)
            y += 0.7 * step
        for line, heading in [(panel.title, True)] * bool(panel.title) + [(line, False) for line in lines]:
            painter.text(box.x, y, line, size if heading else size - 1, INK if heading else "#444444")
            y += step


def _shorten(blocks: list[list[str]], room: int) -> None:
    """Shorten the longest blocks until all lines fit; shortened blocks state how many lines they omit."""
    lengths = [len(block) for block in blocks]
    while sum(lengths) > max(room, len(blocks)):
        lengths[lengths.index(max(lengths))] -= 1
    for block, length in zip(blocks, lengths, strict=True):
        if length < len(block):
            block[max(length - 1, 0) :] = [f"and {len(block) - length + 1} more lines"]


def _draw_legend(legend: tuple[Mark, ...], painter: Painter, box: Box, size: int) -> float:
    """Draw the legend at the bottom of the box, in as many columns as fit; return its top."""
    if not legend:
        return box.y + box.h
    icon, step = (1.3 * size, 1.5 * size) if len(legend) < DENSE_LEGEND else (1.1 * size, 1.22 * size)
    widest = max(text_width(mark.meaning, size - 2) for mark in legend) + icon + 14
    across = max(1 + (len(legend) >= TWO_COLUMN_LEGEND), min(3, int(box.w / widest)))
    rows = -(-len(legend) // across)
    small = min(fit_font_size(mark.meaning, box.w / across - icon - 8, size - 2, 7) or 7 for mark in legend)
    top = box.y + box.h - rows * step
    for n, mark in enumerate(legend):
        x, y = box.x + n // rows * box.w / across, top + (n % rows + 0.5) * step
        draw_mark(mark, painter, x + icon / 2, y, icon)
        painter.text(x + icon + 5, y, mark.meaning, small)
    painter.line([(box.x, top - 0.3 * size), (box.x + box.w, top - 0.3 * size)], PALE)
    return top - 0.3 * size
