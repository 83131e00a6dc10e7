"""The study of density in its short form, against the law of constant final yield."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet

from experiments.studies import density
from harvestgym.farm.entities.plant.plant import SEEDS, SPACINGS


def test_the_reciprocal_of_a_line_is_found() -> None:
    plants = np.asarray(SEEDS)
    found = density.fit_reciprocal(plants, 1 / (0.002 + 0.0005 * plants))
    np.testing.assert_allclose(found, (0.002, 0.0005, 1.0), rtol=1e-6)


def test_cases_that_are_stored_run_once(tmp_path: Path) -> None:
    first = density.run(2, crops=("bean",), work=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    assert len(files) == len(SPACINGS) + 1 and density.run(2, crops=("bean",), work=tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")} == files


def test_study(tmp_path: Path) -> None:
    """Tomatoes: a plant yields less the more there are, an area as much from five to thirty, and less in a corner."""
    reported: list[int] = []
    table = density.run(24, tmp_path, reported.append, crops=("tomato",))
    assert len(table.rows) == len(SEEDS) and len(reported) == len(SPACINGS) + 1
    kept = pyarrow.parquet.read_table(tmp_path / "density.parquet").to_pydict()
    shape = (len(SPACINGS) + 1, len(SEEDS), 24)
    kg = np.asarray(kept["yield_kg_m2"]).reshape(shape).mean(2)
    assert (np.asarray(kept["seeds"]).reshape(shape) == np.asarray(SEEDS)[:, None]).all()
    even = dict(zip(SEEDS, kg[-1], strict=True))
    assert even[1] < 0.5 * even[3] < 0.5 * even[5]
    late = np.asarray([even[n] for n in (5, 10, 15, 20, 25, 30)])
    assert late.max() < 1.8 * late.min()
    assert density.fit_reciprocal(np.asarray(SEEDS), 1000 * kg[-1] / SEEDS).r2 > 0.85
    assert (kg[0, 1:5] < 0.85 * kg[-1, 1:5]).all(), "plants 5 cm apart leave most of the plot bare"
    assert (tmp_path / "density.png").stat().st_size > 0
