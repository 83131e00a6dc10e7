"""A clairvoyant planner for continuous actions: gradient ascent through seasons whose random events it knows.

A plan corrects the action of a rule at each step. The rule still reacts to the stock, so a small change early in the
season does not make the fishery collapse later, as it would with a schedule of fixed catches. Only corrections that
raise the return of their season are kept, so a plan is never worse than its rule. Like any search, it finds a lower
bound on the value of foresight.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Env
from harvestgym.core.episode import begin_batch, take_step
from harvestgym.core.policy import Policy

RATES = (0.1, 0.02, 0.004, 0.0008)
"""Step sizes of the ascent. Each season tries all of them, because an unstable fishery needs small ones."""

STEPS = 300
"""Number of gradient steps for each rule and step size."""


def plan_by_gradient(
    env: Env[Any, Any], keys: jax.Array, rules: Sequence[Policy | Batched], steps: int
) -> tuple[np.ndarray, int]:
    """Plan the season of each key; return the best returns, float64 (seasons,), and the number of plans tried in each.

    Args:
        env: an environment with one array of continuous actions.
        keys: random key of each season, (seasons,).
        rules: the rules to correct, each either one policy or one per season.
        steps: number of steps in a season.
    """
    traced = [rule.traced() if isinstance(rule, Policy) else rule for rule in rules]
    found = [np.asarray(_correct_rule(env, steps, rule, keys)) for rule in traced]
    return np.max(found, axis=0).astype(float), len(rules) * len(RATES) * STEPS


@partial(jax.jit, static_argnums=(0, 1))
def _correct_rule(env: Env[Any, Any], steps: int, rule: Policy | Batched, keys: jax.Array) -> jax.Array:
    """Return the best return of a rule with corrections in each season, (seasons,)."""
    space: Any = env.action_space
    low, high = jnp.asarray(space.low), jnp.asarray(space.high)
    player, step, start, _ = begin_batch(env, rule, keys, env.params)

    def measure(corrections: jax.Array) -> tuple[jax.Array, jax.Array]:
        def one(loop: Any, now_and_more: Any) -> tuple[Any, jax.Array]:
            now, more = now_and_more

            def act(carry: Any, obs: Any, _: Any) -> tuple[Any, jax.Array]:
                carry, own = player.act(carry, obs, now)
                return carry, jnp.clip(own + more, low, high)

            after, _, last = take_step(player._replace(act=act), step, loop, now)
            return after, jnp.where(loop.world.over, 0.0, last.reward)

        times = jnp.arange(steps, dtype=jnp.int32)
        returns = jax.lax.scan(one, start, (times, corrections))[1].sum(0)
        return returns.sum(), returns

    def ascend(rate: jax.Array) -> jax.Array:
        climb = optax.adam(optax.cosine_decay_schedule(rate, STEPS))

        def improve(state: Any, _: None) -> tuple[Any, None]:
            corrections, memory, best = state
            (_, returns), slope = jax.value_and_grad(measure, has_aux=True)(corrections)
            move, memory = climb.update(-jnp.nan_to_num(slope), memory)
            return (jnp.clip(corrections + move, low - high, high - low), memory, jnp.maximum(best, returns)), None

        first = jnp.zeros((steps, len(keys), *space.shape), jnp.float32)
        state = first, climb.init(first), jnp.full(len(keys), -jnp.inf)
        return jax.lax.scan(improve, state, None, STEPS)[0][2]

    return jax.lax.map(ascend, jnp.asarray(RATES)).max(0)
