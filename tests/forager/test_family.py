"""Every registered id: both engines agree, the faces keep their contracts, the baselines earn their names."""

from __future__ import annotations

import dataclasses
import warnings

import gymnasium
import jax
import numpy as np
import pyarrow.parquet
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from harvestgym.core.errors import ConfigError
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.studies import forager as study
from harvestgym.forager.family import CATALOGUE, build, figure, make, make_gymnasium, policies, summary
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.numba_engine.env import host_twin
from harvestgym.forager.numba_engine.gym_env import ForagerGym
from harvestgym.forager.numba_engine.parallel_env import ForagerParallel
from harvestgym.forager.numba_engine.vector_env import ForagerVec
from harvestgym.gym.env import GymEnv

from .test_truth import assert_engines_agree
from .worlds import RENEWED, SMALL, VARIED

NAMES = sorted(path.stem for path in CATALOGUE.glob("*-v[0-9]*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_both_engines_agree_for_every_id(name):
    assert_engines_agree(make(name), 17, 600)


def test_the_gymnasium_environment_passes_the_checker_of_gymnasium():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checker advises on spaces in general
        check_env(ForagerGym.of(build(SMALL), render_mode="rgb_array"), skip_render_check=False)


def test_the_gymnasium_environment_truncates_at_the_horizon_and_never_terminates():
    env = ForagerGym.of(build(SMALL))
    env.reset(seed=3)
    ends = [env.step(0)[2:4] for _ in range(40)]
    assert ends == [(False, False)] * 39 + [(False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("name", ["seasons-v1", "unending-v1", "small"])
def test_the_registered_gymnasium_environment_lives_as_the_functional_environment(name):
    model = make(name) if name != "small" else build(SMALL)
    fast, slow = make_gymnasium(model), GymEnv(model)
    assert isinstance(fast, ForagerGym)
    assert fast.observation_space == slow.observation_space
    actions = np.random.default_rng(0).integers(0, 4, 40).tolist()
    for seed in (5, None, None, 2**40 + 1):
        told = [env.reset(seed=seed) for env in (fast, slow)]
        assert_same(*told)
        for action in actions:
            told = [env.step(action) for env in (fast, slow)]
            assert_same(*told)


def assert_same(mine, other) -> None:
    """Observation, flags and integers are equal, floats to rounding."""
    assert (mine[0] == other[0]).all()
    assert mine[2:-1] == other[2:-1]
    assert mine[-1].keys() == other[-1].keys()
    for name, value in mine[-1].items():
        assert type(value) is type(other[-1][name]), name
        assert value == pytest.approx(other[-1][name], abs=1e-5, rel=1e-5), name


def same(mine, other) -> bool:
    """Whether two observations are equal, also if they are dicts."""
    return jax.tree.all(jax.tree.map(lambda a, b: bool((np.asarray(a) == b).all()), mine, other))


@pytest.mark.parametrize("mode", ["objects", "colors", "compass", "scalar"])
def test_the_vector_face_is_many_single_lives(mode):
    model = build((SMALL if mode == "colors" else RENEWED) | {"observation_mode": mode})
    many = ForagerVec(model, 3, threads=2)
    obs, _ = many.reset(seed=5)
    assert many.observation_space.contains(obs)
    actions = np.random.default_rng(0).integers(0, 4, (100, 3))
    generator, _ = gymnasium.utils.seeding.np_random(5)
    seeds = lambda: int(generator.integers(0, 2**63))  # noqa: E731
    lives = [host_twin(model) for _ in range(3)]
    lane = lambda seen, i: jax.tree.map(lambda a: a[i], seen)  # noqa: E731
    assert all(same(life.start(seed=seeds()), lane(obs, i)) for i, life in enumerate(lives))
    for step, row in enumerate(actions):
        obs, rewards, _, over, info = many.step(row)
        for i, life in enumerate(lives):
            seen, reward = (life.start(seed=seeds()), 0.0) if step % 41 == 40 else life.step(int(row[i]))
            assert same(seen, lane(obs, i))
            assert reward == rewards[i]
            assert (info["collided"][i], info["biome"][i]) == (-1 if step % 41 == 40 else life.met, life.biome)
            worths = life.biome_values
            assert info["biome_value"][i] == worths[life.biome]
            assert info["biome_regret"][i] == max(worths) - worths[life.biome]
        assert over.all() == (step % 41 == 39)
    many.close()


def test_many_lives_tell_what_the_functional_environment_tells_under_its_names():
    """Regret too, of laws that are drawn, of one of one's own, and where the foods have changed sides."""
    mine = SMALL["kinds"] | {"date": {"collectable": True}}
    model = build(RENEWED | {"kinds": RENEWED["kinds"] | mine, "density": {"wall": 0.1, "date": 0.2}, "hint": [0, 0]})
    kinds = tuple(dataclasses.replace(k, reward=waning) if k.name == "date" else k for k in model.world.kinds)
    model = dataclasses.replace(model, world=dataclasses.replace(model.world, kinds=kinds))
    many, actions = ForagerVec(model, 2), np.random.default_rng(0).integers(0, 4, (40, 2))
    many.reset(seed=1)
    generator, _ = gymnasium.utils.seeding.np_random(1)
    words = np.array(seed_words(int(generator.integers(0, 2**63))), np.uint32)
    state, step = model.begin(words), jax.jit(model.step)
    regrets = []
    for row in actions:
        info = many.step(row)[-1]
        state, now = step(jax.random.key(0), state, row[0], model.params)
        assert set(info) == set(now.info)
        assert {name: told[0] for name, told in info.items()} == pytest.approx(
            {name: np.asarray(told).item() for name, told in now.info.items()}, abs=1e-5, rel=1e-5
        )
        regrets.append(info["biome_regret"])
    assert len(np.unique(regrets)) > 20


def waning(now):
    """A law of one's own, which draws."""
    return now.uniforms(2)[0] * now.xp.float32(10) / (now.phase(64) + 1)


@pytest.mark.parametrize("mode", ["objects", "colors", "compass", "scalar"])
def test_one_forager_lives_as_the_only_one(mode):
    """Rewards that change, are noisy or come late, and every view, are those of the stateful face."""
    model = build(VARIED | {"observation_mode": mode, "horizon": 0})
    env, alone = ForagerParallel(model, 1), host_twin(model)
    told = env.reset(seed=4)[0]["forager_0"]
    seen = alone.start(seed=int(np.random.default_rng(4).integers(0, 2**63)))
    mine = {"objects": np.s_[..., :-1], "colors": np.s_[:]}.get(mode, np.s_[:-1])
    earned = 0.0
    for action in np.random.default_rng(0).integers(0, 4, 300).tolist():
        assert env.observation_space("forager_0").contains(told)
        assert same(told | {"view": told["view"][mine]}, seen)
        told, paid, _, _, info = (one["forager_0"] for one in env.step({"forager_0": action}))
        seen, reward = alone.step(action)
        assert paid == reward
        worths = alone.biome_values
        here = {"biome_value": worths[alone.biome], "biome_regret": max(worths) - worths[alone.biome]}
        assert info == {"reward_rate": info["reward_rate"], "collided": alone.met, "biome": alone.biome} | here
        earned += abs(reward)
    assert earned > 0


def test_several_foragers_keep_the_contract_of_pettingzoo_and_share_one_world():
    env = ForagerParallel(build(SMALL | {"horizon": 0}), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the test of pettingzoo advises on names
        parallel_api_test(ForagerParallel(build(SMALL), 3), num_cycles=100)
    env.reset(seed=1)
    fed = 0.0
    for actions in np.random.default_rng(0).integers(0, 4, (400, 3)).tolist():
        _, rewards, *_ = env.step(dict(zip(env.agents, actions, strict=True)))
        fed += sum(rewards.values())
    assert fed == env.collected > 0


def test_the_expert_tells_foods_of_one_colour_apart_by_their_biome():
    model = make("relearning-v1")
    expert = policies(model)["expert"]
    episodes = evaluate(model, expert, jax.random.key(0), 4, 200)
    assert summary(model, episodes)["reward rate#1/step"].min() > 1


@pytest.mark.parametrize("face", [lambda model: ForagerVec(model, 2), ForagerParallel])
def test_many_agents_are_not_shown_the_world(face):
    with pytest.raises(ConfigError, match="'scalar'"):
        face(build(SMALL | {"observation_mode": "world"}))


def test_a_figure_is_drawn_from_a_record():
    steps = 20
    columns = ("x#cell", "y#cell", "reward_rate", "reward")
    drawn = figure(build(SMALL), {c: np.linspace(0, 1, steps) for c in columns})
    assert len(drawn.axes) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": {}}, "did you mean 'kinds'"),
        ({"density": {"figs": 0.1}}, "did you mean 'fig'"),
        ({"density": {"fig": 1.2}}, "from 0 to 1"),
        ({"density": {"fig": 0.7, "wall": 0.7}}, "use fewer"),
        ({"aperture": [4, 5]}, "even"),
        ({"hint": [11, 10]}, "0 <= shown <= every"),
        ({"regions": {"a": {"x": 10, "y": 0, "width": 9, "height": 3}}}, "reaches outside"),
        ({"kinds": {"fig": {"reward": {"sin": {}}}}}, "did you mean 'sine'"),
        ({"kinds": {"fig": {"reward": {"sine": {"periods": 3}}}}}, "periods"),
        ({"teleport_every": 5, "teleport_to": ["worlds"]}, "did you mean 'world'"),
    ],
)
def test_a_bad_catalogue_file_is_refused_with_what_to_do(change, says):
    with pytest.raises(ConfigError, match=says):
        build(SMALL | change)


def test_an_endless_life_is_evaluated_over_its_beginning():
    assert make("flowers-v1").evaluation_steps == 5_000
    assert build(SMALL).evaluation_steps == 40


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'two-biome-v1'"):
        make("two-biomes-v1")


def test_the_study_shows_that_the_fixed_agent_fails_when_the_foods_change_sign(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "PERIOD", 10_000)
    monkeypatch.setattr(study, "WINDOW", 1_250)
    told = []
    table = study.run(2, tmp_path, told.append, steps=6_250)
    columns = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    rows = {agent: [float(cell.split()[0]) for cell in columns[agent]] for agent in table.columns[1:]}
    first, second = rows["fixed: greedy on first worths"]
    assert first > 0.3 > -0.05 > second
    assert rows["learning: linear Q"][0] > rows["random"][0] + 0.05
    assert told == [1, 1, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"forager.parquet", "forager.png"}
    assert pyarrow.parquet.read_table(tmp_path / "forager.parquet").num_rows == 3 * 2 * 5
