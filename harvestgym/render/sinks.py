"""Destinations of monitored variables: a window or picture, a table, TensorBoard, Weights & Biases.

Tables, TensorBoard and Weights & Biases are written at each reading. A plot holds at most `MAX_POINTS` readings of a
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
ROW_GROUP = 512
"""Rows written at once to a Parquet file."""

WAIT_FACTOR = {True: 5, False: 20}
"""Pause before the next drawing, in units of the last drawing's duration; in a window (True) and in a file."""

FILE_BACKENDS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
"""Matplotlib backends without windows."""

COLOUR = "#0072b2"


class ThinnedSeries:
    """A bounded history of a few numbers: when it is full, every second entry is dropped."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._steps, self._values = np.zeros(MAX_POINTS), np.zeros((len(self.names), MAX_POINTS))
        self._size, self._stride, self._count = 0, 1, 0

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Add a reading."""
        if self._count % self._stride == 0:
            if self._size == MAX_POINTS:
                self._thin()
            self._steps[self._size] = step
            self._values[:, self._size] = [numbers[name] for name in self.names]
            self._size += 1
        self._count += 1

    def _thin(self) -> None:
        half = MAX_POINTS // 2
        self._steps[:half], self._values[:, :half] = self._steps[::2], self._values[:, ::2]
        self._size, self._stride = half, 2 * self._stride

    def series(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the steps, and the numbers at them by name."""
        return self._steps[: self._size], dict(zip(self.names, self._values[:, : self._size], strict=True))


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

        if matplotlib.get_backend().casefold() in FILE_BACKENDS:
            raise ConfigError(f"PlotSink: expected a backend that opens windows, got {matplotlib.get_backend()!r}; "
                              "try a path")  # fmt: skip
        self.figure = matplotlib.pyplot.figure(layout="constrained")
        self.figure.show()

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Store the readings; draw if there is a window and enough time has passed."""
        for reading in readings:
            if reading.numbers:
                curve = self._curves.setdefault(reading.watch.label, ThinnedSeries([*reading.numbers]))
                curve.add(step, reading.numbers)
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

    Images are left out. A Parquet file can be read once it is closed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: Any = None
        self._rows: list[dict[str, float]] = []

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Add a row."""
        row = {"step": step, "episode": episode} | dict(pair for reading in readings for pair in _columns(reading))
        (self._to_csv if self.path.suffix == ".csv" else self._to_parquet)(row)

    def _to_csv(self, row: dict[str, float]) -> None:
        if self._file is None:
            self._file = self.path.open("w", newline="", encoding="utf-8")
            csv.writer(self._file).writerow(row)
        csv.writer(self._file).writerow(row.values())

    def _to_parquet(self, row: dict[str, float]) -> None:
        self._rows.append(row)
        if len(self._rows) == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        check_extras("*.parquet", data="pyarrow")
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.Table.from_pylist(self._rows)
        if self._file is None:
            self._file = pyarrow.parquet.ParquetWriter(self.path, table.schema)
        self._file.write_table(table)
        self._rows = []

    def pause(self) -> None:
        """Flush the file for other readers."""
        if self.path.suffix == ".csv" and self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if self._rows:
            self._flush()
        if self._file is not None:
            self._file.close()
        self._file = None


def _columns(reading: Reading) -> Iterator[tuple[str, float]]:
    """Name the numbers of a reading, a matrix entry by entry."""
    yield from reading.named.items()
    if reading.picture is not None and reading.picture.ndim == 2:
        for at, entry in np.ndenumerate(reading.picture):
            yield f"{reading.watch.label}/{at[::-1]}", float(entry)


class TensorBoardSink(Sink):
    """Event files in a folder, for `tensorboard --logdir`; needs the extra `track`."""

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


class WeightsAndBiasesSink(Sink):
    """A run of Weights & Biases; needs the extra `track`.

    Args:
        run: an existing run, which its owner finishes; by default a new one, `wandb.init(**settings)`.
    """

    def __init__(self, run: Any = None, **settings: Any) -> None:
        self._own = run is None
        if run is None:
            check_extras("WeightsAndBiasesSink", track="wandb")
            import wandb  # pyright: ignore[reportMissingImports]

            run = wandb.init(**settings)
        self.run = run

    def open(self, name: str, axis: str) -> None:
        """Store the name of the environment in the run."""
        self.run.config.update({"monitored": name, "step": axis}, allow_val_change=True)

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Log an entry."""
        row: dict[str, Any] = {"episode": episode}
        for reading in readings:
            row |= reading.named
            if reading.picture is not None:
                import wandb  # pyright: ignore[reportMissingImports]

                row[reading.watch.label] = wandb.Image(_image(reading))
        self.run.log(row, step=step)

    def close(self) -> None:
        """Finish the run, if the sink made it."""
        if self._own:
            self.run.finish()


def _image(reading: Reading) -> np.ndarray:
    """Convert a picture to bytes; a matrix from black (the lowest of its range, or of its entries) to white."""
    picture = np.asarray(reading.picture)
    if picture.dtype == np.uint8 and picture.ndim == 3:
        return picture
    limits = reading.watch.range or (float(picture.min()), float(picture.max()))
    low, high = limits if picture.ndim == 2 else (0.0, 1.0)
    return (np.clip((picture - low) / max(high - low, 1e-12), 0, 1) * 255).astype(np.uint8)
