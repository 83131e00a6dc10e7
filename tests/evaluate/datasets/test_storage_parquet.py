"""Demonstrations as Parquet: every table library reads them, and any tree of observations comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode

pq = pytest.importorskip("pyarrow.parquet")

STEPS = (3, 1, 5)
"""Lengths of the episodes."""

RNG = np.random.default_rng(0)
FORMS: dict[str, Any] = {
    "a number": lambda n: RNG.random(n, np.float32),
    "a vector": lambda n: RNG.random((n, 3), np.float32),
    "a picture": lambda n: RNG.integers(0, 255, (n, 2, 4, 3), np.uint8),
    "a dict": lambda n: {"b": RNG.random((n, 2), np.float32), "a": RNG.integers(0, 9, n, np.int32)},
    "nested": lambda n: {
        "x": {"deep": (RNG.random(n, np.float32), {"z": RNG.integers(0, 2, (n, 2)) > 0})}, "y": RNG.random(n),
    },
    "a tuple": lambda n: (RNG.random(n, np.float32), RNG.random((n, 1), np.float32)),
}  # fmt: skip


def make_episode(steps: int, form: Any, seed: int | None = 0) -> Episode:
    infos = {"stock": RNG.random(steps + 1, np.float32), "map": RNG.random((steps + 1, 2, 2), np.float32)}
    ends = np.arange(steps) == steps - 1
    return Episode(form(steps + 1), form(steps), RNG.normal(size=steps), ends, ~ends & False, infos, seed)


def make_demonstrations(form: Any = FORMS["a vector"]) -> Demonstrations:
    episodes = [make_episode(n, form, seed) for seed, n in enumerate(STEPS)]
    return Demonstrations("toy/any-v0", "human", episodes, {"rules": {"horizon#day": 4}})


def write_and_read(given: Demonstrations, path: Path) -> Demonstrations:
    write_demonstrations(given, path)
    return read_demonstrations(path)


@pytest.mark.parametrize("form", FORMS)
def test_any_tree_comes_back_bit_for_bit(form: str, tmp_path: Path) -> None:
    given = make_demonstrations(FORMS[form])
    back = write_and_read(given, tmp_path / "kept.parquet")
    assert (back.id, back.by, back.overrides) == (given.id, given.by, given.overrides)
    for mine, theirs in zip(back.episodes, given.episodes, strict=True):
        assert jax.tree.structure(mine.observations) == jax.tree.structure(theirs.observations)
        for part in ("observations", "actions", "rewards", "terminated", "truncated", "infos"):
            pairs = zip(jax.tree.leaves(getattr(mine, part)), jax.tree.leaves(getattr(theirs, part)), strict=True)
            for a, b in pairs:
                assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), part


def test_an_unknown_seed_stays_unknown(tmp_path: Path) -> None:
    seeds = (4, None, 2**32 - 1)
    given = Demonstrations("toy/any-v0", "x", [make_episode(2, FORMS["a number"], seed) for seed in seeds])
    assert [one.seed for one in write_and_read(given, tmp_path / "kept.parquet").episodes] == list(seeds)


def test_a_row_is_an_observation_and_the_first_has_no_action(tmp_path: Path) -> None:
    given = make_demonstrations(FORMS["a number"])
    write_demonstrations(given, tmp_path / "kept.parquet")
    columns = pq.read_table(tmp_path / "kept.parquet").to_pydict()
    assert columns["episode"] == [i for i, n in enumerate(STEPS) for _ in range(n + 1)]
    assert columns["step"] == [t for n in STEPS for t in range(n + 1)]
    first = np.asarray(columns["step"]) == 0
    for name in ("action", "reward", "terminated", "truncated"):
        assert not np.asarray(columns[name])[first].any(), name
    rewards = np.asarray(columns["reward"])[~first]
    np.testing.assert_array_equal(rewards, np.concatenate([one.rewards for one in given.episodes]))


def test_parts_are_named_by_their_path(tmp_path: Path) -> None:
    write_demonstrations(make_demonstrations(FORMS["nested"]), tmp_path / "kept.parquet")
    names = set(pq.read_schema(tmp_path / "kept.parquet").names)
    parts = {"x/deep/0", "x/deep/1/z", "y"}
    assert names == {
        "episode", "step", *(f"observation/{part}" for part in parts), *(f"action/{part}" for part in parts),
        "reward", "terminated", "truncated", "info/stock", "info/map",
    }  # fmt: skip


def test_an_array_is_a_list_of_fixed_length(tmp_path: Path) -> None:
    write_demonstrations(make_demonstrations(FORMS["a picture"]), tmp_path / "kept.parquet")
    field = pq.read_schema(tmp_path / "kept.parquet").field("observation")
    assert field.type.list_size == 2 * 4 * 3 and field.metadata[b"shape"] == b"[2, 4, 3]"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table at all"])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="expected a complete Parquet file"):
        read_demonstrations(path)
