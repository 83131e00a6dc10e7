"""The Gymnasium environment of a fishery."""

from __future__ import annotations

from harvestgym.gym.env import GymEnv

from .fixed_attributes import FixedAttributes


class FisheryGym(FixedAttributes, GymEnv):
    """A `GymEnv` that refuses assignments such as `env.unwrapped.K = 2`, which would have no effect."""
