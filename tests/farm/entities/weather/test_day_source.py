"""Tables replayed: which row comes first, which comes next, and which tables are long enough."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather.day_source import DRAWS, MEMORY, Replay, replay_table
from harvestgym.farm.weather_data.table import YEAR, Day, WeatherTable

ROWS, START = 2 * YEAR + 10, 100


def table(rows: int = ROWS, **about: Any) -> WeatherTable:
    """Return days whose minimum temperature is the number of their row."""
    numbers = np.arange(rows, dtype=np.float32)
    return WeatherTable("mine", Day(numbers, numbers + 9, numbers + 5, *(np.zeros(rows, np.float32),) * 3), **about)


REPLAY = replay_table(table(start_day=START))


def first(day: int, draw: float) -> np.ndarray:
    return np.asarray(REPLAY.first(day, jnp.asarray([draw, *[0.9] * (DRAWS - 1)], jnp.float32)))


def test_a_table_becomes_rows_in_the_order_of_a_day() -> None:
    assert REPLAY.days.shape == (ROWS, 6) and not REPLAY.occurrence
    found, _ = REPLAY.next(jnp.zeros(MEMORY), 1, jnp.zeros(DRAWS))
    assert [float(v) for v in found] == [0, 9, 5, 0, 0, 0]
    assert replay_table(table(rain_kind="occurrence")).occurrence


@pytest.mark.parametrize(("day", "row"), [(START, 0), (START + 1, 1), (365, 265), (1, 266), (START - 1, 364)])
def test_the_first_row_is_that_of_the_day_in_a_year_drawn(day: int, row: int) -> None:
    """Of the two whole years each has half of the draws; a draw rounded up to 1 is in the last."""
    for draw, year in ((0.0, 0), (0.49, 0), (0.51, 1), (1.0, 1)):
        memory = first(day, draw)
        assert memory.shape == (MEMORY,) and memory[0] == row + YEAR * year and not memory[1:].any()


def test_rows_follow_each_other_and_the_same_date_of_the_first_year_follows_the_last() -> None:
    memory, seen = jnp.zeros(MEMORY).at[0].set(ROWS - 2), []
    for _ in range(4):
        day, memory = REPLAY.next(memory, 1, jnp.zeros(DRAWS))
        seen.append(int(day.t_min))
    assert seen == [ROWS - 2, ROWS - 1, 10, 11] and (ROWS - 10) % YEAR == 0


def test_a_year_is_enough() -> None:
    assert len(replay_table(table(YEAR)).days) == YEAR
    with pytest.raises(ConfigError, match=r"mine: expected a year or more \(365 days\), got 364 \(row 1 to row 364\)"):
        replay_table(table(YEAR - 1))
    with pytest.raises(ConfigError, match=r"got 214 \(2023-04-01 to 2023-10-31\); try docs/weather.md"):
        replay_table(table(214, start_day=91, start_year=2023))
    assert list(changed(REPLAY, days=REPLAY.days[:YEAR]).check()) == []
    for wrong in (REPLAY.days[: YEAR - 1], REPLAY.days[:, :5], REPLAY.days[:, 0]):
        assert len(list(changed(REPLAY, days=wrong).check())) == 1
    assert isinstance(REPLAY, Replay)


def test_a_given_year_begins_on_its_first_of_january() -> None:
    """The table starts on day 100, so that its first January begins 266 days later."""
    for year, day in ((0, 1), (0, 30), (1, 1)):
        memory = changed(REPLAY, year=np.int32(year)).first(day, jnp.full(DRAWS, 0.9))  # pyright: ignore[reportArgumentType]
        assert memory[0] == 266 + YEAR * year + day - 1
