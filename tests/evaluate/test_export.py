"""The exporter: columns of a record, names of files, refusals before the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import harvestgym
from examples.read_replay import read_html
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.export import Exporter, RecordedEpisode, check_extras, check_folder, write_record
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from tests.long_form import long

STEPS, PLOTS = 3, (2, 2)
RECORD = {"reward": np.arange(STEPS, dtype=float), "water": np.arange(12.0).reshape(STEPS, *PLOTS)}


def test_a_record_has_a_column_for_each_plot(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_record(RECORD, tmp_path / "record.parquet")
    columns = parquet.read_table(tmp_path / "record.parquet").to_pydict()
    plots = [f"water/({x}, {y})" for x in range(2) for y in range(2)]
    assert list(columns) == ["step", "reward", *plots]
    assert columns["step"] == list(range(STEPS))
    assert columns["water/(1, 0)"] == RECORD["water"][:, 1, 0].tolist()


@pytest.mark.parametrize(
    ("id", "title", "stem"),
    [
        ("farm/bean-1x1-v0", "farm/bean-1x1-v0", "farm-bean-1x1-v0-expert-3"),
        ("some/where/mine.yaml", "mine.yaml", "mine-expert-3"),
    ],
)
def test_files_are_named_after_the_id_or_the_farm_file(id: str, title: str, stem: str) -> None:
    episode = RecordedEpisode(id, None, "expert", 3, RECORD)
    assert (episode.title, episode.stem) == (title, stem)


def test_an_exporter_is_true_with_a_target() -> None:
    assert not Exporter() and Exporter(gif=Path("a.gif")) and Exporter(out=Path("folder"))


def test_a_folder_may_be_new_but_not_a_file(tmp_path: Path) -> None:
    check_folder("--out", tmp_path / "new" / "newer")
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "below"):
        with pytest.raises(ConfigError, match=r"--out: expected a folder, got the file"):
            check_folder("--out", folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="expected a writable folder"):
        check_folder("--out", tmp_path / "new")


@pytest.mark.parametrize("option", ["out", "html", "gif", "mp4"])
def test_every_output_is_checked_before_the_season_runs(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder exists and is read-only, also for root, which may write anywhere."""
    pytest.importorskip("plotly")
    pytest.importorskip("av")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    target = tmp_path / ("season" if option == "out" else f"season.{option}")
    with pytest.raises(ConfigError, match="expected a writable folder, got"):
        Exporter(**{option: target}).check()


def test_a_missing_extra_is_named_with_its_command() -> None:
    check_extras(data="json")
    with pytest.raises(ConfigError, match=r"pip install 'harvestgym\[one,two\]'"):
        check_extras(one="no_such_module_a", data="json", two="no_such_module_b")


@pytest.mark.parametrize("module", ["pyarrow", "matplotlib"])
def test_a_folder_needs_its_extras(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"--out: .*pip install 'harvestgym\["):
        Exporter(out=tmp_path).check()


def test_a_page_needs_a_folder_that_exists(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    Exporter(html=tmp_path / "page.html").check()
    for html, words in ((tmp_path, "a file"), (tmp_path / "none" / "page.html", "an existing folder")):
        with pytest.raises(ConfigError, match=words):
            Exporter(html=html).check()


ID, YEARS = "fishing/logistic-survey-v0", 6


@pytest.fixture(scope="module")
def episode() -> RecordedEpisode:
    """Return a short fishery under its expert."""
    env = harvestgym.make(ID, Tmax=YEARS)
    return RecordedEpisode(ID, env, "expert", 2, record_episode(ID, env, policy_named(ID, env, "expert"), 2))


class Bars:
    """Progress bars that count: length and progress by name."""

    def __init__(self) -> None:
        self.lengths: dict[str, int | None] = {}
        self.done: dict[str, int] = {}

    def __call__(self, name: str, length: int | None) -> Callable[[int], None]:
        self.lengths[name], self.done[name] = length, 0

        def advance(steps: int) -> None:
            self.done[name] += steps

        return advance


@long
def test_a_folder_gets_a_table_and_a_picture(episode: RecordedEpisode, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = list(Exporter(out=tmp_path / "new").write(episode, Bars()))
    assert [path.name for path in paths] == [
        f"fishing-logistic-survey-v0-expert-2{end}" for end in (".parquet", ".png")
    ]
    columns = parquet.read_table(paths[0]).to_pydict()
    assert columns["step"] == list(range(YEARS + 1))
    np.testing.assert_array_equal(columns["reward"], episode.record["reward"])
    assert paths[1].stat().st_size > 0


@long
def test_a_page_holds_the_record_bit_for_bit(episode: RecordedEpisode, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    bars, path = Bars(), tmp_path / "page.html"
    assert list(Exporter(html=path).write(episode, bars)) == [path]
    back = read_html(path)
    for name, values in back.items():
        np.testing.assert_array_equal(values, episode.record[name])
    assert bars.lengths == {"page.html": None} and bars.done["page.html"] >= YEARS + 1
    text = path.read_text(encoding="utf-8")
    assert ID in text and "One episode of the policy expert, seed 2." in text


def test_a_film_has_a_picture_for_each_step(episode: RecordedEpisode, tmp_path: Path) -> None:
    bars, path = Bars(), tmp_path / "film.gif"
    assert list(Exporter(gif=path, width=240).write(episode, bars)) == [path]
    assert bars.lengths == {"film.gif": YEARS + 1} and bars.done == {"film.gif": YEARS + 1}
    with Image.open(path) as film:
        assert film.n_frames == YEARS + 1 and film.width == 240  # type: ignore[attr-defined]


def test_files_are_written_in_the_order_of_the_targets(episode: RecordedEpisode, tmp_path: Path) -> None:
    exporter = Exporter(out=tmp_path, gif=tmp_path / "a.gif", width=120)
    assert [path.suffix for path in exporter.write(episode, Bars())] == [".parquet", ".png", ".gif"]


@pytest.mark.parametrize("name", ["film.avi", "film", "absent/film.gif"])
def test_a_film_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected"):
        Exporter(gif=tmp_path / name).check()
