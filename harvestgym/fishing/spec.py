"""Schema of a fishery file, and the model built from it. All mistakes are reported together, with the nearest names."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_data, make_plain
from harvestgym.core.config import Exact, Hard, History, build_params, merge, read_extended, validate
from harvestgym.core.errors import (
    check_each_name,
    check_keywords,
    check_name,
    locate_errors,
    look_up,
    mismatch,
    require,
    warn_user,
)
from harvestgym.core.loading import load_class_of_file
from harvestgym.core.pytree import Meta, iterate_metas
from harvestgym.core.tuning.rule_family import TunedRule, read_tuned
from harvestgym.fishing.analysis.reference_points import find_reference_point

from . import growth, noise, structured_growth
from .conservation import ConservationParams, DriverModel, RecoveryModel
from .growth import MAX_BIOMASS, MAX_STEEPNESS, GrowthLaw, May, OneOf
from .model import MAX_CORRELATION, MAX_YEARS, FishingModel, FishingParams, ProblemKind, YearOrder, check_first_stock
from .noise import MAX_SIGMA, Noise
from .parameter_drift import AnyLaw, AnyStock, Drift, Spread
from .structured_growth import Patches
from .units import Control, LevelCount, Scale, Units
from .us_stocks import list_stocks, make_context_entries, make_stock_entries, stack_parameters


def _name_classes(base: type, *modules: Any) -> dict[str, Any]:
    """Return the subclasses of `base` in the given modules, by name in files: `BevertonHolt` is `beverton-holt`."""
    return {
        re.sub(r"\B(?=[A-Z])", "-", name).lower(): found
        for module in modules
        for name, found in vars(module).items()
        if isinstance(found, type) and issubclass(found, base) and found is not base and not name.startswith("_")
    }


GROWTH_LAWS: dict[str, type[GrowthLaw]] = _name_classes(GrowthLaw, growth, structured_growth)
NOISES: dict[str, type[Noise]] = {"none": Noise} | _name_classes(Noise, noise)

NO_NOISE = {"kind": "none"}

NOISY = ("noise", "survey_error", "quota_error")
"""The entries of a fishery file that define a noise."""

LOW_SHARE = 0.2
"""A stock below this fraction of its capacity counts as low."""

Stock = Annotated[float, Field(ge=0, le=MAX_BIOMASS)]
StockStart = Stock | tuple[Stock, Stock]
"""The initial stock, or two stocks between which it is drawn for each episode."""

ENTRIES: dict[tuple[ProblemKind, ...], str] = {
    ("harvest",): "price final_price cost unit quota_error order control assessment_interval catch_constraint",
    ("recovery", "driver"): "benefit satiation exponent loss",
    ("harvest", "recovery"): "vary drift stock stocks",
    ("driver",): "effect rise shows_driver",
}
USERS = {name: problems for problems, names in ENTRIES.items() for name in names.split()}
"""The problems in which an entry has an effect; entries that are not listed have an effect in all problems."""

MODELS: dict[str, type[FishingModel]] = {model.problem: model for model in (FishingModel, RecoveryModel, DriverModel)}


class DriftEntry(Exact):
    """Drift of a parameter."""

    rate: float = Field(ge=-MAX_BIOMASS, le=MAX_BIOMASS)
    limit: float = Field(ge=-MAX_BIOMASS, le=MAX_BIOMASS)


class FishingSpec(Exact):
    """Entries of a fishery file."""

    doc: str = ""
    hard: Hard = ""
    history: History = {}
    problem: ProblemKind = "harvest"
    law: dict[str, Any]
    noise: dict[str, Any] = NO_NOISE
    survey_error: dict[str, Any] = NO_NOISE
    quota_error: dict[str, Any] = NO_NOISE
    drift: dict[str, DriftEntry] = {}
    vary: dict[str, Annotated[float, Field(ge=0, le=MAX_SIGMA)]] | Literal["law"] = {}
    stock: str = Field("", description="the stock of `us_stocks.csv` whose growth the fishery has")
    stocks: str | Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        "", description="a split or names of stocks, from which one is drawn for each episode"
    )
    start: StockStart | None = Field(None, description="default: `find_start`")
    bound: float | None = Field(None, gt=0, le=2 * MAX_BIOMASS)
    Tmax: int = Field(100, ge=1, le=MAX_YEARS)
    order: YearOrder = "harvest first"
    scale: Scale = "symmetric"
    control: Control = "quota"
    levels: LevelCount = 0
    unit: str = Field("", description="the unit of biomass and catches, such as t, for text and pictures")
    price: float = Field(1.0, ge=0, le=MAX_BIOMASS)
    final_price: float | None = Field(None, ge=0, le=MAX_BIOMASS, description="price at truncation; else, `price`")
    cost: float = Field(0.0, ge=0, le=MAX_BIOMASS)
    discount: float = Field(0.99, ge=0, le=1)
    collapse: float = Field(0.0, ge=0, le=MAX_BIOMASS)
    correlation: float = Field(0.0, ge=-MAX_CORRELATION, le=MAX_CORRELATION)
    assessment_interval: int = Field(1, ge=1, le=MAX_YEARS)
    catch_constraint: float | None = Field(None, gt=0, le=MAX_BIOMASS)
    shows_driver: bool = False
    shows_year: bool = False
    benefit: float = Field(1.0, ge=-MAX_BIOMASS, le=MAX_BIOMASS)
    satiation: float = Field(0.0, ge=0, le=MAX_BIOMASS)
    exponent: float = Field(2.0, ge=0, le=MAX_STEEPNESS)
    loss: float = Field(0.0, ge=0, le=1)
    effect: float = Field(0.0, ge=0, le=MAX_BIOMASS)
    rise: float = Field(0.0, ge=-MAX_BIOMASS, le=MAX_BIOMASS)
    expert: TunedRule | None = Field(None, description="the rule of the expert and its numbers")


def read_spec(path: Path, overrides: Mapping[str, Any]) -> FishingSpec:
    """Read the spec of a file, resolve its `extends:`, and apply `overrides`.

    An override is an entry of the file or, in short form, a law parameter (`r=0.5`) or the noise's `sigma`. Without
    overrides, the expert comes from the tuned file, if there is one. An expert that was tuned for other numbers is
    dropped, with a warning if the file has changed. The exception is `stocks`, because the tuned rule is made for any
    stock.
    """
    entries = {k: v for k, v in overrides.items() if k in FishingSpec.model_fields}
    data = _fill_in_stocks(override_entries(read_extended(path, "fishery", override_entries), entries))
    same = set(overrides) <= {"stocks"}
    if same and (tuned := read_tuned(path)) is not None:
        data["expert"] = tuned.model_dump()
    for name in [name for name in overrides if name not in entries]:
        entries = merge(entries, _expand_short_name(data, name, overrides[name]))
    spec = read_entries(override_entries(data, entries), path.stem)
    if spec.expert is None or spec.expert.made.get("numbers", hash_numbers(spec)) == hash_numbers(spec):
        return spec
    if same:
        found = "changed numbers, so the rule without tuning is used"
        hint = f"`harvestgym tune {path}`"
        warn_user(str(mismatch(f"{path.stem} > expert", "the numbers for which it was tuned", found, hint)))
    return spec.model_copy(update={"expert": None})


def read_entries(data: Mapping[str, Any], where: str) -> FishingSpec:
    """Validate the entries of a fishery file, filled in from the stock that it names."""
    return validate(FishingSpec, make_plain(_fill_in_stocks(data)), where)


def _fill_in_stocks(data: Mapping[str, Any]) -> dict[str, Any]:
    if data.get("stock") is not None:
        data = override_entries(make_stock_entries(data["stock"]), data)
    if data.get("stocks") is not None:
        data = override_entries(make_context_entries(), data)
    return dict(data)


def hash_numbers(spec: FishingSpec) -> str:
    """Return a digest of the numbers for which an expert is tuned: all except those of the stocks drawn."""
    numbers = spec.model_dump(exclude={"doc", "hard", "history", "expert", "stocks"}, exclude_defaults=True)
    floats = jax.tree.map(lambda value: value if isinstance(value, str) else float(value), numbers)
    return hashlib.sha256(json.dumps(floats, sort_keys=True).encode()).hexdigest()[:16]


def override_entries(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the entries of `own` into `base`; a group with a different `kind` replaces the whole old group.

    If the law changes, the base's expert is dropped, because it was tuned for the old law; so is its start, if the law
    has another kind or K.
    """
    merged = merge({k: v for k, v in base.items() if not _other_kind(v, own.get(k))}, own)
    old, new = base.get("law"), merged.get("law")
    stale = ["expert"] * (old != new) + ["start"] * (_find_size(old) != _find_size(new))
    return {name: value for name, value in merged.items() if name in own or name not in stale}


