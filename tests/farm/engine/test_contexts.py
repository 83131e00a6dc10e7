"""Contextual farms: the law of what is drawn, when, what is seen of it, and that a context is a farm written so.

Most tests use a field of springs, which compiles in a second; real soils are mixed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import harvestgym
from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import Flatten, Log, TimeLimit
from harvestgym.farm import BasicRule, Farm, Field
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.schema import farm_spec
from harvestgym.gym.env import GymEnv
from tests.farm.kinds import Spring
from tests.long_form import long

ID = "farm/contexts-1x1-v0"
BEAN = "farm/bean-1x1-v0"
SOIL, SPRING, FLOW = "Field-0/Soil-0", "Field-0/Spring-0", "Field-0/Spring-0/flow#L.day-1"
QUARTER = {"mix": {"sand": 0.25, "clay": 0.75}}
FIELD: dict[str, Any] = {
    "localization": {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30},
    "shape": {"length#nb": 2, "width#nb": 3},
    "entities": [["tests.farm.kinds:Spring", "calm"]],
}
RULES = {"horizon#day": 3, "free_observations": ["Spring-0.available_Water#L"]}


def springs(context: Any = None, entities: Any = FIELD["entities"], **changes: Any) -> FarmModel:
    data = {"fields": {"Field-0": FIELD | {"entities": entities}}, "rules": RULES, "context": context}
    return build(farm_spec(data | changes, "test"))


def contextual(env: Any) -> Any:
    assert env.contexts.draws
    return env


@pytest.fixture
def id() -> Iterator[str]:
    """Yield the springs as a registered id, for the time of a test."""
    name = "test/springs-v0"
    registry.register(name, f"{__name__}:springs", context={"draws": {FLOW: "(1, 5)"}})
    yield name
    registry.unregister(name)


@partial(jax.jit, static_argnums=0)
def reset(env: FarmModel, seed: Any, params: Any) -> tuple[Any, Any]:
    return env.reset(jax.random.key(seed), params)


@partial(jax.jit, static_argnums=(0, 2))
def season(env: FarmModel, seed: Any, days: int, params: Any) -> tuple[Any, Any]:
    """States and timesteps of `days` idle days and of the morning before, along a leading axis."""
    first = env.reset(jax.random.key(seed), params)
    idle = jax.tree.map(jnp.zeros_like, env.action_space.sample())

    def one(now: tuple[Any, Any], t: jax.Array) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        after = env.step(jax.random.fold_in(jax.random.key(seed), t), now[0], idle, params)
        same = jax.tree.map(lambda new, old: new.astype(old.dtype), after, now)
        return same, same

    _, later = jax.lax.scan(one, jax.tree.map(jnp.asarray, first), jnp.arange(days))
    return jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a)[None], b]), first, later)


def test_draws_follow_their_laws() -> None:
    """4000 contexts: chi-square of the choices (0.999), Kolmogorov-Smirnov of a range and of a Dirichlet share."""
    env = contextual(harvestgym.make(
        BEAN, context={"draws": {SOIL: {"mix": ["clay", "silt", "sand"]}, f"{SOIL}/depth#m": "(0.3, 0.8)",
                                 "Field-0/latitude#°": [40.0, 45.0, 50.0, 55.0]}},
    ))  # fmt: skip
    keys = jax.random.split(jax.random.key(3), 4000)
    numbers = np.asarray(jax.vmap(lambda key: env.contexts.first(key, env.params).numbers)(keys))
    shares, depth, place = numbers[:, :3], numbers[:, 3], numbers[:, 4]
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
    for share in shares.T:
        assert scipy.stats.kstest(share, scipy.stats.beta(1, 2).cdf).pvalue > 0.001
    assert scipy.stats.kstest(depth, scipy.stats.uniform(0.3, 0.5).cdf).pvalue > 0.001
    assert scipy.stats.chisquare(np.bincount(place.astype(int), minlength=4)).pvalue > 0.001
    correlations = np.corrcoef(numbers[:, [0, 3, 4]].T)
    assert np.abs(correlations - np.eye(3)).max() < 4 / np.sqrt(4000), "draws are independent"


def soil_under(env: Any, *numbers: float) -> Any:
    return env.contexts.apply(env.params, jnp.asarray(numbers, jnp.float32)).fields[0].entities[1]


def test_climate_is_drawn_for_a_season() -> None:
    """Of the same days of the record, each 15 degC with 5 mm: warmer, with another rain and more carbon dioxide."""
    laws = {"warming#°C": "(1, 4)", "rain_factor": "(0.5, 1.5)", "CO2#ppm": [400.0, 500.0]}
    env = contextual(springs(
        {"draws": {f"Field-0/Weather-0/{name}": law for name, law in laws.items()}},
        [["Weather", "rainy"], ["tests.farm.kinds:Spring", "calm"]],
    ))  # fmt: skip
    state, first = reset(env, 0, env.params)
    warmth, rain, choice = np.asarray(first.info["context"])
    assert 1 < warmth < 4 and 0.5 < rain < 1.5
    air = state.fields[0][0]
    assert (float(air.temperature[1]), float(air.rain)) == pytest.approx((15 + warmth, 5 * rain), rel=1e-5)
    assert float(env.in_force(state, env.params).fields[0].entities[0].settings.co2) == (400, 500)[int(choice)]


def test_mixture_is_the_mean_of_its_soils() -> None:
    env = contextual(harvestgym.make(BEAN, context={"draws": {SOIL: ["clay", "sand", QUARTER]}}))
    for i, name in enumerate(("clay", "sand")):
        jax.tree.map(np.testing.assert_array_equal, soil_under(env, i), Soil.named(name))
    mixed = soil_under(env, 2)
    assert float(mixed.max_water_capacity) == pytest.approx(0.25 * 120 + 0.75 * 360)
    assert float(mixed.wilting_point) == pytest.approx(0.25 * 45 + 0.75 * 220)
    assert float(mixed.survival.cide.low) == -np.inf, "what is the same in both stays, infinite or not"
    drawn = contextual(harvestgym.make(BEAN, context={"draws": {SOIL: {"mix": ["sand", "clay"]}}}))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), soil_under(drawn, 0.25, 0.75), mixed)


def test_drawn_parameter_overrides_its_drawn_set() -> None:
    draws = {f"{SOIL}/start/N_min#g.m-2": "(1, 2)", SOIL: ["clay", "sand"], f"{SOIL}/wilting_point#L.m-3": [50, 60]}
    env = contextual(harvestgym.make(BEAN, context={"draws": draws}))
    assert env.contexts.labels == [SOIL, f"{SOIL}/start/N_min#g.m-2", f"{SOIL}/wilting_point#L.m-3"]
    soil = soil_under(env, 1, 1.5, 1)
    assert (float(soil.max_water_capacity), float(soil.wilting_point)) == (120, 60)
    assert soil.start.nutrients_min.tolist() == [1.5, 3, 10, 4], "the other nutrients are those of the set"
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    once = jax.eval_shape(env.in_force, state, env.params)
    assert env.in_force(state, once) is once


def test_what_belongs_together_is_drawn_together() -> None:
    """Latitude and weather of three sites; the parameters in force are those of one of them, never of two."""
    env = contextual(harvestgym.make(ID))
    for i, (site, latitude) in enumerate((("seattle_generated", 47.45), ("montpellier", 43.62), ("lille", 50.62))):
        now = env.contexts.apply(env.params, jnp.asarray([i, 0, 0.5], jnp.float32)).fields[0]
        alone = harvestgym.make(BEAN, entities={"Weather-0": site}).params.fields[0].entities[0]
        jax.tree.map(np.testing.assert_array_equal, now.entities[0], alone)
        assert float(now.place.latitude) == pytest.approx(latitude)


@long
@pytest.mark.parametrize("choice", range(3))
def test_a_season_under_a_context_is_that_of_the_farm_written_so(choice: int) -> None:
    flows = [1.0, 3.0, 4.0]
    env = contextual(springs({"draws": {FLOW: flows}, "shown": False}))
    seed = next(s for s in range(50) if int(reset(env, s, env.params)[0].context.numbers[0]) == choice)
    alone = springs(entities=[["tests.farm.kinds:Spring", {"flow#L.day-1": flows[choice]}]])
    (_, mine), (_, theirs) = (season(farm, seed, 3, farm.params) for farm in (env, alone))
    for part in ("obs", "reward", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))


def test_a_farm_without_contexts_is_the_plain_one() -> None:
    env = springs()
    assert not env.contexts.draws and jax.tree.leaves(reset(env, 0, env.params)[0].context) == []


@pytest.mark.parametrize("shown", [True, [FLOW], False])
def test_what_is_shown_ends_the_observation_and_info_says_it_all(shown: Any) -> None:
    env = contextual(springs({"draws": {FLOW: "(1, 5)", "Field-0/altitude#m": [10, 20, 40]}, "shown": shown}))
    state, first = reset(env, 1, env.params)
    flow, place = np.asarray(first.info["context"])
    seen = [flow] if isinstance(shown, list) else [flow, *np.eye(3)[int(place)]] if shown else []
    assert env.observation_space.shape == (6 + len(seen),)
    np.testing.assert_array_equal(first.obs[6:], np.asarray(seen, np.float32))
    assert env.observation_space.contains(np.asarray(first.obs))
    drawn = [f"{FLOW}: {flow:g}", f"Field-0/altitude#m: {[10, 20, 40][int(place)]}"]
    assert env.contexts.describe(state.context.numbers) == drawn


@pytest.mark.parametrize("days", [1, pytest.param(3, marks=long)])
def test_within_an_episode_it_changes_as_often_as_said(days: int) -> None:
    """The water that comes in, over what would under a flow of 1 with the same draws, is the flow of that morning."""
    env = contextual(springs({"every": {"days": days}, "draws": {FLOW: "(1, 5)"}}))
    (mine, seen), (one, _) = (season(farm, 0, 9, farm.params) for farm in (env, springs()))
    flows = np.asarray(seen.info["context"][:, 0])
    changed = np.flatnonzero(np.diff(flows)) + 1
    np.testing.assert_array_equal(changed, np.arange(days, 10, days))
    water = [np.diff(run.fields[0][0].water, axis=0) for run in (mine, one)]
    np.testing.assert_allclose(water[0] / water[1], np.broadcast_to(flows[:-1, None, None], (9, 2, 3)), rtol=1e-4)


@long
def test_forecast_error_grows_with_the_lead() -> None:
    draws = {FLOW: "(1, 5)", "Field-0/altitude#m": [10, 20]}
    env = contextual(springs({"every": "step", "draws": draws, "forecast": {"lookahead#day": 2, "noise#day-1": 0}}))
    seen = np.asarray(season(env, 4, 6, env.params)[1].obs)[:, 6:].reshape(7, 3, 3)
    for t in range(4):
        np.testing.assert_array_equal(seen[t][1:], [seen[t + 1][0], seen[t + 2][0]])
    forecast = {"lookahead#day": 4, "noise#day-1": 0.001}
    noisy = contextual(springs({"every": "step", "draws": {FLOW: "(1, 5)"}, "forecast": forecast}))
    first = jax.vmap(lambda key: noisy.contexts.first(key, noisy.params))(jax.random.split(jax.random.key(0), 4000))
    error = np.asarray(first.forecast - first.ahead)[:, :, 0]
    inside = (np.abs(np.asarray(first.ahead)[:, :, 0] - 3) < 1.2).T  # four deviations from the ends: nothing is cut
    for lead in range(4):
        wanted = 4 * np.sqrt(0.001 * (lead + 1))
        assert error[inside[lead], lead].std() == pytest.approx(wanted, rel=0.1), "1 sd of this sd is 1.5 %"


def test_context_lasts_both_steps_of_a_day_and_is_free() -> None:
    env = contextual(springs({"every": "step", "draws": {FLOW: "(1, 5)"}, "forecast": {"lookahead#day": 1}}, mode="ao"))
    first, idle = reset(env, 0, env.params), {"request": jnp.zeros(len(env.offered.items)), "order": jnp.int32(0)}
    walk = [first]
    step = jax.jit(env.step)
    for t in range(5):
        walk.append(step(jax.random.key(t), walk[-1][0], idle, env.params))
    for _, timestep in walk:
        assert env.observation_space.contains(jax.tree.map(np.asarray, timestep.obs))
        assert timestep.obs["mask"][-2:].tolist() == [1, 1]
        assert float(timestep.obs["values"][-2]) == float(timestep.info["context"][0])
    flows = [float(timestep.info["context"][0]) for _, timestep in walk]
    assert flows[0::2] == flows[1::2] and len(set(flows)) == 3


@long
def test_a_batch_equals_its_environments_alone() -> None:
    env = springs({"every": "step", "draws": {SPRING: [{"flow#L.day-1": 2}, {"flow#L.day-1": 4}]}, "forecast": {}})
    batch = jax.vmap(lambda seed: season(env, seed, 6, env.params)[1])(jnp.arange(4))
    for seed in range(4):
        alone = season(env, seed, 6, env.params)[1]
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a[seed], b, rtol=1e-6), batch, alone)  # noqa: B023
    assert len({tuple(row) for row in np.asarray(batch.info["context"][:, :, 0])}) > 1


def test_all_contexts_live_one_program() -> None:
    env = contextual(harvestgym.make(ID))
    traces = []

    def text(key: jax.Array, params: Any) -> Any:
        traces.append(1)
        return env.initial(key, params).context.numbers

    first = jax.jit(text)
    drawn = {tuple(np.asarray(first(jax.random.key(s), env.params))[:2].tolist()) for s in range(60)}
    assert len(traces) == 1 and len(drawn) > 8
    other = harvestgym.make(ID, context={"draws": {f"{SOIL}/depth#m": "(0.2, 0.9)"}})
    assert other == env and hash(other) == hash(env), "the ends of a range are parameters, not structure"


def lives(env: Any, episodes: int, **options: Any) -> list[float]:
    """Return the context of each episode of one Gymnasium environment; it must not change within one."""
    out = []
    for e in range(episodes):
        _, info = env.reset(**(options if e == 0 else {}))
        out.append(float(info["context"][0]))
        over = False
        while not over:
            *_, truncated, info = env.step(0)
            over = truncated
            assert float(info["context"][0]) == out[-1]
    return out


def test_several_episodes_share_a_context_through_gymnasium(id: str) -> None:
    env = gymnasium.make(id, context={"every": {"episodes": 3}, "draws": {FLOW: "(1, 5)"}})
    flows = lives(env, 8, seed=5)
    assert [flows.index(flow) for flow in flows] == [0, 0, 0, 3, 3, 3, 6, 6]
    assert lives(env, 2, seed=5) == flows[:2], "a seed starts again"
    each = lives(gymnasium.make(id), 4, seed=5)
    assert len(set(each)) == 4 and each[0] == flows[0]


@long
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_each_environment_of_a_batch_keeps_its_context(id: str, mode: str) -> None:
    context = {"every": {"episodes": 2}, "draws": {FLOW: "(1, 5)"}}
    env: Any = gymnasium.make_vec(id, num_envs=3, context=context, autoreset_mode=mode)
    _, info = env.reset(seed=7)
    flows, ends = [info["context"][:, 0]], 0
    while ends < 5:
        *_, truncated, info = env.step(np.zeros(3, np.int32))
        ends += int(truncated.all())
        flows.append(info["context"][:, 0])
    begun = 4 if mode == "NextStep" else 3
    for i in range(3):
        episodes = list(dict.fromkeys(float(row[i]) for row in flows))
        alone = lives(gymnasium.make(id, context=context), 5, seed=7 + i)
        assert episodes == list(dict.fromkeys(alone))[: len(episodes)] and len(episodes) == 3
        assert [float(row[i]) for row in flows[:begun]] == [episodes[0]] * begun
    assert len({float(f) for f in flows[0]}) == 3


def test_wrappers_hand_a_context_on() -> None:
    env = springs({"every": {"episodes": 2}, "draws": {FLOW: "(1, 5)"}})
    flows = lives(GymEnv(Flatten(Log(TimeLimit(env, steps=2)))), 4, seed=0)
    assert flows[0] == flows[1] != flows[2] == flows[3]


def test_a_farm_of_the_paper_has_contexts_in_any_spelling_and_prints_them() -> None:
    """From its constructor and from the file that it writes; a range is a pair there."""
    field = Field(FIELD["localization"], FIELD["shape"], entities=[(Spring, "calm")])
    rules = BasicRule(free_observations=RULES["free_observations"], horizon=3)
    context = {"draws": {FLOW.replace("Field-0/Spring-0", "field-0/spring-0"): (1, 5)}, "every": "step", "shown": False}
    game = Farm([field], rules=rules, mode="po", context=context)
    text = contextual(game.model)
    assert text == springs({"draws": {FLOW: "(1, 5)"}, "every": {"days": 1}, "shown": False})
    assert f"Context, drawn every day\n  {FLOW} | 1 to 5 | hidden" in str(game)
    _, info = game.farmgym_reset(seed=0)
    days = [info["context"][0], *(game.farmgym_step([])[-1]["context"][0] for _ in range(3))]
    assert len(set(days)) == 4 and all(1 <= flow <= 5 for flow in days)


def test_an_interval_of_whole_numbers_is_a_choice_of_those_between() -> None:
    env = harvestgym.make(BEAN, context={"draws": {"Field-0/Plant-0/flowers_max#nb": "(10, 13)"}})
    assert [draw.labels for draw in contextual(env).contexts.draws] == [("10", "11", "12", "13")]


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ({"draws": {"Field-1/Soil-0": ["clay"]}}, "expected a known field, got 'Field-1'; try 'Field-0'"),
        ({"draws": {"Field-0/Soil-1": ["clay"]}}, "entity: expected a known name, got 'Soil-1'; try 'Soil-0'"),
        ({"draws": {"Field-0/latitud#°": [1, 2]}}, "try 'latitude#°'"),
        ({"draws": {f"{SOIL}/dept#m": "(0.2, 0.4)"}}, "dept#m: expected a known key, got 'dept#m'; try 'depth#m'"),
        ({"draws": {f"{SOIL}/depth#m": "(-1, 0.4)"}}, "a number from 0.01 to 100, got -1"),
        ({"draws": {f"{SOIL}/wilting_point#L.m-3": "(100, 400)"}}, "expected less than max_water_capacity#L.m-3"),
        ({"draws": {f"{SOIL}/depth#m": "(0.4, 0.2)"}}, "expected an interval with low < high"),
        ({"draws": {SOIL: ["clay", "sandd"]}}, "Soil set: expected a known name, got 'sandd'; try 'sand'"),
        ({"draws": {SOIL: [{"mix": {"sand": 0.25, "clay": 0.5}}]}}, "shares that sum to 1"),
        ({"draws": {SOIL: ["clay"]}}, "expected choices that change the farm"),
        ({"draws": {"Field-0/Plant-0": {"mix": ["bean", "corn"]}}}, "averaged.*try listing the sets as choices"),
        (
            {"draws": {"Field-0/Plant-0": [{"mix": {"bean": 0.5, "corn": 0.5}}]}},
            "averaged.*try listing the sets as choices",
        ),
        ({"draws": {"Field-0": ["clay"]}}, "expected choices that are mappings"),
        ({"draws": {"Field-0/Weather-0": ["seattle", "lille"]}}, "parameters of another structure.*generate: true"),
        ({"draws": {"Field-0/Weather-0": ["seattle", "newark"]}}, r"a table of \(365, 6\).*generate: true"),
        (
            {"draws": {SOIL: ["clay", "sand"], "Field-0": [{"Soil-0": "silt"}]}},
            "expected draws of different parameters",
        ),
        ({"draws": {}}, "draws: .*at least 1"),
        ({"every": "episod", "draws": {SOIL: ["sand"]}}, "every: expected episode, step, {episodes: 5} or"),
        ({"every": {"episodes": 2, "days": 3}, "draws": {SOIL: ["sand"]}}, "exactly one of episodes and days"),
        ({"every": {"weeks": 3}, "draws": {SOIL: ["sand"]}}, "weeks: expected a known key"),
        ({"shown": ["Field-0/Soil"], "draws": {SOIL: ["sand"]}}, "expected a known draw, got 'Field-0/Soil'; try"),
        ({"forecast": {}, "draws": {SOIL: ["sand"]}}, "try `every: step`"),
        ({"forecast": {}, "every": "step", "shown": False, "draws": {SOIL: ["sand"]}}, "try showing a draw"),
    ],
)
def test_mistakes_are_refused_in_words(context: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s)context.*{text}"):
        harvestgym.make(BEAN, context=context)
