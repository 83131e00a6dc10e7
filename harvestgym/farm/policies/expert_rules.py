"""Compiled rules: a condition, and the order to give or the observation to request if it is true.

A rule policy is compiled, uses only the observation, and applies its rules in order. On farms where observations have a
cost, conditions can read requested values; no rule acts on unobserved values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial

from harvestgym.core.errors import locate_errors, require
from harvestgym.core.policy import Policy
from harvestgym.farm.engine.actions import ActionRow, ActionTuple
from harvestgym.farm.engine.formula_compiler import (
    Compiled,
    FormulaCompiler,
    PlotIndex,
    ReadItem,
    ReferenceValues,
    evaluate_formula,
    find_named_items,
    holds,
    list_items,
)
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import ObservationPlan, ObservedItem
from harvestgym.farm.formula_parser import LEAST, parse_formula, split_plots
from harvestgym.farm.schema import OrderRule

LONG_AGO = 10**6


class RuleParams(NamedTuple):
    """The parameters of a compiled policy.

    Attributes:
        values: the reference values of the triggers, rule by rule.
        actions: int32 (candidates,), the integer action of each candidate; 0 for an observation.
        pause: int32 (candidates,), days that must pass before a candidate is carried out again.
    """

    values: tuple[ReferenceValues, ...]
    actions: Array
    pause: Array


class ExpertMemory(NamedTuple):
    """The memory carried between steps.

    Attributes:
        since: int32 (candidates,), the days since each candidate was carried out.
        acting: whether the next half-step is for interventions.
        turns: int32 (rules,), the days on which each rule gave an order or made a request.
        left: int32 (rules,), the orders of each rule that the schedule of a day could not take, summed over the days.
    """

    since: Array
    acting: Array
    turns: Array
    left: Array

    def report(self) -> dict[str, Array]:
        """Return the counts for `core.rollout.Episodes`."""
        return {"turns": self.turns, "left": self.left}


@dataclass(frozen=True)
class CompiledRule:
    """A condition and its order, or its orders for several plots.

    Attributes:
        trigger: the condition; None for a rule that always applies.
        field: index of the field that contains the plots.
        plots: x and y of each plot, for a rule for several plots; empty for a rule with one order.
        need: the formula by which plots are ranked; None to keep their order.
        sign: 1 if the largest `need` comes first, -1 if the smallest does.
        requests: indices of the offered observations that the rule requests; such a rule has no order.
    """

    trigger: Compiled
    field: int = 0
    plots: tuple[tuple[int, int], ...] = ()
    need: Compiled = None
    sign: int = 1
    requests: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of candidate orders of the rule."""
        return max(len(self.plots), 1)

    def fires(self, values: ReferenceValues, read: ReadItem) -> tuple[Array, Array]:
        """Return whether the condition is true, and the need, for each plot: bool and float32 (max(plots, 1),)."""

        def fire(plot: Any) -> tuple[Array, Array]:
            at = None if plot is None else (self.field, plot)
            held = jnp.asarray(True) if self.trigger is None else holds(self.trigger, values, read, at)
            need = jnp.float32(0.0) if self.need is None else evaluate_formula(self.need, values, read, at)[0]
            return held, self.sign * jnp.asarray(need, jnp.float32)

        if self.plots:
            return jax.vmap(fire)(np.asarray(self.plots, np.int32))
        held, need = fire(None)
        return held[None], need[None]


