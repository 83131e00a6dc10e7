"""Programs are dropped when a process holds many, and not before; a sweep of many structures goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from harvestgym.core.xla import process_checks
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.sweep.cases import EpisodeCase
from harvestgym.sweep.engine import collect
from tests.long_form import long

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the pieces of memory are counted on Linux only")

TRACED = []


@jax.jit
def add_one(x: jax.Array) -> jax.Array:
    TRACED.append(1)
    return x + 1


def test_programs_are_dropped_above_the_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    add_one(jnp.ones(3))
    before = len(TRACED)
    monkeypatch.setattr(process_checks, "PIECES", 10**9)
    assert not free_programs_if_full()
    add_one(jnp.ones(3))
    assert len(TRACED) == before
    monkeypatch.setattr(process_checks, "PIECES", 0)
    assert free_programs_if_full()
    assert add_one(jnp.ones(3)).tolist() == [2, 2, 2]
    assert len(TRACED) == before + 1


@long
def test_a_sweep_whose_programs_are_dropped_has_the_same_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cases = [EpisodeCase(id=f"fishing/{name}-v0", policy="none", episodes=2) for name in ("logistic", "ricker")]
    kept = collect(cases)
    add_one(jnp.ones(3))
    before = len(TRACED)
    monkeypatch.setattr(process_checks, "PIECES", 0)
    for one, again in zip(kept, collect(cases), strict=True):
        assert one["return"].tolist() == again["return"].tolist()
    add_one(jnp.ones(3))
    assert len(TRACED) == before + 1
