"""The maps of an episode are true, its record is the same on both engines, and neither grows with the world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harvestgym.core.view.scene import Map, Scene
from harvestgym.forager import gym_env
from harvestgym.forager.family import build_forager, make, scene
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.observations import choose_colors
from harvestgym.forager.reward_laws import RATE
from harvestgym.forager.view import maps
from harvestgym.gym.env import GymEnv
from harvestgym.render.canvas import to_rgb
from harvestgym.render.svg import to_svg
from tests.render.golden import differs
from tests.render.test_canvas import overlaps

EVERLASTING = {
    "doc": "What never changes: walls, and thorns.",
    "size": [41, 35],
    "aperture": [5, 7],
    "kinds": {"wall": {"blocking": True}, "thorns": {"reward": {"constant": {"value": -1}}}},
    "density": {"wall": 0.1, "thorns": 0.2},
}


def panels(seen: Scene) -> list[Map]:
    return [panel for panel in seen.panels if isinstance(panel, Map)]


def walked(env: Any, steps: int, seed: int = 5) -> None:
    """Go some way, more often east and north than back."""
    env.reset(seed=seed)
    for action in np.random.default_rng(seed).choice(4, steps, p=(0.35, 0.35, 0.15, 0.15)):
        env.step(int(action))


def made_up(name: str, steps: int = 80) -> Scene:
    """Return a life written by hand: the agent goes round in a world of things that change all the time."""
    model, rng = make(name), np.random.default_rng(0)
    kinds, now = len(model.world.kinds), np.arange(steps + 1)
    things = lambda *shape: rng.choice([-1, -1, -1, *range(kinds)], (steps + 1, *shape)).astype(np.int8)  # noqa: E731
    x, y = (start + (8 * f(now / 12)).astype(int) for f, start in zip((np.cos, np.sin), model.world.start, strict=True))
    record = {"x#cell": x % model.world.width, "y#cell": y % model.world.height, "view": things(*model.aperture)}
    record |= {"clock#step": now, "action": rng.integers(4, size=steps + 1), "reward": rng.normal(size=steps + 1)}
    record |= {"collided": things(), "collected": now // 3, "biome": now % 2}
    record |= {"reward_rate": np.sin(now / 20) * (1 - (1 - RATE) ** now)}
    record |= {"biome_regret": np.cos(now / 9) + 1}
    small = model.world.cells <= maps.SMALL_WORLD
    return scene(model, record | ({"world": things(model.world.height, model.world.width)} if small else {}), steps)


SCENES = {"forager-small": lambda: made_up("two-biome-v0"), "forager-large": lambda: made_up("flowers-v0")}


@pytest.mark.parametrize("name", SCENES)
def test_pictures_are_what_they_were(name: str) -> None:
    assert not differs(name, SCENES[name]()), "python -m tests.render.golden, if it was meant to change"
    assert not overlaps(SCENES[name]()), "words lie on one another"


def test_a_golden_picture_would_show_another_world() -> None:
    assert differs("forager-small", made_up("weather-v0")) and differs("forager-large", made_up("passing-v0"))


def test_both_engines_keep_the_same_record() -> None:
    """A small world, in which food is taken and comes back, kept as a whole."""
    model = make("two-biome-v0")
    host, traced = ForagerGym.of(model, "rgb_array"), GymEnv(model, render_mode="rgb_array")
    for env in (host, traced):
        walked(env, 40)
    ours, theirs = host.record, traced.episode_log.record  # type: ignore[union-attr]
    assert set(ours) == set(theirs)
    for name in ours:
        after = slice(1, None) if name == "action" else slice(None)
        np.testing.assert_allclose(ours[name][after], theirs[name][after], rtol=1e-5, atol=1e-6, err_msg=name)
    assert int(ours["collected"][-1]) > 0
    assert np.array_equal(host.render(), traced.render())


def test_what_is_remembered_is_what_stands_there() -> None:
    """In a world in which nothing changes, on a ring whose seam the agent crosses."""
    model = build_forager(EVERLASTING)
    host = ForagerGym.of(model, "rgb_array")
    walked(host, 150)
    record, cells = host.record, host.env.cells()
    assert np.ptp(np.diff(record["x#cell"].astype(int))) > 2, "the way crosses the seam"
    across, down = maps.neighbourhood_size(model)
    seen = maps.remember_cells(model, record, across, down)
    x, y = int(record["x#cell"][-1]), int(record["y#cell"][-1])
    known = 0
    for row, col in zip(*np.nonzero(seen != maps.UNKNOWN_CELL), strict=True):
        there = (x + col - across // 2) % 41, (y + down // 2 - row) % 35
        assert seen[row, col] == cells[34 - there[1], there[0]], there
        known += 1
    assert 5 * 7 < known < across * down


def test_scene_shows_the_view_and_all_of_a_small_world() -> None:
    model = make("two-biome-v0")
    host = ForagerGym.of(model, "rgb_array")
    walked(host, 30)
    record = host.record
    aperture, world = panels(scene(model, record, 30))
    labels = [maps.label_kind(kind) for kind in model.world.kinds]
    for drawn, cells in ((aperture, record["view"][-1]), (world, record["world"][-1])):
        found = {(int(m.at[1]), int(m.at[0])): labels.index(m.meaning) for m in drawn.marks if m.meaning in labels}
        assert found == {at: kind for at, kind in np.ndenumerate(cells) if kind >= 0}
    agent = next(m for m in world.marks if m.meaning == "the agent")
    assert (int(agent.at[0]), 14 - int(agent.at[1])) == host.env.position


def test_only_the_map_distinguishes_kinds_of_one_colour() -> None:
    model = make("relearning-v0")
    alike = [tints[0] for tints in choose_colors(model.world.kinds)]
    assert alike[0] == alike[1] and len(set(maps.distinct_colors(model))) == 3
    record = {"view": np.array([[[0, 1], [2, -1]]], np.int8)}
    first, second, wall = maps.aperture(model, record).marks[:3]
    assert first.colour == second.colour != wall.colour
    assert first.meaning == second.meaning == "chanterelle or oyster"


def test_a_picture_of_a_million_squared_is_as_small_as_any() -> None:
    model = make("flowers-v0")
    host = ForagerGym.of(model, "rgb_array")
    walked(host, 60)
    record = host.record
    assert "world" not in record and max(values[0].size for values in record.values()) == 7 * 5
    kept = to_svg(scene(model, record, 40))
    for values in record.values():
        values.flags.writeable = False
    assert kept == to_svg(scene(model, {name: values[:41] for name, values in record.items()}, 40))
    assert all(max(m.shape) <= 31 and len(m.marks) < 2000 for m in panels(scene(model, record, 60)))
    assert to_rgb(scene(model, record, 60)).shape == to_rgb(scene(model, record, 0)).shape


def test_where_it_has_been_holds_every_place_once_across_the_seam() -> None:
    model = build_forager(EVERLASTING)
    x = np.array([38, 39, 40, 0, 1, 1, 1], np.int32)
    y = np.array([34, 34, 34, 34, 34, 0, 1], np.int32)
    drawn = maps.visited(model, {"x#cell": x, "y#cell": y})
    squares = sorted((int(m.at[0]), int(m.at[1])) for m in drawn.marks if m.what == "square")
    bottom = maps.COARSE - 1
    assert squares == sorted([(i, bottom) for i in range(5)] + [(4, bottom - 1), (4, bottom - 2)])
    far = maps.visited(model, {"x#cell": np.array([0, 10, 20]), "y#cell": np.array([0, 0, 0])})
    assert len([m for m in far.marks if m.what == "square"]) == 3


def test_a_life_without_end_is_kept_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gym_env, "FIRST_STEPS", 50)
    model = build_forager(EVERLASTING | {"size": [1_000_000, 1_000_000]})
    host = ForagerGym.of(model, "rgb_array")
    walked(host, 330)
    record = host.record
    assert record["clock#step"].tolist() == list(range(281, 331))
    assert "from step 281" in to_svg(scene(model, record, 49))


def test_text_and_pixels_are_drawn_of_a_life_that_began_only() -> None:
    host = ForagerGym(host_twin(make("two-biome-v0")), render_mode="ansi")
    with pytest.raises(Exception, match="reset"):
        host.render()
    host.reset(seed=1)
    assert "the episode begins" in host.render() and "the agent" in host.render()
