"""Two tiny seeded environments for tests: a stock that grows and is harvested, until a random day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.pytree import Pytree, par, var


class StockParams(Pytree):
    growth: jax.Array = par("growth", "yearly growth rate")
    noise: jax.Array = par("noise", "largest relative change of the growth", low=0)
    collapse: jax.Array = par("collapse", "stock below which the story ends", low=0)


class StockState(Pytree):
    stock: jax.Array = var("stock", "what there is, of a capacity of 1", high=1, axes=())
    catch: jax.Array = var("catch", "taken this year", high=1, axes=())
    year: jax.Array = var("year", "years since the start", dtype="int", axes=())
    licence: jax.Array = var("licence", "a number beyond the integers of float32", dtype="int", axes=())
    horizon: jax.Array = var("horizon", "the last year", dtype="int", axes=())


@dataclass(frozen=True)
class Stock(Env[StockState, StockParams]):
    """Four efforts; a flat observation; the stock may collapse, and the last year is drawn at the start."""

    shortest: int = 4

    @property
    def params(self) -> StockParams:
        return StockParams(growth=jnp.float32(0.6), noise=jnp.float32(0.2), collapse=jnp.float32(0.15))

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Discrete(4)

    def initial(self, key: jax.Array, params: StockParams) -> StockState:
        u = jax.random.uniform(key, (2,))
        return StockState(
            stock=jnp.float32(0.8),
            catch=jnp.float32(0.0),
            year=jnp.int32(0),
            licence=2**24 + jnp.int32(u[0] * 2**24) * 32,
            horizon=self.shortest + jnp.int32(u[1] * 8),
        )

    def effort(self, action: Any) -> jax.Array:
        return 0.15 * action

    def transition(self, key: jax.Array, state: StockState, action: Any, params: StockParams) -> StockState:
        catch = self.effort(action) * state.stock
        left = state.stock - catch
        shock = 1 + params.noise * (2 * jax.random.uniform(key) - 1)
        stock = jnp.clip(left + params.growth * left * (1 - left) * shock, 0.0, 1.0)
        return StockState(
            stock=stock, catch=catch, year=state.year + 1, licence=state.licence + 1, horizon=state.horizon
        )

    def observation(self, key: jax.Array, state: StockState, action: Any, params: StockParams) -> Any:
        return jnp.stack([state.stock, state.catch, jax.random.uniform(key)])

    def reward(
        self, key: jax.Array, state: StockState, action: Any, after: StockState, params: StockParams
    ) -> jax.Array:
        return after.catch

    def terminal(self, state: StockState, params: StockParams) -> jax.Array:
        return state.stock < params.collapse

    def truncation(self, state: StockState, params: StockParams) -> jax.Array:
        return state.year >= state.horizon

    def info(self, state: StockState, params: StockParams) -> dict[str, Any]:
        age = jnp.stack([state.year, state.horizon])
        return {"stock": state.stock, "licence": state.licence, "rich": state.stock > 0.5, "age": age}

    def action_mask(self, state: StockState, params: StockParams) -> jax.Array:
        """Return a poor stock may not be fished at full effort."""
        return jnp.arange(4) <= jnp.where(state.stock > 0.5, 3, 2)


@dataclass(frozen=True)
class BoxStock(Stock):
    """The same stock with a continuous effort and an observation of several parts."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Dict(
            {
                "stock": gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32),
                "rich": gymnasium.spaces.Discrete(2),
                "signs": gymnasium.spaces.MultiBinary(3),
            }
        )

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    action_mask = None

    def effort(self, action: Any) -> jax.Array:
        return 0.25 * (action[0] + 1)

    def observation(self, key: jax.Array, state: StockState, action: Any, params: StockParams) -> Any:
        signs = jnp.int32(jax.random.uniform(key, (3,)) < state.stock)
        return {
            "stock": jnp.stack([state.stock, state.catch]),
            "rich": jnp.int32(state.stock > 0.5),
            "signs": signs,
        }
