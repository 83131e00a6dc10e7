"""An info is a dict to everyone: Python, JSON, pickles, copies, JAX and Gymnasium's wrappers."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from harvestgym.gym.compiled_env import UNREAD, LazyInfo
from harvestgym.gym.env import GymEnv
from tests.toy_env import Stock

PLAIN = {"b": 1, "a": {"c": 2.5}, "d": [3]}


def unread(source: Callable[[], dict[str, Any]] = lambda: dict(PLAIN)) -> LazyInfo:
    """Return an info that nobody has read."""
    info = LazyInfo(dict.fromkeys(PLAIN, UNREAD))
    info.source = source
    return info


USES: list[Callable[[Any], Any]] = [
    dict, list, len, sorted, repr, json.dumps, copy.copy, copy.deepcopy, lambda info: {**info},
    lambda info: pickle.loads(pickle.dumps(info)), lambda info: info | {"e": 5}, lambda info: {"b": 0} | info,
    lambda info: {}.__ior__(info), lambda info: info.copy(), lambda info: info["a"], lambda info: info.get("a"),
    lambda info: list(info.items()), lambda info: list(info.values()), lambda info: list(reversed(info)),
    lambda info: "a" in info, lambda info: dict(**info), lambda info: info == PLAIN,
    lambda info: operator.eq(PLAIN, info),
    lambda info: info.pop("a"), lambda info: info.popitem(), lambda info: info.setdefault("a", 0), jax.tree.leaves,
    lambda info: info != PLAIN, lambda info: jax.tree.map(str, info), lambda info: {"e": 5, **info},
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_every_use_sees_what_a_plain_dict_shows(use: Callable[[Any], Any]) -> None:
    found, expected = use(unread()), use(dict(PLAIN))
    assert found == expected and type(found) is type(expected)


def test_it_can_be_changed_before_it_is_read() -> None:
    info = unread()
    info["b"], info["e"] = 7, 8
    del info["d"]
    info.update(f=9)
    assert info == {"b": 7, "a": {"c": 2.5}, "e": 8, "f": 9}
    info.clear()
    assert not info and info == {}


def test_values_are_read_once_and_only_if_they_are_used() -> None:
    reads = []
    info = unread(lambda: reads.append(1) or dict(PLAIN))
    assert list(info.keys()) == list(PLAIN) and len(info) == 3 and "b" in info and reads == []
    assert info["b"] == info["b"] == 1 and reads == [1]


def test_infos_of_steps_stay_as_they_were() -> None:
    one, other = GymEnv(Stock()), GymEnv(Stock())
    late = [env.reset(seed=3)[1] for env in (one,)]
    soon = [dict(env.reset(seed=3)[1]) for env in (other,)]
    for _ in range(5):
        obs, *_, info = one.step(1)
        obs[...] = np.nan if obs.dtype.kind == "f" else 0  # an observation belongs to the caller
        late.append(info)
        soon.append(dict(other.step(1)[-1]))
    assert data_equivalence([dict(info) for info in late], soon)


def test_wrappers_and_vectors_of_gymnasium() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(GymEnv(Stock(shortest=2)))
    env.reset(seed=0)
    infos = [env.step(1)[-1] for _ in range(2)]
    while "episode" not in infos[-1]:
        infos.append(env.step(1)[-1])
    assert set(infos[0]) < set(infos[-1]) and infos[-1]["episode"]["l"] == len(infos)
    vector = gymnasium.vector.SyncVectorEnv([lambda: GymEnv(Stock())] * 2)
    _, info = vector.reset(seed=0)
    assert set(infos[0]) < set(info)
