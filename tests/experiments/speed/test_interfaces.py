"""The speed of an id is measured in fresh processes, and the parts of a step add up."""

from __future__ import annotations

import pytest

import harvestgym
from experiments.speed.interfaces import (
    DEFAULT_CASES,
    REFERENCE,
    ROLLOUT,
    CompiledStep,
    make_speed_table,
    make_step_table,
    measure_speed,
    measure_step,
)
from harvestgym.core.errors import ConfigError
from harvestgym.gym.compiled_env import compile_functions

ID = "fishing/logistic-v0"
BRIEF = 0.02
LEAST_MIB = 50


def test_a_fresh_process_reports_its_speed_memory_and_bytes() -> None:
    speed = measure_speed(ID, ROLLOUT, 8)
    assert speed.interface == ROLLOUT and speed.num_envs == 8
    assert min(speed.import_seconds, speed.first_seconds, speed.steps_per_second, speed.bytes_per_env) > 0
    assert speed.peak_mib > LEAST_MIB or speed.peak_mib != speed.peak_mib
    table = make_speed_table(ID, [speed])
    assert len(table.rows) == 1 and len(table.rows[0]) == len(table.columns)


def test_an_unknown_id_is_reported_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="logistic-v0"):
        measure_speed("fishing/logistik-v0", *DEFAULT_CASES[0])


@pytest.mark.parametrize("id", [ID, "forager/two-biome-v0"])
def test_the_parts_of_a_step_sum_to_the_whole(id: str) -> None:
    parts = measure_step(id, BRIEF)
    inside = [part for name, part in parts.items() if name not in ("whole step", REFERENCE)]
    assert sum(inside) == pytest.approx(parts["whole step"], abs=0.1)
    assert parts[REFERENCE] > 0
    assert make_step_table(id, parts).rows[0][2] == "1.00"


def test_a_step_is_measured_with_the_compiler_options_of_users() -> None:
    """The long form of the tests sets no flags of XLA, which would take the place of those options."""
    compile_functions.cache_clear()
    assert min(CompiledStep(harvestgym.make(ID)).measure(BRIEF)) > 0
