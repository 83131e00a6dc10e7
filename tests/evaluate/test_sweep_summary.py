"""The summary of a sweep: means per setting, and paired differences where settings share seeds and episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from harvestgym.evaluate.statistics import estimate_mean
from harvestgym.evaluate.sweep_summary import DIFFERENCE, make_summary_table, summarise_settings

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra data")
pytest.importorskip("pandas", reason="needs the extra data")

LABELS = ("id", "policy", "r", "seed")
EPISODES = 30
LUCK = np.random.default_rng(0).normal(size=EPISODES)
"""The part of the returns that all policies share on a seed, much larger than the differences between them."""


def make_rows(settings: Sequence[tuple[str, str, float, int, np.ndarray]]) -> Any:
    """Return the table of a sweep with these ids, policies, rates, seeds and returns."""
    parts = [
        {name: [value] * len(returns) for name, value in zip(LABELS, labels, strict=True)}
        | {"episode": np.arange(len(returns)).tolist(), "return": returns.tolist()}
        for *labels, returns in settings
    ]
    return pyarrow.concat_tables([pyarrow.table(part) for part in parts])


def test_differences_are_paired_by_seed_and_episode() -> None:
    better = 10 * LUCK + 0.5 + 0.1 * np.random.default_rng(1).normal(size=EPISODES)
    rows = make_rows([("stock", "msy", 0.2, 0, 10 * LUCK), ("stock", "closed", 0.2, 0, better)])
    shuffled = rows.take(np.random.default_rng(2).permutation(len(rows) // 2).tolist() + list(range(EPISODES, 60)))
    first, second = summarise_settings(shuffled, LABELS)
    assert first.difference is None and second.difference is not None
    assert second.difference == pytest.approx(estimate_mean(better - 10 * LUCK))
    assert second.difference.low > 0.4 and second.returns.low < first.returns.mean, "seen only in pairs"
    table = make_summary_table(rows, LABELS, "")
    assert table.columns == ("policy", "episodes", "return (95 %)", DIFFERENCE)
    assert [row[-1].split(" ")[0] for row in table.rows] == ["", f"{second.difference.value:.3g}"]


def test_policies_are_compared_within_the_same_id_and_overrides() -> None:
    settings = [(id, policy, r) for id in ("a", "b") for policy in ("msy", "closed") for r in (0.2, 0.3)]
    value = {"msy": 1.0, "closed": 3.0, "a": 10.0, "b": 20.0}
    rows = make_rows([(id, policy, r, 0, LUCK + value[policy] + value[id] + r) for id, policy, r in settings])
    found = list(summarise_settings(rows, LABELS))
    assert [row.difference for row in found if row.labels["policy"] == "msy"] == [None] * 4
    assert [row.difference and row.difference.value for row in found if row.labels["policy"] == "closed"] == (
        pytest.approx([2.0] * 4)
    )


def test_a_single_policy_is_compared_between_overrides_but_not_between_ids() -> None:
    rows = make_rows([(id, "msy", r, 0, LUCK + r) for id in ("a", "b") for r in (0.2, 0.3)])
    differences = [row.difference and row.difference.value for row in summarise_settings(rows, LABELS)]
    assert differences == [None, pytest.approx(0.1), None, pytest.approx(0.1)]


def test_the_first_override_is_compared_within_each_value_of_the_others() -> None:
    """Rates within each climate, and not with the first rate in the first climate."""
    rows = make_rows([("stock", "msy", r, 0, LUCK + r) for r in (0.2, 0.3)] * 2)
    climate = pyarrow.array([name for name in ("dry", "wet") for _ in range(2 * EPISODES)])
    both = summarise_settings(rows.append_column("climate", climate), (*LABELS, "climate"))
    differences = {(row.labels["r"], row.labels["climate"]): row.difference and row.difference.value for row in both}
    assert differences == {
        ("0.2", "dry"): None, ("0.3", "dry"): pytest.approx(0.1),
        ("0.2", "wet"): None, ("0.3", "wet"): pytest.approx(0.1),
    }  # fmt: skip


def test_other_seeds_are_not_paired() -> None:
    rows = make_rows([("stock", "msy", 0.2, 0, LUCK), ("stock", "closed", 0.2, 7, LUCK)])
    assert [row.difference for row in summarise_settings(rows, LABELS)] == [None, None]
    assert DIFFERENCE not in make_summary_table(rows, LABELS, "").columns
