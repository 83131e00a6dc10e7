"""Compilation of the host engine where nothing can be written."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import pytest

from harvestgym.core.xla import compilation
from harvestgym.forager.host_engine import numba_support


class ReadOnlyNumba:
    """A numba that has no folder for what it compiles."""

    def __init__(self) -> None:
        self.config = types.SimpleNamespace(CACHE_DIR="")
        self.compiled: list[str] = []

    def njit(self, cache: bool = False, **options: Any) -> Callable[..., Any]:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            if cache and not self.config.CACHE_DIR:
                raise RuntimeError(f"cannot cache function {function.__name__!r}: no locator available")
            self.compiled.append(function.__name__)
            return function

        return decorate


def double(x: int) -> int:
    return 2 * x


@pytest.mark.parametrize("decorator", [numba_support.compiled, numba_support.inlined])
def test_a_read_only_install_compiles_without_a_cache(decorator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    numba = ReadOnlyNumba()
    monkeypatch.setattr(numba_support, "numba", numba)
    monkeypatch.delenv("HARVESTGYM_CACHE", raising=False)
    assert decorator(double)(3) == 6
    assert numba.compiled == ["double"] and numba.config.CACHE_DIR == ""


def test_a_read_only_install_caches_under_the_folder_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = ReadOnlyNumba()
    monkeypatch.setattr(numba_support, "numba", numba)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("HARVESTGYM_CACHE", "/somewhere")
    assert numba_support.compiled(double)(3) == 6
    assert os.path.join("/somewhere", "numba") == numba.config.CACHE_DIR


def test_a_long_compilation_is_announced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(compilation, "LONG", 0.001)
    monkeypatch.setattr(compilation, "_announced", set())
    monkeypatch.setenv(compilation.QUIET_VARIABLE, "0")

    def add(x: int) -> int:
        return x + 1

    assert numba.njit(add)(1) == 2 and caplog.records == []  # a function of the user
    add.__module__ = "harvestgym.toy"
    assert numba.njit(add)(1) == 2
    (line,) = caplog.records
    assert line.getMessage().startswith("compiling the engine of foragers; the next process will start quickly")
