"""`GymEnv`: equal to the functional environment step by step, and what Gymnasium expects."""

from __future__ import annotations

import sys
from operator import methodcaller
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

from harvestgym.core.autoreset import RunState, advance, start_episode
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.core.spaces import make_action_reader
from harvestgym.core.wrappers import Log, TimeLimit
from harvestgym.gym.compiled_env import compile_functions
from harvestgym.gym.env import GymEnv
from tests.long_form import long
from tests.toy_env import BoxStock, Stock

CORES = [Stock(), BoxStock(), TimeLimit(Log(Stock()), 3)]


def assert_same(shown: Any, core: Any) -> None:
    """Integers and flags exactly, floats up to rounding."""
    shown = jax.tree.map(lambda leaf: leaf, shown)  # with plain dicts
    assert jax.tree.structure(shown) == jax.tree.structure(core)
    for a, b in zip(jax.tree.leaves(shown), jax.tree.leaves(core), strict=True):
        exact = not np.issubdtype(b.dtype, np.floating)
        np.testing.assert_allclose(a, b, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)


@pytest.mark.parametrize("core", CORES[1:], ids=repr)
def test_steps_equal_the_functional_environment_across_resets(core: Any) -> None:
    env, params = GymEnv(core), core.params
    start = jax.jit(lambda key: start_episode(core, key, params))
    step = jax.jit(lambda run, a: advance(core, run, a, params))
    env.action_space.seed(1)
    read = make_action_reader(env.action_space)
    obs, info = env.reset(seed=5)
    run, seen = start(jax.random.key(5))
    ends = 0
    for _ in range(40):
        assert_same((obs, info), (seen.obs, seen.info))
        action = env.action_space.sample()
        obs, reward, terminated, truncated, info = env.step(action)
        run, seen, _ = step(run, read(action))
        assert_same((obs, reward, terminated, truncated, info), tuple(seen))
        if terminated or truncated:
            ends += 1
            obs, info = env.reset()
            run, seen = start(run.key)
    assert ends >= 3


@pytest.mark.parametrize("core", CORES, ids=repr)
def test_gymnasium_checker_passes(core: Any) -> None:
    def entry(render_mode: str | None = None) -> GymEnv:
        return GymEnv(core, render_mode=render_mode)

    gymnasium.register("tests/Toy-v0", entry)
    check_env(gymnasium.make("tests/Toy-v0").unwrapped)
    del gymnasium.registry["tests/Toy-v0"]


def test_returned_values_are_python_numbers() -> None:
    env = GymEnv(Stock())
    env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(2)
    assert (type(obs), type(reward), type(terminated), type(truncated)) == (np.ndarray, float, bool, bool)
    assert {name: type(value) for name, value in info.items()} == {
        "stock": float,
        "licence": int,
        "rich": bool,
        "age": np.ndarray,
    }
    assert info["licence"] > 2**24
    obs[:] = 7
    assert env.step(2)[0].max() <= 1


def test_observations_have_the_dtypes_of_their_space() -> None:
    env = GymEnv(BoxStock())
    obs, _ = env.reset(seed=0)
    assert type(obs["rich"]) is np.int64 and obs["signs"].dtype == np.int8 and obs["stock"].dtype == np.float32


def test_same_seed_repeats_and_another_differs() -> None:
    env = GymEnv(Stock())

    def two_episodes(seed: int) -> list[Any]:
        begins = [env.reset(seed=seed), env.reset()]
        return begins + [env.step(1), env.reset()]

    assert data_equivalence(two_episodes(3), two_episodes(3), exact=True)
    assert not data_equivalence(two_episodes(3), two_episodes(4))
    first, second, *_ = two_episodes(3)
    assert first[1]["licence"] != second[1]["licence"]
    assert GymEnv(Stock()).reset()[1]["licence"] != GymEnv(Stock()).reset()[1]["licence"]


