"""Evaluations: policies in one compiled program fare as each alone."""

from __future__ import annotations

import numpy as np

from harvestgym.evaluate.evaluation import evaluate_id, evaluate_together


def test_policies_evaluated_together_fare_as_alone() -> None:
    id = "fishing/logistic-survey-v0"
    both = evaluate_together(id, ("random", "expert"), episodes=20, seed=3)
    for name, found in both.items():
        np.testing.assert_array_equal(found.returns, evaluate_id(id, name, episodes=20, seed=3).returns)
