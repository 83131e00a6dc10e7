"""Small experiments that repeat public reports about other packages with HarvestGym; `reports.md` has the table.

    python -m experiments.reports            # a minute or two; the experiments use fisheries and foragers

Each function is named after the report that it repeats, and raises AssertionError if HarvestGym has the same defect.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils.env_checker import check_env

import harvestgym

FISH, WORLD = "harvestgym:fishing/logistic-v0", "harvestgym:forager/two-biome-v0"


def play(env: Any, steps: int, seed: int | None = 0) -> list[Any]:
    """Return the observations of a reset and of `steps` steps with the lowest action."""
    seen = [env.reset(seed=seed)[0]]
    action = getattr(env.action_space, "low", 0)
    return seen + [env.step(action)[0] for _ in range(steps)]


def gymnasium_1084_reset_without_seed_repeats() -> None:
    runs = []
    for _ in range(2):
        env: Any = gymnasium.make(FISH)
        runs.append([play(env, 3), play(env, 3, None)])
    np.testing.assert_array_equal(runs[0], runs[1])


def gymnasium_899_seed_repeats() -> None:
    check_env(gymnasium.make(FISH).unwrapped, skip_render_check=True)
    check_env(gymnasium.make(WORLD).unwrapped, skip_render_check=True)


def gymnasium_185_action_space_samples_repeat() -> None:
    env: Any = gymnasium.make(FISH)
    env.action_space.seed(3)
    first = env.action_space.sample()
    env.reset(seed=1)
    env.action_space.seed(3)
    assert env.action_space.sample() == first


def gymnasium_194_time_limit_is_truncation() -> None:
    env = gymnasium.make(FISH, Tmax=3)
    env.reset(seed=0)
    *_, (_, _, terminated, truncated, _) = (env.step(np.array([-1.0], np.float32)) for _ in range(3))
    assert truncated and not terminated


def envpool_194_final_observation_is_kept() -> None:
    env = harvestgym.make_vec("fishing/logistic-v0", 2, autoreset_mode="SameStep", Tmax=2)
    env.reset(seed=0)
    idle = np.full((2, 1), -1.0, np.float32)
    env.step(idle)
    obs, _, _, truncated, info = env.step(idle)
    assert truncated.all() and not np.array_equal(info["final_obs"][0], obs[0])


def jumanji_211_a_planner_samples_successors_without_the_true_key() -> None:
    env: Any = harvestgym.make("fishing/logistic-v0")
    state, _ = env.reset(jax.random.key(0))
    action = jnp.asarray(env.action_space.low)
    stocks = [float(env.step(jax.random.key(i), state, action)[0].stock[0]) for i in range(8)]
    assert len(set(stocks)) == 8
    assert not any(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in jax.tree.leaves(state))


def jumanji_212_parameters_change_at_reset() -> None:
    env: Any = gymnasium.make(FISH)
    params = env.unwrapped.params
    env.reset(seed=0, options={"params": params})
    env.reset(seed=0, options={"params": copy.copy(params)})


def gymnax_109_two_flags_and_final_observation() -> None:
    env = harvestgym.make("fishing/logistic-v0", Tmax=1)
    state, _ = env.reset(jax.random.key(0))
    _, last = env.step(jax.random.key(1), state, jnp.asarray([-1.0], jnp.float32))
    assert last.truncated and not last.terminated


def minigrid_56_pictures_of_worlds_that_are_not_square() -> None:
    env: Any = gymnasium.make(WORLD, render_mode="rgb_array", size=(11, 29), regions={}, density={})
    env.reset(seed=0)
    picture = env.render()
    assert picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8


def minigrid_459_pictures_as_observations() -> None:
    env: Any = gymnasium.make(FISH, render_mode="rgb_array", render_width=64)
    pixels = gymnasium.wrappers.AddRenderObservation(env, render_only=True)
    obs, _ = pixels.reset(seed=0)
    assert obs.shape == (64, 64, 3) and pixels.observation_space.contains(obs)


def pettingzoo_387_agents_end_together() -> None:
    from pettingzoo.test import parallel_api_test

    parallel_api_test(harvestgym.make_parallel("fishing/fleets-v0"), num_cycles=20)


def pettingzoo_1244_agents_are_empty_at_the_end() -> None:
    env: Any = harvestgym.make_parallel("fishing/fleets-v0", Tmax=2)
    env.reset(seed=0)
    for _ in range(2):
        env.step({agent: env.action_space(agent).low for agent in env.agents})
    assert env.agents == []


def sb3_563_copies_and_pickles_continue_alike() -> None:
    env: Any = gymnasium.make(FISH).unwrapped
    play(env, 5)
    twins = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    action = env.action_space.low
    expected = env.step(action)[0]
    for twin in twins:
        np.testing.assert_array_equal(twin.step(action)[0], expected)


def sb3_364_a_step_outside_the_space_is_an_error() -> None:
    env: Any = gymnasium.make(FISH)
    env.reset(seed=0)
    for action in (np.array([np.nan], np.float32), np.array([7.0], np.float32), np.zeros(2, np.float32)):
        try:
            env.step(action)
        except ValueError:
            continue
        raise AssertionError(f"{action} was accepted")


def pcse_39_decisions_day_by_day() -> None:
    env: Any = gymnasium.make(FISH)
    env.reset(seed=0)
    caught = [env.step(np.array([a], np.float32))[1] for a in (-1.0, -0.9, -1.0)]
    assert caught[0] == caught[2] == 0 < caught[1]


def craftax_35_the_same_world_again() -> None:
    env = gymnasium.make(WORLD)
    np.testing.assert_array_equal(play(env, 20, 7), play(env, 20, 7))


def gymnasium_377_observations_stay_in_the_space() -> None:
    for id in (FISH, WORLD):
        env = gymnasium.make(id)
        for seed in range(3):
            env.reset(seed=seed)
            for _ in range(60):
                obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
                assert env.observation_space.contains(obs)
                if terminated or truncated:
                    break


def sb3_1747_rewards_are_floats() -> None:
    env: Any = gymnasium.make(FISH)
    env.reset(seed=0)
    assert type(env.step(env.action_space.sample())[1]) is float


def sb3_1992_observations_have_the_dtype_of_the_space() -> None:
    env: Any = gymnasium.make(FISH)
    assert env.reset(seed=0)[0].dtype == env.observation_space.dtype == np.float32


def rl_2138_done_reaches_a_wrapper() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(FISH, Tmax=3))
    env.reset(seed=0)
    *_, last = (env.step(np.array([-1.0], np.float32))[4] for _ in range(3))
    assert last["episode"]["l"] == 3


EXPERIMENTS: tuple[Callable[[], None], ...] = tuple(
    value for name, value in list(globals().items()) if "_" in name and name.split("_")[1].isdigit()
)
"""The experiments, in the order of the file."""


def main() -> None:
    for experiment in EXPERIMENTS:
        try:
            experiment()
            found = "as expected"
        except Exception as error:
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
        print(f"{experiment.__name__}: {found}", flush=True)


if __name__ == "__main__":
    main()
