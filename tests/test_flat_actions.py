"""Actions as one flat vector, in the order of their names, and the distributions over them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from harvestgym.core.errors import ConfigError
from tests.load_script import script

EXAMPLE = script("examples/flat_actions.py")
count_choices, unflatten_actions, make_head = EXAMPLE.count_choices, EXAMPLE.unflatten_actions, EXAMPLE.make_head


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


def test_choices_are_drawn_with_their_probabilities() -> None:
    head = make_head(spaces.MultiDiscrete([3, 2]))
    outputs = head.bias(1.0, 0.1) + jnp.asarray([0.0, 0.5, -0.5, 0.0, 1.0])
    drawn = jax.vmap(lambda key: head.draw(key, outputs))(jax.random.split(jax.random.key(0), 20_000))
    every = jnp.asarray([[i, j] for i in range(3) for j in range(2)])
    chances = np.exp(head.log_chance(jnp.broadcast_to(outputs, (6, 5)), every))
    assert chances.sum() == pytest.approx(1.0)
    np.testing.assert_allclose([(drawn == each).all(1).mean() for each in every], chances, atol=0.01)
    assert head.entropy(outputs) == pytest.approx(-(chances * np.log(chances)).sum(), rel=1e-5)


def test_amounts_are_shares_of_the_range() -> None:
    space = spaces.Box(*np.asarray([[-1.0, 10.0], [1.0, 30.0]], np.float32))
    head = make_head(space)
    outputs = head.bias(0.0, 0.15) + jnp.asarray([0.0, np.log(3.0), 0.0, 0.5])
    np.testing.assert_allclose(head.unflatten(head.act(jax.random.key(0), outputs)), [0.0, 25.0], rtol=1e-6)
    drawn = jax.vmap(lambda key: head.draw(key, outputs))(jax.random.split(jax.random.key(0), 20_000))
    deviations = 0.15 * np.exp(np.asarray([0.0, 0.5], np.float32))
    np.testing.assert_allclose(drawn.mean(0), [0.5, 0.75], atol=0.01)
    np.testing.assert_allclose(drawn.std(0), deviations, rtol=0.02)
    scaled = (drawn - np.asarray([0.5, 0.75], np.float32)) / deviations
    expected = -0.5 * (scaled**2 + np.log(2 * np.pi * deviations**2)).sum(1)
    np.testing.assert_allclose(head.log_chance(outputs, drawn), expected, rtol=1e-4, atol=1e-4)
    assert head.entropy(outputs) == pytest.approx(-float(expected.mean()), abs=0.03)
    actions = np.asarray(head.unflatten(drawn))
    assert (actions >= space.low).all() and (actions <= space.high).all() and actions.dtype == np.float32
    assert head.unflatten(head.act(jax.random.key(0), head.bias(3.0, 0.15)))[0] < -0.9, "little at first"
    with pytest.raises(ConfigError, match="expected integer actions that start at 0"):
        make_head(spaces.Box(0, np.inf))
