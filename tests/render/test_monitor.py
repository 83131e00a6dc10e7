"""Monitoring shows the true values in tables, pictures and event files, of one farm and of many, in bounded memory."""

from __future__ import annotations

import csv
import os
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import import_file
from harvestgym.core.pytree import Meta
from harvestgym.gym.env import GymEnv
from harvestgym.gym.monitoring import Monitor
from harvestgym.render.monitor_readings import Sink, VariableArray, Watch, mat2d_value, sum_value, value
from harvestgym.render.monitor_sinks import MAX_POINTS, PlotSink, TableSink
from tests.farm.ponds import farm, pour
from tests.load_script import ROOT
from tests.long_form import long

MAXRSS = 1024 if sys.platform == "linux" else 1
"""Bytes in a unit of `ru_maxrss`."""

WATER = ("Field-0", "Spring-0", "available_Water#L")
VARIABLES = [
    (*WATER, lambda x: sum_value(x), "Water (L)", "range_auto"),
    (*WATER, lambda x: x[0, 0].value, "Corner", (0, 40)),
    (*WATER, lambda x: mat2d_value(x, 3, x), "Map", "range_auto"),
    (*WATER, lambda x: np.full((2, 2, 3), 200, np.uint8), "Picture", "range_auto"),
    ("Field-0", "Reed-0", "stage", lambda x: x[1, 1].value, "Stage", "range_auto"),
]


def rows(path: Path) -> list[dict[str, float]]:
    with path.open(encoding="utf-8") as file:
        return [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]


def test_the_functions_of_the_paper() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(3, 2).view(VariableArray)
    assert x[2, 1].value == 5.0 and type(x[0, 0].value) is float and x[1].value.tolist() == [2.0, 3.0]
    assert sum_value(x) == 15.0 and np.float32(7.0).astype(np.float32) == value(np.full((1, 1), 7.0))
    assert mat2d_value(x, 2, x).tolist() == mat2d_value(x).tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    with pytest.raises(ConfigError, match="one number for each plot"):
        mat2d_value(x, 4, 4)


def monitored_stage(game: Any) -> Any:
    return game.language.names.tree["Field-0", "Reed-0"]["stage"]


