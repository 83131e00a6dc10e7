"""The goal of a farm in sentences: what the score counts, what costs, and when the season ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harvestgym.core.yaml_io import to_line
from harvestgym.farm.engine.farmers import HourlyFarmer
from harvestgym.farm.engine.model import FarmModel

from .describe import ends_text

WEIGHTS = {
    "harvest": "kg of harvest", "bio": "unit of life counted on the farm", "soil": "full health of the soil",
    "plant": "full health of the plants",
}  # fmt: skip
"""The weights of the final reward, and what each multiplies."""


def goal_lines(env: FarmModel) -> Iterator[str]:
    """Yield the sentences."""
    score = env.spec.scoring
    gains = [f"{getattr(score, name):g} for each {what}" for name, what in WEIGHTS.items() if getattr(score, name)]
    gains += [f"{score.stage:g} for each new stage of a plant"] if score.stage else []
    gains += [f"the term {name} ({to_line(term.model_dump(exclude={'kind'}))})" for name, term in score.terms.items()]
    yield f"The score counts {', and '.join(gains) or 'nothing'}, less all costs."
    if score.resource:
        yield f"Each L of water and each kg of fertilizer or poison counts {-score.resource:g}."
    yield f"Costs: {', '.join(_cost_texts(env))}."
    yield f"The season has {int(env.params.horizon)} days{_end_text(env)}."


def _cost_texts(env: FarmModel) -> Iterator[str]:
    orders = np.asarray(env.params.score.intervention_costs)
    yield f"{_range_text(orders)} for an action" if orders.size else "no action is possible"
    if env.asks:
        prices = np.asarray(env.requests.prices(env.params))
        yield f"{_range_text(prices)} for an observation" if prices.size else "nothing else can be observed"
    wages = [float(farmer.wage) for farmer in env.params.farmers if isinstance(farmer, HourlyFarmer)]
    if any(wages):
        yield f"{_range_text(np.asarray(wages))} for an hour of work"


def _range_text(costs: np.ndarray) -> str:
    low, high = float(np.min(costs)), float(np.max(costs))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _end_text(env: FarmModel) -> str:
    ends = ends_text(env)
    return f", and ends early if {ends}" if ends else ""
