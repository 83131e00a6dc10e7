"""Evaluations: policies in one compiled program fare as each alone."""

from __future__ import annotations

import numpy as np

from harvestgym.evaluate.run import evaluate_id, evaluate_together


def test_policies_evaluated_together_fare_as_alone() -> None:
    id = "fishing/logistic-survey-v0"
    both = evaluate_together(id, ("random", "expert"), episodes=20, seed=3)
    for name, found in both.items():
        alone = evaluate_id(id, name, episodes=20, seed=3)
        np.testing.assert_allclose(found.returns, alone.returns, rtol=1e-3)
