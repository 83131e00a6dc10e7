"""A scene as text for a terminal: a cell of letters for each plot, charts as their last numbers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from PIL import ImageColor

from harvestgym.core.scene import Chart, Map, Mark, Scene, Sprite, Words

SHADES = " ·░▒▓█"
"""Of squares, the lighter before the darker."""

WIDEST = 120
"""Columns of text that a map may take; its cells get narrower, to one letter."""


def to_text(scene: Scene) -> str:
    """The scene as lines of text."""
    signs = _signs(scene)
    blocks = [scene.title]
    for panel in scene.panels:
        match panel:
            case Map():
                blocks.append(_map(panel, signs))
            case Chart():
                blocks.append(_chart(panel))
            case Words():
                blocks.append("\n".join((panel.title, *(f"  {line}" for line in panel.lines if line))))
    legend = [f"  {_sign(mark, signs)} {mark.meaning}" for mark in scene.legend]
    return "\n\n".join([*blocks, *(["\n".join(legend)] if legend else [])])


def _signs(scene: Scene) -> dict[str, str]:
    """A letter for each thing that is drawn, the first of its meaning or name that is not taken, and a shade for each
    colour of squares."""
    signs: dict[str, str] = {}
    marks = [m for panel in scene.panels if isinstance(panel, Map) for m in (*panel.legend, *panel.marks)]
    colours = sorted({mark.colour for mark in marks if mark.what == "square"}, key=_lightness, reverse=True)
    steps = np.linspace(0, len(SHADES) - 1, max(len(colours), 2)).round().astype(int)
    shades = {colour: SHADES[step] for colour, step in zip(colours, steps, strict=False)}
    for mark in marks:
        if mark.what not in ("square", "text") and _name(mark) not in signs:
            free = [c for c in _name(mark) + "abcdefghijklmnopqrstuvwxyz" if c.isalpha()]
            taken = set(signs.values())
            signs[_name(mark)] = next((c for both in free for c in (both.lower(), both.upper()) if c not in taken), "?")
    return signs | shades


def _lightness(colour: str) -> float:
    red, green, blue = ImageColor.getrgb(colour)[:3]
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _name(mark: Mark) -> str:
    return mark.meaning or (mark.what.name if isinstance(mark.what, Sprite) else mark.what)


def _sign(mark: Mark, signs: dict[str, str]) -> str:
    return signs.get(mark.colour if mark.what == "square" else _name(mark), "?")


def _map(panel: Map, signs: dict[str, str]) -> str:
    """A cell for each plot: its square's shade, then the letters of what stands on it."""
    inside: dict[tuple[int, int], list[Mark]] = defaultdict(list)
    beside: list[str] = []
    for mark in panel.marks:
        at = (int(np.floor(mark.at[0])), int(np.floor(mark.at[1])))
        if 0 <= at[0] < panel.shape[0] and 0 <= at[1] < panel.shape[1]:
            inside[at].append(mark)
        elif mark.what != "square":
            beside.append(" ".join(filter(None, (mark.meaning, mark.text))))
    most = max((sum(m.what not in ("square", "text") for m in marks) for marks in inside.values()), default=0)
    cell = max(1, min(most + 1, WIDEST // panel.shape[0] - 1))
    rows = ["|".join(_cell(inside[x, y], signs, cell) for x in range(panel.shape[0])) for y in range(panel.shape[1])]
    around = [f"  beside it: {', '.join(b for b in beside if b)}"] if any(beside) else []
    return "\n".join([panel.title, *(f"  |{row}|" for row in rows), *around])


def _cell(marks: list[Mark], signs: dict[str, str], wide: int) -> str:
    shade = next((_sign(m, signs) for m in reversed(marks) if m.what == "square"), " ")
    letters = [_sign(m, signs) for m in marks if m.what not in ("square", "text")]
    if wide == 1:
        return letters[-1] if letters else shade
    return (shade + "".join(letters[-(wide - 1) :])).ljust(wide)


def _chart(chart: Chart) -> str:
    """The last number of each line, and the levels."""
    unit = f" {chart.unit}" if chart.unit else ""
    last = [(line.label, _last(line.values)) for line in chart.lines]
    told = [f"  {label or 'now'}: {value:.4g}{unit}" for label, value in last if np.isfinite(value)]
    told += [f"  {label}: {value:.4g}{unit} (a level)" for label, value in chart.levels.items()]
    return "\n".join([chart.title, *told])


def _last(values: np.ndarray) -> float:
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    return float(finite[-1]) if len(finite) else float("nan")
