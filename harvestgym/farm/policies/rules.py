"""Expert rules as data: a trigger in the form of a stopping condition, an action in the paper's form.

A rule policy sees only what the farm shows for free, runs compiled, and takes the rules in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from ...core.errors import ConfigError
from ...core.policy import Policy
from ..active import ActiveFarm
from ..conditions import AnyOf, Event, Values, compile_conditions, occurs
from ..observe import Plan

if TYPE_CHECKING:
    from ..model import FarmModel


@dataclass(frozen=True)
class Rules:
    """When the formula of a rule occurs in what is seen (always, if it is empty), its action is wanted.

    Where observations are asked for, it looks at the free ones, and at these only.
    """

    plan: Plan
    triggers: tuple[AnyOf, ...]
    schedule: int
    looks: int

    def __call__(
        self, numbers: tuple[tuple[Values, ...], jax.Array], carry: tuple[()], obs: Any, key: jax.Array
    ) -> tuple[tuple[()], Any]:
        """The actions of the first rules that fire, as many as a day allows; 0 is to do nothing.

        `numbers` are the reference values of the triggers and the index of each rule's action.
        """
        values, actions = numbers
        seen = obs if not self.looks else obs["values"]
        fired = jnp.stack([self._fires(*pair, seen) for pair in zip(self.triggers, values, strict=True)])
        wanted = jnp.where(fired, actions, 0)
        first = jnp.argsort(~fired, stable=True)[: self.schedule]
        chosen = jnp.zeros(self.schedule, jnp.int32).at[: first.shape[0]].set(wanted[first])
        order = chosen[0] if self.schedule == 1 else chosen
        return carry, order if not self.looks else {"request": jnp.zeros(self.looks, jnp.int32), "order": order}

    def _fires(self, trigger: AnyOf, values: Values, obs: jax.Array) -> jax.Array:
        return jnp.asarray(not trigger) | occurs(trigger, values, lambda look: obs[self.plan.entries(look)])


def rule_policy(env: FarmModel) -> Policy:
    """The expert of a farm file as a policy; ConfigError if a rule looks at what is not seen for free."""
    triggers, values = [], []
    for i, rule in enumerate(env.spec.expert):
        trigger, numbers = compile_conditions(rule.when, env.fields, env.variables, f"expert > {i}")
        for event in (event for group in trigger for event in group):
            _check_seen(env, event, f"expert > {i}")
        triggers.append(trigger)
        values.append(numbers)
    actions = np.asarray([env.actions.index(rule.do) for rule in env.spec.expert], np.int32)
    offered = len(env.offered.looks) if isinstance(env, ActiveFarm) else 0
    rules = Rules(env.plan, tuple(triggers), env.schedule, offered)
    return Policy((), Partial(rules, (tuple(values), actions)))


def _check_seen(env: FarmModel, event: Event, where: str) -> Any:
    try:
        return env.plan.entries(event.look)
    except KeyError:
        raise ConfigError(
            f"{where}: {event.look.variable.name} is not among the free observations; add it to "
            "rules > free_observations or choose another trigger"
        ) from None
