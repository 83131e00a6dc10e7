"""Each example runs, in its short form if it has one, and says what its docstring promises."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Run an example as a program, in an empty folder that it leaves empty, with warnings as errors."""

    def run(name: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(EXAMPLES)
        monkeypatch.setattr(sys, "argv", [name])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        assert not list(tmp_path.iterdir())
        return capsys.readouterr().out

    return run


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_a_fungus_harms_and_a_fungicide_helps(example: Callable[[str], str]) -> None:
    arms = dict(line.split(":") for line in example("fungus.py").splitlines())
    healthy, ill, treated = (numbers(arms[name]) for name in ("healthy", "ill", "treated"))
    assert healthy[0] == 0 and ill[0] > 4 * treated[0] > 0
    assert healthy[1] > 2 * ill[1] and treated[1] > 2 * ill[1]


def test_a_farmer_rests_on_sundays_and_spends_no_more_than_there_is(example: Callable[[str], str]) -> None:
    """At 1 for each watering, 45 are done, one a day but on Sundays: seven weeks of six and three days more."""
    week, rest = example("sunday_farmer.py").splitlines()
    assert numbers(week) == [8, 8, 8, 7, 7, 7, 0]
    assert numbers(rest) == [45.0, 51, 70]


def test_neighbours_harvest_less_with_less_water(example: Callable[[str], str]) -> None:
    """With little water, the experts of all farms earn less than half of what they earn without a quota."""
    pytest.importorskip("pettingzoo")
    enough, _, little = (numbers(line)[-1] for line in example("neighbours.py").splitlines())
    assert enough > 2 * little > 0


def test_a_score_of_ones_own_pays_for_what_is_early_and_minds_risk(example: Callable[[str], str]) -> None:
    first, second = example("custom_score.py").splitlines()
    mean, aversion, worth = numbers(first)
    assert aversion == 2 and 0.5 * mean < worth < mean
    kg, early = numbers(second)
    assert 0 < early < 2 * kg, "a premium of 0.02 a day, for less than a hundred days"


def test_a_data_frame_is_a_weather(example: Callable[[str], str]) -> None:
    pytest.importorskip("pandas")
    was, warmer = (numbers(line) for line in example("dataframe_weather.py").splitlines())
    assert was[0] > 0.25 and warmer[2] < was[2] - 4, "in a warmer climate, beans ripen sooner"


def test_ppo_learns_on_a_class_of_ones_own(example: Callable[[str], str]) -> None:
    lines = dict(line.split(": ", 1) for line in example("woodlot.py").splitlines())
    assert float(lines["PPO"]) > max(float(lines[f"cut {share} % each year"]) for share in (0, 10, 20, 30))


def test_kinds_of_ones_own_act_on_the_soil(example: Callable[[str], str]) -> None:
    bare, mulched, without, worms = (numbers(line)[-1] for line in example("mulch.py").splitlines())
    assert mulched > bare + 5 and worms > 2 * without


def test_a_vector_of_objectives_with_the_weights_of_the_score_is_the_reward(example: Callable[[str], str]) -> None:
    *terms, weighted, scalar = example("objectives.py").splitlines()
    assert numbers(weighted) == pytest.approx(numbers(scalar), abs=0.002) and numbers(scalar) != [0.0]
    costs = {"intervention cost", "observation cost", "wages"}
    assert {line.split(":")[0] for line in terms} == costs | {"bio", "plant", "resource", "soil", "stage", "yield"}
