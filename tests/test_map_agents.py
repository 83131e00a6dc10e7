"""The agents of the map interface: they choose what is possible, remember their orders, and ask the expert."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import rollout
from harvestgym.evaluate.run import policy_named
from tests.load_script import script
from tests.long_form import some

pytest.importorskip("optax")

translate_policy = script("examples/map_policies.py").translate_policy

SMALL, LARGE = "full-1x1", "full-3x4"
DRAWS = 64


@pytest.fixture
def ppo(import_example: Callable[[str], Any]) -> Any:
    """Import the example as a module."""
    return import_example("map_ppo")


def find_id(name: str) -> str:
    """Return the id of the newest version of a farm."""
    return max(id for id in harvestgym.ids("farm") if id.startswith(f"farm/{name}-v"))


def make(name: str) -> Any:
    """Make the newest version of a farm with maps."""
    return harvestgym.make(find_id(name), interface="map")


def observe(env: Any, allowed: list[str]) -> dict[str, Any]:
    """Return an observation in which some orders are possible; compiles no dynamics."""
    values = np.ones(env.env.observation_space.shape, np.float32)
    obs = env.encode(values, np.zeros(env.table.shape[:2], np.float32), np.int32(0))
    obs |= {"since": np.ones((*env.table.shape[:2], 2), np.float32)}
    possible = np.asarray([name in allowed for name in env.table.names])
    mask = {"what": possible} | {name: env.table.valid[name] & possible[:, None] for name in ("where", "amount")}
    return jax.tree.map(jax.numpy.asarray, obs | {"mask": mask})


def test_orders_are_possible_and_weights_go_along(ppo: Any) -> None:
    small, large = make(SMALL), make(LARGE)
    settings = ppo.Settings(width=8, blocks=1)
    key = jax.random.key(0)
    fresh = ppo.make_weights(key, large, settings)
    weights = ppo.transfer(ppo.make_weights(key, small, settings), small, large, fresh)
    assert jax.tree.map(np.shape, weights) == jax.tree.map(np.shape, fresh)
    allowed = ["stop", large.table.names[1], large.table.names[2]]
    obs, mask = observe(large, allowed), observe(large, allowed)["mask"]
    draw = jax.jit(jax.vmap(lambda key: ppo.draw(weights, obs, key)))
    drawn = draw(jax.random.split(key, DRAWS))
    orders, chances = np.asarray(drawn.order), np.asarray(drawn.chance)
    assert {large.table.names[what] for what in orders[:, 0]} == set(allowed)
    for what, where, amount in orders:
        assert mask["where"][what, where] and mask["amount"][what, amount]
    assert (chances < 0).all() and len(np.unique(orders[:, 1])) > 3


def test_a_channel_keeps_its_weights_by_name(ppo: Any) -> None:
    small, large = make(SMALL), make(LARGE)
    settings = ppo.Settings(width=8, blocks=1)
    before, fresh = (ppo.make_weights(jax.random.key(0), env, settings) for env in (small, large))
    after = ppo.transfer(before, small, large, fresh)
    names = [ppo.inputs(env)["plots"] for env in (small, large)]
    assert len(set(names[1])) == len(names[1])
    for i, name in enumerate(names[1]):
        expected = before["plots"][names[0].index(name)] if name in names[0] else np.zeros(8)
        np.testing.assert_array_equal(after["plots"][i], expected)


@pytest.fixture
def imitation(ppo: Any) -> Any:
    """Import the example as a module."""
    return importlib.import_module("map_imitation")


def follow_lessons(imitation: Any) -> Policy:
    """Return the policy that gives the expert's next order."""
    return Policy((), lambda memory, obs, key: (memory, imitation.next_order(obs)))


@pytest.mark.parametrize("name", some(["bean-1x1", "paid-looks-1x1", "pests-weeds-1x1"], "bean-1x1"))
def test_following_the_lessons_is_the_days_of_the_expert(ppo: Any, imitation: Any, name: str) -> None:
    farm = make(name)
    id = find_id(name)
    taught = imitation.Taught(ppo.Diary(farm), policy_named(id, farm.env, "expert"))
    steps = 250
    mine = rollout(taught, follow_lessons(imitation), jax.random.key(3), 2, steps)
    expert = translate_policy(farm, policy_named(id, farm.env, "expert"))
    theirs = rollout(farm, expert, jax.random.key(3), 2, steps)
    np.testing.assert_array_equal(mine.action, theirs.action)
    np.testing.assert_array_equal(mine.reward, theirs.reward)
    assert (np.asarray(mine.terminated | mine.truncated)).any()
    given = np.asarray(mine.action)[:-1]
    since = np.asarray(mine.obs["since"])[1:, ..., 1] * 32
    last = [since[t, 0][tuple(given[t, 0, :2])] for t in range(steps - 1) if not mine.terminated[t, 0]]
    assert set(np.unique(last)) <= {0.0, 1.0}


