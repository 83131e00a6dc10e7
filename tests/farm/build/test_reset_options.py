"""Options of `reset`: the day and the start values of one episode, checked as in a file."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather.day_source import DRAWS
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.farm.build.test_starts import bare
from tests.farm.one_field import make_farm
from tests.long_form import long

INIT: dict[str, Any] = {"Weather-0": {"day": [100, 110]}, "Soil-0": {"available_Water#L": {"each": "(90, 100)"}}}
SEEN = ["Weather-0.day", "Soil-0.available_Water#L", "Soil-0.microlife_health_index#%"]


@pytest.fixture(scope="module")
def env() -> GymEnv:
    return GymEnv(bare(INIT, (1, 2), free_observations=SEEN))


def start(env: Any, **options: Any) -> list[float]:
    return np.asarray(env.reset(seed=3, options=options or None)[0]).round(3).ravel().tolist()


def test_a_day_and_a_start_concern_one_episode_and_compile_nothing(env: GymEnv) -> None:
    plain = start(env)
    params = env.params
    water = {"Field-0": {"Soil-0": {"available_Water#L": 120}}}
    assert start(env, day="1 May", start=water)[:3] == [121, 120, 120]
    assert start(env, start=water)[0] == plain[0], "the other values are drawn as before"
    assert start(env, day=5)[1:] == plain[1:]
    assert start(env) == plain and env.params is params
    model, changed = env.core.set_options(params, {"day": 7, "start": water})  # type: ignore[attr-defined]
    assert model is env.core and jax.tree.structure(changed) == jax.tree.structure(params)


def test_a_start_that_the_file_lacks_compiles_another_first_day(env: GymEnv) -> None:
    plain = start(env)
    other = start(env, start={"field-0": {"soil-0": {"microlife_health_index": [[40, 60]]}}})
    assert other == [*plain[:3], 40, 60]
    assert start(env) == plain


@long
def test_all_of_a_batch_may_start_on_a_day(env: GymEnv) -> None:
    batch = VecEnv(env.core, 2)
    assert np.asarray(batch.reset(seed=0, options={"day": 200})[0])[:, 0].tolist() == [200, 200]


def test_a_year_of_the_record_may_be_chosen(env: GymEnv, tmp_path: Path) -> None:
    """A record from July 2000 to June 2004 has three whole years; their days are warm in 2001, 2002 and 2003."""
    dates = [day for day in _list_dates(2000, 2004) if (2000, 7) <= (day.year, day.month) < (2004, 7)]
    rows = [f"{day},0,{day.year - 1990},5,80,2,0" for day in dates]
    (tmp_path / "record.csv").write_text("\n".join(["Date,Tmin,Tmax,T,RH,U,Rain", *rows]))
    which = {"extends": "lille", "site": None, "table": str(tmp_path / "record.csv"), "air_temperature_noise#°C2": 0}
    model = make_farm([("Weather", which), ("Soil", "clay")], init={"Weather-0": {"day": [10, 300]}})
    weather = model.params.fields[0].entities[0]
    for year in (2001, 2003):
        _, params = model.set_options(model.params, {"year": year})
        sky: Any = params.fields[0].entities[0].sky  # type: ignore[attr-defined]
        for day in (1, 10, 181, 182, 365):
            first = sky.first(jnp.int32(day), jnp.full(DRAWS, 0.5))
            assert float(sky.next(first, None, None)[0].t_max) == year - 1990, (year, day)
    with pytest.raises(ConfigError, match=r"reset > year > Field-0 > Weather-0: expected one of 2001, 2002, 2003, "):
        model.set_options(model.params, {"year": 2000})
    with pytest.raises(ConfigError, match="expected weather recorded with dates, got 2001"):
        env.reset(options={"year": 2001})
    assert int(weather.sky.year) == -1  # type: ignore[attr-defined]


def _list_dates(first: int, last: int) -> list[datetime.date]:
    start, end = datetime.date(first, 1, 1), datetime.date(last, 12, 31)
    return [start + datetime.timedelta(i) for i in range((end - start).days + 1)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dya": 3}, "reset option: expected a known name, got 'dya'; try 'day'"),
        ({"day": 400}, "reset > day > Field-0 > Weather-0 > day#int365: expected a number from 1 to 365, got 400"),
        ({"day": "30 Feb"}, "expected a day of a 365-day year, got '30 Feb'"),
        ({"start": {"Field-0": {"Soil-0": {"available_Watr#L": 3}}}}, "reset > start > Field-0 > Soil-0: expected a "),
        ({"start": {"Field-0": {"Soil-0": {"available_Water#L": 999}}}}, "available_Water#L: expected a number from 0"),
        ({"start": 3}, "reset > start: 1 mistake\n  init: expected a mapping"),
        ({"day": 3, "start": {"Field-0": {"Weather-0": {"day": 4}}}}, "expected one spelling, got two"),
        ({"day": 3, "params": 5}, "params: expected an object of the class FarmParams, got 5"),
    ],
)
def test_a_wrong_option_changes_nothing(env: GymEnv, options: dict[str, Any], words: str) -> None:
    obs = start(env, day=50)
    state = env.run_state
    with pytest.raises(ConfigError) as error:
        env.reset(seed=4, options=options)
    assert words in str(error.value), error.value
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(state.state), jax.tree.leaves(env.run_state.state))
    assert obs[0] == 50
