"""With any parameters that a file may give, at the poles too, seasons stay finite and in their ranges."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import WIDE, Meta, iterate_metas, rebuild, replace
from harvestgym.farm.entities.response import Window
from tests.farm.one_field import make_farm
from tests.farm.test_all_kinds import FEW, SMALL
from tests.long_form import long

FARMS, DAYS, SHARE = 64, 50, 0.08
PLACES = {"latitude": (-90, -66.6, -45, 0, 23.4, 66.6, 90), "scale": (0.01, 0.3, 1, 10, 100)}
STAGES = ["none", "seed", "grow", "bloom", "fruit", "ripe", "dead"]
INIT: dict[str, Any] = FEW | {"Plant-0": {"stage": STAGES}, "Weather-0": {"day#int365": [1, 60, 172, 355, 365]}}


def extreme(group: Any, rng: np.random.Generator) -> Any:
    """Return a copy of some parameters, with a share at an end of the limits, or a thousand times as much or as little.

    Windows are put anywhere, with any price; what the parameters must keep among themselves is kept.
    """
    if isinstance(group, Window):
        low, high = sorted(rng.normal(0, 50, 2).astype(np.float32))
        ends = {"low": rng.choice([low, -np.inf]), "high": rng.choice([high, np.inf])}
        wild = replace(group, **ends, sensitivity=np.float32(rng.choice([0, 0.01, 1, 1000])))
        return wild if rng.random() < SHARE else group
    described = dict(iterate_metas(type(group)))
    inner = {f.name for f in dataclasses.fields(group)} - described.keys() - {"sky"}
    wild = replace(group, **{name: extreme(getattr(group, name), rng) for name in inner})
    numbers = {name: meta for name, meta in described.items() if meta.kind == "par" and not meta.labels}
    for name in numbers.keys() - {"station"}:
        some = _some(np.asarray(getattr(wild, name)), numbers[name], rng)
        changed = rebuild(type(wild), vars(wild) | {name: some})
        wild = changed if not list(getattr(changed, "check", tuple)()) else wild
    return rebuild(type(group), vars(wild))


def _some(values: np.ndarray, meta: Meta, rng: np.random.Generator) -> np.ndarray:
    one = lambda v: rng.choice([v * 1000, v / 1000, max(meta.low, -30 - v), min(meta.high, 1000 * v + 3)])  # noqa: E731
    wild = np.vectorize(lambda v: one(v) if rng.random() < SHARE else v, otypes=[np.float64])(values)
    ends = (
        (max(meta.low, -(2.0**31)), min(meta.high, 2.0**31 - 200))
        if values.dtype.kind == "i"
        else (meta.low, meta.high)
    )
    return np.clip(wild, *ends).astype(values.dtype)


def at_limits(group: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of some parameters, each with one number at one of its limits, and the name of that number."""
    for field in dataclasses.fields(group):
        meta, value = field.metadata.get("meta"), getattr(group, field.name)
        if meta is None and dataclasses.is_dataclass(value) and field.name != "sky":
            for name, inner in at_limits(value):
                yield f"{field.name}.{name}", rebuild(type(group), vars(group) | {field.name: inner})
        elif meta is not None and meta.kind == "par" and meta.dtype == "float" and not meta.unknown:
            for end in (meta.low, meta.high):
                changed = rebuild(type(group), vars(group) | {field.name: np.full_like(value, end)})
                if not list(getattr(changed, "check", tuple)()):
                    yield f"{field.name}={end:g}", changed


@pytest.fixture(scope="module")
def crowd() -> tuple[Any, Callable[[list[Any]], list[set[str]]]]:
    """Return a farm of all kinds, and the function that names what leaves its range with each of some parameters."""
    env = make_farm(SMALL, (1, 2), INIT)
    variables = [
        (e, slot.name, name, meta)
        for e, slot in enumerate(env.fields[0].slots)
        for name, meta in iterate_metas(slot.kind.State)
    ]

    def outside(state: Any) -> jax.Array:
        inside = []
        for e, _, name, meta in variables:
            leaf = jnp.asarray(getattr(state.fields[0][e], name)).astype(jnp.float32)
            high = WIDE if meta.is_open_above else meta.high  # the limit of a unit clips observations only
            inside.append(jnp.all((leaf >= meta.low - 1e-5 * abs(meta.low)) & (leaf <= high * (1 + 1e-5))))
        return ~jnp.stack(inside)

    def season(params: Any, key: jax.Array) -> jax.Array:
        def step(state: Any, now: jax.Array) -> tuple[Any, jax.Array]:
            today = jax.random.fold_in(key, now)
            index = jax.random.randint(today, (), 0, env.actions.size) * jax.random.bernoulli(today, 0.4)
            after = env.transition(today, state, index, params)
            return after, outside(after)

        first = env.initial(key, params)
        return outside(first) | jax.lax.scan(step, first, jnp.arange(DAYS))[1].any(0)

    many, keys = jax.jit(jax.vmap(season)), jax.random.split(jax.random.key(0), FARMS)
    names = np.array([f"{slot}.{name}" for _, slot, name, _ in variables])

    def find(rows: list[Any]) -> list[set[str]]:
        found = []
        for start in range(0, len(rows), FARMS):
            part = (rows[start : start + FARMS] + rows[:1] * FARMS)[:FARMS]
            stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *part)
            found += [set(names[row].tolist()) for row in np.asarray(many(stacked, keys))]
        return found[: len(rows)]

    return env, find


def with_entities(env: Any, entities: tuple[Any, ...], **place: Any) -> Any:
    """Return the parameters of a farm with other ones of its field."""
    field = env.params.fields[0]
    return replace(env.params, fields=(replace(field, place=replace(field.place, **place), entities=entities),))


@long
def test_no_parameters_within_their_limits_drive_a_farm_out_of_its_ranges(crowd: Any) -> None:
    env, find = crowd
    rng, entities = np.random.default_rng(0), env.params.fields[0].entities
    rows = []
    for _ in range(FARMS):
        place = {name: np.float32(rng.choice(ends)) for name, ends in PLACES.items()}
        rows.append(with_entities(env, tuple(extreme(entity, rng) for entity in entities), **place))
    assert set().union(*find(rows)) == set()


@long
def test_a_parameter_at_a_limit_keeps_a_farm_in_its_ranges(crowd: Any) -> None:
    env, find = crowd
    entities = env.params.fields[0].entities
    cases = [(i, name, changed) for i, entity in enumerate(entities) for name, changed in at_limits(entity)]
    rows = [with_entities(env, (*entities[:i], changed, *entities[i + 1 :])) for i, _, changed in cases]
    named = [f"{type(changed).__name__}.{name}" for _, name, changed in cases]
    assert len(named) > 400
    assert {name: out for name, out in zip(named, find(rows), strict=True) if out} == {}
