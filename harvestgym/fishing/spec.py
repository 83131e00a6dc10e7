"""What a fishery file says, and how a model is built of it. Strict: every mistake at once, with the nearest name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from harvestgym.core import yaml_io
from harvestgym.core.config import Strict, build, merge, validate
from harvestgym.core.errors import ConfigError, unknown
from harvestgym.fishing.analysis.reference_points import find_reference_point

from .change import AnyLaw, Drift, Spread
from .conservation import ConservationParams, DriverModel, RecoveryModel
from .growth import LAWS, Law, OneOf
from .model import FishingModel, FishingParams, Order
from .noise import NOISES, Noise
from .structured import AgeStructured, Patches, ThreeSpecies
from .units import Control, Scale, Units

KINDS: dict[str, type[Law]] = {**LAWS, "age-structured": AgeStructured, "three-species": ThreeSpecies}
"""Laws by name, except the two that are made of other laws: `one-of` and `patches`."""

LOW = 0.2
"""A stock below this share of its capacity counts as low."""

Problem = Literal["harvest", "recovery", "driver"]


class Moving(Strict):
    """How a parameter drifts."""

    rate: float
    limit: float


class FishingSpec(Strict):
    """A fishery file."""

    doc: str = ""
    problem: Problem = "harvest"
    law: dict[str, Any]
    noise: dict[str, Any] = {"kind": "none"}
    survey_error: dict[str, Any] = {"kind": "none"}
    quota_error: dict[str, Any] = {"kind": "none"}
    drift: dict[str, Moving] = {}
    vary: dict[str, float] | Literal["law"] = {}
    start: float = Field(0.75, ge=0)
    bound: float | None = Field(None, gt=0)
    Tmax: int = Field(100, ge=1)
    order: Order = "harvest first"
    scale: Scale = "symmetric"
    control: Control = "quota"
    levels: int = Field(0, ge=0)
    price: float = Field(1.0, ge=0)
    cost: float = Field(0.0, ge=0)
    discount: float = Field(0.99, ge=0, le=1)
    collapse: float = Field(0.0, ge=0)
    shows_driver: bool = False
    benefit: float = 1.0
    satiation: float = Field(0.0, ge=0)
    exponent: float = Field(2.0, ge=0)
    effect: float = Field(0.0, ge=0)
    rise: float = 0.0


def read_spec(path: Path, overrides: Mapping[str, Any]) -> FishingSpec:
    """The spec of a file, with its `extends:` resolved and `overrides` put in.

    An override is an entry of the file, or, for short, a parameter of the law (`r=0.5`) or the `sigma` of the noise.
    """
    entries = {k: v for k, v in overrides.items() if k in FishingSpec.model_fields}
    data = over(_resolved(path, ()), entries)
    for name, value in overrides.items():
        if name not in entries:
            data = over(data, _spelt_out(data, name, value))
    return validate(FishingSpec, data, path.stem)


def over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the entries of `own` put in; a group of another `kind` replaces the old group as a whole."""
    kept = {k: v for k, v in base.items() if not _other_kind(v, own.get(k))}
    return merge(kept, own)


def _other_kind(old: Any, new: Any) -> bool:
    groups = isinstance(old, Mapping) and isinstance(new, Mapping)
    return groups and "kind" in new and new["kind"] != old.get("kind")


def _resolved(path: Path, seen: tuple[str, ...]) -> dict[str, Any]:
    raw = yaml_io.read(path)
    if not isinstance(raw, dict):
        raise ConfigError(f"{path.name}: wanted a mapping, found {type(raw).__name__}")
    if path.stem in seen:
        raise ConfigError(f"{' -> '.join((*seen, path.stem))} extend each other; break the circle")
    own = {key: value for key, value in raw.items() if key != "extends"}
    if "extends" not in raw:
        return own
    return over(_resolved(path.with_name(f"{raw['extends']}.yaml"), (*seen, path.stem)), own)


