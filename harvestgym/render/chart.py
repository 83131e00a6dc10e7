"""Charts: lines over the steps of an episode, with ticks at round numbers, and reference levels."""

from __future__ import annotations

import math

import numpy as np

from harvestgym.core.view.scene import Chart, Line

from .primitives import INK, PALE, Box, Painter, fit_font_size, text_width

TICK_COLOUR = "#e4e1db"


def draw_chart(chart: Chart, painter: Painter, box: Box, size: int) -> None:
    """Draw a chart in its box."""
    small = max(8, size - 3)
    title = f"{chart.title}, {chart.unit}" if chart.unit else chart.title
    painter.text(box.x, box.y + 0.8 * size, title, fit_font_size(title, 0.95 * box.w, size) or small)
    names = _draw_names(chart, painter, box, size, small)
    low, high = chart.ends or find_range(chart)
    ticks = _make_ticks(low, high, 4)
    left = box.x + max((text_width(_format(t), small) for t in ticks), default=0.0) + 8
    frame = Box(left, names, box.x + box.w - left - 14, box.y + box.h - names - 1.9 * small)
    for tick in ticks:
        y = _to_y(tick, low, high, frame)
        painter.line([(frame.x, y), (frame.x + frame.w, y)], TICK_COLOUR)
        painter.text(frame.x - 5, y, _format(tick), small, INK, "rm")
    for tick in _make_ticks(0, chart.steps, 6):
        painter.text(_to_x(tick, chart, frame), frame.y + frame.h + small, _format(tick), small, INK, "mm")
    _draw_levels(chart, painter, frame, (low, high), small)
    draw_lines(chart, painter, frame)


def draw_lines(chart: Chart, painter: Painter, frame: Box) -> None:
    """Draw the horizontal axis and the lines of a chart."""
    painter.line([(frame.x, frame.y + frame.h), (frame.x + frame.w, frame.y + frame.h)], PALE)
    for line in chart.lines:
        _draw_line(line, chart, painter, frame, chart.ends or find_range(chart))


def _draw_names(chart: Chart, painter: Painter, box: Box, size: int, small: int) -> float:
    """Draw the names of the lines below the title, in rows; return the top of the frame."""
    x, y = box.x, box.y + 1.6 * size + 0.6 * small
    named = [line for line in chart.lines if line.label]
    for line in named:
        wide = 16 + text_width(line.label, small) + 12
        if x > box.x and x + wide > box.x + box.w:
            x, y = box.x, y + 1.35 * small
        painter.rect(Box(x, y - 2, 12, 4), line.colour)
        painter.text(x + 16, y, line.label, small)
        x += wide
    return y + (1.2 * small if named else 0.0)


def find_range(chart: Chart) -> tuple[float, float]:
    """Return the range of the numbers to draw, extended to 0 unless 0 is far away."""
    values = [np.asarray(line.values, float) for line in chart.lines] + [np.asarray(list(chart.levels.values()), float)]
    found = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
    low = 0.0 if 0 <= low <= 0.7 * high else low
    high = 0.0 if low < 0 and 0.7 * low <= high < 0 else high
    room = 0.05 * (high - low) or 0.5
    return (low - room * (low != 0), high + room)


def _draw_line(line: Line, chart: Chart, painter: Painter, frame: Box, ends: tuple[float, float]) -> None:
    """Draw a series, with gaps where its values are not finite."""
    piece: list[tuple[float, float]] = []
    for step, value in [*enumerate(np.asarray(line.values, float).tolist()), (0, math.nan)]:
        if math.isfinite(value):
            at = (_to_x(step, chart, frame), _to_y(min(max(value, ends[0]), ends[1]), *ends, frame))
            piece.append(at)
            if line.style == "dots":
                painter.circle(*at, 5, line.colour)
        elif line.style != "dots":
            if len(piece) > 1:
                painter.line(piece, line.colour, 2.0)
            elif piece:
                painter.circle(*piece[0], 4, line.colour)
            piece = []


def _draw_levels(chart: Chart, painter: Painter, frame: Box, ends: tuple[float, float], small: int) -> None:
    """Draw dashed lines with names at the right end; names that would overlap are moved up."""
    last = math.inf
    for label, value in sorted(chart.levels.items(), key=lambda item: item[1]):
        if not (math.isfinite(value) and ends[0] <= value <= ends[1]):
            continue
        y = _to_y(value, *ends, frame)
        painter.line([(frame.x, y), (frame.x + frame.w, y)], PALE, 1.0, dashed=True)
        last = min(y - 0.6 * small, last - 1.2 * small)
        painter.text(frame.x + frame.w, last, label, small, "#555555", "rm")


def _to_x(step: float, chart: Chart, frame: Box) -> float:
    return frame.x + frame.w * step / (max(chart.steps, 1) * (1 + chart.room))


def _to_y(value: float, low: float, high: float, frame: Box) -> float:
    return frame.y + frame.h * (1 - (value - low) / ((high - low) or 1.0))


def _make_ticks(low: float, high: float, most: int) -> list[float]:
    """Return up to about `most` round numbers between two limits."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 5, 10) if scale * m >= raw)
    return [step * n for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _format(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e5 else f"{value:.1e}"