BAD = [
    (Stock(), 4, "expected an integer from 0 to 3, got 4"),
    (Stock(), -1, "got -1"),
    (Stock(), 1.0, "got 1.0"),
    (Stock(), np.nan, "got nan"),
    (Stock(), np.array([1, 2]), "got array"),
    (BoxStock(), np.array([np.nan]), r"action\[0\]: expected a value within \[-1.0, 1.0\], got nan"),
    (BoxStock(), np.array([1.5]), "got 1.5"),
    (BoxStock(), np.array([0.5, 0.5]), r"expected numbers of shape \(1,\), got float64 of shape \(2,\)"),
    (BoxStock(), ["x"], "expected numbers"),
    (BoxStock(), [[1], [1, 2]], "ragged"),
]


@pytest.mark.parametrize(("core", "action", "words"), BAD, ids=lambda value: str(value)[:30])
def test_wrong_action_is_refused_and_changes_nothing(core: Any, action: Any, words: str) -> None:
    env, twin = GymEnv(core), GymEnv(core)
    env.action_space.seed(0)
    good = env.action_space.sample()
    for one in (env, twin):
        one.reset(seed=0)
        one.step(good)
    with pytest.raises(ConfigError, match=words):
        env.step(action)
    assert data_equivalence(env.step(good), twin.step(good), exact=True)


def test_actions_of_several_parts_are_checked_by_part() -> None:
    parts = gymnasium.spaces.Dict(
        crop=gymnasium.spaces.Discrete(3, start=1),
        pair=gymnasium.spaces.Tuple((gymnasium.spaces.MultiDiscrete([2, 3]), gymnasium.spaces.MultiBinary(2))),
        steps=gymnasium.spaces.Box(0, 9, (2,), np.int64),
    )
    read, several = make_action_reader(parts), make_action_reader(parts, (4,))
    parts.seed(0)
    action = parts.sample()
    assert {leaf.dtype.name for leaf in jax.tree.leaves(read(action))} == {"int32"}
    batch = gymnasium.vector.utils.batch_space(parts, 4)
    assert [leaf.shape[0] for leaf in jax.tree.leaves(several(batch.sample()))] == [4] * 4
    with pytest.raises(ConfigError, match=r"action\['pair'\]\[0\]\[1\]: expected a value within \[0, 2\], got 3"):
        read(action | {"pair": ([1, 3], [0, 1])})
    with pytest.raises(ConfigError, match=r"expected a dict of \['crop', 'pair', 'steps'\], got \['crop'\]"):
        read({"crop": 1})
    with pytest.raises(ConfigError, match="a tuple of 2"):
        read(action | {"pair": 3})
    with pytest.raises(ConfigError, match="expected a space of numbers"):
        make_action_reader(gymnasium.spaces.Text(3))


def test_step_without_an_episode_is_refused() -> None:
    env = GymEnv(TimeLimit(Stock(shortest=9), 2))
    with pytest.raises(ResetNeeded, match="try reset"):
        env.step(0)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    with pytest.raises(ResetNeeded, match="try reset"):
        env.step(0)
    env.reset()
    env.step(0)


def test_run_state_can_be_assigned() -> None:
    env = GymEnv(BoxStock())
    env.reset(seed=0)
    env.step([0.5])
    kept: RunState = env.run_state
    then = env.step([0.1])
    other = GymEnv(BoxStock())
    other.run_state = jax.tree.map(jnp.copy, kept)
    assert data_equivalence(other.step([0.1]), then, exact=True)


def test_changing_parameters_does_not_recompile() -> None:
    env = GymEnv(Stock())
    poor = replace(env.params, collapse=jnp.float32(2.0))
    env.reset(seed=0)
    assert env.step(0)[2] is False
    seen: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: seen.append(name))
    env.reset(seed=0, options={"params": poor})
    assert env.params is poor and env.step(0)[2] is True
    assert not [name for name in seen if "trace" in name or "compile" in name]
    with pytest.raises(ConfigError, match="params: expected an object of the class StockParams, got"):
        env.params = (1.0, 2.0)
    assert env.params is poor
    with pytest.raises(ConfigError, match="reset option: expected a known name, got 'param'; try 'params'"):
        env.reset(options={"param": poor})
    with pytest.raises(ConfigError, match="options: expected a mapping such as .*, got 5"):
        env.reset(options=5)  # type: ignore[arg-type]


