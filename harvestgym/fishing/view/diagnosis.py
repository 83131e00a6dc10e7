"""Sentences about problems of a policy: decisions that were never or always the same, quotas changed or not caught."""

from __future__ import annotations

import numpy as np

from harvestgym.core.rollout import Episodes
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel

from .events import is_cut_by_stock


def explain(env: FishingModel, episodes: Episodes) -> list[str]:
    """Return sentences about problems in the evaluated episodes; none if the evaluation was run without counts."""
    years, found = int(np.sum(episodes.length)), {name: int(np.sum(n)) for name, n in episodes.counts.items()}
    if not found:
        return []
    what = "action" if isinstance(env, RecoveryModel) else env.units.control
    always = {"0": found["years without action"], "the largest possible": found["years of most"]}
    notes = [f"the {what} was {value} in every year" for value, number in always.items() if number == years]
    cut = found["years cut"] if is_cut_by_stock(env) else 0
    if changed := found.get("years changed"):
        notes.append(f"in {changed} of {years} years, assessment_interval or catch_constraint changed the quota")
    return notes + [f"in {cut} of {years} years, the catch was below the quota: there were no more fish"] * (cut > 0)
