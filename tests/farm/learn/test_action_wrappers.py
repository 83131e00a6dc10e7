"""The action wrappers for learners: numbers, vectors, and pictures of wrapped farms."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm import Farm
from harvestgym.farm.learn.action_wrappers import wrap_actions
from harvestgym.gym.env import GymEnv
from tests.farm.ponds import farm, pour
from tests.long_form import long


def test_vectors_outside_the_box_count_as_its_edge(plain: Farm) -> None:
    env: Any = wrap_actions(plain.model, "box", flat=False)
    wild = 3 * jax.random.normal(jax.random.key(0), (50, *env.action_space.shape))
    for a, b in zip(jax.vmap(env.read)(wild), jax.vmap(env.read)(jnp.clip(wild, -1, 1)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["po", "ao"])
@pytest.mark.parametrize("kind", ["discrete", "multidiscrete", "box"])
def test_every_wrapper_passes_the_checker(mode: str, kind: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = GymEnv(wrap_actions(farm(mode).model, kind))
    checker.check_env(env, warn=True, skip_render_check=False)


def test_numbers_are_observations_then_interventions() -> None:
    """1 is the first observation, the first intervention follows the last; 0 does nothing. Requests of a day add up."""
    game = farm()
    env = GymEnv(wrap_actions(game.model, "discrete", flat=False))
    looks = len(game.model.offered.items)  # type: ignore[attr-defined]
    env.reset(seed=0)
    obs, _, _, _, info = env.step(1)
    assert info["observation cost"] == 0.25 * 6 and obs["mask"].sum() == 12
    obs, _, _, _, info = env.step(2)
    assert info["observation cost"] > 0 and obs["mask"].sum() > 12 and env.run_state.state.inner.day == 0
    obs, _, _, _, info = env.step(looks + 1)
    assert info["accepted"].tolist() == [True, False, False] and obs["mask"].sum() == 6
    assert env.run_state.state.inner.day == 1 and env.step(0)[-1]["observation cost"] == 0


def test_a_repeated_request_ends_the_day() -> None:
    """So no policy can keep the day from passing."""
    game = farm()
    env = GymEnv(wrap_actions(game.model, "discrete", flat=False))
    env.reset(seed=0)
    reported = [(env.step(1)[-1]["observation cost"], int(env.run_state.state.inner.day)) for _ in range(4)]
    assert [day for _, day in reported] == [0, 1, 1, 2]
    assert reported[0][0] == reported[2][0] > 0 == reported[1][0] == reported[3][0]


def test_a_vector_encodes_action_plot_and_amount(plain: Farm) -> None:
    """Of nothing, pour, dye and cut, pour is the second quarter; (1, 2) the last sixth; 0.2 is three fifths of 5 L."""
    env = GymEnv(wrap_actions(plain.model, "box"))
    env.reset(seed=0)
    start = env.run_state
    env.step(np.asarray([-0.3, 0.99, 0.2], np.float32))
    after = env.run_state.state
    plain.reset(seed=0)
    plain.run_state = start
    plain.farmgym_step([pour(1, 2, 3.0)])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), after, plain.run_state.state)
    with pytest.raises(ConfigError, match="actions: expected a known name, got 'boxes'; try 'box'"):
        wrap_actions(plain.model, "boxes")


@pytest.mark.parametrize("mode", [pytest.param("po", marks=long), "ao"])
@pytest.mark.parametrize("kind", [pytest.param("discrete", marks=long), "multidiscrete", "box"])
def test_pictures_of_wrapped_farms_show_the_action(mode: str, kind: str) -> None:
    """After an observation it is still morning and nothing was done."""
    model = farm(mode, max_action_schedule_size=1).model
    looks = len(model.offered.items) if mode == "ao" else 0  # type: ignore[attr-defined]
    vector = np.full(looks + 2 + model.actions.width, -0.3, np.float32)
    asking = np.where(np.arange(len(vector)) == 0, 0.5, vector)
    look, pour = {"discrete": (1, 1 + looks), "multidiscrete": ([1], [1 + looks]), "box": (asking, vector)}[kind]
    env = GymEnv(wrap_actions(model, kind), render_mode="ansi")
    env.reset(seed=0)
    for _ in range(2):
        if mode == "ao":
            env.step(look)
            assert "morning" in env.render() and "pour" not in env.render()
            assert "looked at" in env.render()
        env.step(pour)
        assert "pour" in env.render() and "morning" not in env.render()
