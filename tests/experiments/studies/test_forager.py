"""The study of a changing world: its short form, and the world whose foods change sign."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import forager as study
from harvestgym.forager.family import build_forager
from tests.forager.worlds import EAST, NORTH, SMALL, SOUTH, WEST

LIVES, WINDOWS, WINDOW = 8, 5, 1_250


def test_the_fixed_agent_fails_when_the_foods_change_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the table are means of the windows of the file, in each half of the period that was begun."""
    monkeypatch.setattr(study, "PERIOD", 10_000)
    monkeypatch.setattr(study, "WINDOW", WINDOW)
    reported: list[int] = []
    table = study.run(LIVES, tmp_path, reported.append, steps=WINDOWS * WINDOW)
    columns = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    assert columns["steps"] == ("0-5000", "5000-10000")
    rows = {agent: [float(cell.split()[0]) for cell in columns[agent]] for agent in table.columns[1:]}
    first, second = rows["fixed: greedy on first worths"]
    assert first > 0.3 > -0.05 > second
    assert rows["learning: linear Q"][0] > rows["random"][0] + 0.05
    assert reported == [1, 1, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"forager.parquet", "forager.png"}
    kept = pyarrow.parquet.read_table(tmp_path / "forager.parquet").to_pydict()
    rates = np.asarray(kept["reward_per_step"]).reshape(3, LIVES, WINDOWS)
    halves = rates[..., :4].mean((1, 2)), rates[..., 4:].mean((1, 2))
    np.testing.assert_allclose(list(rows.values()), np.transpose(halves), atol=5.1e-5)
    assert kept["step"][:WINDOWS] == [WINDOW * (i + 1) for i in range(WINDOWS)]
    assert kept["life"] == [life for _ in range(3) for life in range(LIVES) for _ in range(WINDOWS)]


def test_the_foods_of_the_world_change_sign() -> None:
    """Two foods, one of +1 and one of -1 at first; only they can be collected."""
    world = study.make_changing_world().world
    assert {"oyster", "chanterelle"} <= set(world.names)


@pytest.mark.parametrize(
    ("drawing", "ways"),
    [
        (("  f  ", "     ", "     "), {NORTH}),
        (("     ", "     ", "   f "), {SOUTH, EAST}),
        (("     ", "f  f ", "     "), {EAST}),
        (("  #  ", "     ", "     "), {EAST, SOUTH, WEST}),
    ],
)
def test_the_greedy_agent_goes_to_the_food_and_around_walls(drawing: tuple[str, ...], ways: set[int]) -> None:
    obs = np.array([[[c == "f", c == "#"] for c in row] for row in drawing])
    policy = study.greedy(build_forager(SMALL | {"aperture": list(obs.shape[:2])}))
    keys = jax.random.split(jax.random.key(0), 400)
    actions = np.asarray(jax.jit(jax.vmap(lambda key: policy.act(policy.init, obs, key)[1]))(keys))
    assert np.isin(actions, list(ways)).mean() > 1 - 2 * study.STRAY
    assert set(actions.tolist()) == ways | ({NORTH, EAST, SOUTH, WEST} if "f" in "".join(drawing) else set())
