"""Cell look-up under JAX: the same maps as on the host, with the laws of the world."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.jax_engine import cells
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Kind, ReturnPlace
from harvestgym.forager.world import AWAY, EMPTY, GONE, STANDING, VACANT, Region, World

KINDS = (
    Kind("fig", collectable=True, place=ReturnPlace.SAME),
    Kind("wall", blocking=True),
    Kind("moss", lasts=5, rests=3),
)
REGIONS = {
    "one": (Region(0, 0, 15, 11, ((0, 30), (1, 40))),),
    "narrow": (Region(0, 0, 31, 3, ((0, 30), (1, 20), (2, 9))),),
    "nested": (
        Region(0, 0, 20, 12, ((0, 30),)),
        Region(2, 2, 9, 9, ((1, 30), (2, 10))),
        Region(8, 4, 4, 3, ((0, 11),)),
    ),
    "full": (Region(0, 0, 8, 8, ((0, 63),)),),
}


def model_of(name: str) -> Forager:
    ground = REGIONS[name][0]
    return Forager(World(ground.width, ground.height, KINDS, REGIONS[name]), (3, 3))


def grid(world: World) -> tuple[jax.Array, jax.Array]:
    """x and y of all cells, row by row from the south."""
    y, x = (v.ravel() for v in np.indices((world.height, world.width)))
    return cells.to_word(x), cells.to_word(y)


@pytest.mark.parametrize("name", REGIONS)
def test_the_generated_map_is_that_of_the_host(name):
    model = model_of(name)
    x, y = grid(model.world)
    generate = jax.jit(lambda words: cells.generate_kind(model.world, model.begin(words), x, y))
    for seed in (0, 7, 2**63 + 1):
        env = host_twin(model, seed)
        env.start()
        expected = [env.generated_kind_at(int(a), int(b)) for a, b in zip(x, y, strict=True)]
        assert np.asarray(generate(np.array(seed_words(seed), np.uint32))).tolist() == expected


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_those_of_the_world(name):
    world = model_of(name).world
    x, y = grid(world)
    found = np.asarray(world.find_region(x, y, jnp))
    assert (found == world.find_region(np.asarray(x, int), np.asarray(y, int))).all()


@pytest.mark.parametrize("name", REGIONS)
def test_counts_of_a_region_are_exact_and_the_start_is_free(name):
    """Of regions that no later one covers, each layer has as many objects as it says."""
    model = model_of(name)
    x, y = grid(model.world)
    generate = jax.jit(lambda words: cells.generate_kind(model.world, model.begin(words), x, y))
    kinds = np.asarray(generate(np.array([5, 6], np.uint32)))
    start = model.world.start
    assert kinds[start[1] * model.world.width + start[0]] == EMPTY
    last = len(model.world.regions) - 1
    inside = np.asarray(model.world.find_region(x, y, jnp)) == last
    for kind, count in model.world.regions[last].layers:
        assert (kinds[inside] == kind).sum() == count


@pytest.mark.parametrize("state", [VACANT, STANDING, AWAY, GONE])
def test_state_and_kind_of_a_slot_come_back_as_they_were_packed(state):
    kinds = jnp.array([0, 1, 7, 2**20])
    slots = jnp.zeros((5, 4), jnp.uint32).at[cells.META].set(cells.pack(state, kinds))
    assert cells.unpack_state(slots).tolist() == [state] * 4
    assert cells.unpack_kind(slots).tolist() == kinds.tolist()


@pytest.mark.parametrize("rows", [5, 7])
def test_a_slot_is_found_where_its_object_stands_only(rows):
    slots = jnp.zeros((rows, 3), jnp.uint32)
    slots = slots.at[:3].set(jnp.array([[4, 5, 6], [1, 2, 3], [0, 0, 0]], jnp.uint32))
    if rows == 7:
        slots = slots.at[cells.AT_X].set(slots[cells.HOME_X]).at[cells.AT_Y].set(slots[cells.HOME_Y])
    slots = slots.at[cells.META].set(cells.pack(jnp.array([STANDING, AWAY, STANDING]), 0))
    find = lambda x, y: int(cells.find_slot(slots, jnp.uint32(x), jnp.uint32(y)))  # noqa: E731
    assert [find(4, 1), find(5, 2), find(6, 3), find(4, 3)] == [0, -1, 2, -1]


def test_objects_stand_for_their_share_of_a_cycle():
    model = model_of("narrow")
    state, (x, y) = model.begin(np.array([1, 2], np.uint32)), grid(model.world)
    kinds = jnp.full(len(x), 2)
    stands = []
    for clock in range(16):
        now = replace(state, clock=jnp.array([0, clock], jnp.uint32))
        stands.append(np.asarray(cells.is_in_season(model.world, now, kinds, x, y)))
    assert (np.sum(stands, 0) == 10).all()
    assert (np.array(stands[:8]) == stands[8:]).all()
    assert np.asarray(cells.is_in_season(model.world, state, jnp.full(len(x), 1), x, y)).all()
