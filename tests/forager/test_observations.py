"""Observation modes: tables of codes, what is observed of them, spaces, checks, and a mode of a user."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager.family import build_forager
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Kind
from harvestgym.forager.observations import (
    GROUND,
    MODES,
    OUTSIDE,
    PALETTE,
    ObservationMode,
    add_hint,
    channel_table,
    check_aperture,
    check_mode,
    choose_colors,
    color_table,
    count_channels,
    count_in_view,
    make_space,
    point_to_nearest,
    show_cells,
)
from harvestgym.forager.shared_world import SharedWorld
from harvestgym.forager.world import Region, World
from harvestgym.gym.pettingzoo_env import ParallelEnv

from .worlds import SMALL

RED, BLUE = (200, 0, 0), (0, 0, 200)
KINDS = (Kind("apple"), Kind("berry", colors=(RED, BLUE)), Kind("wall", blocking=True))


def world(edge: str = "torus", kinds=KINDS, width: int = 12, height: int = 9) -> World:
    return World(width, height, kinds, (Region(0, 0, width, height),), edge=edge)


def random_cells(*shape: int, seed: int = 0) -> np.ndarray:
    """Encoded cells of three kinds, about half of them empty."""
    kinds = np.random.default_rng(seed).integers(-3, 3, shape)
    return kinds[..., None] == np.arange(3)


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge", ["torus", "wall"])
def test_each_kind_has_its_own_channel(edge):
    table = channel_table(world(edge))
    assert table.shape == (5, 1, count_channels(world(edge)))
    assert not table[0].any()
    assert table[1:4, 0, :3].tolist() == np.eye(3, dtype=bool).tolist()
    assert table[4].sum() == (edge == "wall")


def test_colors_are_those_of_the_kinds_or_of_the_palette():
    table = color_table(world())
    assert table[0, 0].tolist() == list(GROUND)
    assert table[-1, 0].tolist() == list(OUTSIDE)
    assert table[2].tolist() == [list(RED), list(BLUE)]
    assert table[1, 0].tolist() == list(PALETTE[0])
    assert table[3, 0].tolist() == list(PALETTE[1])


def test_a_color_that_a_kind_has_is_not_given_to_another():
    kinds = Kind("apple"), Kind("pear", colors=(PALETTE[0],))
    assert choose_colors(kinds) == [(PALETTE[1],), (PALETTE[0],)]


def test_more_kinds_than_colors_share_them():
    colors = choose_colors(tuple(Kind(f"kind-{i:02}") for i in range(25)))
    assert len(set(colors)) == len(PALETTE)
    assert colors[0] == colors[10] == colors[20]


# -- what is observed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 7), (1, 3), (9, 1)])
def test_the_compass_points_to_a_nearest_object(shape):
    for seed in range(30):
        cells = random_cells(*shape, seed=seed)
        rows, cols = shape
        for kind, (east, north, there) in enumerate(point_to_nearest(cells, np).tolist()):
            places = [(c - cols // 2, rows // 2 - r) for r, c in np.argwhere(cells[..., kind]).tolist()]
            places = [place for place in places if place != (0, 0)]
            assert there == bool(places)
            if places:
                assert (east, north) in places
                nearest = min(abs(x) + abs(y) for x, y in places)
                ties = [p for p in places if abs(p[0]) + abs(p[1]) == nearest]
                assert (east, north) == min(ties, key=lambda p: (-p[1], p[0])), "northernmost, then westernmost"
            else:
                assert (east, north) == (0, 0)


def test_counts_are_sums_over_the_view():
    cells = random_cells(4, 5, 7)
    assert (count_in_view(cells, np) == cells.sum((1, 2))).all()


@pytest.mark.parametrize("observe", [show_cells, point_to_nearest, count_in_view])
def test_an_observation_is_the_same_in_numpy_and_jax_and_for_a_batch(observe):
    cells = random_cells(6, 5, 7)
    batch = observe(cells, np)
    traced = jax.jit(lambda c: observe(c, jax.numpy))(cells)
    assert traced.dtype == batch.dtype
    assert (np.asarray(traced) == batch).all()
    assert all((observe(one, np) == row).all() for one, row in zip(cells, batch, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("edge", ["torus", "wall"])
def test_the_space_of_a_mode_contains_its_observations(mode, edge):
    model = build_forager(SMALL | {"observation_mode": mode, "edge": edge})
    env = host_twin(model)
    seen = [env.start(seed=seed) for seed in range(3)] + [env.step(action)[0] for action in (0, 0, 1, 2, 3) * 8]
    assert model.observation_space == env.observation_space
    assert all(model.observation_space.contains(obs) for obs in seen)


def test_only_what_shows_the_view_itself_is_a_picture():
    assert [name for name, mode in MODES.items() if mode.is_picture] == ["objects", "colors"]


def shrink(image, rows=5, cols=7):
    """Return the pixel in the middle of each cell of an image, divided by 255."""
    assert image.shape[:2] == (84, 84) and image.dtype == np.uint8 and set(np.unique(image)) <= {0, 255}
    middles = ((np.arange(side) + 0.5) * 84 / side for side in (rows, cols))
    return np.asarray(image)[np.ix_(*(middle.astype(int) for middle in middles))] // 255


def test_images_show_each_object_as_a_block_of_pixels_in_both_engines():
    """Boxes of uint8 from 0 to 255 with sides of 84 are what default image networks accept."""
    flags, bytes_ = (build_forager(SMALL | {"observation_mode": mode}) for mode in ("objects", "images"))
    hosts = [host_twin(model) for model in (flags, bytes_)]
    pairs = [[env.start(seed=3) for env in hosts]]
    pairs += [[env.step(action)[0] for env in hosts] for action in (0, 0, 1, 2, 3) * 8]
    assert any(one.any() for one, _ in pairs) and all(np.array_equal(one, shrink(two)) for one, two in pairs)
    space = bytes_.observation_space
    assert space.dtype == np.uint8 and (space.low.min(), space.high.max()) == (0, 255)
    seen = [model.reset(jax.random.key(1))[1].obs for model in (flags, bytes_)]
    assert np.array_equal(seen[0], shrink(seen[1]))
    with pytest.raises(ConfigError, match="aperture: expected sides of at most 84 for 'images', got \\(85, 3\\)"):
        make_space(world(), "images", (85, 3), (0, 0))


# -- hints ---------------------------------------------------------------------------------------------------


def test_a_hint_shows_the_region_in_the_first_steps_only():
    two = World(12, 9, KINDS, (Region(0, 0, 12, 9), Region(0, 0, 3, 3)))
    shown = [add_hint(two, (2, 5), "view", np.asarray(t % 5), np.asarray(1))["hint"].tolist() for t in range(10)]
    assert shown == ([[False, True]] * 2 + [[False, False]] * 3) * 2


def test_a_hint_of_a_batch_is_that_of_each_agent():
    two = World(12, 9, KINDS, (Region(0, 0, 12, 9), Region(0, 0, 3, 3)))
    hints = add_hint(two, (1, 3), "view", np.array([0, 0, 1]), np.array([0, 1, 1]))["hint"]
    assert hints.tolist() == [[True, False], [False, True], [False, False]]


def test_a_hint_makes_the_space_a_dict():
    space = make_space(world(), "objects", (3, 3), (1, 2))
    assert isinstance(space, gymnasium.spaces.Dict)
    assert space["hint"].shape == (1,)
    assert space["view"] == make_space(world(), "objects", (3, 3), (0, 0))


# -- checks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("aperture", "rows_and_columns"), [(3, (3, 3)), ((5, 7), (5, 7)), (np.int64(1), (1, 1))])
def test_an_aperture_is_a_side_or_rows_and_columns(aperture, rows_and_columns):
    assert check_aperture(aperture, world()) == rows_and_columns


@pytest.mark.parametrize(
    ("aperture", "says"),
    [
        (4, "expected odd rows, got 4; try 3 or 5"),
        ((3, 6), "expected odd columns, got 6; try 5 or 7"),
        (0, "aperture: expected an integer, or two integers, of at least 1, got 0"),
        ((1.5, 3), "aperture: expected an integer"),
        ((11, 3), r"expected rows within the world \(9\), got 11; try at most 9"),
        ((3, 13), r"expected columns within the world \(12\), got 13; try at most 11"),
    ],
)
def test_another_aperture_is_refused(aperture, says):
    with pytest.raises(ConfigError, match=says):
        check_aperture(aperture, world())


@pytest.mark.parametrize("hint", [(-1, 3), (4, 3), (1.5, 3), (True, 3), (1, 2, 3), (0, 2**31)])
def test_another_hint_is_refused(hint):
    with pytest.raises(ConfigError, match="hint.*: expected"):
        build_forager(SMALL | {"hint": hint})


def test_an_unknown_mode_and_a_survey_of_a_large_world_are_refused():
    with pytest.raises(ConfigError, match="try 'colors'"):
        check_mode("colours", world())
    check_mode("objects", world(width=10**6, height=10**6))
    with pytest.raises(ConfigError, match="try an aperture"):
        check_mode("world", world(width=10**4, height=10**4))


def test_a_shared_world_shows_views_only():
    views = ", ".join(repr(name) for name, mode in MODES.items() if not mode.whole)
    with pytest.raises(ConfigError, match=f"expected one of {views}, got 'world'"):
        SharedWorld(build_forager(SMALL | {"observation_mode": "world"}))


# -- a new mode ----------------------------------------------------------------------------------------------


def nearness(cells, xp):
    """float32 (..., channels): the sum over the objects in view of 1 / (1 + steps to them)."""
    rows, cols = cells.shape[-3:-1]
    north, east = np.meshgrid(rows // 2 - np.arange(rows), np.arange(cols) - cols // 2, indexing="ij")
    weight = (1 / (1 + abs(north) + abs(east))).astype(np.float32)
    return (cells * weight[..., None]).sum((-3, -2), dtype=xp.float32)


def danger_table(world: World) -> np.ndarray:
    """uint8: 255 where an object blocks the way, 0 elsewhere."""
    table = np.zeros((len(world.kinds) + 2, 1, 1), np.uint8)
    table[1:-1, 0, 0] = [255 * kind.blocking for kind in world.kinds]
    return table


def box(high: float, dtype):
    return lambda shape: gymnasium.spaces.Box(0, high, shape, dtype)


NEW_MODES = {
    "nearness": ObservationMode(channel_table, lambda shape: box(100, np.float32)(shape[2:]), nearness),
    "danger": ObservationMode(danger_table, box(255, np.uint8), show_cells),
}


@pytest.mark.parametrize("name", NEW_MODES)
def test_a_new_mode_is_one_entry_of_the_table(name, monkeypatch):
    """Registered here only, it works in the functional environment and in every interface of the host engine."""
    monkeypatch.setitem(MODES, name, NEW_MODES[name])
    model = build_forager(SMALL | {"observation_mode": name})
    env = host_twin(model, 3)
    words, actions = np.array([3, 0], np.uint32), np.random.default_rng(0).integers(0, 4, 30)
    obs, state, step = env.start(), model.begin(words), jax.jit(model.step)
    np.testing.assert_allclose(obs, model.observation(None, state, None, model.params), rtol=1e-6)
    for action in actions.tolist():
        obs, _ = env.step(action)
        state, timestep = step(jax.random.key(0), state, action, model.params)
        assert model.observation_space.contains(obs)
        np.testing.assert_allclose(obs, timestep.obs, rtol=1e-6)
    several, single = ParallelEnv(SharedWorld(model, 1)), ForagerGym.of(model, "ansi")
    assert several.reset(seed=1)[0]["forager_0"].dtype == obs.dtype
    assert single.observation_space.contains(single.reset(seed=1)[0])
    assert isinstance(single.render(), str)


def test_the_functional_environment_refuses_an_unknown_mode():
    with pytest.raises(ConfigError, match="observation_mode"):
        Forager(world(), (3, 3), "nearness")
