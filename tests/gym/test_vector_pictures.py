"""Pictures of a batch: each environment is drawn as it would be alone, in every autoreset mode."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import harvestgym

ID, LITTLE = "fishing/logistic-random-v0", np.float32([-0.9])


def test_render_returns_a_picture_of_each() -> None:
    envs = harvestgym.make_vec(ID, 3, render_mode="rgb_array", Tmax=4)
    alone = gymnasium.make(ID, render_mode="rgb_array", Tmax=4)
    with pytest.raises(ResetNeeded, match="render: expected a running episode, got none"):
        envs.render()
    envs.reset(seed=5)
    alone.reset(seed=6)
    alone_over = False
    for _ in range(5):
        pictures = envs.render()
        assert isinstance(pictures, tuple) and len(pictures) == 3
        np.testing.assert_array_equal(pictures[1], alone.render())
        envs.step(np.stack([LITTLE] * 3))
        if not alone_over:
            alone_over = any(alone.step(LITTLE)[2:4])
    assert not np.array_equal(pictures[0], pictures[1])


@pytest.mark.parametrize(("mode", "years"), [("NextStep", [1, 2, 3, 0, 1]), ("SameStep", [1, 2, 0, 1, 2])])
def test_record_restarts_with_the_episode(mode: str, years: list[int]) -> None:
    envs = harvestgym.make_vec(ID, 2, mode, render_mode="svg", Tmax=3)
    envs.reset(seed=0)
    for year in years:
        envs.step(np.stack([LITTLE] * 2))
        assert all(f"Year {year} of 3" in picture for picture in envs.render())


def test_assigned_run_states_begin_a_record() -> None:
    envs = harvestgym.make_vec(ID, 2, render_mode="svg", Tmax=9)
    envs.reset(seed=0)
    envs.step(np.stack([LITTLE] * 2))
    envs.run_state = envs.run_state
    assert all("Year 0 of 9" in picture for picture in envs.render())


def test_reset_mask_restarts_the_records_of_some() -> None:
    envs = harvestgym.make_vec(ID, 2, "Disabled", render_mode="svg", Tmax=9)
    envs.reset(seed=0)
    envs.step(np.stack([LITTLE] * 2))
    envs.reset(options={"reset_mask": np.array([False, True])})
    first, second = envs.render()
    assert "Year 1 of 9" in first and "Year 0 of 9" in second


def test_gymnasium_records_a_video_of_a_batch(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="needs pip install --no-deps moviepy and what it is made of, see .ci/run")
    wrappers = pytest.importorskip("gymnasium.wrappers.vector")
    if not hasattr(wrappers, "RecordVideo"):
        pytest.skip("this Gymnasium has no RecordVideo for vector environments")
    envs = wrappers.RecordVideo(
        harvestgym.make_vec(ID, 2, render_mode="rgb_array"), str(tmp_path / "films"), video_length=3
    )
    envs.reset(seed=0)
    for _ in range(4):
        envs.step(np.stack([LITTLE] * 2))
    envs.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    assert film.stat().st_size > 1000
