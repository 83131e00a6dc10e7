"""The tables of `harvestgym show` and the timeline of a record: every kind, region and collision is in them."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.forager.family import CATALOGUE, build_forager, make, timeline
from harvestgym.forager.view.tables import describe
from tests.forager.worlds import RENEWED, SMALL, VARIED

STEPS = 6
RECORD = {
    "action": np.array([-1, 0, 1, 2, 3, 0]),
    "collided": np.array([-1, 0, -1, 1, 0, -1]),
    "reward": np.array([0.0, 1.0, 0.0, -0.5, 2.0, 0.0]),
    "reward_rate": np.linspace(0, 1, STEPS),
    "clock#step": np.arange(STEPS),
    "x#cell": np.arange(STEPS),
    "y#cell": np.zeros(STEPS),
    "collected": np.array([0, 1, 1, 1, 2, 2]),
    "biome": np.zeros(STEPS, int),
    "biome_regret": np.zeros(STEPS),
}


def rows(data, title: str) -> list[tuple]:
    """Return the rows of the table whose title begins so."""
    return next(table.rows for table in describe(build_forager(data)) if table.title.startswith(title))


@pytest.mark.parametrize("name", sorted(path.stem for path in CATALOGUE.glob("*-v[0-9]*.yaml")))
def test_every_kind_and_region_of_a_catalogue_world_is_described(name):
    model = make(name)
    kinds, regions, spaces, state, params = describe(model)
    assert [row[0] for row in kinds.rows] == list(model.world.names)
    assert [row[0] for row in regions.rows] == [region.name for region in model.world.regions]
    assert [row[0] for row in spaces.rows] == ["action", "observation"]
    assert state.rows and params.rows


def test_a_kind_is_described_by_its_collision_its_reward_and_its_return():
    fig, wall = rows(SMALL, "Objects of the world")
    assert fig[1:] == ("is collected", "Constant(value=1)", "after 10 to 99 steps, same")
    assert wall[1] == "blocks"
    assert wall[3] == "stays"


def test_delays_noise_and_seasons_are_described():
    fig, nut, _ = rows(VARIED, "Objects of the world")
    assert "noise of deviation 0.5" in fig[2] and "paid 3 steps later" in fig[2]
    assert nut[3].endswith("; present for 7 steps, then absent for 3")
    never = SMALL | {"kinds": {"fig": {"collectable": True, "delay": "never"}}, "density": {"fig": 0.1}}
    assert rows(never, "Objects of the world")[0][3] == "never"
    fixed = {"collectable": True, "delay": {"normal": [9, 2]}, "place": "fixed", "target": [3, 4]}
    assert (
        rows(SMALL | {"kinds": {"fig": fixed}, "density": {}}, "Objects of the world")[0][3]
        == "after 9 ± 2 steps, to (3, 4)"
    )


def test_a_region_is_described_by_its_cells_its_objects_and_its_renewal():
    world, west = rows(RENEWED, "Regions")
    assert world[1] == "17 x 12 at (0, 0)" and world[3] == "never"
    assert west[2].startswith("nut ") and west[3] == "after 3 collected"


def test_the_timeline_has_each_collision_with_its_reward():
    story = timeline(build_forager(SMALL), RECORD)
    actions = list(story.actions)
    assert [action.step for action in actions] == [1, 3, 4]
    assert "took fig" in str(actions[0]) and "met wall" in str(actions[1])
    assert len(story.when) == STEPS


def test_the_gains_of_a_timeline_add_up_to_the_rewards():
    for data in (SMALL, VARIED):
        gains = timeline(build_forager(data), RECORD).gains
        assert np.sum(list(gains.values()), 0).tolist() == RECORD["reward"].tolist()
    assert set(timeline(build_forager(SMALL), RECORD).gains) == {"fig", "wall"}
    assert set(timeline(build_forager(VARIED), RECORD).gains) == {"reward"}, "what is paid late belongs to no collision"


def test_a_track_names_the_codes_of_its_values():
    tracks = {track.name: track for track in timeline(build_forager(RENEWED), RECORD).tracks}
    assert tracks["collided"].codes == {-1: "nothing", 0: "fig", 1: "nut", 2: "wall"}
    assert tracks["biome"].codes == {0: "world", 1: "west"}
    assert tracks["action"].codes[0] == "north"
