"""Destinations for monitored variables: a window or picture, or a table.

Tables are written at each reading. A plot keeps at most `MAX_POINTS` readings, evenly spaced in time.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.errors import check_extras, check_suffix, look_up, warn_user
from harvestgym.core.view.scene import Chart, Line

from .figure import make_panels, plot_chart
from .monitor_readings import Reading, Sink, Watch, sum_value

MAX_POINTS = 1024

WAIT_FACTOR = {True: 5, False: 20}
"""Pause before the next drawing, as a multiple of the last drawing's time, for a window (True) and a file (False)."""

FILE_BACKENDS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
"""Matplotlib backends without windows."""

CURVE_COLOURS = ("#0072b2", "#56b4e9", "#56b4e9")
"""Colours for a number, or for the mean and quantiles of a batch."""


class PlotSink(Sink):
    """A panel for each variable, in a window or a PNG file, redrawn only as often as time allows.

    It needs the extra `plot`.

    Args:
        path: the PNG file; None for a window or, without a display, for a `figure` in memory.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.figure: Any = None

    def open(self, name: str, axis: str) -> None:
        """Start without readings and open the window."""
        self.steps: list[int] = []
        self.numbers: list[list[dict[str, float]]] = []
        self._every, self._count = 1, 0
        self._last: Sequence[Reading] = ()
        self._next = 0.0
        check_extras("PlotSink", plot="matplotlib")
        import matplotlib.figure

        self._name, self._axis = name, axis
        self.figure = matplotlib.figure.Figure(layout="constrained")
        if self.path is not None:
            return
        import matplotlib.pyplot  # Matplotlib falls back to another backend if there is no display

        backend = matplotlib.get_backend()
        if backend.casefold() in FILE_BACKENDS:
            hint = "try a path, or monitor.sinks[0].figure.savefig('monitor.png')"
            expected = f"expected a backend that opens windows, got {backend!r}"
            warn_user(f"monitoring: {expected}; the plot is kept in memory: {hint}")
            return
        self.figure = matplotlib.pyplot.figure(layout="constrained")
        self.figure.show()

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Store the readings, and drop every second one when there are too many; draw if enough time has passed."""
        if self._count % self._every == 0:
            if len(self.steps) == MAX_POINTS:
                del self.steps[1::2], self.numbers[1::2]
                self._every *= 2
            self.steps.append(step)
            self.numbers.append([reading.numbers for reading in readings])
        self._count += 1
        self._last = readings
        if time.monotonic() > self._next:
            self._show()

    def close(self) -> None:
        """Update the picture; a window stays open until the user closes it."""
        if self._last:
            self._show()

    def _show(self) -> None:
        start = time.monotonic()
        self._draw()
        if self.path is not None:
            self.figure.savefig(self.path, dpi=100)
        else:
            self.figure.canvas.draw_idle()
            self.figure.canvas.flush_events()
        end = time.monotonic()
        self._next = end + WAIT_FACTOR[self.path is None] * (end - start)

    def _draw(self) -> None:
        self.figure.clear()
        panels = make_panels(self.figure, len(self._last))
        for number, (panel, reading) in enumerate(zip(panels, self._last, strict=False)):
            if reading.picture is None:
                plot_chart(panel, self._make_chart(number, reading), self._axis)
                _name_codes(panel, reading)
            else:
                self._draw_picture(panel, reading.picture, reading.watch)
        self.figure.suptitle(self._name)

    def _make_chart(self, number: int, reading: Reading) -> Chart:
        """Make a chart of one variable's readings: its number, or the mean and quantiles of a batch."""
        watch, rows = reading.watch, [numbers[number] for numbers in self.numbers]
        x, curves = np.array(self.steps), zip(reading.numbers, CURVE_COLOURS, strict=False)
        lines = [Line(name, np.array([row[name] for row in rows]), colour, x=x) for name, colour in curves]
        return Chart(watch.title, watch.meta.unit, 0, tuple(lines), {}, watch.ends)

    def _draw_picture(self, panel: Any, picture: np.ndarray, watch: Watch) -> None:
        low, high = watch.ends or (None, None)
        image = panel.imshow(picture, vmin=low, vmax=high, cmap="viridis", interpolation="nearest")
        panel.set(title=watch.title, xlabel="x (plot)", ylabel="y (plot)")
        if picture.ndim == 3:
            panel.set_axis_off()
            return
        self.figure.colorbar(image, ax=panel, label=watch.meta.unit)
        for axis in (panel.xaxis, panel.yaxis):
            axis.get_major_locator().set_params(integer=True)


def _name_codes(panel: Any, reading: Reading) -> None:
    """Label the ticks of a variable that contains codes, unless it is a mean or a sum of codes."""
    labels, function = reading.watch.meta.labels, reading.watch.function
    if function is not sum_value and all(value in range(len(labels)) for value in reading.numbers.values()):
        panel.set_yticks(range(len(labels)), labels, fontsize=8)


class TableSink(Sink):
    """A `*.csv` file with a row for each reading; a matrix takes one column per entry, and images are omitted."""

    def __init__(self, path: str | Path) -> None:
        self.path = check_suffix(Path(path), ".csv")
        self._file: Any = None

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Add a row."""
        row = {"step": step, "episode": episode} | dict(pair for reading in readings for pair in _columns(reading))
        if self._file is None:
            self._file = self.path.open("w", 1, newline="", encoding="utf-8")
            csv.writer(self._file).writerow(row)
        csv.writer(self._file).writerow(row.values())

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _columns(reading: Reading) -> Iterator[tuple[str, float]]:
    """Name the numbers in a reading; matrices are named entry by entry."""
    yield from reading.named.items()
    if reading.picture is not None and reading.picture.ndim == 2:
        for at, entry in np.ndenumerate(reading.picture):
            yield f"{reading.watch.label}/{at[::-1]}", float(entry)


def make_sink(given: Any) -> Sink:
    """Return a sink unchanged; make a window for None, a table for `*.csv`, a plot for `*.png`."""
    if given is None:
        return PlotSink()
    if not isinstance(given, (str, Path)):
        return given
    path = Path(given)
    known = {".csv": TableSink, ".png": PlotSink}
    return look_up("kind of file", path.suffix or str(path), known, "monitoring")(path)
