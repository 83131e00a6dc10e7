"""The study of two crops on one plot: the ratio by hand, and what a mixture yields on seasons nothing was chosen on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import intercropping

SEASONS = 80


def test_the_ratio_is_the_sum_of_the_relative_yields() -> None:
    """By hand: 0.6 of the best corn, 0.5 of the best beans; a poorer stand alone does not count."""
    sole_corn, sole_beans = np.full((2, 3), [[0.5], [1.0]]), np.full((1, 3), 0.4)
    assert intercropping.compute_ratio(np.full(3, 0.6), np.full(3, 0.2), sole_corn, sole_beans) == pytest.approx(1.1)
    assert intercropping.compute_ratio(np.ones(3), np.zeros(3), sole_corn, sole_beans) == pytest.approx(1)


def test_a_mixture_yields_more_than_each_alone(tmp_path: Path) -> None:
    """Later corn does not raise the ratio, as it does in experiments: shaded seedlings stay small."""
    reported: list[int] = []
    table, claimed = intercropping.run(SEASONS, tmp_path, reported.append)
    assert reported == [1]
    assert [row[-1] for row in claimed.rows] == ["yes", "no"], claimed.rows
    kept = pyarrow.parquet.read_table(tmp_path / "intercropping.parquet").to_pydict()
    assert len(kept["corn_kg_m2"]) == len(table.rows) * SEASONS
    alone = [
        row for row in zip(kept["sown"], kept["corn_kg_m2"], kept["beans_kg_m2"], strict=True) if "alone" in row[0]
    ]
    assert all(corn == 0 for sown, corn, _ in alone if sown.startswith("beans"))
    assert all(beans == 0 for sown, _, beans in alone if sown.startswith("corn"))
    assert (tmp_path / "intercropping.png").stat().st_size > 0


def test_the_ratio_exceeds_one_on_most_other_farms() -> None:
    *_, variants = intercropping.run(SEASONS, variants=True)
    assert len(variants.rows) == len(intercropping.VARIANTS)
    assert sum(row[-1] == "yes" for row in variants.rows) > len(variants.rows) / 2
