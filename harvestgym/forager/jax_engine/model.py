"""The forager as a functional environment: the same world, rules and draws as the host engine, for `vmap` and GPUs.

A step renews regions, returns objects, resolves the collision ahead, moves the agent and updates the counters. The key
of a step is not used: every random draw depends only on the seed, the clock and the number of the collision, so it is
the same in both engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import check_fields
from harvestgym.core.env import Env
from harvestgym.core.pytree import replace
from harvestgym.core.tuning.rule_family import TunedRule
from harvestgym.forager.object_kinds import ring_length
from harvestgym.forager.observations import (
    MODES,
    Hint,
    add_hint,
    check_aperture,
    check_mode,
    check_survey,
    make_space,
)
from harvestgym.forager.world import EMPTY, VACANT, StepCount, World
from harvestgym.registry import FIRST_STEPS

from .cells import key_region, to_word, unpack_state
from .collisions import collide
from .dynamics import renew, return_objects, teleport
from .rewards import clock_phase, region_values
from .state import ForagerParams, ForagerState
from .view import encode, move, refresh, survey


def draw_seed(key: Array) -> Array:
    """Return the seed of the episode that starts with a key, uint32 (2,)."""
    return jax.random.bits(key, (2,), jnp.uint32)


@dataclass(frozen=True, repr=False)
class Forager(Env[ForagerState, ForagerParams]):
    """A foraging world: the agent goes north, east, south or west and collides with objects.

    Episodes never terminate; a horizon truncates them. The kind of an object determines its reward, and whether it
    blocks the agent, is collected and returns.
    """

    family: ClassVar[str | None] = "harvestgym.forager.family"

    world: World
    aperture: tuple[int, int] = (9, 9)
    mode: str = "objects"
    horizon: StepCount = 0
    hint: Hint = (0, 0)
    expert: TunedRule | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        check_aperture(self.aperture, self.world)
        check_mode(self.mode, self.world)

    @property
    def summary(self) -> str:
        """The size and the kinds of the world, and the observation mode."""
        return f"{self.world.summary}; {self.mode} in view"

    # -- structure -----------------------------------------------------------------------------------------

    @property
    def params(self) -> ForagerParams:
        """The default parameters: factors of one on the rewards, and the horizon."""
        worth = jnp.ones(max(1, len(self.world.kinds)), jnp.float32)
        return ForagerParams(worth=worth, horizon=jnp.int32(self.horizon))

    @property
    def evaluation_steps(self) -> int:
        """Number of steps for tables and pictures: the horizon, or a default number for endless episodes."""
        return self.horizon or FIRST_STEPS

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of the observation mode; with a hint, a dict of `view` and `hint`."""
        return make_space(self.world, self.mode, self.aperture, self.hint)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """North, east, south, west."""
        return gymnasium.spaces.Discrete(4)

    @cached_property
    def capacity(self) -> int:
        """The number of slots: the configured capacity, at most the number of collectable objects."""
        takeable = [i for i, kind in enumerate(self.world.kinds) if kind.collectable]
        total = sum(n for region in self.world.regions for kind, n in region.layers if kind in takeable)
        return max(1, min(self.world.capacity, total))

    # -- the five parts ------------------------------------------------------------------------------------

    def initial(self, key: Array, params: ForagerParams) -> ForagerState:
        """Start an episode whose seed is 64 bits of the key."""
        return self.begin(draw_seed(key))

    def begin(self, words: Any) -> ForagerState:
        """Start the episode for a seed of two words (`hashing.seed_words`), with the same map as on the host engine."""
        world, words, n = self.world, to_word(words), len(self.world.regions)
        x, y = to_word(world.start[0]), to_word(world.start[1])
        keyed = [key_region(world, words, r, jnp.uint32(0), x, y) for r in range(n)]
        state = ForagerState(
            words=words,
            clock=jnp.zeros(2, jnp.uint32),
            events=jnp.uint32(0),
            x=x,
            y=y,
            slots=jnp.zeros((7 if world.moves else 5, self.capacity), jnp.uint32),
            view=jnp.full(self.aperture, EMPTY, jnp.int8),
            keys=jnp.stack([k for k, _ in keyed]),
            keep=jnp.stack([rank for _, rank in keyed]),
            generation=jnp.zeros(n, jnp.uint32),
            eaten=jnp.zeros(n, jnp.int32),
            hit=jnp.int32(EMPTY),
            paid=jnp.float32(0),
            rate=jnp.float32(0),
            owed=jnp.zeros(ring_length(world.kinds), jnp.float32),
            refused=jnp.uint32(0),
        )
        return refresh(world, state)

    def transition(self, key: Array, state: ForagerState, action: Any, params: ForagerParams) -> ForagerState:
        """Return the state after one step."""
        world, action = self.world, jnp.asarray(action, jnp.int32)
        state = renew(world, state) if world.renews else state
        state = return_objects(world, state)
        state = refresh(world, state) if world.perishes else state
        state, moved = collide(world, state, action, params)
        state = move(world, state, action, moved)
        state = teleport(world, state) if world.teleport_every else state
        low = state.clock[1] + np.uint32(1)
        return replace(state, clock=jnp.stack([state.clock[0] + (low == 0), low]))

    def observation(self, key: Array, state: ForagerState, action: Any, params: ForagerParams) -> Any:
        """Return the observation of the mode; with a hint, a dict."""
        mode = MODES[self.mode]
        seen = mode.observe(encode(self.world, state, mode), jnp)
        if not self.hint[0]:
            return seen
        region = self.world.find_region(state.x, state.y, jnp)
        return add_hint(self.world, self.hint, seen, clock_phase(state, self.hint[1]), region)

    def cells(self, state: ForagerState) -> Array:
        """Return int32 (height, width): the kind in every cell or -1, northernmost row first; for small worlds."""
        check_survey(self.world)
        return survey(self.world, state)

    def reward(self, key: Array, state: ForagerState, action: Any, after: ForagerState, params: ForagerParams) -> Array:
        """Return the rewards of collisions that are paid in this step."""
        return after.paid

    def truncation(self, state: ForagerState, params: ForagerParams) -> Array:
        """Return whether the horizon is reached."""
        low = jnp.asarray(params.horizon).astype(jnp.uint32)
        return (low > 0) & ((state.clock[0] > 0) | (state.clock[1] >= low))

    def info(self, state: ForagerState, params: ForagerParams) -> dict[str, Any]:
        """Return metrics: reward rate, objects collected, biome, and the regret relative to the best biome."""
        biome = self.world.find_region(state.x, state.y, jnp)
        values = region_values(self.world, state, params)
        return {
            "reward_rate": state.rate,
            "collided": state.hit,
            "collected": state.events.astype(jnp.int32),
            "biome": biome,
            "biome_value": values[biome],
            "biome_regret": jnp.max(values) - values[biome],
            "changed": jnp.sum(unpack_state(state.slots) != VACANT, dtype=jnp.int32),
            "refused": state.refused.astype(jnp.int32),
        }

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        """Count the collisions with each kind of object, and the moves in each direction."""
        codes = {"met": (info["collided"], len(self.world.kinds)), "moves": (-1 if action is None else action, 4)}
        return {name: (jnp.arange(n, dtype=jnp.int32) == at).astype(jnp.int32) for name, (at, n) in codes.items()}
