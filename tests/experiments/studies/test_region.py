"""The region: cells are mixtures of corner farms, and a map is the same in chunks of any size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from experiments.studies import region
from experiments.studies.common import region_cells
from experiments.studies.common.region_cells import (
    SOILS,
    RegionCase,
    describe_cells,
    list_region_cases,
    make_corners,
    mix_corners,
    run_region_cases,
    weigh_corners,
)
from experiments.studies.region import coarsen, make_map
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.run import evaluate_id
from harvestgym.sweep.result_folder import find_status, read

SIDE, SOWINGS = 6, (110, 140)


def test_shares_of_a_cell_sum_to_one() -> None:
    cells = describe_cells(np.arange(10_000), 100)
    np.testing.assert_allclose(sum(cells[name] for name in SOILS), 1, rtol=1e-6)
    np.testing.assert_allclose(weigh_corners(cells).sum(1), 1, rtol=1e-5)
    for name, values in cells.items():
        assert values.min() >= 0 and values.max() <= 1, name
        assert values.std() > 0.1, f"{name} hardly varies"


def test_a_finer_grid_has_the_same_land() -> None:
    """The middle cell of each 3 x 3 block of a fine grid lies where the cell of the coarse one lies."""
    coarse, fine = describe_cells(np.arange(36), 6), describe_cells(np.arange(324), 18)
    middle = np.arange(324).reshape(18, 18)[1::3, 1::3].ravel()
    for name, values in coarse.items():
        np.testing.assert_allclose(fine[name][middle], values, rtol=1e-9, atol=1e-9)


def test_a_corner_is_its_farm() -> None:
    _, _, corners = make_corners(SOWINGS[0])
    for i, mixed in enumerate(np.eye(12, dtype=np.float32)):
        params = mix_corners(corners, mixed[None])
        for whole, leaf in zip(jax.tree.leaves(corners), jax.tree.leaves(params), strict=True):
            np.testing.assert_allclose(leaf[0], whole[i], rtol=1e-6)


def test_the_first_corner_has_the_season_of_its_farm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_cells, "weigh_corners", lambda cells: np.eye(12, dtype=np.float32)[[4]])
    (found,) = run_region_cases([RegionCase(side=1, first=0, cells=1, sowing=SOWINGS[0], seasons=2)])
    farm, _, corners = make_corners(SOWINGS[0])
    env: Any = farm
    env = dataclasses.replace(env, defaults=jax.tree.map(lambda leaf: leaf[4], corners))
    expected = evaluate_id(region_cells.FARM, "expert", 2, 2026, env=env)
    np.testing.assert_allclose(found["return"], expected.returns.mean(), rtol=1e-4)


def test_a_map_resumes_and_does_not_depend_on_its_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = region.run(1, tmp_path / "one", side=SIDE, sowings=SOWINGS)
    assert [row[0] for row in table.rows] == ["110", "140"] and "CPU s per million seasons" in table.title
    monkeypatch.setattr(region, "CHUNK", 10)
    done: list[int] = []
    region.run(1, tmp_path / "many", done.append, side=SIDE, sowings=SOWINGS)
    assert find_status(tmp_path / "many" / "region").done == sum(done) == 2 * 4
    maps = [make_map(read(tmp_path / name / "region"), SIDE, SOWINGS) for name in ("one", "many")]
    for one, other in zip(maps[0][:3], maps[1][:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert maps[0].kg.std() > 0.01 and maps[0].litres.std() > 1
    again = region.run(1, tmp_path / "many", side=SIDE, sowings=SOWINGS)
    assert "per million" not in again.title, "nothing ran, so nothing was measured"
    for name in ("region.png", "region.html"):
        assert (tmp_path / "many" / name).stat().st_size > 10_000


def test_the_best_day_is_that_of_the_highest_return() -> None:
    import pyarrow

    earned = np.asarray([[1, 5, 2, 0], [3, 4, 2.5, -1]], np.float32)
    columns = {
        "cell": np.tile(np.arange(4), 2)[::-1], "sowing": np.repeat([140, 110], 4),
        "return": earned[::-1, ::-1].ravel(), "yield kg": np.arange(8.0), "water L": np.arange(8.0),
    }  # fmt: skip
    found = make_map(pyarrow.table(columns), 2, SOWINGS)
    np.testing.assert_array_equal(found.sowing, [[140, 110], [140, 110]])
    assert found.by_day[110][2] == found.by_day[140][2] == 0.5


def test_a_coarse_map_has_the_means_of_blocks() -> None:
    values = np.arange(25.0).reshape(5, 5)
    np.testing.assert_allclose(coarsen(values, 3)[0], [3, 5, 6.5])
    np.testing.assert_array_equal(coarsen(values, 5), values)


def test_chunks_cover_every_cell_once() -> None:
    cases = list_region_cases(7, SOWINGS, 1, 10)
    for day in SOWINGS:
        covered = [c for case in cases if case.sowing == day for c in range(case.first, case.first + case.cells)]
        assert covered == list(range(49))


@pytest.mark.parametrize("given", [{"side": 0}, {"sowings": ()}])
def test_an_empty_region_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="expected a side of at least 1 and a sowing day"):
        region.run(**given)  # type: ignore[arg-type]
