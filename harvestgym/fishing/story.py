"""A recorded episode of a fishery in words and tables: stocks, what the survey said of them, catches, rewards."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from ..core.story import Deed, Record, Story, Track, part_names
from . import points
from .conservation import DriverModel, RecoveryModel
from .model import FishingModel
from .sea import names

UNITS = {"stock": "K", "biomass": "K", "catch": "K/year"}
"""Of fisheries whose capacity is 1; others have biomass in a unit of their own."""

DOCS = {
    "stock": "biomass of each stock at the start of the year",
    "biomass": "the number by which collapse and other limits are judged",
    "catch": "what was really caught, by target",
    "rate": "catch as a share of what was there",
    "driver": "consumption a of May's law, which rises by itself",
}


def story(env: FishingModel, record: Record) -> Story:
    """The years of a record, as `record_episode` makes it."""
    kept = [name for name in DOCS if name in record and not (name in ("catch", "rate") and not record[name].any())]
    watched = "stock" if record["seen"].shape == record["stock"].shape else "biomass"
    return Story(
        when=[f"year {year}" for year in range(len(record["reward"]))],
        watcher="the manager",
        record=record,
        tracks=tuple(_track(env, record, name, watched) for name in kept),
        first=tuple(name for name in (watched, "catch") if name in kept),
        deeds=tuple(_deeds(env, record)),
        gains={"catch" if not isinstance(env, RecoveryModel) else "net worth": record["reward"]},
        costs={},
    )


def _track(env: FishingModel, record: Record, name: str, watched: str) -> Track:
    values = record[name]
    parts = names(env)[: values.shape[1]] if values.ndim > 1 else ()
    parts = parts if len(parts) == values[0].size else part_names(values.shape[1:])
    told = record["seen"][:, : values[0].size].reshape(values.shape) if name == watched else None
    known = told is not None or name in ("catch", "rate") or (isinstance(env, DriverModel) and env.shows_driver)
    unit = UNITS.get(name, "") if abs(points.stock_levels(env)["K"] - 1) < 1e-6 else ""
    return Track(name, "fishery", name, unit, DOCS[name], parts, {}, np.full(values.shape, known), told)


def _deeds(env: FishingModel, record: Record) -> Iterator[Deed]:
    wanted = np.asarray(env.units.wanted(jnp.asarray(record["action"])))
    wanted = wanted.reshape(len(wanted), -1)
    asked = "rate" if env.units.control == "rate" else "quota"
    asked = "action" if isinstance(env, RecoveryModel) else asked
    for year in range(1, len(wanted)):
        what = f"{asked} {', '.join(f'{number:.3g}' for number in wanted[year])}"
        note = (
            ""
            if isinstance(env, RecoveryModel)
            else f"caught {', '.join(f'{c:.3g}' for c in np.ravel(record['catch'][year]))}"
        )
        yield Deed(year, "the manager", what, 0.0, note)
