"""Compiles a farm file's `context`; parameters are compared to find the entries that each draw sets.

For each choice, the parameters of one part of a field are loaded and checked like those of a farm file. The draw sets
the entries in which the choices differ.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from harvestgym.core.config import merge, validate
from harvestgym.core.errors import check_each_name, check_name, locate_errors, mismatch, require
from harvestgym.farm.build.components import compile_field, load_kind
from harvestgym.farm.engine.contexts import ContextDraw, ContextSampler, LeafUpdate
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import ContextParams, FarmParams, FieldParams
from harvestgym.farm.engine.variables import number_repeats
from harvestgym.farm.schema import ContextSpec, FieldSpec, Localization, MixtureSpec
from harvestgym.farm.spelling import Interval

WHERE = "context > draws"
PLACE = {field.alias or "": "localization" for field in Localization.model_fields.values()} | {"scale#m": "shape"}
"""The numbers of a field's location that can be changed, and where they appear in its description."""

SMALL_TABLE = 64
"""Maximum size of a leaf that is written entry by entry; larger leaves (weather tables) are written as a whole."""


class CompiledDraw(NamedTuple):
    """One draw, the values of the entries that it sets, and whether it is for a single parameter."""

    draw: ContextDraw
    table: np.ndarray
    single: bool


def compile_context(model: FarmModel) -> FarmModel:
    """Add the contexts in the spec of `model` to it; return a model without contexts unchanged.

    Raises:
        ConfigError: for an unknown path, with the nearest valid path; for sets of different shapes; for two draws that
            set the same entry.
    """
    context = model.spec.context
    if context is None:
        return model
    reader = _Reader(model)
    shown = _shown(context)
    reads = [reader.read(name, value, name in shown) for name, value in context.draws.items()]
    reads = _restrict_choices(reads, context.only)
    reads.sort(key=lambda read: read.single)
    _check_disjoint(reads)
    days, lookahead = _days(context, shown)
    sampler = ContextSampler(tuple(read.draw for read in reads), days, context.every.episodes or 1, lookahead)
    noise: Any = np.float32(context.forecast.noise if context.forecast else 0.0)
    tables: Any = tuple(read.table for read in reads)
    defaults = dataclasses.replace(model.defaults, context=ContextParams(tables=tables, noise=noise))
    return dataclasses.replace(model, defaults=defaults, contexts=sampler)


def _shown(context: ContextSpec) -> list[str]:
    if isinstance(context.shown, bool):
        return list(context.draws) if context.shown else []
    check_each_name("draw", context.shown, context.draws, "context > shown")
    return context.shown


def _restrict_choices(reads: Sequence[CompiledDraw], only: Mapping[str, Sequence[str]]) -> list[CompiledDraw]:
    """Restrict the draws to the choices in `only`; the other choices are held out."""
    choices = {read.draw.name: read.draw for read in reads if read.draw.kind == "choice"}
    for name, wanted in only.items():
        check_name("draw", name, choices, "context > only")
        check_each_name("choice", wanted, choices[name].labels, f"context > only > {name}")
    numbers = {name: tuple(choices[name].labels.index(label) for label in wanted) for name, wanted in only.items()}
    return [r._replace(draw=dataclasses.replace(r.draw, only=numbers.get(r.draw.name, ()))) for r in reads]


def _days(context: ContextSpec, shown: Sequence[str]) -> tuple[int, int]:
    """Return the days between contexts (0 if an episode has only one), and the number of forecast days."""
    days = context.every.days or 0
    if context.forecast is None:
        return days, 0
    require(days == 1, "context > forecast", "a new context each day", "another period", "`every: step`")
    require(shown, "context > forecast", "a shown draw", "`shown: false`", "showing a draw")
    return days, context.forecast.lookahead


def _check_disjoint(reads: Sequence[CompiledDraw]) -> None:
    for one, other in itertools.combinations(reads, 2):
        if one.single == other.single and one.draw.decides & other.draw.decides:
            got = f"{one.draw.name} and {other.draw.name}; try removing one, or drawing choices of a whole field"
            raise mismatch(WHERE, "draws of different parameters", got)


