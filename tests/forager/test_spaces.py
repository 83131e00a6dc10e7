"""Spaces tell the truth for every combination of arguments, on both engines."""

from __future__ import annotations

import itertools
import random
from typing import Any

import jax
import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.family import build_forager
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES

from ..long_form import ALL
from .worlds import RENEWED, SMALL, VARIED

FLAGS: dict[str, tuple[Any, ...]] = {
    "observation_mode": (*MODES,), "edge": ("torus", "wall"), "aperture": ((1, 1), (5, 3), (13, 13)),
    "hint": ((0, 0), (1, 2)), "horizon": (0, 2), "teleport_every": (0, 2), "capacity": (64, 1024),
}  # fmt: skip
WORLDS = (SMALL, VARIED, RENEWED)
COMBINATIONS = list(itertools.product(WORLDS, *FLAGS.values()))
CHOSEN = COMBINATIONS if ALL else random.Random(0).sample(COMBINATIONS, 8)


def check_engines(model: Forager) -> None:
    """Take two steps on the host engine, whose observations are those of the JAX engine, which is only traced."""
    space, host = model.observation_space, ForagerGym.of(model)
    assert host.observation_space == space and host.action_space == model.action_space
    traced = jax.eval_shape(model.reset, jax.random.key(0), model.params)[1].obs
    seen = [host.reset(seed=0)[0], *(host.step(action)[0] for action in range(2))]
    for obs in seen:
        assert space.contains(obs)
        assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), traced) == jax.tree.map(
            lambda leaf: (np.shape(leaf), np.asarray(leaf).dtype), obs
        )


def test_spaces_hold_what_is_observed_for_every_combination_of_arguments() -> None:
    built = 0
    for world, *flags in CHOSEN:
        given = dict(zip(FLAGS, flags, strict=True))
        moved = {"teleport_to": ["world"]} if given["teleport_every"] else {}
        try:
            model = build_forager(world | given | moved)
        except ConfigError as error:
            assert ": expected " in str(error), given
        else:
            check_engines(model)
            built += 1
    assert built > len(CHOSEN) / 3
