"""A small farm with an expert, compiled in a second: a spring, a reed that drinks from it, and a cut that costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.family import policies, risk, summary
from harvestgym.farm.schema import farm_spec
from tests.farm.kinds import Reed, Spring

__all__ = ["policies", "reeds", "risk", "summary"]

KINDS = [["tests.farm.kinds:Spring", "calm"], ["tests.farm.kinds:Reed", {}]]
CUT, LOOK, DAYS = 0.5, 0.01, 24


def reeds(mode: str = "po", **changes: Any) -> FarmModel:
    """Return the farm; where looking costs, the expert looks at the reed every second day."""
    seen = ["Reed-0.stage"]
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30}
    field = {
        "localization": place, "shape": {"length#nb": 1, "width#nb": 1}, "entities": KINDS,
    }  # fmt: skip
    rules: dict[str, Any] = {"horizon#day": DAYS, "interventions": {"Field-0": {"Reed-0": {"cut": None}}}}
    rules |= {"observations": seen} if mode == "ao" else {"free_observations": seen}
    cut = {"when": "Reed-0.stage == old", "do": "Reed-0.cut"}
    look = {"observe": "Reed-0.stage", "every#day": 2}
    data = {
        "fields": {"Field-0": field}, "rules": rules, "mode": mode, "expert": [look, cut] if mode == "ao" else [cut],
        "scoring": {"intervention_cost": CUT, "observation_cost": LOOK, "stage": 0.0},
    }  # fmt: skip
    one: Any = np.float32(1.0)
    return build(farm_spec(data | changes, "reeds"), {"Field-0": [Spring(flow=one), Reed(thirst=one)]})
