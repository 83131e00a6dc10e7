"""Registration: a built-in kind or reward term is one line of `public_names`, a custom one is named `module:Class`."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import harvestgym.farm
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import load_object
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.components import load_kind
from harvestgym.farm.engine.reward_terms import RewardContext, Term
from harvestgym.farm.public_names import KINDS, PUBLIC, TERMS
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_engine import FILE
from tests.farm.kinds import Spring

BONUS = 0.25


class Bonus(Term):
    """Worth the same every day."""

    def daily(self, context: RewardContext) -> jax.Array:
        return jnp.float32(BONUS)


def first_reward(spring: str, term: str) -> float:
    """Return the bonus of the first day of a farm whose file names its spring and its reward term so."""
    field = FILE["fields"]["Field-0"] | {"entities": [[spring, "calm"]]}
    data: dict[str, Any] = {"fields": {"Field-0": field}, "scoring": {"terms": {"bonus": {"kind": term}}}}
    env = build(farm_spec(data, "test"))
    state = jax.eval_shape(env.initial, jax.random.key(0), env.params)
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), state)
    return float(env.gains(zeros, env.params)["bonus"])


def test_a_custom_kind_and_term_are_named_by_their_module() -> None:
    assert first_reward("tests.farm.kinds:Spring", f"{__name__}:Bonus") == BONUS


def test_a_line_of_the_table_makes_a_kind_and_a_term_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="expected a known term, got 'Bonus'"):
        first_reward("tests.farm.kinds:Spring", "Bonus")
    monkeypatch.setitem(KINDS, "Spring", "tests.farm.kinds:Spring")
    monkeypatch.setitem(TERMS, "Bonus", f"{__name__}:Bonus")
    assert load_kind("Spring") is Spring
    assert first_reward("Spring", "Bonus") == BONUS


def test_type_checkers_see_what_the_table_names() -> None:
    tree = ast.parse(Path(harvestgym.farm.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} == set(PUBLIC)


def test_what_the_table_names_is_exported() -> None:
    for name, target in PUBLIC.items():
        assert getattr(harvestgym.farm, name) is load_object(target)
    assert set(KINDS) | set(TERMS) <= set(harvestgym.farm.__all__) == set(dir(harvestgym.farm))
    with pytest.raises(AttributeError, match="no attribute 'Spring'"):
        getattr(harvestgym.farm, Spring.__name__)
