"""The clock by hand: thermal time, vernalisation, day length and stress, and the paper's flat interval."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.plant import Plant, clock
from harvestgym.farm.entities.plant.stages import Stage
from tests.farm.messages import air
from tests.farm.stands import stand

from .test_equations import day

BEAN = Plant.named("bean")
WINTER = Plant.named({
    "extends": "bean",
    "clock": {"chill_min#day": 10, "chill_full#day": 40, "daylength_min#h": 8, "daylength_full#h": 16},
})  # fmt: skip
EVERY = jnp.asarray([list(Stage)])


def test_a_day_has_the_degrees_between_base_and_optimum() -> None:
    """A bean: base 9, optimum 30, ceiling 40 degC."""
    found = clock.thermal_time(BEAN.clock, jnp.asarray([-5.0, 9.0, 20.0, 30.0, 35.0, 40.0, 50.0]))
    np.testing.assert_allclose(found, [0, 0, 11, 21, 10.5, 0, 0], atol=1e-5)


def test_each_stage_passes_its_own_share_in_a_day() -> None:
    """11 degree-days of 59, 420, 130 and 360; bare, ripe and dead plots have no clock."""
    found = clock.pace(BEAN, stand(7, EVERY), air(t_mean=20))
    np.testing.assert_allclose(found[0], [0, 11 / 59, 11 / 420, 11 / 130, 11 / 360, 0, 0], rtol=1e-5)


def test_dry_air_delays_a_seed() -> None:
    found = clock.pace(BEAN, stand(1, Stage.SEED), air(t_mean=20, humidity=25))
    assert float(found[0, 0]) == pytest.approx(11 / 59 * np.exp(-0.2 * 5), rel=1e-5)


def test_a_winter_crop_waits_for_cold_days_and_long_days() -> None:
    """After 25 of 10 to 40 cold days, and with 12 hours between 8 and 16: half the pace each."""
    state = stand(1, Stage.GROW, chill=25.0)
    full = 11 / 420
    for daylength, share in ((12, 0.25), (16, 0.5), (8, 0.0)):
        found = clock.pace(WINTER, state, air(t_mean=20, daylength=daylength))
        assert float(found[0, 0]) == pytest.approx(share * full, abs=1e-7)
    assert float(clock.pace(WINTER, stand(1, Stage.BLOOM), air(t_mean=20, daylength=8))[0, 0]) > 0


def test_cold_days_are_those_of_wofost() -> None:
    found = clock.chilling(jnp.asarray([-4.0, -0.5, 3.0, 10.0, 13.5, 17.0, 30.0]))
    np.testing.assert_allclose(found, [0, 0.5, 1, 1, 0.5, 0, 0], atol=1e-6)
    after = clock.add_development(WINTER, stand(7, EVERY, chill=3.0), day(7, temperature=5))
    np.testing.assert_allclose(after.chill[0], np.where(EVERY[0] == Stage.GROW, 4, 3))


def test_hunger_delays_the_flowers_and_drought_hastens_ripening() -> None:
    half = -float(np.log(0.5))
    after = clock.add_development(BEAN, stand(7, EVERY), day(7, pace=0.1, N=half, water=half))
    wanted = {Stage.GROW: 0.1 * (1 - 0.12 / 2), Stage.FRUIT: 0.1 * (1 + 0.15 / 2)}
    np.testing.assert_allclose(after.progress[0], [wanted.get(s, 0.1) for s in Stage], rtol=1e-5)


def test_a_stage_ends_after_its_degree_days() -> None:
    state = stand(4, Stage.GROW, progress=jnp.asarray([[0.9, 0.99, 1.0, 1.3]]))
    assert clock.stage_is_complete(state)[0].tolist() == [False, False, True, True]


def test_degree_days_beyond_the_end_of_a_stage_count_in_the_next() -> None:
    """At 1.02 of 59, 420, 130 and 360 degree-days: 1.18, 8.4 and 2.6 of the next stage, and none when ripe."""
    found = clock.restart(BEAN, stand(7, EVERY, progress=1.02))
    np.testing.assert_allclose(found[0], [0, 1.18 / 420, 8.4 / 130, 2.6 / 360, 0, 0, 0], rtol=1e-4)


def test_the_flat_interval_of_the_paper_is_a_special_case() -> None:
    """With an optimum just above the base, every day of the interval counts the same, and 45 of them are a stage."""
    flat = {"t_base#°C": 8.99, "t_optimum#°C": 9, "t_ceiling#°C": 1e5, "grow_sum#°C.day": 45 * 0.01}
    crop = Plant.named({"extends": "bean", "clock": flat})
    paces = [float(clock.pace(crop, stand(1, Stage.GROW), air(t_mean=t))[0, 0]) for t in (8.9, 9, 15, 24)]
    assert paces[0] == 0.0
    np.testing.assert_allclose(paces[1:], 1 / 45, rtol=1e-3)


def test_temperatures_are_in_order() -> None:
    with pytest.raises(ConfigError, match="t_optimum"):
        Plant.named({"extends": "bean", "clock": {"t_optimum#°C": 3}})


def test_cold_days_harden_a_plant_until_it_flowers() -> None:
    """Twenty of forty cold days give half of the 12 degC, for any `chill_min`, less a quarter of the way."""
    hardy = Plant.named({"extends": "bean", "clock": {"chill_min#day": 10, "chill_full#day": 40, "hardening#°C": 12}})
    found = clock.hardened(hardy, stand(7, EVERY, chill=20.0, progress=0.25))
    np.testing.assert_allclose(found[0], np.where(EVERY[0] == Stage.GROW, 12 * 0.5 * 0.75, 0.0), rtol=1e-6)
    assert not clock.hardened(hardy, stand(7, EVERY)).any()
