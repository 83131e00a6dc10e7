"""Observations stay within their space, whose ends mean something, whatever values the limits of parameters allow."""

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
from harvestgym.core.rollout import rollout
from harvestgym.core.tree import OTHER_LIMIT, UNIT_LIMITS, find_limit, iterate_metas, replace

SETS, DAYS = 48, 30
SHARE = 0.3
"""Of the parameters, those that lie at one of their limits."""

TRIES = 20
"""Draws of a group until one is accepted: some limits exclude each other."""


def draw_limits(group: Any, rng: np.random.Generator) -> Any:
    """Return a group of parameters, and the groups in it, with some parameters at their limits; as it is if refused."""
    inner = {f.name: getattr(group, f.name) for f in dataclasses.fields(group) if "meta" not in f.metadata}
    group = replace(group, **{n: draw_limits(v, rng) for n, v in inner.items() if dataclasses.is_dataclass(v)})
    for _ in range(TRIES):
        changes = {}
        for name, meta in iterate_metas(group):
            if meta.kind == "par" and meta.dtype == "float" and np.isfinite([meta.low, meta.high]).all():
                value = np.asarray(getattr(group, name), np.float32)
                ends = rng.choice([meta.low, meta.high], value.shape)
                changes[name] = np.where(rng.random(value.shape) < SHARE, ends, value).astype(np.float32)
        try:
            return replace(group, **changes)
        except ConfigError:
            continue
    return group


def test_parameters_at_their_limits_keep_observations_in_their_space() -> None:
    env, rng = harvestgym.make("farm/bean-clay-weeds-1x1-v0"), np.random.default_rng(0)
    fields = env.params.fields
    sets = [
        replace(
            env.params,
            fields=tuple(replace(f, entities=tuple(draw_limits(e, rng) for e in f.entities)) for f in fields),
        )
        for _ in range(SETS)
    ]
    params = Batched(jax.tree.map(lambda *leaves: np.stack(leaves), *sets))
    seen = rollout(env, random_policy(env), jax.random.key(0), SETS, DAYS, params)
    space: Any = env.observation_space
    assert np.all((seen.next_obs >= space.low) & (seen.next_obs <= space.high)), "none is NaN either"
    assert np.isfinite(seen.reward).all()
    plain = rollout(env, random_policy(env), jax.random.key(0), SETS, DAYS)
    assert not np.array_equal(plain.next_obs, seen.next_obs)


@pytest.mark.parametrize("id", registry.ids("farm")[::9])
def test_no_end_of_a_space_stands_for_infinity(id: str) -> None:
    space: Any = harvestgym.make(id).observation_space
    boxes = [part for part in getattr(space, "spaces", {"": space}).values() if hasattr(part, "low")]
    ends = np.concatenate([np.abs(end).ravel() for box in boxes for end in (box.low, box.high)])
    assert ends.max() <= max(UNIT_LIMITS.values())


def test_a_variable_without_an_end_has_that_of_its_unit() -> None:
    assert (find_limit("L"), find_limit("cm"), find_limit("")) == (UNIT_LIMITS["L"], UNIT_LIMITS["cm"], OTHER_LIMIT)
