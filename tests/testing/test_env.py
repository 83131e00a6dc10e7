"""`check_env`: sound environments pass, and each violation of the contract is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.env import Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.pytree import replace
from harvestgym.testing.env import check_env, describe_outside
from tests.toy_env import BoxStock, Stock


@pytest.mark.parametrize("env", [Stock(), BoxStock()], ids=repr)
def test_sound_environment_passes(env: Any) -> None:
    check_env(env)


def test_policy_can_be_given() -> None:
    @dataclass(frozen=True)
    class Unbounded(Stock):
        @property
        def action_space(self) -> gymnasium.Space[Any]:
            return gymnasium.spaces.Box(0, np.inf, ())

    with pytest.raises(TypeError, match="try a custom policy"):
        check_env(Unbounded())
    check_env(Unbounded(), policy=Policy((), lambda carry, obs, key: (carry, jax.random.uniform(key))), steps=4)


class Unhashable(Stock):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


class Doubles(Stock):
    """Reports something else after a step than after a reset."""

    def observation(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        return jnp.zeros(3 if action is None else 4)


class Forgets(Stock):
    def step(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, Timestep]:
        after, seen = super().step(key, state, action, params)
        return after, seen._replace(info={})


class Short(Stock):
    def info(self, state: Any, params: Any) -> dict[str, Any]:
        return {"age": jnp.int16(3)}


class Vector(Stock):
    def terminal(self, state: Any, params: Any) -> Any:
        return jnp.zeros(2, bool)


class Resets(Stock):
    def step(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, Timestep]:
        return self.reset(key, params)


class Impure(Stock):
    """Draws from outside its key."""

    def reward(self, key: Any, state: Any, action: Any, after: Any, params: Any) -> Any:
        def draw(x: Any) -> np.float32:
            return np.float32(np.random.default_rng().random())

        return jax.pure_callback(draw, jnp.float32(0), after.stock, vmap_method="sequential")


class Infinite(Stock):
    def reward(self, key: Any, state: Any, action: Any, after: Any, params: Any) -> Any:
        return jnp.log(jnp.float32(0)) * after.catch


class Broken(Stock):
    def transition(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        return replace(super().transition(key, state, action, params), catch=jnp.float32(jnp.nan))

    def observation(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        return jnp.zeros(3)

    def reward(self, key: Any, state: Any, action: Any, after: Any, params: Any) -> Any:
        return 0.0


class Both(Stock):
    def step(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, Timestep]:
        after, seen = super().step(key, state, action, params)
        return after, seen._replace(terminated=seen.truncated)


class Outside(Stock):
    def observation(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        return jnp.array([0.0, 1.5, 0.0])


class Mixes(Stock):
    """Mixes up the environments of a batch."""

    def reward(self, key: Any, state: Any, action: Any, after: Any, params: Any) -> Any:
        def shift(x: np.ndarray) -> np.ndarray:
            return np.roll(x, 1)

        return jax.pure_callback(shift, jnp.float32(0), after.stock, vmap_method="expand_dims")


class Weak(Stock):
    """Begins with a weakly typed number and continues with float32, so that `step` compiles twice."""

    def initial(self, key: Any, params: Any) -> Any:
        return replace(super().initial(key, params), catch=jnp.asarray(0.0))


VIOLATIONS = [
    (Unhashable(), "must be hashable"),
    (Doubles(), r"expected \(state, Timestep\) as returned by reset: leaf \[1\].obs: .* float32\[3\], .* float32\[4\]"),
    (
        Forgets(),
        r"info: expected the same names as after reset, \['age', 'licence', 'rich', 'stock'\], got \[\] after step",
    ),
    (Short(), r"info\['age'\]: expected a dtype of .* got int16"),
    (Vector(), "terminated: expected one bool"),
    (Resets(), "step calls reset"),
    (Impure(), "two runs with the same key differ"),
    (Infinite(), "reward is not finite"),
    (Broken(), r"state.catch is NaN"),
    (Both(), "terminated and truncated are both true"),
    (Outside(), r"entry \(1,\) is 1.5, the range is \[0.0, 1.0\]"),
    (Mixes(), "vmap and a loop .* differ"),
    (Weak(), "expected one trace .* got 2"),
]


@pytest.mark.parametrize(("env", "words"), VIOLATIONS, ids=lambda value: type(value).__name__)
def test_violation_is_reported(env: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_env(env, steps=16)


def test_without_steps_nothing_is_compiled() -> None:
    check_env(Impure(), steps=0)
    with pytest.raises(AssertionError, match="terminated: expected one bool"):
        check_env(Vector(), steps=0)


def test_part_of_an_observation_outside_its_space_is_described() -> None:
    space = BoxStock().observation_space
    obs = {"stock": np.float32([0, 1]), "rich": np.int64(2), "signs": np.int8([0, 1, 1])}
    assert describe_outside(space, obs) == f"rich: {np.int64(2)!r} is not in Discrete(2)"