class _Reader:
    """Reader of the draws in a farm file, for one model and the leaves of its default parameters."""

    def __init__(self, model: FarmModel) -> None:
        self.model = model
        self.base = _leaves(model.defaults)

    def read(self, name: str, value: Interval | MixtureSpec | list[Any], shown: bool) -> CompiledDraw:
        """Return the draw for one entry of the file."""
        where, single = f"{WHERE} > {name}", name.count("/") > 1 or name.partition("/")[2] in PLACE
        kind, given = _list_variants(value, where)
        variants = [self._variant(name, each, where) for each in given]
        table, writes = self._compared(variants, where)
        if kind == "mixture":
            for write in writes:
                _check_finite(np.stack([leaves[write.leaf] for leaves in variants]), where)
        elif kind == "range" and self.base[writes[0].leaf].dtype.kind == "i":
            return self.read(name, list(range(int(given[0]), int(given[1]) + 1)), shown)
        elif kind == "range" and (table.shape != (2, 1) or not np.allclose(table[:, 0], given)):
            raise mismatch(where, "a parameter with one number", "one with several", "a list of choices")
        labels = (name,) if kind == "range" else _labels(given, "/" not in name)
        return CompiledDraw(ContextDraw(name, kind, labels, writes, shown), table, single)

    def _variant(self, name: str, value: Any, where: str) -> list[np.ndarray]:
        """Return the leaves of the farm's parameters with `value` written at `name`."""
        mix = value.get("mix") if isinstance(value, Mapping) else None
        if mix is None:
            return self._written(name, value, where)
        shares, variants = _read_shares(mix, where), [self._written(name, which, where) for which in mix]
        return [_mean(np.stack(leaves), shares, where) for leaves in zip(*variants, strict=True)]

    def _written(self, name: str, value: Any, where: str) -> list[np.ndarray]:
        field, _, part = name.partition("/")
        check_name("field", field, self.model.spec.fields, WHERE)
        if not part and not isinstance(value, Mapping):
            raise mismatch(where, "choices that are mappings such as {Soil-0: clay}", repr(value))
        changes: Mapping[str, Any] = {part: value} if part else value
        fields, index = list(self.model.defaults.fields), list(self.model.spec.fields).index(field)
        with locate_errors(f"{where}: "):
            fields[index] = self._changed(index, changes)
        return self._fitting(dataclasses.replace(self.model.defaults, fields=tuple(fields)), value, where)

    def _changed(self, index: int, changes: Mapping[str, Any]) -> FieldParams:
        """Return a field's parameters with some parts changed; only the changed entities are reloaded."""
        field = self.model.fields[index]
        spec = reduce(lambda now, item: replace_part(now, *item), changes.items(), self.model.spec.fields[field.name])
        changed = {part.partition("/")[0] for part in changes}
        made = zip(field.slots, spec.entities, self.model.defaults.fields[index].entities, strict=True)
        entities = [load_kind(kind).named(which) if slot.name in changed else old for slot, (kind, which), old in made]
        return compile_field(spec, entities)

    def _fitting(self, params: FarmParams, value: Any, where: str) -> list[np.ndarray]:
        """Return the leaves if their number and shapes match the model's; raise ConfigError otherwise."""
        leaves, same = _leaves(params), jax.tree.structure(params) == jax.tree.structure(self.model.defaults)
        unlike = [(a.shape, b.shape) for a, b in zip(leaves, self.base, strict=same) if a.shape != b.shape]
        if same and not unlike:
            return leaves
        what = f"a table of {unlike[0][0]} instead of {unlike[0][1]}" if same else "parameters of another structure"
        got = f"{value!r} with {what}; for weather, try `generate: true` here and in `entities`"
        raise mismatch(where, "sets of the same shape", got)

    def _compared(self, variants: Sequence[list[np.ndarray]], where: str) -> tuple[np.ndarray, tuple[LeafUpdate, ...]]:
        """Return the values (variants, k) of all entries in which the variants differ, and where to write them.

        The variants are compared with the farm and with each other.
        """
        columns, writes = [], []
        for leaf, base in enumerate(self.base):
            rows = np.stack([np.ravel(base), *(np.ravel(variant[leaf]) for variant in variants)])
            same = (rows == rows[0]) | ((rows != rows) & (rows[0] != rows[0]))
            differing = np.flatnonzero(~same.all(0))
            if not len(differing):
                continue
            whole = len(differing) == base.size or base.size > SMALL_TABLE
            entries = range(base.size) if whole else differing.tolist()
            writes.append(LeafUpdate(leaf, len(entries), () if whole else tuple(entries)))
            columns.append(rows[1:, list(entries)].astype(np.float32))
        require(columns, where, "choices that change the farm", "choices that do not")
        return np.concatenate(columns, 1), tuple(writes)


