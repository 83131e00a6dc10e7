"""With any parameters that a file may give, at the poles too, seasons stay finite and in their ranges."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import Meta, iterate_metas, replace
from harvestgym.farm.entities.response import Window
from tests.farm.test_company import FEW, SMALL, farm

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
        changed = replace(wild, **{name: _some(np.asarray(getattr(wild, name)), numbers[name], rng)})
        wild = changed if not list(getattr(changed, "check", tuple)()) else wild
    return wild


def _some(values: np.ndarray, meta: Meta, rng: np.random.Generator) -> np.ndarray:
    one = lambda v: rng.choice([v * 1000, v / 1000, max(meta.low, -30 - v), min(meta.high, 1000 * v + 3)])  # noqa: E731
    wild = np.vectorize(lambda v: one(v) if rng.random() < SHARE else v, otypes=[np.float64])(values)
    ends = (
        (max(meta.low, -(2.0**31)), min(meta.high, 2.0**31 - 200))
        if values.dtype.kind == "i"
        else (meta.low, meta.high)
    )
    return np.clip(wild, *ends).astype(values.dtype)


def test_no_parameters_within_their_limits_drive_a_farm_out_of_its_ranges() -> None:
    env = farm(SMALL, (1, 2), INIT)
    rng, field = np.random.default_rng(0), env.params.fields[0]
    rows = []
    for _ in range(FARMS):
        place = replace(field.place, **{name: np.float32(rng.choice(ends)) for name, ends in PLACES.items()})
        entities = tuple(extreme(entity, rng) for entity in field.entities)
        rows.append(replace(env.params, fields=(replace(field, place=place, entities=entities),)))
    variables = [
        (e, slot.name, name, meta)
        for e, slot in enumerate(env.fields[0].slots)
        for name, meta in iterate_metas(slot.kind.State)
    ]

    def outside(state: Any) -> jax.Array:
        leaves = [
            (jnp.asarray(getattr(state.fields[0][e], name)).astype(jnp.float32), meta) for e, _, name, meta in variables
        ]
        inside = [(leaf >= meta.low - 1e-5 * abs(meta.low)) & (leaf <= meta.high * (1 + 1e-5)) for leaf, meta in leaves]
        return ~jnp.stack([jnp.all(each) for each in inside])

    def season(params: Any, key: jax.Array) -> jax.Array:
        def step(state: Any, now: jax.Array) -> tuple[Any, jax.Array]:
            today = jax.random.fold_in(key, now)
            index = jax.random.randint(today, (), 0, len(env.actions.choices)) * jax.random.bernoulli(today, 0.4)
            after = env.transition(today, state, index, params)
            return after, outside(after)

        first = env.initial(key, params)
        return outside(first) | jax.lax.scan(step, first, jnp.arange(DAYS))[1].any(0)

    params = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *rows)
    found = jax.jit(jax.vmap(season))(params, jax.random.split(jax.random.key(0), FARMS))
    assert [f"{name}.{leaf}" for (_, name, leaf, _), bad in zip(variables, found.any(0), strict=True) if bad] == []
