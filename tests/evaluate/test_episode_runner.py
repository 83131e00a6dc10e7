"""Cases of episodes: the episodes of `evaluate_id`, with any other cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.episode_runner import EPISODE_ROWS, prepare_setting
from harvestgym.evaluate.run import evaluate_id
from harvestgym.sweep.cases import EpisodeCase
from harvestgym.sweep.engine import collect, sweep
from tests.long_form import long

ID = "fishing/logistic-random-v0"
AGENT = """
from harvestgym.core.policy import constant_policy
from harvestgym.evaluate.run import find_idle_action

def make(id, env):
    return constant_policy(find_idle_action(id, env))

def wrapped(id, env):
    return env, make(id, env)

def nothing(id, env):
    return None
"""


def case(**fields: Any) -> EpisodeCase:
    return EpisodeCase(**({"id": ID, "policy": "msy", "episodes": 60} | fields))


def grid() -> list[EpisodeCase]:
    """Return more rows than one compiled call has, in cases of one structure."""
    return [case(overrides={"r": r}, seed=seed) for r in (0.2, 0.3, 0.5) for seed in (0, 7)]


def assert_equal_rows(one: Any, other: Any) -> None:
    assert list(one) == list(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_case_has_the_episodes_of_an_evaluation() -> None:
    (found,) = collect([case(overrides={"r": 0.3}, seed=7)])
    expected = evaluate_id(ID, "msy", 60, 7, env=harvestgym.make(ID, r=0.3))
    np.testing.assert_allclose(found["return"], expected.returns, rtol=1e-5)
    np.testing.assert_array_equal(found["length"], expected.lengths)
    for name, values in expected.columns.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, err_msg=name)


def test_rows_do_not_depend_on_the_other_cases() -> None:
    together, reverse = collect(grid()), collect(grid()[::-1])[::-1]
    assert sum(len(rows["return"]) for rows in together) > EPISODE_ROWS
    for alone, one, other in zip(grid(), together, reverse, strict=True):
        assert_equal_rows(one, other)
        assert_equal_rows(one, collect([alone])[0])


COUNTED = """
from pathlib import Path

def make(id, env):
    def act(obs):
        with Path(__file__).with_name("calls").open("a") as file:
            file.write(".")
        return env.action_space.low + 0.1 * float(obs[0] > 0)

    return act
"""


def test_a_python_policy_is_not_called_for_many_rows_that_are_dropped(tmp_path: Path) -> None:
    """Its rows are those of more episodes at a time, bit for bit."""
    path = tmp_path / "counted.py"
    path.write_text(COUNTED)
    few, many = (case(policy=f"{path}:make", episodes=episodes, seed=3) for episodes in (20, 250))
    (found,) = collect([few])
    assert (tmp_path / "calls").stat().st_size == 32 * found["length"].max()
    (more,) = collect([many])
    for name in found:
        np.testing.assert_array_equal(found[name], more[name][:20], err_msg=name)


def test_rows_of_an_interrupted_sweep_are_the_same(tmp_path: Path) -> None:
    sweep(grid()[1:3], tmp_path)
    for stored, one in zip(collect(grid(), tmp_path), collect(grid()), strict=True):
        for name in one:
            np.testing.assert_array_equal(stored[name], one[name], err_msg=name)


def test_cases_that_differ_in_numbers_share_a_program() -> None:
    structures = {prepare_setting(each).structure for each in grid()}
    assert len(structures) == 1
    assert prepare_setting(case(policy="random")).structure not in structures


def test_a_split_sets_the_seed() -> None:
    seed = splits.split(ID, "test").seed(2)
    (found,) = collect([case(split="test", seed=2)])
    np.testing.assert_allclose(found["return"], evaluate_id(ID, "msy", 60, seed).returns, rtol=1e-5)


@pytest.mark.parametrize("function", ["make", "wrapped"])
def test_a_policy_may_come_from_a_file(tmp_path: Path, function: str) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    mine, closed = collect([case(policy=f"{tmp_path}/agent.py:{function}"), case(policy="closed")])
    np.testing.assert_allclose(mine["return"], closed["return"], rtol=1e-5)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"policy": "mzy"}, "expected a known policy, got 'mzy'; try 'msy'"),
        ({"policy": "gone.module:make"}, "got the unknown module 'gone'"),
        ({"policy": "{}/agent.py:mak"}, "expected a known name, got 'mak'; try 'make'"),
        ({"policy": "{}/agent.py:nothing"}, "not played: expected a policy for .*, got None"),
        ({"overrides": {"rr": 1}}, "unexpected keyword argument 'rr'"),
    ],
)
def test_a_mistake_is_a_failure_of_its_case_only(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    bad = case(**fields | ({"policy": fields["policy"].format(tmp_path)} if "policy" in fields else {}))
    report = sweep([*grid()[:2], bad], tmp_path / "out")
    assert report.ran == 2 and [*report.failures] == [bad]
    with pytest.raises(ConfigError, match=words):
        raise ConfigError(report.failures[bad])


@long
def test_a_column_of_several_plots_keeps_them(tmp_path: Path) -> None:
    over = {"rules": {"horizon#day": 3}}
    short = EpisodeCase(id="farm/bean-1x1-v0", overrides=over, policy="none", episodes=2)
    (found,) = collect([short], tmp_path)
    assert found["yield kg"].tolist() == [0, 0] and found["Plant-0 cause of death"].shape == (2,)
    assert found["length"].tolist() == [3, 3]