def replace_part(field: FieldSpec, part: str, value: Any, where: str = "") -> FieldSpec:
    """Replace an entity's set (`Soil-0`), one of its parameters (`Soil-0/depth#m`) or a number of the location."""
    if part in PLACE:
        group = getattr(field, PLACE[part]).model_dump(by_alias=True) | {part: value}
        return validate(FieldSpec, dict(field) | {PLACE[part]: group}, where or "field")
    entity, _, key = part.partition("/")
    names = number_repeats([load_kind(kind).__name__ for kind, _ in field.entities])
    check_name("entity", entity, names if key else [*names, *PLACE], where)
    entities: list[Any] = list(field.entities)
    i = names.index(entity)
    kind, which = entities[i]
    entities[i] = (kind, _with(which, key.split("/"), value) if key else value)
    return validate(FieldSpec, dict(field) | {"entities": entities}, where or "field")


def _with(which: str | Mapping[str, Any], keys: Sequence[str], value: Any) -> Mapping[str, Any]:
    """Return a parameter set with one parameter changed."""
    nested = reduce(lambda inner, key: {key: inner}, reversed(keys), value)
    return merge({"extends": which} if isinstance(which, str) else which, nested)


def _list_variants(
    value: Interval | MixtureSpec | list[Any], where: str
) -> tuple[Literal["mixture", "choice", "range"], Sequence[Any]]:
    """Return the kind of a draw, and the values that it draws from."""
    if isinstance(value, MixtureSpec):
        return "mixture", value.mix
    if not isinstance(value, Interval):
        require(value, where, "one or more choices", "none")
        return "choice", value
    require(value.low < value.high, where, "an interval with low < high", f"({value.low:g}, {value.high:g})")
    return "range", value.ends


def _leaves(params: FarmParams) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(params)]


def _read_shares(mix: Any, where: str) -> np.ndarray:
    shares = list(mix.values()) if isinstance(mix, Mapping) else []
    numbers = all(isinstance(s, (int, float)) and not isinstance(s, bool) and s >= 0 for s in shares)
    if not shares or not numbers or abs(sum(shares) - 1) > 1e-6:
        raise mismatch(where, "a mix with shares that sum to 1, such as {sand: 0.25, clay: 0.75}", repr(mix))
    return np.asarray(shares, float)


def _mean(leaves: np.ndarray, shares: np.ndarray, where: str) -> np.ndarray:
    """Return the mean of a leaf's variants, weighted by the shares."""
    if all(np.array_equal(leaf, leaves[0], equal_nan=leaves.dtype.kind == "f") for leaf in leaves):
        return leaves[0]
    _check_finite(leaves, where)
    return np.tensordot(shares, leaves, 1).astype(leaves.dtype)


def _check_finite(values: np.ndarray, where: str) -> None:
    """Raise ConfigError unless the values are finite numbers, which can be mixed."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        got = "sets that differ in a label, a whole number or an infinite bound; try listing the sets as choices"
        raise mismatch(where, "sets whose values can be averaged", got)


def _labels(choices: Sequence[Any], of_field: bool) -> tuple[str, ...]:
    """Return a name for each choice; choices of a field are named after their sets, if these differ."""
    if of_field:
        short = tuple(", ".join(part for part in choice.values() if isinstance(part, str)) for choice in choices)
        if all(short) and len(set(short)) == len(short):
            return short
    return tuple(_label(choice) for choice in choices)


def _label(choice: Any) -> str:
    if not isinstance(choice, Mapping):
        return f"{choice:g}" if isinstance(choice, float) else str(choice)
    if "mix" in choice:
        return " + ".join(f"{share:.0%} {name}" for name, share in choice["mix"].items())
    return ", ".join(_label(part) if key == "extends" else f"{key} {_label(part)}" for key, part in choice.items())
