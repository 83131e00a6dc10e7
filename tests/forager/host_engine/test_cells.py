"""The index and the queue of the changed objects, against dictionaries and sorted lists."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.cells import (
    find_kind,
    find_slot,
    grow_arrays,
    mark_cell,
    pop_due,
    push_due,
    rebuild_index,
)
from harvestgym.forager.host_engine.env import ForagerEnv
from harvestgym.forager.world import AWAY, STANDING, VACANT
from tests.forager.worlds import seed_example


@pytest.fixture(scope="module")
def empty() -> col.EpisodeArrays:
    env = seed_example()
    env.start()
    return env.arrays


def wandered(steps: int = 2000) -> ForagerEnv:
    env = seed_example()
    env.start(seed=5)
    for action in np.random.default_rng(1).integers(0, 4, steps).tolist():
        env.step(action)
    return env


def test_the_index_is_a_dictionary_from_cells_to_slots(empty):
    rng, expected, arrays = np.random.default_rng(0), {}, grow_arrays(empty, 256)
    for _ in range(3000):
        cell, column, slot = int(rng.integers(0, 90)), int(rng.integers(1, 3)), int(rng.integers(-1, 50))
        mark_cell(arrays, cell, column, slot)
        row = expected.setdefault(cell, {1: -1, 2: -1})
        row[column] = slot
        expected = {c: r for c, r in expected.items() if max(r.values()) >= 0}
    assert arrays.head[col.ENTRIES] == len(expected)
    for cell in range(90):
        row = expected.get(cell, {1: -1, 2: -1})
        slot = row[2] if row[2] >= 0 else -2 if row[1] >= 0 else -1
        width = int(arrays.head[col.WIDTH])
        assert find_slot(arrays, cell % width, cell // width) == slot


def test_the_queue_gives_slots_in_the_order_of_due_step_and_collision(empty):
    arrays, rng = grow_arrays(empty, 128), np.random.default_rng(0)
    due, born = rng.integers(0, 10, 100), rng.permutation(100)
    arrays.slots[:100, col.DUE], arrays.slots[:100, col.BORN] = due, born
    for slot in rng.permutation(100).tolist():
        push_due(arrays, slot)
    order = [pop_due(arrays) for _ in range(100)]
    assert order == np.lexsort((born, due)).tolist()
    assert arrays.head[col.PENDING] == 0


def test_a_rebuilt_index_finds_what_the_incremental_one_found():
    env = wandered()
    arrays = env.arrays
    cells = arrays.slots[arrays.slots[:, col.STATE] != VACANT][:, [col.HOME, col.AT]].ravel()
    find = lambda a, c: find_slot(a, c % 1000, c // 1000)  # noqa: E731
    before = [find(arrays, int(c)) for c in cells]
    used, pending = arrays.head[col.USED], arrays.head[col.PENDING]
    rebuild_index(arrays)
    assert [find(arrays, int(c)) for c in cells] == before
    assert (arrays.head[col.USED], arrays.head[col.PENDING]) == (used, pending)


def test_growing_changes_nothing_but_the_room():
    env = wandered()
    bigger = grow_arrays(env.arrays, 4 * len(env.arrays.slots))
    assert len(bigger.slots) == 4 * len(env.arrays.slots)
    assert (bigger.slots[: len(env.arrays.slots), col.HOME] == env.arrays.slots[:, col.HOME]).all()
    x, y = env.position
    for dx, dy in np.ndindex(21, 21):
        cell = (x + dx - 10) % 1000, (y + dy - 10) % 1000
        assert find_kind(bigger, *cell) == find_kind(env.arrays, *cell)


def test_counters_agree_with_the_slots():
    env = wandered()
    states = env.arrays.slots[:, col.STATE]
    assert env.memory["changed"] == (states != VACANT).sum()
    assert env.memory["away"] == (states == AWAY).sum()
    standing = env.arrays.slots[states == STANDING]
    assert len(np.unique(standing[:, col.AT])) == len(standing), "no two objects in a cell"