def _spelt_out(data: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The entry that a short name stands for."""
    if name == "sigma":
        known = data.get("noise", {}).get("kind", "none")
        return {"noise": {"kind": "lognormal" if known == "none" else known, "sigma": value}}
    law = KINDS.get(data.get("law", {}).get("kind", ""))
    names = [field.name for field in dataclasses.fields(law)] if law else []
    if name not in names:
        raise unknown("option", name, [*FishingSpec.model_fields, *names, "sigma"], "fishing")
    return {"law": {name: value}}


def build_model(spec: FishingSpec, where: str) -> FishingModel:
    """The model of a spec; ConfigError with `where` if its parts do not fit each other."""
    law = build_law(spec.law, f"{where} > law")
    bound = 2 * float(law.capacity) if spec.bound is None else spec.bound
    units = Units(bound, law.targets, law.seen + spec.shows_driver, spec.scale, spec.control, spec.levels)
    if spec.problem == "driver" and spec.law.get("kind") != "may":
        raise ConfigError(f"{where}: problem 'driver' wants law 'may', found {spec.law.get('kind')!r}")
    if spec.problem == "harvest":
        return FishingModel(_params(FishingParams, spec, law, where), units, spec.order, spec)
    extra = {name: np.float32(getattr(spec, name)) for name in ("benefit", "satiation", "exponent", "effect", "rise")}
    params = _params(ConservationParams, spec, law, where, **extra)
    if spec.problem == "driver":
        return DriverModel(params, units, spec.order, spec, shows_driver=spec.shows_driver)
    return RecoveryModel(params, units, spec.order, spec)


def _params(cls: type[FishingParams], spec: FishingSpec, law: Law, where: str, **extra: Any) -> FishingParams:
    return cls(
        law=law,
        noise=_noise(spec.noise, f"{where} > noise"),
        survey_error=_noise(spec.survey_error, f"{where} > survey_error"),
        quota_error=_noise(spec.quota_error, f"{where} > quota_error"),
        drift=_drift(spec.drift, law, where),
        vary=_vary(spec.vary, law, where),
        start=np.float32(spec.start),
        horizon=np.int32(spec.Tmax),
        price=np.float32(spec.price),
        cost=np.float32(spec.cost),
        discount=np.float32(spec.discount),
        collapse=np.float32(spec.collapse),
        b_low=np.float32(LOW * float(law.capacity)),
        b_msy=np.float32(find_reference_point(law).stock),
        **extra,
    )


def build_law(data: Mapping[str, Any], where: str) -> Law:
    """The law of a mapping with its `kind`; `one-of` has `laws:`, `patches` a `law:` of its own."""
    rest = {k: v for k, v in data.items() if k != "kind"}
    match data.get("kind"):
        case "one-of":
            given = validate(_OneOf, rest, where)
            laws = tuple(build_law(law, f"{where} > {i}") for i, law in enumerate(given.laws))
            return OneOf(laws=laws, which=np.int32(0))  # type: ignore[arg-type]
        case "patches":
            split = validate(_Patches, rest, where)
            inner = build_law(split.law, f"{where} > law")
            return Patches(law=inner, patches=split.patches, dispersal=np.float32(split.dispersal))  # type: ignore[arg-type]
        case kind if kind in KINDS:
            return build(KINDS[kind], rest, where)
    raise unknown("law", data.get("kind"), [*KINDS, "one-of", "patches"], where)


class _OneOf(Strict):
    laws: list[dict[str, Any]] = Field(min_length=1)


class _Patches(Strict):
    law: dict[str, Any]
    patches: int = Field(5, ge=2)
    dispersal: float = Field(0.1, ge=0, le=1)


def _noise(data: Mapping[str, Any], where: str) -> Noise:
    if data.get("kind") not in NOISES:
        raise unknown("noise", data.get("kind"), NOISES, where)
    return build(NOISES[data["kind"]], {k: v for k, v in data.items() if k != "kind"}, where)


def _drift(data: Mapping[str, Moving], law: Law, where: str) -> Drift | None:
    _check_names(data, law, f"{where} > drift")
    rates, limits = ([getattr(m, part) for m in data.values()] for part in ("rate", "limit"))
    if not data:
        return None
    return Drift(names=tuple(data), rate=np.asarray(rates, np.float32), limit=np.asarray(limits, np.float32))


def _vary(data: Mapping[str, float] | str, law: Law, where: str) -> Spread | AnyLaw | None:
    if isinstance(data, str):
        if not isinstance(law, OneOf):
            raise ConfigError(f"{where} > vary: 'law' wants a law of kind one-of, found {type(law).__name__}")
        return AnyLaw()
    _check_names(data, law, f"{where} > vary")
    return Spread(names=tuple(data), sigma=np.asarray([*data.values()], np.float32)) if data else None


def _check_names(data: Mapping[str, Any], law: Law, where: str) -> None:
    names = [field.name for field in dataclasses.fields(law)]
    for name in data:
        if name not in names:
            raise unknown("parameter", name, names, where)