def _find_size(law: Any) -> Any:
    """Return what the unit of a law's stock depends on, in a file that has not been validated yet."""
    return (law.get("kind"), law.get("K", 1.0), law.get("law")) if isinstance(law, Mapping) else law


def _other_kind(old: Any, new: Any) -> bool:
    groups = isinstance(old, Mapping) and isinstance(new, Mapping)
    return groups and "kind" in new and new["kind"] != old.get("kind")


def _expand_short_name(data: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return the entry that a short name abbreviates."""
    if name == "sigma":
        known = _read_kind(data, "noise") or "none"
        return {"noise": {"kind": "lognormal" if known == "none" else known, "sigma": value}}
    if name == "s0":  # the name in `FishingEnv` and the paper
        return {"start": value}
    fields = dataclasses.fields(find_law(_read_kind(data, "law"), "law"))
    names = [field.metadata["meta"].keys[0] if "meta" in field.metadata else field.name for field in fields]
    check_keywords("make", [name], [*FishingSpec.model_fields, *names, "sigma"], length="Tmax")
    return {"law": {name: value}}


def _read_kind(data: Mapping[str, Any], group: str) -> Any:
    """Return the `kind` of a group in a file that has not been validated yet; None if it has none."""
    entries = data.get(group)
    return entries.get("kind") if isinstance(entries, Mapping) else None


def build_fishery(spec: FishingSpec, where: str, **parts: Any) -> FishingModel:
    """Build the model for a spec; raise ConfigError with `where` if its parts are incompatible.

    `parts` are objects (a law, a noise, errors or a drift) that replace entries of the spec, unless they are None.
    """
    parts = {name: part for name, part in parts.items() if part is not None}
    law = parts.get("law") or build_law(spec.law, f"{where} > law")
    check_law(law, f"{where} > law")
    _check_entries(spec, law, where)
    bound = 2 * float(law.capacity) if spec.bound is None else spec.bound
    seen = law.seen + spec.shows_driver + spec.shows_year
    units = Units(bound, law.targets, seen, spec.scale, spec.control, spec.levels, spec.unit)
    params = _build_params(spec, law, where, parts)
    model = MODELS[spec.problem]
    shared = [field.name for field in dataclasses.fields(model) if field.name in FishingSpec.model_fields]
    return model(params, units, **{name: getattr(spec, name) for name in shared})


def _check_entries(spec: FishingSpec, law: GrowthLaw, where: str) -> None:
    """Raise ConfigError for an entry that has no effect in the problem, or for a law that does not fit the problem."""
    for name in [name for name in USERS if name in spec.model_fields_set]:
        users, value = USERS[name], getattr(spec, name)
        if spec.problem not in users and value and value != NO_NOISE:
            hint = " or ".join(f"problem: {user}" for user in users)
            expected = f"none, because it has no effect in problem {spec.problem!r}"
            raise mismatch(f"{where} > {name}", expected, repr(value), hint)
    driven = spec.problem != "driver" or isinstance(law, May)
    require(driven, f"{where}: problem 'driver'", "law 'may'", repr(spec.law.get("kind")))
    single = spec.problem != "recovery" or law.stocks == 1
    require(single, f"{where}: problem 'recovery'", "a law of one stock", law.stocks)
    limit, expected = spec.catch_constraint or 0, "a fraction of the last quota, at most 1"
    hint = f"{limit / 100:g}, if {limit:g} % is meant"
    require(limit <= 1, f"{where} > catch_constraint", expected, f"{limit:g}", hint)
    check_first_stock(law, start := find_start(spec, law), spec.collapse, f"{where} > start")
    low, high, first = LOW_SHARE * law.capacity, 2 * law.capacity, law.biomass(law.start(jnp.float32(np.max(start))))
    if spec.problem == "harvest" and not (spec.stock or spec.stocks or low <= first <= high):
        warn_user(f"{where} > start: expected a stock from {low:g} (0.2 K) to {high:g} (2 K), got {first:g}")


def find_start(spec: FishingSpec, law: GrowthLaw) -> StockStart:
    """Return the stock at the start: by default 0.75 of the unfished stock, or half of M under May's law."""
    default = 0.5 * law.M if isinstance(law, May) else 0.75 * law.capacity
    return float(default) if spec.start is None else spec.start


def _build_params(spec: FishingSpec, law: GrowthLaw, where: str, parts: Mapping[str, Any]) -> FishingParams:
    cls = FishingParams if spec.problem == "harvest" else ConservationParams
    values: dict[str, Any] = {field.name: getattr(spec, field.name, None) for field in dataclasses.fields(cls)}
    values |= {name: _build_noise(values[name], f"{where} > {name}") for name in NOISY}
    rate, limit = (np.array([getattr(m, part) for m in spec.drift.values()]) for part in ("rate", "limit"))
    drift = Drift(names=tuple(spec.drift), rate=rate, limit=limit) if spec.drift else None
    values |= {"drift": drift, "vary": _build_vary(spec.vary, law, where), "horizon": spec.Tmax}
    values["final_price"] = spec.price if spec.final_price is None else spec.final_price
    values |= {"start": np.asarray(find_start(spec, law)), "b_low": LOW_SHARE * float(law.capacity), **parts}
    values["law"] = law
    if spec.stocks:
        entries, sets = make_context_entries(), stack_parameters(list_stocks(spec.stocks))
        given = [name for name in spec.model_fields_set if getattr(spec, name) != entries.get(name)]
        drawn = {name: numbers for name, numbers in sets.items() if name not in given}
        final = {"final_price": drawn["price"]} if spec.final_price is None and "price" in drawn else {}
        values["vary"] = AnyStock(sets=drawn | final)
    if values["drift"] is not None:
        _check_drift(values["drift"], law, f"{where} > drift")
    kind = type(values["noise"])
    if spec.correlation and (not values["noise"].random or kind.draw is not Noise.draw):
        raise mismatch(f"{where} > correlation", "a noise with normal draws", kind.__name__, "noise: {kind: lognormal}")
    values["b_msy"] = find_reference_point(law).stock
    return jax.tree.map(_narrow, cls(**values))


def _narrow(value: Any) -> np.ndarray:
    """Return a parameter as int32 or float32."""
    return np.asarray(value, np.int32 if np.issubdtype(np.result_type(value), np.integer) else np.float32)


def build_law(data: Any, where: str) -> GrowthLaw:
    """Build a law from a mapping with its `kind`; `one-of` has `laws:`, and `patches` has the patches' `law:`."""
    entries = dict(data) if isinstance(data, Mapping) else {}
    cls = find_law(entries.pop("kind", None), where)
    if cls not in (OneOf, Patches):
        static = [name for name, meta in iterate_metas(cls) if meta.kind == "static" and name in entries]
        fixed = {name: entries.pop(name) for name in static}
        law = build_params(cls, entries, where)
        with locate_errors(f"{where} > "):
            return dataclasses.replace(law, **fixed) if fixed else law
    if "law" in entries:
        entries["law"] = build_law(entries["law"], f"{where} > law")
    if isinstance(entries.get("laws"), list | tuple):
        entries["laws"] = tuple(build_law(law, f"{where} > {i}") for i, law in enumerate(entries["laws"]))
    check_data(cls, entries, where)
    return cls(**entries)


def check_law(law: GrowthLaw, where: str) -> None:
    """Raise ConfigError unless a law's unfished stock is a finite number above 0."""
    grows = type(law).__call__ is not GrowthLaw.__call__
    require(grows, where, "a law with a method __call__(self, left)", type(law).__name__)
    capacity = float(law.capacity)
    require(0 < capacity < np.inf, where, "a finite unfished stock above 0", f"{capacity:g}", "faster growth")


def find_law(kind: Any, where: str) -> type[GrowthLaw]:
    """Find a law's class by its name in files or as `module:Class`; raise ConfigError if it does not exist."""
    if isinstance(kind, str) and ":" in kind:
        return load_class_of_file(kind, GrowthLaw, where)
    return look_up("law", kind, GROWTH_LAWS, where)


def _build_noise(data: Mapping[str, Any], where: str) -> Noise:
    check_name("noise", data.get("kind"), NOISES, where)
    return build_params(NOISES[data["kind"]], {k: v for k, v in data.items() if k != "kind"}, where)


def _check_drift(drift: Drift, law: GrowthLaw, where: str) -> None:
    """Raise ConfigError for a parameter that the law does not have, or a limit that it does not allow."""
    allowed = _check_names(drift.names, law, where)
    for name, limit in zip(drift.names, np.asarray(drift.limit, np.float64), strict=True):
        meta = allowed[name]
        inside = meta.low <= limit <= meta.high
        require(inside, f"{where} > {name} > limit", f"{meta.low:g} to {meta.high:g}", f"{limit:g}")


def _build_vary(data: Mapping[str, float] | str, law: GrowthLaw, where: str) -> Spread | AnyLaw | None:
    if isinstance(data, str):
        require(isinstance(law, OneOf), f"{where} > vary", "a law of kind 'one-of' for 'law'", type(law).__name__)
        return AnyLaw()
    _check_names(data, law, f"{where} > vary")
    return Spread(names=tuple(data), sigma=np.asarray([*data.values()], np.float32)) if data else None


def _check_names(names: Iterable[str], law: GrowthLaw, where: str) -> dict[str, Meta]:
    """Return the parameters of a law that may change; raise ConfigError for any other name."""
    allowed = {name: meta for name, meta in iterate_metas(law) if meta.kind == "par" and meta.dtype == "float"}
    check_each_name("parameter", names, allowed, where)
    return allowed