@dataclass(frozen=True)
class RuleSet:
    """All rules of an expert, ready to be compiled.

    Attributes:
        plan: all items that can be observed: the free observations, followed by the offered ones.
        rules: in order of precedence.
        schedule: number of actions per day.
        offered: number of observations that can be requested; None if observing is not an action.
    """

    plan: ObservationPlan
    rules: tuple[CompiledRule, ...]
    schedule: int
    offered: int | None

    def __call__(self, numbers: RuleParams, carry: ExpertMemory, obs: Any, key: Array) -> tuple[ExpertMemory, Any]:
        """Return the actions of the first rules that apply, as many as fit in a day (0 for none), and the requests."""
        read = make_reader(self.plan, obs)
        found = [rule.fires(v, read) for rule, v in zip(self.rules, numbers.values, strict=True)]
        wanted = jnp.concatenate([fired for fired, _ in found]) & (carry.since >= numbers.pause)
        chosen = self._select(wanted, jnp.concatenate([need for _, need in found]))
        given = jnp.where((wanted & ~self._asking)[chosen], jnp.asarray(numbers.actions)[chosen], 0)
        order = jnp.zeros(self.schedule, jnp.int32).at[: len(chosen)].set(given)
        order = order[0] if self.schedule == 1 else order
        done = jnp.zeros(len(self._asking), bool).at[chosen].set(wanted[chosen])
        memory = self._remember(carry, wanted, done)
        return memory, order if self.offered is None else self._request(wanted) | {"order": order}

    @property
    def _ranks(self) -> np.ndarray:
        """The index of the rule to which each candidate belongs."""
        return np.repeat(np.arange(len(self.rules), dtype=np.int32), [rule.size for rule in self.rules])

    @property
    def _asking(self) -> np.ndarray:
        """Mask of the candidates that are requests for observations, bool (candidates,)."""
        return np.asarray([bool(self.rules[i].requests) for i in self._ranks])

    def _select(self, wanted: Array, need: Array) -> Array:
        """Choose a day's interventions from those wanted, ordered by rule and then by need, as the schedule allows."""
        keys = ~(wanted & ~self._asking), jnp.asarray(self._ranks), -need, jnp.arange(len(need), dtype=jnp.int32)
        return jax.lax.sort(keys, num_keys=3)[3][: self.schedule]

    def _remember(self, carry: ExpertMemory, wanted: Array, done: Array) -> ExpertMemory:
        """Return the next memory; the days of interventions and observations count only in their own half-steps."""
        due, own = self._asking ^ carry.acting, self._ranks == np.arange(len(self.rules))[:, None]
        done = jnp.where(carry.acting, done, wanted) & due
        since = jnp.where(done, 1, jnp.minimum(carry.since + 1, LONG_AGO))
        since, acting = jnp.where(due, since, carry.since), carry.acting ^ (self.offered is not None)
        left = jnp.sum(wanted & due & ~done & own, axis=1, dtype=jnp.int32)
        return ExpertMemory(since, acting, carry.turns + jnp.any(done & own, axis=1), carry.left + left)

    def _request(self, wanted: Array) -> dict[str, Array]:
        """Return which of the offered observations are requested; an empty dict if none are offered."""
        if not self.offered:
            return {}
        asked = jnp.zeros(self.offered, jnp.int32)
        for candidate in np.flatnonzero(self._asking):
            at = np.asarray(self.rules[self._ranks[candidate]].requests, np.int32)
            asked = asked.at[at].max(wanted[candidate].astype(jnp.int32))
        return {"request": asked}


def make_reader(plan: ObservationPlan, obs: Any) -> ReadItem:
    """Return a function that reads items from an observation: a vector, or values with a mask of what was observed."""
    values, known = (obs["values"], obs["mask"] > 0) if isinstance(obs, dict) else (obs, None)

    def read(item: ObservedItem, plot: PlotIndex) -> tuple[Array, Any]:
        at = plan.locate(item)
        assert at is not None, "compile_rule rejects such a rule"
        if plot is not None and item.plot is None and item.variable.per_plot and item.variable.field == plot[0]:
            at = jnp.asarray(at)[..., plot[1][0], plot[1][1]]
        return values[at], True if known is None else known[at]

    return read


def rule_policy(env: FarmModel) -> Policy:
    """Return the expert in a farm file as a policy; raise ConfigError if a rule reads an unobserved variable."""
    return compile_policy(env, env.spec.expert)


def list_harvest_rules(env: FarmModel) -> list[OrderRule]:
    """Return rules that harvest every crop whose stage is observed where it is ripe, and that do nothing else."""
    found = {row.names: row.action for row in env.actions.rows if row.action.name in ("harvest", "micro_harvest")}
    rules: list[OrderRule] = []
    for where, action in found.items():
        if env.plan.locate(ObservedItem(env.names.variable(*where, "stage"))) is not None:
            stage, do = (env.names.shorten(where, name) for name in ("stage", action.name))
            ripe = f"{stage} == ripe" if action.plot else f"max({stage} == ripe)"
            rules.append(OrderRule(when=[ripe], do=do, plot="each" if action.plot else None))
    return rules


