"""Destinations of monitored variables: a window or picture, a table, TensorBoard.

Tables and TensorBoard are written at each reading. A plot holds at most `MAX_POINTS` readings of a
curve, evenly thinned.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError, check_extras

from .readings import Reading, Sink

MAX_POINTS = 1024

WAIT_FACTOR = {True: 5, False: 20}
"""Pause before the next drawing, in units of the last drawing's duration; in a window (True) and in a file."""

FILE_BACKENDS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
"""Matplotlib backends without windows."""

COLOUR = "#0072b2"


class ThinnedSeries:
    """A bounded history of a few numbers: when it is full, every second entry is dropped."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, dict[str, float]]] = []
        self._stride, self._count = 1, 0

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Add a reading."""
        if self._count % self._stride == 0:
            if len(self._entries) == MAX_POINTS:
                del self._entries[1::2]
                self._stride *= 2
            self._entries.append((step, numbers))
        self._count += 1

    def series(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the steps, and the numbers at them by name."""
        steps, readings = zip(*self._entries, strict=True)
        return np.array(steps, float), {name: np.array([one[name] for one in readings]) for name in readings[0]}


class PlotSink(Sink):
    """A panel for each variable, in a window or a PNG file; needs the extra `plot`.

    Args:
        path: the PNG file, written at the close and, if that does not take too much time, at the end of each
            episode; None for a window, which needs an interactive backend of Matplotlib.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._curves: dict[str, ThinnedSeries] = {}
        self._last: Sequence[Reading] = ()
        self.figure: Any = None
        self._next = 0.0

    def open(self, name: str, axis: str) -> None:
        """Open the window."""
        check_extras("PlotSink", plot="matplotlib")
        import matplotlib.figure

        self._name, self._axis = name, axis
        if self.path is not None:
            self.figure = matplotlib.figure.Figure(layout="constrained")
            return
        import matplotlib.pyplot  # it falls back to another backend where there is no display

        backend = matplotlib.get_backend()
        if backend.casefold() in FILE_BACKENDS:
            raise ConfigError(f"PlotSink: expected a backend that opens windows, got {backend!r}; try a path")
        self.figure = matplotlib.pyplot.figure(layout="constrained")
        self.figure.show()

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Store the readings; draw if there is a window and enough time has passed."""
        for reading in readings:
            if reading.numbers:
                self._curves.setdefault(reading.watch.label, ThinnedSeries()).add(step, reading.numbers)
        self._last = readings
        if self.path is None and time.monotonic() > self._next:
            self._show()

    def pause(self) -> None:
        """Update the picture if enough time has passed."""
        if time.monotonic() > self._next:
            self._show()

    def close(self) -> None:
        """Update the picture; a window stays until the user closes it."""
        self._show()

    def _show(self) -> None:
        if not self._last:
            return
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
        columns = math.ceil(math.sqrt(len(self._last)))
        rows = math.ceil(len(self._last) / columns)
        self.figure.clear()
        self.figure.set_size_inches(4.2 * columns, 2.8 * rows)
        self.figure.suptitle(self._name)
        panels = self.figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, reading in zip(panels, self._last, strict=False):
            panel.set_title(reading.watch.title, fontsize=10)
            (self._draw_lines if reading.numbers else self._draw_picture)(panel, reading)
        for panel in panels[len(self._last) :]:
            panel.set_axis_off()

    def _draw_lines(self, panel: Any, reading: Reading) -> None:
        watch = reading.watch
        steps, named = self._curves[watch.label].series()
        if "mean" in named:
            panel.fill_between(steps, named["q10"], named["q90"], color=COLOUR, alpha=0.25, lw=0, label="10 to 90 %")
            panel.plot(steps, named["mean"], color=COLOUR, label="mean")
            panel.legend(fontsize=8, frameon=False)
        else:
            style = "steps-post" if watch.labels else "default"
            panel.plot(steps, named[""], color=COLOUR, marker="." if len(steps) < 2 else None, drawstyle=style)
        panel.set_xlabel(self._axis)
        panel.set_ylabel(watch.meta.unit)
        if watch.range is not None:
            panel.set_ylim(*watch.range)
        if watch.labels and all(np.isin(values, range(len(watch.labels))).all() for values in named.values()):
            panel.set_yticks(range(len(watch.labels)), watch.labels, fontsize=8)

    def _draw_picture(self, panel: Any, reading: Reading) -> None:
        picture, limits = reading.picture, reading.watch.range or (None, None)
        assert picture is not None, "a reading is numbers or a picture"
        if picture.ndim == 3:
            panel.imshow(picture)
            panel.set_axis_off()
            return
        image = panel.imshow(picture, vmin=limits[0], vmax=limits[1], cmap="viridis", interpolation="nearest")
        self.figure.colorbar(image, ax=panel, label=reading.watch.meta.unit)
        panel.set(xlabel="x (plot)", ylabel="y (plot)")
        for axis in (panel.xaxis, panel.yaxis):
            axis.get_major_locator().set_params(integer=True)


class TableSink(Sink):
    """A row for each reading in a file `*.csv` or `*.parquet` (extra `data`); a matrix is a column per entry.

    Images are left out. A Parquet file is a CSV file, `*.parquet.csv`, until it is closed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._csv = self.path
        if self.path.suffix == ".parquet":
            check_extras("*.parquet", data="pyarrow")
            self._csv = self.path.with_name(f"{self.path.name}.csv")
        self._file: Any = None

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Add a row."""
        row = {"step": step, "episode": episode} | dict(pair for reading in readings for pair in _columns(reading))
        if self._file is None:
            self._file = self._csv.open("w", newline="", encoding="utf-8")
            csv.writer(self._file).writerow(row)
        csv.writer(self._file).writerow(row.values())

    def pause(self) -> None:
        """Flush the file for other readers."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if self._csv != self.path:
            import pyarrow.csv
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.csv.read_csv(self._csv), self.path)
            self._csv.unlink()


