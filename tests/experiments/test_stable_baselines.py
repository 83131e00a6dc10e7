"""PPO of Stable-Baselines3 on the suite: the policy in JAX is the network that learned."""

from __future__ import annotations

import jax
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("optax")
pytest.importorskip("cma")

from experiments.training import agents, stable_baselines

pytestmark = pytest.mark.torch

AGENT = agents.StableBaselinesPpo()


@pytest.mark.parametrize("id", ["farm/pests-weeds-1x1-v0", "fishing/us-stocks-v0"])
def test_the_policy_plays_as_the_network(id: str) -> None:
    env = agents.make_school(id)
    settings = agents.change(AGENT.settings(id, env), {"num_envs": 4, "num_steps": 256, "updates": 2})
    model, curve = stable_baselines.learn(agents.end(env), settings, start=5, seed=1)
    assert len(curve) == 2 and np.isfinite(curve).all() and any(curve)

    own, policy = AGENT.enter(id, env, settings, stable_baselines.read_weights(model))
    obs = np.random.default_rng(0).uniform(0, 50, (64, *(own.observation_space.shape or ()))).astype(np.float32)
    found = [np.asarray(policy.act(policy.init, each, jax.random.key(0))[1]) for each in obs]
    wanted = model.predict(model.get_vec_normalize_env().normalize_obs(obs), deterministic=True)[0]
    np.testing.assert_allclose(np.stack(found), wanted, atol=1e-4)


def test_it_plays_an_id_of_each_family() -> None:
    assert {id.partition("/")[0] for id in AGENT.ids} == {"farm", "fishing", "forager"}
    assert all(agents.find_agent("sb3-ppo", id) for id in AGENT.ids)
