"""Output of studies: tidy files, tables of yields and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies.common.report import (
    draw_crops,
    format_quartiles,
    quartile_table,
    write_columns,
    write_seasons,
    write_yields,
)
from experiments.studies.common.trials import Case, Yields

CROPS, LITRES, SEASONS = ("bean", "corn"), (1, 2, 5), 4
NO_FARM: Any = None


def make_yields() -> Yields:
    """Yields that count up over crop, litres and season."""
    cases = [Case({"crop": crop, "litres": a}, NO_FARM, a) for crop in CROPS for a in LITRES]
    shape = (len(CROPS), len(LITRES), SEASONS)
    return Yields(cases, np.arange(np.prod(shape), dtype=float).reshape(shape))


def read(path: Path) -> dict[str, list[Any]]:
    return pyarrow.parquet.read_table(path).to_pydict()


def test_labels_and_levels_of_yields() -> None:
    found = make_yields()
    assert found.levels == {"crop": list(CROPS), "litres": list(LITRES)}
    assert found.labels["crop"] == ["bean"] * 3 + ["corn"] * 3 and found.labels["litres"] == [1, 2, 5] * 2


def test_columns_are_broadcast_and_flattened(tmp_path: Path) -> None:
    path = tmp_path / "new" / "columns.parquet"
    write_columns(path, {"a": np.asarray(["x", "y"])[:, None], "b": np.arange(3), "c": np.arange(6.0).reshape(2, 3)})
    assert read(path) == {"a": ["x"] * 3 + ["y"] * 3, "b": [0, 1, 2] * 2, "c": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}


def test_missing_numbers_are_null(tmp_path: Path) -> None:
    write_columns(tmp_path / "null.parquet", {"name": ["a", "b"], "mean": [1.5, None]})
    assert read(tmp_path / "null.parquet")["mean"] == [1.5, None]


def test_yields_have_a_row_for_each_case_and_season(tmp_path: Path) -> None:
    found = make_yields()
    write_yields(tmp_path / "yields.parquet", found)
    columns = read(tmp_path / "yields.parquet")
    assert list(columns) == ["crop", "litres", "season", "yield_kg_m2"]
    assert columns["season"] == list(range(SEASONS)) * 6 and columns["yield_kg_m2"] == found.kg.ravel().tolist()
    assert columns["litres"][: 2 * SEASONS] == [1] * SEASONS + [2] * SEASONS


def test_seasons_have_several_measures(tmp_path: Path) -> None:
    measured = {"a": np.zeros((2, SEASONS)), "b": np.ones((2, SEASONS))}
    write_seasons(tmp_path / "seasons.parquet", {"soil": ["clay", "sand"]}, measured)
    columns = read(tmp_path / "seasons.parquet")
    assert columns["soil"] == ["clay"] * SEASONS + ["sand"] * SEASONS and set(columns["b"]) == {1.0}


def test_the_table_shows_quartiles_of_the_chosen_levels() -> None:
    table = quartile_table("title", make_yields(), {1: "1 L", 5: "5 L"})
    assert table.columns == ("crop", "1 L", "5 L") and [row[0] for row in table.rows] == list(CROPS)
    assert table.rows[0][1] == "1.50 [0.75, 2.25]" == format_quartiles(np.arange(4.0))
    assert table.rows[1][2] == format_quartiles(make_yields().kg[1, 2])


@pytest.mark.parametrize("groups", [1, 3])
def test_a_figure_is_written_for_each_number_of_groups(groups: int, tmp_path: Path) -> None:
    values = np.random.default_rng(0).uniform(size=(2, SEASONS))
    panels = {crop: {f"group {i}": values for i in range(groups)} for crop in CROPS}
    draw_crops(tmp_path / "new" / "figure.png", panels, ["low", "high"], "water")
    assert (tmp_path / "new" / "figure.png").stat().st_size > 0
