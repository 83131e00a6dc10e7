"""Policies as pure functions: initial memory, action from memory and observation, and memory update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial

from .env import Env, Timestep
from .errors import keep_error, mismatch
from .spaces import make_action_reader, summarise_space


def _learn_nothing(carry: Any, last: Timestep) -> Any:
    return carry


class Policy(NamedTuple):
    """A policy with memory, for `jit` and `vmap`.

    Attributes:
        init: the memory at the start of an episode, a pytree; `()` for no memory.
        act: `act(carry, obs, key) -> (carry, action)`, hashable. Pass learned weights as
            `jax.tree_util.Partial(act, weights)`: they are traced, so new weights need no recompilation.
        learn: `learn(carry, timestep) -> carry`, hashable; updates the memory after a step. By default, a policy
            does not learn within an episode.
    """

    init: Any
    act: Callable[[Any, Any, Array], tuple[Any, Any]]
    learn: Callable[[Any, Timestep], Any] = _learn_nothing

    def traced(self) -> Policy:
        """Return this policy as a pytree of arrays, for use as an argument of compiled code."""
        act, learn = (call if isinstance(call, Partial) else Partial(call) for call in self[1:])
        return Policy(jax.tree.map(jnp.asarray, self.init), act, learn)


@dataclass(frozen=True)
class _Draw:
    env: Env[Any, Any]

    def __call__(self, carry: Any, obs: Any, key: Array) -> tuple[Any, Any]:
        return carry, sample(self.env.action_space, key)


def _repeat(carry: Any, obs: Any, key: Array) -> tuple[Any, Any]:
    return carry, carry


def _mix_learning(learn: Any, carry: Any, last: Timestep) -> Any:
    return learn(carry[0], last), carry[1]


def _mix(act: Any, draw: _Draw, carry: Any, obs: Any, key: Array) -> tuple[Any, Any]:
    carry, chance = carry
    first, whether, which, own = jax.random.split(key, 4)
    chance = jnp.where(chance < 0, jax.random.uniform(first, dtype=jnp.float32), chance)
    carry, action = act(carry, obs, own)
    strays = jax.random.uniform(whether, dtype=jnp.float32) < chance
    mixed = jax.tree.map(lambda drawn, chosen: jnp.where(strays, drawn, chosen), draw((), obs, which)[1], action)
    return (carry, chance), mixed


def random_policy(env: Env[Any, Any]) -> Policy:
    """Draw each action uniformly from the action space of `env`."""
    return Policy((), _Draw(env))


def mixed_policy(env: Env[Any, Any], policy: Policy) -> Policy:
    """Act like `policy`, but take random actions with a probability drawn uniformly from 0 to 1 for each episode."""
    init, act, learn = policy.traced()
    return Policy((init, jnp.float32(-1.0)), Partial(_mix, act, Partial(_Draw(env))), Partial(_mix_learning, learn))


def constant_policy(action: Any) -> Policy:
    """Take the same action in every step."""
    return Policy(action, _repeat)


@dataclass(frozen=True, eq=False)
class _Ask:
    env: Env[Any, Any]
    agent: Any

    def __call__(self, carry: Any, obs: Any, key: Array) -> tuple[Any, Any]:
        shapes = jax.eval_shape(lambda: sample(self.env.action_space, jax.random.key(0)))
        answer = partial(self._answer, shapes, jnp.ndim(jax.tree.leaves(obs)[0]))
        return carry, jax.pure_callback(answer, shapes, obs, vmap_method="expand_dims")

    @keep_error()
    def _answer(self, shapes: Any, axes: int, obs: Any) -> Any:
        """Return the actions for observations with any number of leading axes, after a check of each.

        `shapes` has the shape of an action, and `axes` is the number of axes of the first part of an observation.
        """
        shape = jax.tree.leaves(obs)[0].shape
        lead = shape[: len(shape) - axes]
        rows = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[len(lead) :]), obs)
        actions = [self._check(shapes, action) for action in self._act_on_rows(rows)]
        return jax.tree.map(lambda one, *parts: np.stack(parts).reshape(*lead, *one.shape), shapes, *actions)

    def _act_on_rows(self, rows: Any) -> list[Any]:
        def split(tree: Any) -> list[Any]:
            return [jax.tree.map(lambda leaf: leaf[i], tree) for i in range(len(jax.tree.leaves(rows)[0]))]  # noqa: B023

        if hasattr(self.agent, "predict"):
            return split(self.agent.predict(rows, deterministic=True)[0])
        return [self.agent(row) for row in split(rows)]

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        return make_action_reader(self.env.action_space, (1,))  # a batch of one, because other readers call JAX

    def _check(self, shapes: Any, action: Any) -> Any:
        """Return an action as arrays; raise ConfigError if it is outside the space."""
        try:
            return self._read(jax.tree.map(lambda one, part: np.reshape(part, (1, *one.shape)), shapes, action))
        except (TypeError, ValueError):
            expected = f"an action in {summarise_space(self.env.action_space)}"
            raise mismatch("policy", expected, action) from None


def calls_python(policy: Policy) -> bool:
    """Return whether a traced policy from `make_policy` calls a Python function in each step."""
    return isinstance(getattr(policy.act, "func", policy.act), _Ask)


def make_policy(env: Env[Any, Any], agent: Any) -> Policy:
    """Convert an agent to a policy: a `Policy`, a model with `predict` (SB3), or a function from observation to action.

    Models and functions run in Python, once per step for all episodes of an evaluation. They must not call JAX. If they
    return an action outside the action space, ConfigError is raised; a `Policy` is not checked.
    """
    if isinstance(agent, Policy):
        return agent
    if not (hasattr(agent, "predict") or callable(agent)):
        raise TypeError(f"policy: expected a Policy, a model with `predict` or a function, got {agent!r}")
    return Policy((), _Ask(env, agent))


def together(policies: Sequence[Policy]) -> list[Policy]:
    """Return policies that share one compiled program, because the index of the acting policy is traced."""
    inits, acts, learns = zip(*(policy.traced() for policy in policies), strict=True)
    learn = Partial(_learn_all, learns)
    return [Policy(inits, Partial(_switch, jnp.int32(i), acts), learn) for i in range(len(policies))]


def _learn_all(learns: tuple[Any, ...], carries: tuple[Any, ...], last: Timestep) -> tuple[Any, ...]:
    return tuple(learn(carry, last) for learn, carry in zip(learns, carries, strict=True))


def _switch(which: Array, acts: tuple[Any, ...], carries: tuple[Any, ...], obs: Any, key: Array) -> Any:
    def act(i: int) -> Any:
        carry, action = acts[i](carries[i], obs, key)
        return (*carries[:i], carry, *carries[i + 1 :]), jax.tree.map(jnp.asarray, action)

    return jax.lax.switch(which, [partial(act, i) for i in range(len(acts))])


def sample(space: gymnasium.Space[Any], key: Array) -> Any:
    """Draw uniformly from a space, as int32 or float32 arrays; raise TypeError if the space is unbounded."""
    match space:
        case gymnasium.spaces.Discrete():
            return jnp.int32(space.start) + jax.random.randint(key, (), jnp.int32(0), jnp.int32(space.n), jnp.int32)
        case gymnasium.spaces.MultiDiscrete():
            low = space.start.astype(np.int32)
            return jax.random.randint(key, low.shape, low, low + space.nvec.astype(np.int32), jnp.int32)
        case gymnasium.spaces.MultiBinary():
            return jax.random.randint(key, space.shape, jnp.int32(0), jnp.int32(2), jnp.int32)
        case gymnasium.spaces.Box() if space.is_bounded() and np.issubdtype(space.dtype, np.integer):
            low, high = space.low.astype(np.int32), space.high.astype(np.int32)
            return jax.random.randint(key, space.shape, low, high + 1, jnp.int32)
        case gymnasium.spaces.Box() if space.is_bounded():
            return jax.random.uniform(key, space.shape, jnp.float32, space.low, space.high)
        case gymnasium.spaces.Dict():
            keys = jax.random.split(key, max(len(space.spaces), 1))
            return {name: sample(inside, k) for (name, inside), k in zip(space.items(), keys, strict=True)}
        case gymnasium.spaces.Tuple():
            keys = jax.random.split(key, max(len(space.spaces), 1))
            return tuple(sample(inside, k) for inside, k in zip(space.spaces, keys, strict=True))
    raise TypeError(f"policy: expected a bounded action space, got {space}; try a custom policy")
