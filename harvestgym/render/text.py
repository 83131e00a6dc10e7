"""Scenes as text for a terminal: letters for each plot, and the last number of each line in a chart."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Sprite, Words

from .primitives import lightness

SHADES = " ·░▒▓█"
"""Shades of squares, from light to dark."""

MAX_COLUMNS = 120
"""Maximum width of a map in columns; its cells become narrower to fit, down to one letter."""


def to_text(scene: Scene) -> str:
    """Write a scene as lines of text."""
    signs = _assign_letters(scene)
    blocks = [scene.title]
    for panel in scene.panels:
        match panel:
            case Map():
                blocks.append(_write_map(panel, signs))
            case Chart():
                blocks.append(_write_chart(panel))
            case Words():
                blocks.append("\n".join((panel.title, *(f"  {line}" for line in panel.lines if line))))
    legend = [f"  {_sign(mark, signs)} {mark.meaning}" for mark in scene.legend]
    return "\n\n".join([*blocks, *(["\n".join(legend)] if legend else [])])


def _assign_letters(scene: Scene) -> dict[str, str]:
    """Assign each mark the first unused letter of its meaning or name, and each square colour a shade."""
    signs: dict[str, str] = {}
    marks = [m for panel in scene.select(Map) for m in (*panel.legend, *panel.marks)]
    colours = sorted({mark.colour for mark in marks if mark.what == "square"}, key=lightness, reverse=True)
    steps = np.linspace(0, len(SHADES) - 1, max(len(colours), 2)).round().astype(int)
    shades = {colour: SHADES[step] for colour, step in zip(colours, steps, strict=False)}
    for mark in marks:
        if mark.what not in ("square", "text") and _name(mark) not in signs:
            free = [c for c in _name(mark) + "abcdefghijklmnopqrstuvwxyz" if c.isalpha()]
            taken = set(signs.values())
            signs[_name(mark)] = next((c for both in free for c in (both.lower(), both.upper()) if c not in taken), "?")
    return signs | shades


def _name(mark: Mark) -> str:
    return mark.meaning or (mark.what.name if isinstance(mark.what, Sprite) else mark.what)


def _sign(mark: Mark, signs: dict[str, str]) -> str:
    return signs.get(mark.colour if mark.what == "square" else _name(mark), "?")


def _write_map(panel: Map, signs: dict[str, str]) -> str:
    """Write a cell for each plot: the shade of its square, then the letters of its marks."""
    inside: dict[tuple[int, int], list[Mark]] = defaultdict(list)
    outside: list[str] = []
    wide, tall = panel.shape
    for mark in panel.marks:
        at = (int(np.floor(mark.at[0])), int(np.floor(mark.at[1])))
        if 0 <= at[0] < wide and 0 <= at[1] < tall:
            inside[at].append(mark)
        elif mark.what != "square":
            outside.append(" ".join(filter(None, (mark.meaning, mark.text))))
    most = max((sum(m.what not in ("square", "text") for m in marks) for marks in inside.values()), default=0)
    cell = max(1, min(most + 1, MAX_COLUMNS // wide - 1))
    rows = ["|".join(_write_cell(inside[x, y], signs, cell) for x in range(wide)) for y in range(tall)]
    around = [f"  next to it: {', '.join(b for b in outside if b)}"] if any(outside) else []
    return "\n".join([panel.title, *(f"  |{row}|" for row in rows), *around])


def _write_cell(marks: list[Mark], signs: dict[str, str], wide: int) -> str:
    shade = next((_sign(m, signs) for m in reversed(marks) if m.what == "square"), " ")
    letters = [_sign(m, signs) for m in marks if m.what not in ("square", "text")]
    if wide == 1:
        return letters[-1] if letters else shade
    return (shade + "".join(letters[-(wide - 1) :])).ljust(wide)


def _write_chart(chart: Chart) -> str:
    """Write the last number of each line and the levels."""
    unit = f" {chart.unit}" if chart.unit else ""
    known = [(line.label, line.values[np.isfinite(line.values)]) for line in chart.lines]
    lines = [f"  {label or 'now'}: {values[-1]:.4g}{unit}" for label, values in known if len(values)]
    lines += [f"  {label}: {value:.4g}{unit} (a level)" for label, value in chart.levels.items()]
    return "\n".join([chart.title, *lines])
