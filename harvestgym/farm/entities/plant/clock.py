"""The clock of a crop: thermal time moves it through the stages, in place of eqs. (3), (7), (14) and (18)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.messages import Air
from harvestgym.farm.entities.response import expglm

from .equations import choose
from .parameters import Clock, Crop
from .stages import Stage
from .state import PlantState

TIMED = (Stage.SEED, Stage.GROW, Stage.BLOOM, Stage.FRUIT)
"""The stages that end when the clock rings."""


def thermal_time(clock: Clock, temperature: jax.Array) -> jax.Array:
    """Return the degree-days of a day with this mean temperature.

    They rise from 0 at the base to the optimum, and fall to 0 at the ceiling.
    """
    rising = jnp.clip(temperature, clock.base, clock.optimum) - clock.base
    return rising * jnp.clip((clock.ceiling - temperature) / (clock.ceiling - clock.optimum), 0.0, 1.0)


def chilling(temperature: jax.Array) -> jax.Array:
    """Return the fraction of a day of vernalisation: 1 from 3 to 10 degC, 0 below -4 and above 17 (WOFOST VERNRTB)."""
    return jnp.clip(jnp.minimum(temperature + 4, 17 - temperature) / 7, 0.0, 1.0)


def vernalised(crop: Crop, state: PlantState) -> jax.Array:
    """Return the fraction (0 to 1) of the cold days that the crop requires; 1 for a crop that requires none."""
    return _ramp(state.chill, crop.clock.chill)


def hardened(crop: Crop, state: PlantState) -> jax.Array:
    """Return the frost tolerance, in degC, that cold days have added to leaves; growth to the flowers uses it up."""
    share = _ramp(state.chill, crop.clock.chill * jnp.array([0.0, 1.0])) * (1 - state.progress)
    return jnp.where(state.stage == Stage.GROW, crop.clock.hardening * share, 0.0)


def _ramp(value: jax.Array, ends: jax.Array) -> jax.Array:
    return jnp.clip((value - ends[0]) / jnp.maximum(ends[1] - ends[0], 1e-6), 0.0, 1.0)


def pace(crop: Crop, state: PlantState, air: Air) -> jax.Array:
    """Return the fraction of its stage that an unstressed plant passes today, by eq. (3) and degree-days."""
    clock = crop.clock
    ready = vernalised(crop, state) * _ramp(air.daylength, clock.daylength)
    factors = {Stage.SEED: expglm(crop.seed.sprout, humidity=air.humidity), Stage.GROW: ready}
    rates = zip(TIMED, clock.sums, strict=True)
    steps = [(state.stage == stage, factors.get(stage, 1.0) / total) for stage, total in rates]
    return choose(steps, 0.0) * thermal_time(clock, air.t_mean)


def add_development(crop: Crop, state: PlantState, day: Drivers) -> PlantState:
    """Add today's development: in place of eq. (8), hunger delays flowers and drought shortens filling."""
    clock = crop.clock
    hungry, dry = (1 - jnp.exp(-day[name]) for name in ("N", "water"))
    stress = [
        (state.stage == Stage.GROW, 1 - clock.hunger_delay * hungry),
        (state.stage == Stage.FRUIT, 1 + clock.drought_haste * dry),
    ]
    progress = state.progress + day["pace"] * choose(stress, 1.0)
    chill = state.chill + jnp.where(state.stage == Stage.GROW, chilling(day["temperature"]), 0.0)
    return replace(state, progress=progress, chill=chill)


def transition_probability(state: PlantState) -> jax.Array:
    """Return the probability of the next stage, in place of eqs. (3), (7), (14) and (18): 1 once the clock has rung."""
    timed = (state.stage >= TIMED[0]) & (state.stage <= TIMED[-1])
    return jnp.where(timed, jnp.exp(-100 * jnp.maximum(1 - state.progress, 0.0)), 0.0)