def test_an_agent_that_has_learned_nothing_does_what_it_is_advised(ppo: Any, imitation: Any) -> None:
    residual = importlib.import_module("map_residual")
    advised = residual.Advised(residual.make_taught("farm/bean-1x1-v0", "train"), trust := 0.75)
    weights = ppo.make_weights(jax.random.key(0), advised.farm, ppo.Settings(width=8, blocks=1), advised.words)
    steps = 60
    mine = rollout(advised, ppo.policy_of(weights), jax.random.key(3), 2, steps)
    theirs = rollout(advised.env, follow_lessons(imitation), jax.random.key(3), 2, steps)
    np.testing.assert_array_equal(mine.action, theirs.action)
    nothing = jax.tree.map(np.zeros_like, weights)
    chances = jax.vmap(jax.vmap(lambda obs, order: ppo.given(nothing, obs, order)))(mine.obs, mine.action).chance
    choices = (mine.obs["mask"]["where"] * mine.obs["mask"]["what"][..., None] > 0).sum((-2, -1))
    amounts = np.take_along_axis(mine.obs["mask"]["amount"], mine.action[..., :1, None], -2)[..., 0, :]
    one = (choices > 1) & ((amounts > 0).sum(-1) == 1)
    assert one.any()
    np.testing.assert_allclose(np.exp(chances)[one], trust + (1 - trust) / choices[one], rtol=1e-4)


@pytest.fixture
def evolution(ppo: Any) -> Any:
    """Import the example as a module."""
    return importlib.import_module("map_evolution")


def make_learner(evolution: Any, name: str, **settings: Any) -> Any:
    """Make a learner on the newest version of a farm, whose inputs are not standardised."""
    farm = make(name)
    id = find_id(name)
    chosen = evolution.Settings(**settings)
    return evolution.Evolution(evolution.Scorer(farm, policy_named(id, farm.env, "expert"), chosen.trust), chosen)


@pytest.mark.parametrize("name", some(["paid-looks-1x1", "bean-clay-weeds-3x4", "two-climates"], "paid-looks-1x1"))
def test_scores_without_weights_are_the_days_of_the_expert(evolution: Any, name: str) -> None:
    scorer = make_learner(evolution, name).scorer
    agent = scorer.policy(evolution.make_weights(scorer))
    mine, theirs = (rollout(scorer.farm.env, policy, jax.random.key(3), 2, 250) for policy in (agent, scorer.expert))
    np.testing.assert_array_equal(mine.reward, theirs.reward)
    assert np.unique(np.asarray(mine.reward)).size > 2
    if isinstance(mine.action, dict):
        np.testing.assert_array_equal(mine.action["request"].any(), True)


def test_weights_move_the_orders_of_the_plots_they_see(evolution: Any) -> None:
    scorer = make_learner(evolution, "bean-clay-weeds-3x4", trust=0.0).scorer
    weights, env = evolution.make_weights(scorer), scorer.farm.env
    obs = env.reset(jax.random.key(0))[1].obs
    water = next(i for i, name in enumerate(scorer.farm.table.names) if "watering_discrete" in name)
    channel = next(i for i, c in enumerate(scorer.farm.plot_channels) if c.name == "Soil-0/available_Water#L")
    driest = np.argmin(scorer.encode(obs)[0][:, channel])
    assert not np.asarray(scorer.policy(weights).act(scorer.begin, obs, jax.random.key(0))[1]).any()
    weights["plots"] = weights["plots"].at[channel, water].set(-1.0)
    weights["always"] = weights["always"].at[water].set(10.0)
    memory, orders = scorer.policy(weights).act(scorer.begin, obs, jax.random.key(0))
    what, where, _ = scorer.farm.table.order(orders[0])
    assert (int(what), int(where)) == (water, 1 + driest)
    assert (np.asarray(orders) > 0).sum() == env.schedule == (np.asarray(memory.days) == 0).sum()


def test_weights_find_the_best_return(evolution: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = make_learner(evolution, "bean-1x1", pairs=16, updates=100, noise=1.0, rate=1.0)
    target = np.linspace(-1, 1, len(learner.scorer.farm.table.names)).astype(np.float32)

    def evaluate(env: Any, policy: Policy, *_: Any) -> Any:
        [weights] = policy.act.args  # pyright: ignore[reportFunctionMemberAccess]
        return SimpleNamespace(returns=-jax.numpy.square(weights["always"] - target).sum())

    monkeypatch.setattr(evolution, "evaluate", evaluate)
    curve, weights = learner.train(jax.random.key(0))
    np.testing.assert_allclose(weights["always"], target, atol=0.2)
    assert len(curve) == 100 and curve[0] < -1 and curve[-1] > -0.1
    monkeypatch.setattr(evolution, "evaluate", lambda *_: SimpleNamespace(returns=jax.numpy.ones(2)))
    same, _ = learner.update(learner.start(), jax.random.key(0))
    assert not any(np.asarray(leaf).any() for leaf in same.weights.values()), "nothing was gained"


def test_results_are_kept_by_id(ppo: Any, tmp_path: Path) -> None:
    results, id, out = importlib.import_module("map_results"), "fishing/logistic-v0", tmp_path / "results.json"
    env = harvestgym.make(id)
    known = {name: policy_named(id, env, name) for name in ("expert", "none")}
    out.write_text('{"farm/other-v1": {"seasons": 3}}')
    options = ["--ids", id, "--seeds", "2", "--seasons", "4", "--out", str(out)]
    args = results.make_parser("", ppo.Settings()).parse_args(options)
    results.run(args, lambda id: results.Task(env, known, lambda seed: ([1.0], {"agent": known["expert"]}), 7))
    found = json.loads(out.read_text())
    assert found["farm/other-v1"] == {"seasons": 3} and found[id]["parameters"] == 7
    assert [seed["agent"] for seed in found[id]["seeds"]] == [found[id]["expert"]] * 2
    assert found[id]["expert"]["mean"] > found[id]["none"]["mean"]
