"""The picture of neighbours who share water: the field of each, its score, and the rewards so far."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from harvestgym.core.view.scene import Scene, join_scenes
from harvestgym.core.view.timeline import Record

from . import recorder
from . import scene as of_a_farm


def record(env: Any, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    """Return the arrays to keep of a step: those of `recorder.record` with a leading axis of farms."""

    def keep(state: Any, action: Any, params: Any) -> dict[str, Any]:
        return recorder.record(env.env, state, action, timestep._replace(info=env.env.info(state, params)), params)

    own = timestep.info["own"]
    kept = jax.vmap(keep)(state.inner, action, params.farms)
    return kept | {"reward": own["reward"], "water left#L": own["water left#L"]}


def scene(env: Any, record: Record, step: int) -> Scene:
    """Draw the farms after `step` steps of a record."""
    past = {name: np.asarray(values)[: step + 1] for name, values in record.items()}
    each = {
        agent: of_a_farm.scene(model, {name: values[:, i] for name, values in past.items()}, step)
        for i, (agent, model) in enumerate(zip(env.agents, env.models, strict=True))
    }
    left = float(past["water left#L"][-1, 0])
    title = f"{next(iter(each.values())).title}; {left:.0f} L of water left for all"
    return join_scenes(title, each, past["reward"])
