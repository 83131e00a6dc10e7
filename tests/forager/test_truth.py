"""The engines against a brute-force world, and against each other."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine.arrays import STATE, WHAT
from harvestgym.forager.host_engine.env import ForagerEnv, host_twin
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import NEVER, Delay, DelayLaw, Flower, Kind, ReturnPlace, Thorns, Wall
from harvestgym.forager.reward_laws import Fourier, Sine, Square
from harvestgym.forager.world import STANDING, VACANT, Region, World
from tests.long_form import long

from .reference import Dense

THORNS_STAY = 2
FLOWER, WALL, THORNS = Flower.row, Wall.row, Thorns.row
STAYS = dataclasses.replace(FLOWER, name="berry", place=ReturnPlace.SAME, blocking=True, delay=Delay(a=0, b=4))


def world_of(width: int, height: int, counts: tuple[int, ...], edge: str = "torus", **more) -> World:
    kinds = (FLOWER, WALL, THORNS, STAYS)
    return World(width, height, kinds, (Region(0, 0, width, height, tuple(enumerate(counts))),), edge=edge, **more)


def first_map(env: ForagerEnv) -> np.ndarray:
    """Return the kind in every cell, in season or not, the first row southernmost."""
    cells = np.indices((env.world.height, env.world.width))
    return np.vectorize(lambda y, x: env.generated_kind_at(x, y))(*cells)


def compare(world: World, aperture: tuple[int, int], steps: int, seed: int = 3) -> None:
    env = host_twin(Forager(world, aperture), seed)
    obs = env.start()
    dense = Dense(first_map(env), world.kinds, aperture, world.edge, seed_words(seed))
    assert (obs == dense.see()).all()
    for step, action in enumerate(np.random.default_rng(seed).integers(0, 4, steps).tolist()):
        obs, reward = env.step(action)
        seen, worth, _ = dense.step(action)
        assert env.position == (dense.x, dense.y), step
        assert reward == worth, step
        assert (obs == seen).all(), step
    dense.clock -= 1  # the cells are those of the last observation
    assert (env.cells()[::-1] == dense.standing()).all()


@pytest.mark.parametrize(
    ("size", "counts", "edge", "aperture"),
    [
        ((20, 13), (50, 20, 20, 10), "torus", (7, 5)),
        ((13, 20), (50, 20, 20, 10), "wall", (5, 9)),
        pytest.param((5, 5), (15, 0, 2, 5), "torus", (5, 5), marks=long),
        ((3, 31), (40, 3, 5, 10), "torus", (1, 3)),
    ],
)
def test_host_engine_equals_a_dense_world_for_25000_steps(size, counts, edge, aperture):
    compare(world_of(*size, counts, edge), aperture, 25_000)


PASSING = tuple(
    dataclasses.replace(kind, lasts=lasts, rests=rests)
    for kind, lasts, rests in ((FLOWER, 40, 20), (WALL, 0, 0), (THORNS, 9, 1), (STAYS, 25, 70))
)


@pytest.mark.parametrize(("edge", "aperture"), [("torus", (7, 5)), ("wall", (1, 3))])
def test_what_expires_stands_and_is_gone_by_turns_as_in_a_dense_world(edge, aperture):
    compare(dataclasses.replace(world_of(20, 13, (50, 20, 20, 10), edge), kinds=PASSING), aperture, 2000)


def test_an_endless_world_holds_its_share_of_what_expires_at_every_moment():
    """Within four standard deviations of 600 of 900 objects at ten moments; each object keeps its season."""
    kind = Kind("mushroom", lasts=40, rests=20)
    world = World(30, 31, (kind,), (Region(0, 0, 30, 31, ((0, 900),)),))
    env = host_twin(Forager(world, (3, 3)), 1)
    env.start()
    seen = []
    for _ in range(120):
        env.step(0)
        seen.append(env.cells() >= 0)
    assert np.abs(np.sum(seen[::12], (1, 2)) - 600).max() < 4 * np.sqrt(900 * 2 / 9)
    assert np.unique(np.sum(seen, 0)).tolist() == [0, 80]
    assert (np.array(seen[:60]) == seen[60:]).all()


def total(env: ForagerEnv) -> np.ndarray:
    """Objects of each kind that stand or are away."""
    cells, slots = env.cells(), env.arrays.slots
    away = slots[(slots[:, STATE] != VACANT) & (slots[:, STATE] != STANDING), WHAT]
    return np.bincount([*cells[cells >= 0], *away], minlength=len(env.world.kinds))


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    sides=st.tuples(st.integers(3, 24), st.integers(3, 24)),
    shares=st.lists(st.floats(0, 0.25), min_size=4, max_size=4),
    edge=st.sampled_from(["torus", "wall"]),
    seed=st.integers(0, 2**64 - 1),
    capacity=st.integers(1, 40),
)
def test_objects_are_conserved_and_nothing_returns_under_the_agent(sides, shares, edge, seed, capacity):
    cells = sides[0] * sides[1]
    counts = tuple(int(share * (cells - 1)) for share in shares)
    env = host_twin(Forager(world_of(*sides, counts, edge, capacity=capacity), (3, 3)), seed)
    env.start()
    assert total(env).tolist() == list(counts)
    for action in np.random.default_rng(seed).integers(0, 4, 300).tolist():
        env.step(action)
        x, y = env.position
        under = env.cells()[sides[1] - 1 - y, x]
        assert under in (-1, THORNS_STAY) or env.memory["refused"]
    assert total(env).tolist() == list(counts)
    assert env.memory["changed"] <= capacity


RICH = World(
    30,
    20,
    (
        Kind("herb", collectable=True, reward=Fourier(5, 100, 2.0), delay=Delay(a=0, b=3), place=ReturnPlace.REGION,
             pays_after=5),
        WALL,
        Kind("berry", True, True, Square(1, -1, 50), 0.3, Delay(DelayLaw.NORMAL, 20, 9), ReturnPlace.SAME,
             colors=((1, 2, 3), (4, 5, 6), (7, 8, 9))),
        Kind("ore", collectable=True, reward=Sine(1.0, 60), delay=NEVER, place=ReturnPlace.SAME),
    ),
    (
        Region(0, 0, 30, 20, ((1, 30), (3, 60))),
        Region(2, 3, 12, 12, ((0, 60), (2, 20)), renew_eaten=10),
        Region(16, 1, 3, 15, ((2, 20), (0, 10)), renew_every=97),
    ),
    teleport_every=50,
    teleport_to=(1, 2),
    capacity=12,
)  # fmt: skip
FADING = dataclasses.replace(world_of(20, 13, (60, 20, 20, 10), capacity=30), kinds=PASSING)
WALLED = world_of(20, 13, (60, 20, 20, 10), "wall", capacity=30)
ENDLESS = world_of(10**6, 10**6, (2 * 10**11, 10**10, 10**11, 10**10), capacity=20)


def trace(model: Forager, seed: int, actions: np.ndarray):
    """Return the observations of an episode under JAX, step by step."""
    params = model.params

    def live(words, actions):
        def one(state, action):
            state, step = model.step(jax.random.key(0), state, action, params)
            return state, (step.obs, step.reward, state.hit, state.x, state.y, state.events, state.refused)

        state = model.begin(words)
        return model.observation(None, state, None, params), jax.lax.scan(one, state, actions)[1]

    return jax.tree.map(np.asarray, jax.jit(live)(np.array(seed_words(seed), np.uint32), actions))


def assert_engines_agree(model: Forager, seed: int, steps: int) -> None:
    """Check on one seed the same map, moves, collisions and delays in both engines, and rewards to rounding."""
    actions = np.random.default_rng(seed).integers(0, 4, steps)
    first, (obs, reward, hit, x, y, events, refused) = trace(model, seed, actions)
    env = host_twin(model, seed)
    assert (env.start() == first).all()
    for i, action in enumerate(actions.tolist()):
        seen, paid = env.step(action)
        met = -1 if env.collided is None else env.world.names.index(env.collided)
        assert (met, *env.position) == (hit[i], x[i], y[i]), i
        assert (seen == obs[i]).all(), i
        assert paid == pytest.approx(reward[i], abs=2e-5, rel=2e-5), i
    assert (env.memory["collected"], env.memory["refused"]) == (events[-1], refused[-1])


@pytest.mark.parametrize(
    ("world", "aperture", "mode"),
    [
        (RICH, (9, 7), "colors"),
        pytest.param(WALLED, (5, 9), "objects", marks=long),
        (ENDLESS, (3, 7), "objects"),
        pytest.param(FADING, (1, 5), "objects", marks=long),
        pytest.param(world_of(31, 3, (20, 5, 5, 5)), (3, 31), "objects", marks=long),
    ],
)
def test_both_engines_agree_exactly(world, aperture, mode):
    assert_engines_agree(Forager(world, aperture, mode), 2**40 + 7, 1200)


@long
@pytest.mark.parametrize(
    ("world", "mode", "hint"),
    [(RICH, "compass", (3, 7)), (WALLED, "scalar", (0, 0))],
)
def test_both_engines_tell_the_same_by_compass_counts_and_hint(world, mode, hint):
    model = Forager(world, (5, 7), mode, hint=hint)
    actions = np.random.default_rng(1).integers(0, 4, 400)
    first, (reported, *_) = trace(model, 5, actions)
    env = host_twin(model, 5)
    shown = [env.start(), *(env.step(action)[0] for action in actions.tolist())]
    wanted = jax.tree.map(lambda a, rest: np.concatenate([a[None], rest]), first, reported)
    found = jax.tree.map(lambda *leaves: np.stack(leaves), *shown)
    assert model.observation_space.contains(shown[7])
    jax.tree.map(np.testing.assert_array_equal, found, wanted)


def test_compass_counts_and_hint_are_what_the_picture_shows():
    pictures, compasses, scalars = (host_twin(Forager(RICH, (5, 7), mode, hint=(3, 7)), 5) for mode in SENSES)
    lives = pictures, compasses, scalars
    reported = [env.start() for env in lives]
    for clock, action in enumerate(np.random.default_rng(2).integers(0, 4, 500).tolist()):
        seen = reported[0]["view"]
        assert reported[0]["hint"].tolist() == [clock % 7 < 3 and r == pictures.biome for r in range(3)]
        assert reported[2]["view"].tolist() == seen.sum((0, 1)).tolist()
        for kind, (east, north, there) in enumerate(reported[1]["view"].tolist()):
            cells = [(c - 3, 2 - r) for r, c in np.argwhere(seen[..., kind]).tolist() if (r, c) != (2, 3)]
            assert there == bool(cells)
            if there:
                assert (east, north) in cells
                assert abs(east) + abs(north) == min(abs(x) + abs(y) for x, y in cells)
        reported = [env.step(action)[0] for env in lives]


SENSES = ("objects", "compass", "scalar")
