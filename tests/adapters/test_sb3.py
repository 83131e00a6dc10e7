"""`SB3VecEnv` behaves like a `DummyVecEnv` of `GymEnv`s, and algorithms train on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import harvestgym
from harvestgym import registry
from harvestgym.adapters.sb3 import SB3VecEnv, info_rows
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.gym.env import GymEnv
from tests.long_form import long
from tests.toy_env import BoxStock, Stock

pytestmark = pytest.mark.torch

N = 3
CORES = [Stock(), BoxStock()]


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for name in theirs:
            assert_same(ours[name], theirs[name])
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("core", CORES, ids=repr)
def test_the_checker_of_the_library_passes(core: Any) -> None:
    check_env(GymEnv(core), warn=True, skip_render_check=False)


@pytest.mark.parametrize("core", CORES, ids=repr)
def test_a_batch_equals_dummy_vec_env(core: Any) -> None:
    ours, theirs = SB3VecEnv(core, N), DummyVecEnv([lambda: GymEnv(core)] * N)
    assert ours.seed(3) == theirs.seed(3)
    assert_same(ours.reset(), theirs.reset())
    core.action_space.seed(0)
    ends = 0
    for _ in range(25):
        actions = np.stack([theirs.action_space.sample() for _ in range(N)])
        (obs, reward, over, infos), wanted = ours.step(actions), theirs.step(actions)
        assert_same(obs, wanted[0])
        np.testing.assert_allclose(reward, wanted[1], rtol=1e-5)
        assert reward.dtype == np.float32 and over.tolist() == wanted[2].tolist()
        for mine, other in zip((*infos, *ours.reset_infos), (*wanted[3], *theirs.reset_infos), strict=True):
            assert_same(mine, other)
        ends += over.sum()
    assert ends >= 3


def test_seeds_and_options_are_used_once() -> None:
    ours = SB3VecEnv(Stock(), N)
    ours.seed(1)
    ours.reset()
    first = [info["licence"] for info in ours.reset_infos]
    ours.reset()
    assert first != [info["licence"] for info in ours.reset_infos]
    ours.seed(1)
    ours.set_options({"params": replace(Stock().params, growth=np.float32(0.1))})
    ours.reset()
    assert first == [info["licence"] for info in ours.reset_infos]
    assert ours.batch.params.growth == np.float32(0.1)
    ours.reset()
    assert first != [info["licence"] for info in ours.reset_infos], "seed and options were used once"
    ours.set_options([{"params": 1}, {}, {}])
    with pytest.raises(ValueError, match="the same options"):
        ours.reset()


def test_attributes_and_methods() -> None:
    ours = SB3VecEnv(Stock(shortest=6), N)
    ours.reset()
    assert ours.get_attr("shortest", [0, 2]) == [6, 6] and ours.get_attr("render_mode") == [None] * N
    assert ours.has_attr("action_masks") and not ours.has_attr("nonsense")
    assert np.stack(ours.env_method("action_masks")).shape == (N, 4)
    assert ours.env_method("action_masks", indices=1)[0].shape == (4,)
    assert ours.env_is_wrapped(VecMonitor) == [False] * N and ours.get_images() == [None] * N
    other = replace(Stock().params, growth=np.float32(0.2))
    ours.set_attr("params", other)
    assert ours.get_attr("params")[1] is other
    with pytest.raises(AttributeError, match="got 'shortest'"):
        ours.set_attr("shortest", 3)
    with pytest.raises(ConfigError, match="method: expected a known name, got 'action_mask'; try 'action_masks'"):
        ours.env_method("action_mask")
    ours.close()


def test_info_rows_are_dicts_and_may_be_empty() -> None:
    which = np.ones(2, bool)
    infos = {"day": np.array([3, 4]), "_day": which, "age": np.eye(2), "_age": which}
    assert [row["day"] for row in info_rows(infos, 2)] == [3, 4] and info_rows({}, 2) == [{}, {}]
    assert [row["age"].tolist() for row in info_rows(infos, 2)] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(("core", "kind"), [(Stock(), "MlpPolicy"), (BoxStock(), "MultiInputPolicy")], ids=repr)
def test_an_algorithm_trains(core: Any, kind: str) -> None:
    ours = VecMonitor(SB3VecEnv(core, N))
    model = PPO(kind, ours, n_steps=16, batch_size=16, n_epochs=1, seed=0, device="cpu")
    model.learn(48)
    assert len(model.ep_info_buffer or ()) >= 1


@long
def test_an_evaluation_of_a_forager_ends() -> None:
    env, tested = (gymnasium.make("forager/weather-5000-v0") for _ in range(2))
    ended = EvalCallback(Monitor(tested), n_eval_episodes=1, eval_freq=32, verbose=0)
    PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(32, ended)
    assert ended.n_calls == 32 and np.isfinite(ended.last_mean_reward)
    assert tested.spec is not None and tested.spec.max_episode_steps == 5000


def test_a_default_image_network_trains_on_a_forager() -> None:
    env = gymnasium.make("forager/two-biome-5000-v0", observation_mode="images")
    assert is_image_space(env.observation_space)
    PPO("CnnPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(64)


@pytest.fixture
def masked_id() -> Iterator[str]:
    """Yield an id of an environment with action masks and without pictures."""
    harvestgym.register("toy/stock-v0", "tests.toy_env:Stock")
    yield "toy/stock-v0"
    registry.unregister("toy/stock-v0")


@pytest.mark.parametrize("make", [gymnasium.make, lambda id: make_vec_env(id, 2)], ids=["make", "make_vec_env"])
def test_action_masks_reach_the_learner_through_the_wrappers(masked_id: str, make: Any) -> None:
    masked = pytest.importorskip("sb3_contrib")
    model = masked.MaskablePPO(
        "MlpPolicy", make(masked_id), n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu"
    )
    model.learn(64)
    assert model.rollout_buffer.action_masks.shape[-1] == 4
    assert 0 in model.rollout_buffer.action_masks