def _columns(reading: Reading) -> Iterator[tuple[str, float]]:
    """Name the numbers of a reading, a matrix entry by entry."""
    yield from reading.named.items()
    if reading.picture is not None and reading.picture.ndim == 2:
        for at, entry in np.ndenumerate(reading.picture):
            yield f"{reading.watch.label}/{at[::-1]}", float(entry)


class TensorBoardSink(Sink):
    """Event files in a folder, for `tensorboard --logdir`; needs the extra `track`.

    Weights & Biases copies them into a run that was begun before, by `wandb.init(sync_tensorboard=True)`.
    """

    def __init__(self, folder: str | Path) -> None:
        check_extras("TensorBoardSink", track="tensorboardX")
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(str(folder))

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Write scalars, and pictures as images."""
        for reading in readings:
            for tag, number in reading.named.items():
                self._writer.add_scalar(tag, number, step, display_name=tag, summary_description=reading.watch.meta.doc)
            if reading.picture is not None:
                image = _image(reading)
                dataformats = "HW" if image.ndim == 2 else "HWC"
                self._writer.add_image(reading.watch.label, image, step, dataformats=dataformats)

    def pause(self) -> None:
        """Flush the file for other readers."""
        self._writer.flush()

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def _image(reading: Reading) -> np.ndarray:
    """Convert a picture to bytes; a matrix from black (the lowest of its range, or of its entries) to white."""
    picture = np.asarray(reading.picture)
    if picture.dtype == np.uint8 and picture.ndim == 3:
        return picture
    limits = reading.watch.range or (float(picture.min()), float(picture.max()))
    low, high = limits if picture.ndim == 2 else (0.0, 1.0)
    return (np.clip((picture - low) / max(high - low, 1e-12), 0, 1) * 255).astype(np.uint8)
