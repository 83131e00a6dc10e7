"""Where the panels of a scene stand on a page: maps at the left, words and the legend beside them, charts below."""

from __future__ import annotations

from harvestgym.core.scene import Chart, Map, Mark, Scene, Sprite, Words

from . import chart
from .primitives import INK, PALE, Box, Pen, extent, fitting, wrapped

LINE = "#c9c4bb"

MANY = 18
"""Entries from which a legend is written closely."""

LONG = 7
"""Entries from which a legend has two columns, if need be with smaller letters."""


def height(scene: Scene, width: int) -> int:
    """The height of a page, px, even: it depends on the kinds of panels only, so that films keep theirs."""
    maps, charts, _ = _sorted(scene)
    share = 0.62 + 0.24 * bool(charts) if maps else 0.62
    return round(width * share / 2) * 2


def lay(scene: Scene, pen: Pen, width: int) -> None:
    """Draw a scene on a page of `width` pixels."""
    maps, charts, words = _sorted(scene)
    size, pad = letters(width), width // 80
    tall, top = height(scene, width), 2.4 * letters(width)
    pen.text(pad, top / 2, scene.title, fitting(scene.title, width - 2 * pad, round(1.4 * size)) or size)
    side = (0.36 if maps else 0.28) * width if words or scene.legend else 0.0
    low = 0.27 * tall if maps and charts else 0.0
    main = Box(pad, top, width - side - 2 * pad, tall - top - low - pad)
    for panel, box in zip(maps, _tiles(main, len(maps), _columns(maps)), strict=True):
        _map(panel, pen, box, size)
    below = Box(pad, tall - low - pad, width - 2 * pad, low) if maps else main
    across = min(len(charts), 3 if maps else 2)
    for panel, box in zip(charts, _tiles(below, len(charts), across), strict=True):
        chart.draw(panel, pen, box, size)
    if side:
        _side(scene.legend, words, pen, Box(width - side, top, side - pad, main.h), size)


def letters(width: int) -> int:
    """The size of letters on a page of `width` pixels."""
    return max(9, round(width / 68))


def _sorted(scene: Scene) -> tuple[list[Map], list[Chart], list[Words]]:
    kinds = (Map, Chart, Words)
    return tuple([panel for panel in scene.panels if isinstance(panel, kind)] for kind in kinds)  # type: ignore[return-value]


def _columns(maps: list[Map]) -> int:
    """How many maps stand side by side: all, unless each is wider than high."""
    wide = all(m.shape[0] > 1.5 * m.shape[1] for m in maps)
    return 1 if wide else min(len(maps), 4)


