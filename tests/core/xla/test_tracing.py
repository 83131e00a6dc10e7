"""A pause of the collector of garbage ends where it began, also after an error and within another pause."""

from __future__ import annotations

import gc

import pytest

from harvestgym.core.xla.tracing import paused_collector


def test_the_collector_goes_on_after_the_outermost_pause() -> None:
    with paused_collector():
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError), paused_collector():
        raise ValueError
    assert gc.isenabled()


def test_a_collector_that_the_user_has_switched_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
