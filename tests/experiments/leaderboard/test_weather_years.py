"""The weather year of each episode: that of the table's rows which the episode replays."""

from __future__ import annotations

import jax
import numpy as np

from experiments.leaderboard.weather_years import find_weather_years
from harvestgym.core.episode import start_batch
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.family import make

EPISODES = 24
YEARS = [2012, 2013, 2014, 2015]


def test_each_episode_replays_the_days_of_its_year() -> None:
    """The rain of the first day, which has no noise, is that of the table in this year and on this day."""
    env = make("bean-1x1-v0")
    keys = evaluation_keys(3, range(EPISODES))
    years = find_weather_years(env, keys)
    assert years is not None and set(years) == set(range(len(YEARS)))
    weather = env.params.fields[0].entities[0]
    assert isinstance(weather, Weather)
    days = np.asarray(weather.sky.days).reshape(len(YEARS), 365, -1)
    state = jax.jit(lambda keys: start_batch(env, keys, env.params)[0].state)(keys).fields[0][0]
    rain = days[years, np.asarray(state.day) - 1, 5]
    np.testing.assert_allclose(np.asarray(state.rain), rain, atol=1e-4)


def test_one_year_is_one_cluster_and_generated_weather_has_none() -> None:
    keys = evaluation_keys(3, range(4))
    one = make("bean-1x1-v0", entities={"Weather-0": {"extends": "seattle", "years": [2013]}})
    assert np.asarray(find_weather_years(one, keys)).tolist() == [0] * 4
    assert find_weather_years(make("bean-1x1-v0", entities={"Weather-0": "lille"}), keys) is None
