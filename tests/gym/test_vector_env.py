"""`VecEnv`: equal to a `SyncVectorEnv` of `GymEnv`s, in each autoreset mode, value by value."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import Log, TimeLimit
from harvestgym.gym.compiled_env import compile_functions
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.long_form import long
from tests.toy_env import BoxStock, Stock

N = 3
CORES = [Stock(), BoxStock()]


def pair(core: Any, mode: AutoresetMode) -> tuple[VecEnv, SyncVectorEnv]:
    sync = SyncVectorEnv([lambda: GymEnv(core)] * N, autoreset_mode=mode)
    return VecEnv(core, N, autoreset_mode=mode), sync


def assert_same(ours: Any, theirs: Any, path: str = "") -> None:
    """Same keys, kinds of number and values; integers exactly, floats up to rounding."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), path
        for name in theirs:
            assert_same(ours[name], theirs[name], f"{path}/{name}")
    elif isinstance(theirs, tuple):
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{path}/{i}")
    elif isinstance(theirs, np.ndarray) and theirs.dtype == object:
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert (a is None) == (b is None), path
            if b is not None:
                assert_same(a, b, f"{path}/{i}")
    else:
        assert ours.shape == theirs.shape and ours.dtype.kind == theirs.dtype.kind, path
        close = np.issubdtype(theirs.dtype, np.floating)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5 if close else 0, atol=1e-6 if close else 0, err_msg=path)


@pytest.mark.parametrize(
    ("core", "mode"), [*((Stock(), mode) for mode in AutoresetMode), (BoxStock(), AutoresetMode.SAME_STEP)], ids=str
)
def test_batch_equals_the_sync_vector_env(core: Any, mode: AutoresetMode) -> None:
    ours, theirs = pair(core, mode)
    theirs.action_space.seed(0)
    assert_same(ours.reset(seed=11), theirs.reset(seed=11))
    ends = 0
    for _ in range(30):
        actions = theirs.action_space.sample()
        got, wanted = ours.step(actions), theirs.step(actions)
        assert_same(got, wanted)
        over = got[2] | got[3]
        ends += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            mask = {"reset_mask": over}
            assert_same(ours.reset(options=mask), theirs.reset(options=dict(mask)))
    assert ends >= 5
    assert_same(ours.reset(seed=[4, None, 6]), theirs.reset(seed=[4, None, 6]))


@pytest.mark.parametrize("core", CORES, ids=repr)
def test_spaces_and_metadata_equal_the_sync_vector_env(core: Any) -> None:
    ours, theirs = pair(core, AutoresetMode.SAME_STEP)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.metadata == theirs.metadata and ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, _ = ours.reset(seed=0)
    assert obs in ours.observation_space
    for obs in (ours.step(ours.action_space.sample())[0] for _ in range(10)):
        assert obs in ours.observation_space


def test_each_environment_equals_the_single_one_with_its_seed() -> None:
    ours, single = VecEnv(Stock(), N, autoreset_mode="SameStep"), GymEnv(Stock())
    ours.reset(seed=20)
    single.reset(seed=22)
    for _ in range(20):
        batch, alone = ours.step(np.array([0, 3, 1])), single.step(1)
        np.testing.assert_allclose(batch[1][2], alone[1], rtol=1e-6)
        if alone[2] or alone[3]:
            single.reset()


def test_seeds_can_be_given_for_some() -> None:
    ours = VecEnv(Stock(), N)
    first = ours.reset(seed=[7, None, 7])[1]["licence"]
    assert first[0] == first[2] != first[1]
    unseeded = VecEnv(Stock(), N).reset()[1]["licence"]
    assert len(set(unseeded.tolist())) == N
    with pytest.raises(ConfigError, match="expected a seed for each of 3 environments, got 2"):
        ours.reset(seed=[1, 2])


def test_returned_arrays_are_copies() -> None:
    ours = VecEnv(Stock(), N, autoreset_mode=AutoresetMode.DISABLED)
    obs, _ = ours.reset(seed=0)
    obs[:] = 5
    again, _ = ours.reset(options={"reset_mask": np.array([True, False, False])})
    assert again.max() <= 1


def test_wrong_action_of_one_changes_none() -> None:
    ours, twin = VecEnv(Stock(), N), VecEnv(Stock(), N)
    ours.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(ConfigError, match=r"action\[1\]: expected a value within \[0, 3\], got 4"):
        ours.step(np.array([0, 4, 0]))
    with pytest.raises(ConfigError, match=r"expected integers of shape \(3,\)"):
        ours.step(np.array([0, 1]))
    assert_same(ours.step(np.array([1, 1, 1])), twin.step(np.array([1, 1, 1])))