def test_equal_environments_share_compiled_functions() -> None:
    GymEnv(Stock())
    misses = compile_functions.cache_info().misses
    GymEnv(Stock())
    assert compile_functions.cache_info().misses == misses
    GymEnv(Stock(shortest=77))
    assert compile_functions.cache_info().misses == misses + 1


def test_action_masks_are_offered_if_the_environment_has_them() -> None:
    env = GymEnv(TimeLimit(Stock(shortest=30), 30))
    env.reset(seed=0)
    assert env.action_masks().tolist() == [True] * 4
    for _ in range(3):
        env.step(3)
    assert env.action_masks().tolist() == [True, True, True, False]
    assert not hasattr(GymEnv(BoxStock()), "action_masks")


def test_an_environment_without_a_scene_is_not_drawn() -> None:
    with pytest.warns(
        UserWarning, match="expected a render_mode, got none, so nothing is drawn; try render_mode='rgb_array'"
    ):
        assert GymEnv(BoxStock()).render() is None
    with pytest.raises(ConfigError, match="unexpected keyword argument 'render_mode'"):
        GymEnv(Stock(), render_mode="rgb_array")


@pytest.mark.parametrize(
    "id", [pytest.param("farm/bean-1x1-v0", marks=long), "fishing/logistic-v0", "forager/two-biome-v0"]
)
def test_the_mode_human_draws_each_step_in_a_window(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(id, render_mode="human")
    assert env.render_mode == "human" and env.spec is not None and env.spec.id == id
    env.reset(seed=0)
    start = pygame.surfarray.array3d(pygame.display.get_surface())
    env.step(env.action_space.sample())
    after = pygame.surfarray.array3d(pygame.display.get_surface())
    assert start.shape == after.shape and (start != after).any()
    env.close()


def test_the_mode_human_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ConfigError, match=r"pip install 'harvestgym\[window\]'"):
        gymnasium.make("fishing/logistic-v0", render_mode="human")


@pytest.mark.parametrize(
    ("id", "steps"), [("farm/paid-looks-1x1-v0", 440), ("fishing/may-v0", 100), ("forager/two-biome-v0", None)]
)
def test_the_spec_has_the_steps_of_an_episode(id: str, steps: int | None) -> None:
    env = gymnasium.make(id)
    assert env.spec is not None and env.spec.max_episode_steps == steps
    limited = gymnasium.make(id, max_episode_steps=7)
    assert limited.spec is not None and limited.spec.max_episode_steps == 7


def test_a_notebook_shows_a_small_table() -> None:
    show = methodcaller("_repr_html_")  # the protocol of IPython
    text = show(GymEnv(Stock()))
    assert "<caption>Stock</caption>" in show(Stock()), "the functional environment too"
    assert text.startswith("<table>") and "GymEnv" in text and "<th>action</th>" in text and len(text) < 1000
    assert "fishing/logistic-v0" in show(gymnasium.make("fishing/logistic-v0").unwrapped)


@pytest.mark.parametrize("core", CORES, ids=repr)
def test_a_reset_without_parameters_uses_the_default_ones(core: Any) -> None:
    key = jax.random.key(3)
    assert data_equivalence(jax.device_get(core.reset(key)[1].obs), jax.device_get(core.reset(key, core.params)[1].obs))


@pytest.mark.parametrize("id", ["fishing/logistic-v0", "forager/two-biome-v0"])
def test_a_seed_beyond_32_bits_is_refused(id: str) -> None:
    """It gave the episode of the seed modulo 2^32."""
    with gymnasium.make(id) as env, pytest.raises(ConfigError, match="seed: expected an integer from 0 to 4294967295"):
        env.reset(seed=2**32)
