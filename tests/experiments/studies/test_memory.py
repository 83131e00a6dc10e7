"""The study of memory: its short form, and networks that differ in their memory only."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import memory
from experiments.studies.memory import Agent, AgentReturns
from harvestgym.evaluate.statistics import summarise
from harvestgym.fishing.family import make

FISHERY, KEY = "logistic-survey-v0", jax.random.key(0)
OBSERVATION = np.float32([0.3])


def test_who_remembers_surveys_catches_more(tmp_path: Path) -> None:
    """A recurrent net beats one without memory on the same 300 episodes, each trained once for 100 updates."""
    pytest.importorskip("optax")
    memory.run(300, tmp_path, updates=100, trainings=1, games=("logistic-survey-v0",))
    kept = pyarrow.parquet.read_table(tmp_path / "memory.parquet").to_pydict()
    returns = dict(zip(dict.fromkeys(kept["agent"]), np.asarray(kept["return"]).reshape(5, 300), strict=True))
    assert summarise(returns["recurrent"] - returns["memoryless"]).low > 0
    assert returns["memoryless"].mean() > 0.97 * returns["rule: escapement"].mean(), (
        "the memoryless one has learnt, too"
    )
    assert (tmp_path / "memory.png").stat().st_size > 0


@pytest.mark.parametrize(("kind", "differs"), [("memoryless", False), ("stacked", True), ("recurrent", True)])
def test_what_was_seen_before_matters_to_who_remembers(kind: str, differs: bool) -> None:
    agent, key = memory.Agent(kind), jax.random.key(0)
    weights = agent.weights(key)
    obs = make("logistic-survey-v0").observation_space
    acts = []
    for first in (obs.low, obs.high):
        carry, _ = agent(weights, agent.start, first, key)
        acts.append(agent(weights, carry, 0 * first, key)[1])
    assert (float(abs(acts[0] - acts[1])[0]) > 1e-6) == differs


@pytest.mark.parametrize("kind", memory.AGENTS)
def test_the_weights_fit_the_features(kind: str) -> None:
    agent = Agent(kind)
    weights = agent.weights(KEY)
    assert weights["in"].shape == (agent.features, memory.UNITS) and weights["out"].shape == (memory.UNITS, 1)
    (later, action), given = agent(weights, agent.start, OBSERVATION, KEY)
    assert later.shape == agent.start[0].shape and given.shape == (1,)
    np.testing.assert_array_equal(action, given)


@pytest.mark.parametrize("kind", memory.AGENTS)
def test_an_untrained_agent_catches_little_and_no_action_leaves_the_space(kind: str) -> None:
    agent = Agent(kind)
    for seed in range(5):
        weights = agent.weights(jax.random.key(seed))
        _, action = agent(weights, agent.start, OBSERVATION, KEY)
        assert -1 < float(action[0]) < -0.6
        large = jax.tree.map(lambda leaf: 100 * leaf, weights)
        assert abs(float(agent(large, agent.start, OBSERVATION, KEY)[1][0])) <= 1


def test_the_stack_holds_the_last_observations_and_actions() -> None:
    agent = Agent("stacked")
    weights, carry, seen = agent.weights(KEY), agent.start, []
    for year in range(memory.DEPTH + 3):
        obs = np.float32([year])
        seen.append((float(year), float(carry[1][0])))
        carry, _ = agent(weights, carry, obs, KEY)
    np.testing.assert_allclose(carry[0], seen[-memory.DEPTH :], rtol=1e-6)


def test_a_closed_gate_keeps_the_memory() -> None:
    """The unit of Cho et al.: with a keep gate of 1 the memory stays, with 0 it is the new one."""
    agent = Agent("recurrent")
    weights = agent.weights(KEY)
    before = jnp.linspace(-0.5, 0.5, memory.UNITS)
    for bias, kept in ((40.0, True), (-40.0, False)):
        keep_bias = jnp.concatenate([jnp.full(memory.UNITS, bias), jnp.zeros(memory.UNITS)])
        (after, _), _ = agent(weights | {"gate bias": keep_bias}, (before, agent.start[1]), OBSERVATION, KEY)
        assert np.allclose(after, before, atol=1e-5) == kept
        assert np.abs(after).max() <= 1


def test_the_gain_is_the_mean_difference_in_the_same_episodes() -> None:
    base, more = np.arange(6.0).reshape(2, 3), 1.5 + np.arange(6.0).reshape(2, 3)
    found = [AgentReturns("a", "memoryless", base), AgentReturns("a", "recurrent", more)]
    np.testing.assert_allclose(memory.find_gain(found, "a", "recurrent"), [1.5, 1.5, 1.5])
    np.testing.assert_allclose(memory.find_gain(found, "a", "memoryless", than="recurrent"), [-1.5, -1.5, -1.5])
