"""The exporter: columns of a record, names of files, refusals before the work."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.export import Exporter, RecordedEpisode, check_extras, check_folder, write_record

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
        ("farm/bean-clay-1x1-v0", "farm/bean-clay-1x1-v0", "farm-bean-clay-1x1-v0-expert-3"),
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
    with pytest.raises(ConfigError, match="can be written"):
        check_folder("--out", tmp_path / "new")


def test_a_missing_extra_is_named_with_its_command() -> None:
    check_extras(data="json")
    with pytest.raises(ConfigError, match=r"pip install 'harvestgym\[one,two\]'"):
        check_extras(one="no_such_module_a", data="json", two="no_such_module_b")


def test_a_page_needs_a_folder_that_exists(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    Exporter(html=tmp_path / "page.html").check()
    for html in (tmp_path, tmp_path / "none" / "page.html"):
        with pytest.raises(ConfigError, match="--html: expected a file in an existing folder"):
            Exporter(html=html).check()
