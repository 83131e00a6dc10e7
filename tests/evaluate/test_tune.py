"""Tuning: the search finds a known optimum, keeps to its budget, and its result becomes the expert."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.rollout import evaluate
from harvestgym.core.tuning.rule_family import read_tuned
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_together, horizon, policy_named
from harvestgym.evaluate.tune import CANDIDATE_BATCH, PENALTY, Budget, make_benches, search_numbers, tune_rules
from harvestgym.fishing import control, family
from harvestgym.fishing.control import make_rule_families
from tests.long_form import long

PATCHES = "fishing/patches-v0"
SMALL = Budget(candidates=32, seasons=8)


def test_the_search_finds_the_escapement_of_a_logistic_fishery() -> None:
    """S* is 0.5 K over undiscounted years, if the last year also pays for the stock that remains."""
    bench, fresh = make_benches("fishing/logistic-v0", 0, 16)
    tried: list[int] = []
    family = make_rule_families(bench.env)["escapement"]
    found = search_numbers("escapement", family, bench, fresh, Budget(64, 16), 0, tried.append)
    assert 0.47 < found.numbers["target"] < 0.53 and 7.8 < found.mean < 8.5
    assert sum(tried) == 64 and set(tried) <= {CANDIDATE_BATCH}


def test_a_candidate_above_a_limit_loses_return() -> None:
    """Candidates may use 0.97 of the limit of 1."""
    bench, _ = make_benches("fishing/logistic-v0", 0, 4)
    policies = [control.escapement(bench.env, target) for target in (0.3, 0.5)]
    limited = bench._replace(costs=lambda whole: {"cost_catch": np.repeat([1.17, 0.9], 4)})
    np.testing.assert_allclose(limited.rate(policies), bench.rate(policies) - [PENALTY * 0.2, 0], rtol=1e-6)


@long
def test_candidates_earn_in_one_batch_what_each_earns_alone() -> None:
    bench, _ = make_benches("fishing/logistic-v0", 0, 5)
    policies = [control.escapement(bench.env, target) for target in (0.3, 0.5, 0.7)]
    alone = [evaluate(bench.env, policy, bench.keys, 5, horizon(bench.env)).returns for policy in policies]
    np.testing.assert_allclose(bench.run(policies), alone, rtol=1e-5)


@long
def test_the_same_seed_finds_the_same_rule() -> None:
    bench, fresh = make_benches("fishing/logistic-v0", 0, 4)
    family = make_rule_families(bench.env)["share above threshold"]
    found = [search_numbers("a", family, bench, fresh, Budget(48, 4), seed, int) for seed in (3, 3, 4)]
    assert found[0] == found[1] != found[2]


@long
def test_the_best_of_all_rules_is_the_tuned_one() -> None:
    """Escapement is best in patches, which the untuned expert follows; tuning does not make it worse."""
    found = tune_rules(PATCHES, 0, SMALL)
    assert found.rule in ("escapement", "share above threshold")
    assert float(found.made["training return"]) > 0 and "--candidates 32 --seasons 8" in str(found.made["command"])


def test_searching_and_choosing_use_other_seasons_of_the_training_split() -> None:
    bench, fresh = make_benches(PATCHES, 0, 8)
    other, _ = make_benches(PATCHES, 1, 8)
    keys = [bits for each in (bench, fresh, other) for bits in np.asarray(jax.random.key_data(each.keys))]
    assert len({key.tobytes() for key in keys}) == len(keys)
    assert bench.env == splits.make(PATCHES, "train")


def test_rules_that_look_at_the_test_split_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_spies(env: Any) -> dict[str, Any]:
        return {"spy": splits.split(PATCHES, "test")}

    monkeypatch.setattr(family, "make_rule_families", make_spies)
    with pytest.raises(ConfigError, match="expected 'train' within a search or training, got 'test'"):
        tune_rules(PATCHES, 0, SMALL)
    splits.split(PATCHES, "test")


def test_an_id_without_rules_is_refused() -> None:
    registry.register("toy/stock-v0", "tests.toy_env:Stock")
    try:
        with pytest.raises(ConfigError, match="toy/stock-v0: expected an environment with rules to tune"):
            tune_rules("toy/stock-v0", 0, SMALL)
    finally:
        registry.unregister("toy/stock-v0")


@long
def test_the_command_writes_the_expert_that_the_file_then_has(tmp_path: Path) -> None:
    file = tmp_path / "pond.yaml"
    shutil.copy(registry.locate_file("fishing/logistic-v0"), file)
    result = CliRunner().invoke(app, ["tune", str(file), "--candidates", "32", "--seasons", "4"])
    assert result.exit_code == 0, result.output
    tuned = read_tuned(file)
    assert tuned is not None and tuned.rule in result.output
    env = harvestgym.make(str(file))
    assert env.expert == tuned  # type: ignore[attr-defined]
    expert, closed = evaluate_together(str(file), ("expert", "closed"), 20).values()
    assert expert.summary.mean > 5 > closed.summary.mean
    assert harvestgym.make(str(file), sigma=0.3).expert is None, "of another fishery the numbers say nothing"  # type: ignore[attr-defined]
    assert policy_named(str(file), env, "expert")
