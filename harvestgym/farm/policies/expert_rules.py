"""Expert rules as data: a trigger in the form of a stopping condition, an action in the paper's form.

A rule policy sees only what the farm shows, runs compiled, and takes the rules in order. Where looking costs, a
rule may ask for an observation, and triggers may read what was asked for: an event of what is not seen does not
occur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.farm.engine.conditions import CompiledCondition, Formula, ReferenceValues, compile_conditions
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import ObservationPlan, ObservedItem, find_items
from harvestgym.farm.schema import ExpertRule

EACH = "each"
"""As the plot of a rule's action: every plot on which the trigger holds, the neediest first."""

LONG_AGO = 10**6
ReadObserved = Callable[[ObservedItem], tuple[jax.Array, jax.Array]]
"""The numbers of an item, and whether each is seen."""


class RuleParams(NamedTuple):
    """The parameters of a compiled policy.

    Attributes:
        values: the reference values of the triggers, rule by rule.
        actions: int32 (candidates,), the integer action of each; 0 for an observation.
        pause: int32 (candidates,), days that must pass before it is done again.
    """

    values: tuple[ReferenceValues, ...]
    actions: jax.Array
    pause: jax.Array


class ExpertMemory(NamedTuple):
    """The carried memory: days since each candidate was done, and whether the next half-step is the intervention."""

    since: jax.Array
    acting: jax.Array


@dataclass(frozen=True)
class CompiledRule:
    """Condition (any of the all-of groups; always, if there is none) and its action, or one on each of some plots.

    Attributes:
        trigger: the formula.
        plots: flat numbers of the plots of a rule for `each`; empty for a rule with one action.
        requests: positions among the offered observations that it asks for; such a rule has no action.
    """

    trigger: Formula
    plots: tuple[int, ...] = ()
    requests: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of its candidate actions."""
        return max(len(self.plots), 1)

    def fires(self, values: ReferenceValues, read: ReadObserved) -> tuple[jax.Array, jax.Array]:
        """Return whether it holds, and how much it is needed, for each plot: bool and float32 (max(plots, 1),)."""
        groups = zip(self.trigger, values, strict=True)
        held = [[self._event(e, v, read) for e, v in zip(*group, strict=True)] for group in groups]
        if not held:
            return jnp.ones(self.size, bool), jnp.zeros(self.size, jnp.float32)
        fired = jnp.any(jnp.stack([jnp.all(jnp.stack([yes for yes, _ in group]), 0) for group in held]), 0)
        return fired, held[0][0][1]

    def _event(self, event: CompiledCondition, value: Any, read: ReadObserved) -> tuple[jax.Array, jax.Array]:
        numbers, seen = read(event.item)
        held = event.test(value, numbers) & seen
        if not (self.plots and event.by_plot):
            return jnp.broadcast_to(jnp.all(held), self.size), jnp.zeros(self.size, jnp.float32)
        at = np.asarray(self.plots, np.int32)
        sign = {"<": -1, "<=": -1, ">": 1, ">=": 1}.get(event.operator, 0)
        return held[at], sign * numbers[at]


@dataclass(frozen=True)
class RuleSet:
    """All rules of an expert, ready to be compiled.

    Attributes:
        plan: what may be seen, the free observations and then the offered ones.
        rules: in order of precedence.
        schedule: how many actions a day.
        offered: how many observations can be asked for; None where looking is no action.
    """

    plan: ObservationPlan
    rules: tuple[CompiledRule, ...]
    schedule: int
    offered: int | None

    def __call__(self, numbers: RuleParams, carry: ExpertMemory, obs: Any, key: jax.Array) -> tuple[ExpertMemory, Any]:
        """Return the first actions that fire, as many as a day allows, 0 for none, and the observations asked for."""
        read = self._reader(obs)
        found = [rule.fires(v, read) for rule, v in zip(self.rules, numbers.values, strict=True)]
        wanted = jnp.concatenate([fired for fired, _ in found]) & (carry.since >= numbers.pause)
        chosen = self._select(wanted, jnp.concatenate([need for _, need in found]))
        order = (
            jnp.zeros(self.schedule, jnp.int32)
            .at[: len(chosen)]
            .set(jnp.where((wanted & ~self._asking)[chosen], jnp.asarray(numbers.actions)[chosen], 0))
        )
        order = order[0] if self.schedule == 1 else order
        done = jnp.zeros(len(self._asking), bool).at[chosen].set(wanted[chosen])
        memory = self._remember(carry, jnp.where(carry.acting, done & ~self._asking, wanted & self._asking))
        return memory, order if self.offered is None else self._request(wanted) | {"order": order}

    @property
    def _ranks(self) -> np.ndarray:
        """The rule of each candidate."""
        return np.repeat(np.arange(len(self.rules), dtype=np.int32), [rule.size for rule in self.rules])

    @property
    def _asking(self) -> np.ndarray:
        """Return which candidates are observations."""
        return np.asarray([bool(self.rules[i].requests) for i in self._ranks])

    def _select(self, wanted: jax.Array, need: jax.Array) -> jax.Array:
        """Choose the interventions of a day: those wanted, by rule, in a rule by need, as the schedule allows."""
        keys = ~(wanted & ~self._asking), jnp.asarray(self._ranks), -need, jnp.arange(len(need), dtype=jnp.int32)
        return jax.lax.sort(keys, num_keys=3)[3][: self.schedule]

    def _remember(self, carry: ExpertMemory, done: jax.Array) -> ExpertMemory:
        """Return a day is counted for an intervention when it is its turn, for an observation when it is that one's."""
        since = jnp.where(done, 1, jnp.minimum(carry.since + 1, LONG_AGO))
        due = jnp.where(carry.acting, ~self._asking, self._asking)
        return ExpertMemory(jnp.where(due, since, carry.since), carry.acting ^ (self.offered is not None))

    def _request(self, wanted: jax.Array) -> dict[str, jax.Array]:
        """Return which of the offered observations are asked for; nothing to say where none is offered."""
        if not self.offered:
            return {}
        asked = jnp.zeros(self.offered, jnp.int32)
        for candidate in np.flatnonzero(self._asking):
            at = np.asarray(self.rules[self._ranks[candidate]].requests, np.int32)
            asked = asked.at[at].max(wanted[candidate].astype(jnp.int32))
        return {"request": asked}

    def _reader(self, obs: Any) -> ReadObserved:
        values = obs if self.offered is None else obs["values"]
        seen = None if self.offered is None else obs["mask"] > 0

        def read(item: ObservedItem) -> tuple[jax.Array, jax.Array]:
            at = self.plan.locate(item)
            assert at is not None, "_check_seen refuses such a rule"
            at = at.ravel()
            return values[at], jnp.asarray(True) if seen is None else seen[at]

        return read


