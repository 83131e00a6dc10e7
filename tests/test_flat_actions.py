"""Integer actions as one flat vector, in the order of their names."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from gymnasium import spaces

from harvestgym.core.errors import ConfigError
from tests.load_script import script

EXAMPLE = script("examples/flat_actions.py")
count_choices, unflatten_actions = EXAMPLE.count_choices, EXAMPLE.unflatten_actions


def test_flat_integers_are_the_parts_of_an_action_in_the_order_of_their_names() -> None:
    parts = {"order": spaces.MultiDiscrete([3, 4]), "a": spaces.Discrete(2), "request": spaces.MultiBinary(2)}
    space = spaces.Dict(parts)
    assert count_choices(space) == [[2], [3, 4], [2, 2]]
    found = unflatten_actions(space, jnp.arange(10, dtype=jnp.int32).reshape(2, 5))
    assert {name: part.tolist() for name, part in found.items()} == {
        "a": [0, 5], "order": [[1, 2], [6, 7]], "request": [[3, 4], [8, 9]],
    }  # fmt: skip
    with pytest.raises(ConfigError, match="expected integer actions that start at 0"):
        count_choices(spaces.Box(0, 1))
