"""Stable-Baselines3 on macro jobs: the policy that plays is the network that learned, and it begins with jobs to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("optax")
pytestmark = pytest.mark.torch

ID = "farm/game0-weeds-v0"


@pytest.fixture
def sb3_jobs(import_example: Callable[[str], Any]) -> Any:
    """Import the example as a module."""
    return import_example("sb3_jobs")


@pytest.mark.parametrize("learner", ["ppo", "dqn"])
def test_the_policy_plays_as_the_network(sb3_jobs: Any, learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sb3_jobs, "CURVE_SEASONS", 4)
    monkeypatch.setattr(sb3_jobs, "CURVE", 2)
    env = sb3_jobs.make(ID, "train")
    settings = sb3_jobs.Settings(learner=learner, steps=2_048, num_envs=4)
    model, curve = sb3_jobs.train(ID, env, settings, 0)
    obs = np.random.default_rng(0).uniform(0, 1, (64, *env.observation_space.shape)).astype(np.float32)
    policy = sb3_jobs.make_policy(model)
    found = [int(policy.act(policy.init, each, jax.random.key(0))[1]) for each in obs]
    assert found == model.predict(obs, deterministic=True)[0].tolist()
    assert len(curve.means) == 2 and np.isfinite(curve.means).all()
    returns = sb3_jobs.returns_of(ID, env, curve.best, 4, "train")
    assert returns.mean() == pytest.approx(max(curve.means), abs=1e-3), "the best of the curve is kept"


def test_at_first_stop_is_seldom_chosen(sb3_jobs: Any) -> None:
    env = sb3_jobs.make(ID, "train")
    model = sb3_jobs.make_agent(ID, env, sb3_jobs.Settings(num_envs=2), 0)
    obs = model.policy.obs_to_tensor(np.zeros((1, *env.observation_space.shape), np.float32))[0]
    stop, *jobs = model.policy.get_distribution(obs).distribution.probs.detach().numpy()[0]
    assert stop < 0.05 and min(jobs) > 0.1