def compile_policy(env: FarmModel, written_rules: Sequence[OrderRule]) -> Policy:
    """Return rules as a policy for a farm; raise ConfigError if there are none or one reads an unobserved variable."""
    require(written_rules, "expert", "at least one rule in the farm file", "none")
    found = [compile_rule(env, written, f"expert > {i}") for i, written in enumerate(written_rules)]
    rules, values, actions = zip(*found, strict=True)
    pauses = [written.every for written, rule in zip(written_rules, rules, strict=True) for _ in range(rule.size)]
    offered = len(env.offered.items) if env.asks else None
    policy = RuleSet(env.full_plan, rules, env.schedule, offered)
    numbers = RuleParams(values, np.concatenate(actions), np.asarray(pauses, np.int32))  # pyright: ignore[reportArgumentType]
    since, none = np.full(len(pauses), LONG_AGO, np.int32), np.zeros(len(rules), np.int32)
    memory = ExpertMemory(since, np.bool_(offered is None), none, none)  # pyright: ignore[reportArgumentType]
    return Policy(memory, Partial(policy, numbers))


def compile_rule(env: FarmModel, rule: OrderRule, where: str) -> tuple[CompiledRule, ReferenceValues, np.ndarray]:
    """Return a rule in canonical names, its reference values, and the integer action of each order (0 for a request).

    Raises:
        ConfigError: for an order that is not allowed, or a condition that reads an unobserved variable.
    """
    formulas = FormulaCompiler(env.names)
    trigger = formulas.compile_any(rule.when, f"{where} > when")
    word, by = split_plots(rule.plot) if isinstance(rule.plot, str) else ("", "")
    need = formulas.compile(by, f"{where} > plot") if by else None
    values = tuple(formulas.values)
    for item in (*list_items(trigger), *list_items(need)):
        hint = "adding it to rules > free_observations (in mode 'ao', or observations)"
        require(env.full_plan.locate(item) is not None, where, "an observed variable", item.variable.name, hint)
    if rule.observe is not None:
        return CompiledRule(trigger, requests=_find_offered(env, rule.observe, where)), values, np.zeros(1, np.int32)
    with locate_errors(f"{where} > "):
        row, orders = _list_orders(env, rule)
        numbers = [env.actions.index(order) for order in orders]
    plots, sign = row.plots if word else (), -1 if word == LEAST else 1
    compiled = CompiledRule(trigger, row.field, plots, need, sign)
    seen = jax.ShapeDtypeStruct((env.full_plan.size,), jnp.float32)
    shape = jax.eval_shape(lambda obs: compiled.fires(values, make_reader(env.full_plan, obs))[1], seen).shape
    require(shape == (compiled.size,), f"{where} > plot", "one number for each plot", f"several for {by!r}")
    return compiled, values, np.asarray(numbers, np.int32)


def _list_orders(env: FarmModel, rule: OrderRule) -> tuple[ActionRow, list[ActionTuple]]:
    """Return the row of a rule's action in the farm's action table, and the rule's orders, one for each plot."""
    entity, name = env.names.locate(rule.do or "", "do")
    row = env.actions.row(*entity, name)
    whole, hint = f"none, because {name} is for the whole field", "an action for plots, such as micro_harvest"
    require(row.action.plot or rule.plot is None, "plot", whole, repr(rule.plot), hint)
    only = {p.key: next(iter(p.choices)) for p in row.allowed if len(p.choices) == 1}
    action, plots = (rule.farmer or env.actions.farmers[row.farmers[0]], *entity, name), [rule.plot]
    if row.action.plot and (isinstance(rule.plot, str) or (rule.plot is None and len(row.plots) == 1)):
        plots = list(row.plots)
    return row, [(*action, ({} if plot is None else {"plot": plot}) | only | rule.amounts) for plot in plots]


def _find_offered(env: FarmModel, observe: str, where: str) -> tuple[int, ...]:
    wanted = find_named_items(env.names, parse_formula(observe), where)
    offered = env.offered.items
    missing = ", ".join(item.variable.name for item in wanted if item not in offered)
    hint = "mode 'ao', and list them under rules > observations, for this plot too"
    require(not missing, where, "observations that can be requested here", missing, hint)
    return tuple(offered.index(item) for item in wanted)
