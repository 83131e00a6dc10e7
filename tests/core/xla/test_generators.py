"""A generator that is switched off, or that JAX cannot define, leaves the keys of JAX's default one."""

from __future__ import annotations

import jax
import pytest

from harvestgym.core.xla import fallback
from harvestgym.core.xla.generators import define_generator


def test_without_a_generator_keys_are_the_default_ones(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fallback, "reported", set())
    monkeypatch.delenv(fallback.SWITCH_VARIABLE, raising=False)
    assert define_generator(unknown=1) is None
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["core.xla.generators"]
    monkeypatch.setenv(fallback.SWITCH_VARIABLE, "off")
    assert define_generator(unknown=1) is None and len(caplog.records) == 1
    assert jax.random.key(3, impl=None) == jax.random.key(3)