def rule_policy(env: FarmModel) -> Policy:
    """Return the expert of a farm file as a policy; ConfigError if a rule reads what cannot be seen."""
    return compile_policy(env, env.spec.expert)


def compile_policy(env: FarmModel, written_rules: Sequence[ExpertRule]) -> Policy:
    """Return rules as a policy of a farm; ConfigError if there is none, or if one reads what cannot be seen."""
    if not written_rules:
        raise ConfigError("expert: expected at least one rule in the farm file, got none")
    offered = env.offered.items
    rules, values, actions, pauses = [], [], [], []
    for i, written in enumerate(written_rules):
        rule, numbers, mine = _compile_rule(env, offered, written, f"expert > {i}")
        rules.append(rule)
        values.append(numbers)
        actions += mine
        pauses += [written.every] * rule.size
    policy = RuleSet(env.full_plan, tuple(rules), env.schedule, len(offered) if env.asks else None)
    numbers = RuleParams(tuple(values), np.asarray(actions, np.int32), np.asarray(pauses, np.int32))  # pyright: ignore[reportArgumentType]
    memory = ExpertMemory(np.full(len(actions), LONG_AGO, np.int32), np.bool_(not env.asks))  # pyright: ignore[reportArgumentType]
    return Policy(memory, Partial(policy, numbers))


def _compile_rule(
    env: FarmModel, offered: Sequence[ObservedItem], written: ExpertRule, where: str
) -> tuple[CompiledRule, ReferenceValues, list[int]]:
    trigger, numbers = compile_conditions(written.when, env.variables, where)
    for event in (event for group in trigger for event in group):
        _check_seen(env.full_plan, event, where)
    farmer, field, entity, name, last = written.do
    if isinstance(last, list):
        return (
            CompiledRule(trigger, requests=_find_offered(env, offered, (field, entity, name, last), where)),
            numbers,
            [0],
        )
    try:
        if (last or {}).get("plot") != EACH:
            return CompiledRule(trigger), numbers, [env.actions.index(written.do)]
        row = env.actions.row(field, entity, name)
        actions = [env.actions.index((farmer, field, entity, name, last | {"plot": plot})) for plot in row.plots]
    except ConfigError as error:
        raise ConfigError(f"{where} > {error}") from None
    flat = tuple(int(np.ravel_multi_index(p, env.fields[row.field].shape)) for p in row.plots)
    return CompiledRule(trigger, flat), numbers, actions


def _find_offered(
    env: FarmModel, offered: Sequence[ObservedItem], reference: tuple[Any, ...], where: str
) -> tuple[int, ...]:
    wanted = find_items(env.variables, reference)
    missing = [item.variable.name for item in wanted if item not in offered]
    if missing:
        raise ConfigError(
            f"{where}: expected observations that can be requested here, got {', '.join(missing)}; try mode 'ao' and "
            "an entry of rules > observations, whole or the same plot"
        )
    return tuple(list(offered).index(item) for item in wanted)


def _check_seen(plan: ObservationPlan, event: CompiledCondition, where: str) -> None:
    if plan.locate(event.item) is None:
        raise ConfigError(
            f"{where}: expected an observed variable, got {event.item.variable.name}; try adding it to rules > "
            "free_observations (or, in mode 'ao', to rules > observations), or another trigger"
        )
