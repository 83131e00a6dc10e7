"""Optima of response curves, and the file of published responses."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.common.response_curves import FORMS, LABELS, Curve, find_optimum, read_responses

SEASONS = np.random.default_rng(0).normal(1.0, 0.1, (1, 16))


def test_a_curve_with_one_peak_has_no_dip() -> None:
    curve = Curve(np.array([1.0, 2.0, 3.0, 4.0]), np.array([[0.0], [0.96], [1.0], [0.5]]) * SEASONS)
    assert find_optimum(curve) == pytest.approx((3.0, 2.0, 3.0, 0.0, 0.0))
    assert curve.mean.max() == 1 and (curve.error[1:] > 0).all()


@pytest.mark.parametrize("kg", ([[0.5], [0.2], [1.0]], [[1.0], [0.2], [0.5]]))
def test_a_dip_on_either_side_of_the_optimum_is_found(kg: list[list[float]]) -> None:
    best = find_optimum(Curve(np.arange(3.0), np.array(kg) * SEASONS))
    assert best.dip == pytest.approx(0.3) and 0.2 < best.excess < 0.3


def test_a_dip_within_the_noise_is_no_excess() -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.3, (3, 16))
    best = find_optimum(Curve(np.arange(3.0), np.array([[0.9], [0.89], [1.0]]) + noise))
    assert best.excess == 0.0


def test_every_published_response_has_a_source_and_one_form() -> None:
    for crop, curves in read_responses().items():
        for name, sets in curves.items():
            assert name in LABELS, (crop, name)
            for said in sets:
                assert said["label"] and len(said["source"]) > 20, (crop, name)
                assert said["read"] in ("page", "abstract", "data"), said["label"]
                assert set(said) & set(FORMS) and set(said) <= {"label", "source", "read", *FORMS}, said["label"]