def test_a_reading_of_each_day_is_what_the_farm_was(tmp_path: Path) -> None:
    """In mode "ao", where a day is two steps; each episode begins with a reading of its start."""
    game, seen = farm(), []
    monitor = game.add_monitoring(VARIABLES, tmp_path / "days.csv", tmp_path / "days.png")
    for seed in (0, 1):
        game.reset(seed=seed)
        seen.append(game.run_state.state.fields[0][0].water)
        for _ in range(4):
            game.farmgym_step([])
            game.farmgym_step([pour(1, 0)])
            seen.append(game.run_state.state.fields[0][0].water)
    stage = game.model.value(monitored_stage(game), game.run_state.state, game.params)[1, 1]
    monitor.close()
    game.farmgym_step([])
    game.reset(seed=2)
    reported = rows(tmp_path / "days.csv")
    assert [(row["step"], row["episode"]) for row in reported] == [(i, i // 5) for i in range(10)]
    for row, water in zip(reported, np.asarray(seen, np.float64), strict=True):
        assert row["Water (L)"] == pytest.approx(water.sum()) and row["Corner (L)"] == pytest.approx(water[0, 0])
        assert [row[f"Map (L)/({x}, {y})"] for x in range(2) for y in range(3)] == pytest.approx(water.ravel())
    assert reported[-1]["Stage"] == stage
    assert (tmp_path / "days.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_axes_have_titles_units_ranges_and_names_of_stages(tmp_path: Path) -> None:
    game, plot = farm("po"), PlotSink(tmp_path / "season.png")
    monitor = game.add_monitoring(VARIABLES, plot)
    game.reset(seed=0)
    for _ in range(3):
        game.farmgym_step([])
    monitor.close()
    axes = {axis.get_title(): axis for axis in plot.figure.axes}
    assert axes["Water (L)"].get_ylabel() == "L" and axes["Water (L)"].get_xlabel() == "days"
    assert axes["Corner"].get_ylim() == (0, 40) and axes["Corner"].lines[0].get_xdata().tolist() == [0, 1, 2, 3]
    assert axes["Map"].images[0].get_array().shape == (3, 2)
    assert axes["Picture"].images[0].get_array().shape == (2, 2, 3)
    labels = [text.get_text() for text in axes["Stage"].get_yticklabels()]
    assert labels == list(monitor.watches[4].meta.labels) and len(labels) == 2


def test_monitor_of_a_batch_reports_mean_and_band(tmp_path: Path) -> None:
    env = harvestgym.make_vec("fishing/logistic-random-v0", 7)
    with env.add_monitoring([("stock", sum_value, "Stock", "range_auto")], tmp_path / "a.csv", tmp_path / "a.png"):
        env.reset(seed=0)
        stocks = [env.run_state.state.stock]
        for _ in range(5):
            env.step(np.full((7, 1), -0.9, np.float32))
            stocks.append(env.run_state.state.stock)
    wanted = np.asarray(stocks, np.float64)[..., 0]
    got = np.array([[row[f"Stock/{name}"] for name in ("mean", "q10", "q90")] for row in rows(tmp_path / "a.csv")])
    np.testing.assert_allclose(got[:, 0], wanted.mean(1), rtol=1e-6)
    np.testing.assert_allclose(got[:, 1:].T, np.quantile(wanted, (0.1, 0.9), axis=1), rtol=1e-6)
    assert (got[1:, 1] < got[1:, 0]).all() and (got[1:, 0] < got[1:, 2]).all()


def monitored(readings: np.ndarray, *sinks: Any, function: Any = value, unit: str = "L") -> Monitor:
    """Return a monitor of one variable that takes the rows of an array, over and over."""
    meta = Meta("var", (f"water#{unit}",), "water", high=1.0)
    turn = iter(range(10**9))
    read = lambda: [readings[next(turn) % len(readings)]]  # noqa: E731
    return Monitor([Watch(lambda state, params: state, meta, function, "Water", "range_auto")], read, sinks)


class Recorder(Sink):
    """A sink that notes what is done with it, and that cannot be opened if it `fails`."""

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.done = fails, list[str]()

    def open(self, name: str, axis: str) -> None:
        if self.fails:
            raise OSError("no room")
        self.done.append("open")

    def close(self) -> None:
        self.done.append("close")


def test_a_sink_that_cannot_be_opened_leaves_none_open() -> None:
    first, second = Recorder(), Recorder(fails=True)
    with pytest.raises(OSError, match="no room"):
        monitored(np.array([0.5]), first, second)
    assert first.done == ["open", "close"] and second.done == []
    with monitored(np.array([0.5]), first):
        pass
    assert first.done == ["open", "close"] * 2
    with pytest.raises(ConfigError, match="every: expected an integer, 1 or more, got 0"):
        Monitor([], list, [first], every=0)


def events(folder: Path) -> list[Any]:
    """Return the events of a TensorBoard file: records of a length, its checksum, the data and its checksum."""
    from tensorboardX.proto.event_pb2 import Event

    (path,), out, at = [*folder.iterdir()], [], 0
    data = path.read_bytes()
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        out.append(Event.FromString(data[at + 12 : at + 12 + length]))
        at += length + 16
    return out


def test_tensorboard_gets_scalars_and_images(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    sink = import_file(ROOT / "examples" / "tensorboard_sink.py").TensorBoardSink
    for name, readings in (("scalars", np.array([0.5, 0.25])), ("images", np.random.default_rng(0).random((2, 4, 5)))):
        monitor = monitored(readings, sink(tmp_path / name), function=lambda x: x.value)
        monitor.begin()
        monitor.step()
        monitor.close()
    scalars = [(e.step, v) for e in events(tmp_path / "scalars") for v in e.summary.value]
    reported = [(step, v.metadata.display_name, v.simple_value) for step, v in scalars]
    assert reported == [(0, "Water (L)", 0.25), (1, "Water (L)", 0.5)]
    shown = [(e.step, v.image.height, v.image.width) for e in events(tmp_path / "images") for v in e.summary.value]
    assert shown == [(0, 4, 5), (1, 4, 5)]


def test_a_window_is_drawn_while_one_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a backend without windows, the figure that a window would show."""
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "window")
    monkeypatch.setattr(Figure, "show", lambda self: None)
    plot = PlotSink()
    monitor = monitored(np.array([0.5, 0.25]), plot)
    monitor.begin()
    (panel,) = plot.figure.axes
    assert panel.get_title() == "Water" and panel.lines[0].get_ydata().tolist() == [0.25]
    for _ in range(50):
        monitor.step()
    monitor.close()
    assert len(plot.figure.axes[0].lines[0].get_ydata()) == 51
    matplotlib.pyplot.close(plot.figure)


BLUE = (0, 114, 178)
WINDOW = """
import os, sys
import numpy as np
from PIL import ImageGrab
from harvestgym.core.pytree import Meta
from harvestgym.gym.monitoring import Monitor
from harvestgym.render.monitor_readings import Watch, value
from harvestgym.render.monitor_sinks import PlotSink

water = Watch(lambda state, params: state, Meta("var", ("water#L",), "water"), value, "Water", "range_auto")
plot, days = PlotSink(), iter(range(10**9))
monitor = Monitor([water], lambda: [np.float32(next(days) % 9)], [plot])
monitor.begin()
for _ in range(60):
    monitor.step()
monitor.close()
for _ in range(5):
    plot.figure.canvas.draw()
    plot.figure.canvas.flush_events()
ImageGrab.grab(xdisplay=os.environ["DISPLAY"]).save(sys.argv[1])
"""


def windowed(display: dict[str, str], picture: Path) -> subprocess.CompletedProcess[str]:
    """Monitor in a process of its own with Tk's windows, and keep what the screen shows."""
    mine = {name: text for name, text in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-c", WINDOW, str(picture)]
    return subprocess.run(
        command, env={**mine, **display, "MPLBACKEND": "TkAgg"}, capture_output=True, text=True, timeout=300
    )


@long
@pytest.mark.skipif(sys.platform != "linux", reason="the display of another system cannot be taken away or made up")
def test_where_there_is_no_display_the_plot_stays_in_memory(tmp_path: Path) -> None:
    """Matplotlib then draws to nowhere without a word, for any requested backend."""
    pytest.importorskip("tkinter", reason="needs a Python with Tk")
    reported = windowed({}, tmp_path / "none.png")
    assert "expected a backend that opens windows" in reported.stderr, reported.stderr


def test_a_real_window_shows_what_is_monitored(tmp_path: Path) -> None:
    pytest.importorskip("tkinter", reason="needs a Python with Tk")
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("needs Xvfb on the PATH, a display without a screen (apt-get install xvfb)")
    command = [program, "-displayfd", "1", "-screen", "0", "800x600x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            number = server.stdout.readline().strip()
            reported = windowed({"DISPLAY": f":{number}"}, tmp_path / "screen.png")
        finally:
            server.terminate()
    assert not reported.returncode, reported.stderr
    with Image.open(tmp_path / "screen.png") as image:
        screen = np.asarray(image.convert("RGB"))
    paper, curve = ((screen == colour).all(-1).sum() for colour in ((255, 255, 255), BLUE))
    assert paper > 50_000 and curve > 300, "a white window with a blue curve"


def test_a_curve_keeps_all_of_a_history_ever_more_thinly(tmp_path: Path) -> None:
    plot = PlotSink(tmp_path / "a.png")
    monitor = monitored(np.arange(10_000.0) ** 2, plot, function=lambda x: x.value)
    for _ in range(10_000 - 1):
        monitor.step()
    steps = np.array(plot.steps)
    assert MAX_POINTS // 2 <= len(steps) <= MAX_POINTS and steps[0] == 0 and steps[-1] > 9_980
    assert set(np.diff(steps)) == {16} and [row[0][""] for row in plot.numbers] == ((steps + 1.0) ** 2).tolist()


@long
def test_ten_thousand_days_take_no_memory(tmp_path: Path) -> None:
    """Of a farm it was 0.1 MB; here of readings alone, with every sink that is a file."""
    maps = np.random.default_rng(0).random((97, 6, 5))
    sinks = TableSink(tmp_path / "a.csv"), PlotSink(tmp_path / "a.png")
    for function in (lambda x: x.value, sum_value):
        monitor = monitored(maps, *sinks, function=function)

        def days(number: int, monitor: Monitor = monitor) -> int:
            monitor.begin()
            for day in range(number):
                monitor.begin() if day % 100 == 99 else monitor.step()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS

        before = days(1_000)
        assert days(10_000) - before < 20e6
        monitor.close()


@pytest.mark.parametrize(
    ("entry", "says"),
    [((*WATER, sum_value, "Water"), r"expected \(field, entity, variable, function, title, range\)"),
     (("Field-0", "Spring-0", "available_Waters", sum_value, "W", "range_auto"), "try 'available_Water#L'"),
     (("Field-0", "Sprung-0", "stage", sum_value, "W", "range_auto"), "try 'Spring-0'"),
     ((*WATER, "sum", "W", "range_auto"), "function: expected a function"),
     ((*WATER, sum_value, 3, "range_auto"), "title: expected a"),
     ((*WATER, sum_value, "W", "auto"), r"range: expected 'range_auto', or .*got 'auto'"),
     ((*WATER, sum_value, "W", (2, 1)), r"a range \(low, high\), got \(2, 1\)"),
     ((*WATER, lambda x: "wet", "W", "range_auto"), "to return a number, a matrix or an image"),
     ((*WATER, lambda x: np.zeros(3), "W", "range_auto"), r"got ndarray of shape \(3,\)")],
)  # fmt: skip
def test_a_mistake_is_refused_and_changes_nothing(entry: Any, says: str, tmp_path: Path) -> None:
    game = GAME
    with pytest.raises(ConfigError, match=says):
        game.add_monitoring([entry], tmp_path / "a.csv")
    assert game.monitors == () and not [*tmp_path.iterdir()]


GAME = farm()


def test_without_a_display_the_plot_is_kept_in_memory() -> None:
    sink = PlotSink()
    with pytest.warns(UserWarning, match=r"expected a backend that opens windows, got .* kept in memory: try a path"):
        sink.open("bean", "days")
    assert sink.figure is not None
    sink.close()


def test_sinks_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a known kind of file, got '.xls'"):
        GAME.add_monitoring(VARIABLES, tmp_path / "a.xls")
    with pytest.raises(ConfigError, match="expected distinct titles"):
        GAME.add_monitoring([VARIABLES[0]] * 2, tmp_path / "a.csv")
    fishery = GymEnv(harvestgym.make("fishing/logistic-v0"))
    with pytest.raises(ConfigError, match="expected a known variable, got 'stok'; try 'stock'"):
        fishery.add_monitoring([("stok", value, "Stock", "range_auto")], tmp_path / "a.csv")
    with pytest.raises(ConfigError, match=r"expected \(variable, function, title, range\)"):
        fishery.add_monitoring(VARIABLES, tmp_path / "a.csv")
