"""The clock of a crop: thermal time decides when stages end; it replaces eqs. (3), (7), (14), (18)."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.messages import Air
from harvestgym.farm.entities.response import expglm

from .equations import by_stage
from .parameters import Clock, Crop
from .stages import Stage
from .state import PlantState

TIMED = (Stage.SEED, Stage.GROW, Stage.BLOOM, Stage.FRUIT)
"""The stages that end after a number of degree-days."""


def thermal_time(clock: Clock, temperature: Array) -> Array:
    """Return the degree-days of a day with this mean temperature.

    They rise from 0 at the base to the optimum, and fall to 0 at the ceiling.
    """
    rising = jnp.clip(temperature, clock.base, clock.optimum) - clock.base
    return rising * jnp.clip((clock.ceiling - temperature) / (clock.ceiling - clock.optimum), 0.0, 1.0)


def chilling(temperature: Array) -> Array:
    """Return the fraction of a day of vernalisation: 1 from 3 to 10 degC, 0 below -4 and above 17 (WOFOST VERNRTB)."""
    return jnp.clip(jnp.minimum(temperature + 4, 17 - temperature) / 7, 0.0, 1.0)


def hardened(crop: Crop, state: PlantState) -> Array:
    """Return the frost tolerance, in degC, that cold days have added to leaves; it falls to 0 at flowering."""
    share = _ramp(state.chill, (0.0, crop.clock.chill[1])) * (1 - state.progress)
    return jnp.where(state.stage == Stage.GROW, crop.clock.hardening * share, 0.0)


def _ramp(value: Array, ends: Array | tuple[float, Array]) -> Array:
    return jnp.clip((value - ends[0]) / jnp.maximum(ends[1] - ends[0], 1e-6), 0.0, 1.0)


def pace(crop: Crop, state: PlantState, air: Air) -> Array:
    """Return the fraction of its stage that an unstressed plant passes today, by eq. (3) and degree-days.

    Until flowering, it is proportional to how well the crop's needs for cold days and day length are met.
    """
    clock = crop.clock
    ready = _ramp(state.chill, clock.chill) * _ramp(air.daylength, clock.daylength)
    factors = {Stage.SEED: expglm(crop.seed.sprout, humidity=air.humidity), Stage.GROW: ready}
    steps = {stage: factors.get(stage, 1.0) / total for stage, total in zip(TIMED, clock.sums, strict=True)}
    return by_stage(state.stage, steps, 0.0) * thermal_time(clock, air.t_mean)


def add_development(crop: Crop, state: PlantState, day: Drivers) -> PlantState:
    """Add today's development; a lack of nitrogen delays flowers, and drought shortens filling; eq. (8)."""
    clock = crop.clock
    hungry, dry = (1 - jnp.exp(-day[name]) for name in ("N", "water"))
    stress = {Stage.GROW: 1 - clock.hunger_delay * hungry, Stage.FRUIT: 1 + clock.drought_haste * dry}
    progress = state.progress + day["pace"] * by_stage(state.stage, stress, 1.0)
    chill = state.chill + jnp.where(state.stage == Stage.GROW, chilling(day["temperature"]), 0.0)
    return replace(state, progress=progress, chill=chill)


def stage_is_complete(state: PlantState) -> Array:
    """Return where plants have completed the degree-days of their stage; replaces eqs. (3), (7), (14) and (18)."""
    return (state.progress >= 1) & (state.stage <= TIMED[-1])


def restart(crop: Crop, state: PlantState) -> Array:
    """Return the progress of plants that enter their next stage: the degree-days beyond the end of the last one."""
    sums = crop.clock.sums
    ratios = dict(zip(TIMED, jnp.append(sums[:-1] / sums[1:], 0.0), strict=True))
    return jnp.maximum(state.progress - 1, 0.0) * by_stage(state.stage, ratios, 0.0)
