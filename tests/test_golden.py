"""Seasons are what they were: the golden trajectories of tools/make_golden.py, integers exactly, floats to 1e-4."""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np
import pytest

from .load_script import script
from .long_form import some

pytestmark = pytest.mark.older

TOOL = "tools/make_golden.py"
golden = script(TOOL)
SHORT = some(golden.IDS, "bean-1x1-v0", "corn-1x1-v0", "tomato-1x1-v0", "patches-v0")
"""In the short form, what compiles soon."""


@pytest.mark.parametrize("id", SHORT)
def test_a_season_is_what_it_was(id: str) -> None:
    then, now = json.loads(golden.path(id).read_text(encoding="utf-8")), golden.fingerprint(id)
    made_by = f"made by JAX {then['jax']}, run by {jax.__version__}; if it was meant to change: {TOOL} {id}"
    assert now["steps"] == then["steps"], made_by
    assert now["values"].keys() == then["values"].keys(), made_by
    for name, values in then["values"].items():
        same(now["values"][name], values, f"{name} at steps {then['steps']}, {made_by}")
    same(now["return"], then["return"], f"return, {made_by}")


def same(now: Any, then: Any, what: str) -> None:
    whole = all(isinstance(value, int) for value in np.ravel(np.asarray(then, object)))
    if whole:
        np.testing.assert_array_equal(now, then, err_msg=what)
    else:
        np.testing.assert_allclose(now, then, rtol=1e-4, atol=1e-5, err_msg=what)


def test_every_file_is_of_an_id_that_is_compared() -> None:
    assert {path.name for path in golden.FOLDER.glob("*.json")} == {golden.path(id).name for id in golden.IDS}