def _tiles(box: Box, number: int, across: int) -> list[Box]:
    if not number:
        return []
    rows = -(-number // across)
    w, h = box.w / across, box.h / rows
    return [Box(box.x + i % across * w, box.y + i // across * h, w, h) for i in range(number)]


def _map(panel: Map, pen: Pen, box: Box, size: int) -> None:
    """The marks of a map, its plots square and as large as the box allows."""
    head = 1.6 * size if panel.title else 0.0
    if panel.title:
        pen.text(box.x, box.y + head / 2, panel.title, fitting(panel.title, box.w, size, 1))
    length, width = (n + 2 * panel.margin for n in panel.shape)
    unit = min((box.w - 8) / length, (box.h - head - 4) / width)
    unit = float(int(unit)) if unit >= 8 else unit
    x = round(box.x + (box.w - unit * length) / 2 + unit * panel.margin)
    y = round(box.y + head + (box.h - head - unit * width) / 2 + unit * panel.margin)
    squares = [mark for mark in panel.marks if mark.what == "square"]
    for mark in squares:
        _mark(mark, pen, x, y, unit, size)
    _grid(panel.shape, pen, x, y, unit)
    for mark in panel.marks:
        if mark.what != "square":
            _mark(mark, pen, x, y, unit, size)


def _grid(shape: tuple[int, int], pen: Pen, x: float, y: float, unit: float) -> None:
    length, width = shape
    for i in range(length + 1) if unit >= 10 else (0, length):
        pen.line([(x + i * unit, y), (x + i * unit, y + width * unit)], LINE)
    for j in range(width + 1) if unit >= 10 else (0, width):
        pen.line([(x, y + j * unit), (x + length * unit, y + j * unit)], LINE)


def _mark(mark: Mark, pen: Pen, x0: float, y0: float, unit: float, size: int) -> None:
    x, y, side = x0 + mark.at[0] * unit, y0 + mark.at[1] * unit, mark.size * unit
    if mark.what == "text":
        most = min(round(side), round(1.3 * size))
        room = fitting(mark.text, 0.98 * unit, most) if most >= 8 else 0
        if room:
            pen.text(x, y, mark.text, room, mark.colour, "mm")
        return
    symbol(mark, pen, x, y, side)
    if not mark.text:
        return
    if isinstance(mark.what, Sprite):
        most = min(round(0.75 * side), size)
        if most >= 8:
            pen.text(x + side / 2 + 1, y, mark.text, most)
    else:
        room = fitting(mark.text, 0.9 * side, min(round(0.6 * side), size))
        if room:
            pen.text(x, y, mark.text, room, INK, "mm")


def symbol(mark: Mark, pen: Pen, x: float, y: float, side: float) -> None:
    """A mark without its text, its side `side` px."""
    if isinstance(mark.what, Sprite):
        if side >= 3:
            pen.sprite(mark.what, x, y, side, mark.opacity)
    elif mark.what == "square":
        pen.rect(Box(x - side / 2, y - side / 2, side, side), mark.colour, mark.opacity)
    elif mark.what == "disc":
        pen.disc(x, y, side, mark.colour, mark.opacity)
    elif mark.what == "ring":
        pen.ring(x, y, side, mark.colour, mark.opacity)


def _side(legend: tuple[Mark, ...], words: list[Words], pen: Pen, box: Box, size: int) -> None:
    """Words from the top, the legend at the foot; where both have no room, the longest words are cut short."""
    foot, step = _legend(legend, pen, box, size), 1.36 * size
    blocks = [[line for text in w.lines for line in wrapped(text, size - 1, box.w)] for w in words]
    _cut(blocks, int((foot - box.y - 0.5 * size) / step - 0.7 * (len(words) - 1) - sum(bool(w.title) for w in words)))
    y = box.y + 0.5 * step
    for n, (panel, lines) in enumerate(zip(words, blocks, strict=True)):
        if n:
            pen.line([(box.x, y - 0.1 * step), (box.x + box.w, y - 0.1 * step)], LINE)
            y += 0.7 * step
        for line, heading in [(panel.title, True)] * bool(panel.title) + [(line, False) for line in lines]:
            pen.text(box.x, y, line, size if heading else size - 1, INK if heading else "#444444")
            y += step


def _cut(blocks: list[list[str]], room: int) -> None:
    """Shorten the longest blocks until all lines have room; a cut one says how many lines it lacks."""
    lengths = [len(block) for block in blocks]
    while sum(lengths) > max(room, len(blocks)):
        lengths[lengths.index(max(lengths))] -= 1
    for block, length in zip(blocks, lengths, strict=True):
        if length < len(block):
            block[max(length - 1, 0) :] = [f"and {len(block) - length + 1} more lines"]


def _legend(legend: tuple[Mark, ...], pen: Pen, box: Box, size: int) -> float:
    """Draw the legend at the foot of the box, in as many columns as its words allow; where it begins."""
    if not legend:
        return box.y + box.h
    icon, step = (1.3 * size, 1.5 * size) if len(legend) < MANY else (1.1 * size, 1.22 * size)
    widest = max(extent(mark.meaning, size - 2) for mark in legend) + icon + 14
    across = max(1 + (len(legend) >= LONG), min(3, int(box.w / widest)))
    rows = -(-len(legend) // across)
    small = min(fitting(mark.meaning, box.w / across - icon - 8, size - 2, 7) or 7 for mark in legend)
    top = box.y + box.h - rows * step
    for n, mark in enumerate(legend):
        x, y = box.x + n // rows * box.w / across, top + (n % rows + 0.5) * step
        symbol(mark, pen, x + icon / 2, y, icon)
        pen.text(x + icon + 5, y, mark.meaning, small)
    pen.line([(box.x, top - 0.3 * size), (box.x + box.w, top - 0.3 * size)], PALE)
    return top - 0.3 * size
