"""A variant of a farm as its own id: a function that makes the environment, and nothing else."""

from __future__ import annotations

from typing import Any

import harvestgym


def dry_bean(price: float = 2.0, entities: dict[str, Any] | None = None, **changes: Any) -> Any:
    """Return a bean farm with half the rain, whose harvest is paid."""
    scoring = {"yield": 0, "terms": {"money": {"kind": "Tally", "prices": {"harvest#kg": price}}}}
    dry = {"Weather-0": {"extends": "seattle", "rain_factor": 0.5}}
    return harvestgym.make("farm/bean-1x1-v0", scoring=scoring, entities=dry | (entities or {}), **changes)
