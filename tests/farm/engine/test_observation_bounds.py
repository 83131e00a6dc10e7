"""Observations stay within their space, whose ends mean something, for all values that parameters may have."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym import registry
from harvestgym.core.autoreset import Batched
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.core.pytree import replace
from harvestgym.core.rollout import rollout
from harvestgym.farm.engine.variables import UNIT_LIMITS
from tests.long_form import long

SETS, DAYS = 16, 30
SHARE = 0.3
"""Of the parameters, those that lie at one of their limits."""

TRIES = 20
"""Draws of a value until one is accepted: some limits exclude each other."""


def draw_limits(group: Any, rng: np.random.Generator) -> Any:
    """Return a group of parameters with some of them at their limits; parts whose draws are all refused stay."""
    for field in dataclasses.fields(group):
        for _ in range(TRIES):
            try:
                group = replace(group, **{field.name: draw_value(getattr(group, field.name), field.metadata, rng)})
                break
            except ConfigError:
                continue
    return group


def draw_value(value: Any, metadata: Any, rng: np.random.Generator) -> Any:
    """Return a parameter, perhaps at a limit, or a group of them; anything else as it is."""
    if dataclasses.is_dataclass(value):
        return draw_limits(value, rng)
    meta = metadata.get("meta")
    if meta is None or (meta.kind, meta.dtype) != ("par", "float") or not np.isfinite([meta.low, meta.high]).all():
        return value
    given = np.asarray(value, np.float32)
    ends = rng.choice([meta.low, meta.high], given.shape)
    return np.where(rng.random(given.shape) < SHARE, ends, given).astype(np.float32)


@long
def test_parameters_at_their_limits_keep_observations_in_their_space() -> None:
    env, rng = harvestgym.make("farm/bean-1x1-v0", mode="fo"), np.random.default_rng(0)
    (field,) = env.params.fields
    fields = [replace(field, entities=tuple(draw_limits(e, rng) for e in field.entities)) for _ in range(SETS)]
    sets = [replace(env.params, fields=(drawn,)) for drawn in fields]
    params = Batched(jax.tree.map(lambda *leaves: np.stack(leaves), *sets))
    seen = rollout(env, random_policy(env), jax.random.key(0), SETS, DAYS, params)
    space: Any = env.observation_space
    assert np.all((seen.next_obs >= space.low) & (seen.next_obs <= space.high)), "none is NaN either"
    assert np.isfinite(seen.reward).all()


@pytest.mark.parametrize("id", registry.ids("farm")[::9])
def test_no_end_of_a_space_stands_for_infinity(id: str) -> None:
    space: Any = harvestgym.make(id).observation_space
    boxes = [part for part in getattr(space, "spaces", {"": space}).values() if hasattr(part, "low")]
    ends = np.concatenate([np.abs(end).ravel() for box in boxes for end in (box.low, box.high)])
    assert ends.max() <= max(UNIT_LIMITS.values())


def test_a_variable_without_an_end_has_that_of_its_unit() -> None:
    ends = {v.key: v.meta.high for v in harvestgym.make("farm/bean-1x1-v0").variables}
    assert (ends["available_Water#L"], ends["size#cm"]) == (UNIT_LIMITS["L"], UNIT_LIMITS["cm"])