def test_wrong_calls_are_refused() -> None:
    ours = VecEnv(TimeLimit(Stock(shortest=9), 1), N, autoreset_mode=AutoresetMode.DISABLED)
    some = np.array([True, False, True])
    with pytest.raises(ResetNeeded, match="step: expected a running episode, got none"):
        ours.step(np.zeros(N, int))
    with pytest.raises(ResetNeeded, match="try reset.. for all"):
        ours.reset(options={"reset_mask": some})
    ours.reset(seed=0)
    ours.step(np.zeros(N, int))
    ours.reset(options={"reset_mask": some})
    with pytest.raises(ResetNeeded, match=r"got ended \[1\]"):
        ours.step(np.zeros(N, int))
    with pytest.raises(ConfigError, match="options: expected a mapping such as .*, got 5"):
        ours.reset(options=5)  # type: ignore[arg-type]
    for mask in (some.tolist(), some[:2], some & False):
        with pytest.raises(ConfigError, match="reset_mask: expected a bool array of shape"):
            ours.reset(options={"reset_mask": mask})
    with pytest.raises(ConfigError, match="try 'reset_mask'"):
        ours.reset(options={"reset_masks": some})
    with pytest.raises(ConfigError, match="autoreset_mode: expected a known name, got 'SameStp'; try 'SameStep'"):
        VecEnv(Stock(), N, autoreset_mode="SameStp")
    for number in (0, -1, 1.5, True, "2"):
        with pytest.raises(ConfigError, match="num_envs: expected an integer, 1 or more, got"):
            VecEnv(Stock(), number)  # pyright: ignore[reportArgumentType]


def test_wrong_seed_changes_nothing_and_numpy_seeds_are_accepted() -> None:
    ours, twin = VecEnv(Stock(), N), VecEnv(Stock(), N)
    assert_same(ours.reset(seed=np.int64(3)), twin.reset(seed=3))  # pyright: ignore[reportArgumentType]
    for seed in (-1, 2**32, 2**32 - 1, 1.5, True, "ab", [1, -2, 3], [1, "2", 3]):
        with pytest.raises(ConfigError, match="seed: expected an integer from 0 to 4294967295, got"):
            ours.reset(seed=seed)  # pyright: ignore[reportArgumentType]
    assert_same(ours.step(np.array([1, 1, 1])), twin.step(np.array([1, 1, 1])))
    assert_same(ours.reset(seed=np.arange(N)), twin.reset(seed=[0, 1, 2]))  # pyright: ignore[reportArgumentType]


def test_gymnasiums_wrappers_work() -> None:
    ours: Any = VecEnv(Stock(), N)
    wrapped = gymnasium.wrappers.vector.NormalizeObservation(gymnasium.wrappers.vector.RecordEpisodeStatistics(ours))
    wrapped.reset(seed=0)
    infos = [wrapped.step(np.full(N, 1))[4] for _ in range(20)]
    lengths = [info["episode"]["l"][info["_episode"]] for info in infos if "episode" in info]
    assert sum(len(found) for found in lengths) >= N


def test_masks_come_one_per_environment() -> None:
    ours = VecEnv(Stock(), N)
    ours.reset(seed=0)
    assert ours.action_masks().shape == (N, 4)
    with pytest.warns(UserWarning, match="expected a render_mode, got none"):
        assert ours.render() is None


def test_environments_can_be_assigned() -> None:
    ours, other = VecEnv(Stock(), N), VecEnv(Stock(), N)
    ours.reset(seed=0)
    ours.step(np.array([1, 2, 3]))
    other.run_state = jax.tree.map(lambda leaf: leaf, ours.run_state)
    assert_same(other.step(np.array([1, 2, 3])), ours.step(np.array([1, 2, 3])))


def test_all_modes_share_compiled_functions() -> None:
    VecEnv(Stock(), N)
    misses = compile_functions.cache_info().misses
    for mode in AutoresetMode:
        VecEnv(Stock(), N, autoreset_mode=mode)
    assert compile_functions.cache_info().misses == misses


@long
def test_make_vec_takes_a_time_limit_and_wrappers() -> None:
    limited = gymnasium.make_vec("fishing/logistic-v0", 2, max_episode_steps=3)
    limited.reset(seed=0)
    nothing = np.full((2, 1), -1.0, np.float32)
    ends = [limited.step(nothing)[3].tolist() for _ in range(3)]
    assert ends == [[False, False], [False, False], [True, True]]
    logged = harvestgym.make_vec("fishing/logistic-v0", 2, wrappers=[Log])
    logged.reset(seed=0)
    assert logged.step(nothing)[4]["episode_length"].tolist() == [1, 1]
