"""The measurements of a GPU, in their form for a CPU: every row is there, as numbers or with the reason why not."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym.core.loading import import_file

from ..load_script import ROOT
from ..long_form import long

PROGRAM = ROOT / "experiments" / "device.py"
MAY_BE_NULL = {"expert_s", "expert_env_steps", "most_different"}
"""Entries that are null after a short training, and of an equality without any difference."""


@pytest.fixture(scope="module")
def device() -> Any:
    """Return the program as a module."""
    pytest.importorskip("optax")
    return import_file(PROGRAM)


def run_small(out: Path, *options: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the rows of the small form by their names, and what it printed."""
    command = [sys.executable, str(PROGRAM), "--small", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((out / "device.json").read_text())
    assert report["jax"] and report["small"]
    rows = {row["row"]: row for row in report["rows"]}
    assert len(rows) == len(report["rows"]) == len(done.stdout.splitlines())
    return rows, done.stdout


def list_rows(device: Any, only: str = "") -> set[str]:
    """Return the names of the rows of the parts of the small form."""
    return {row for part in device.list_parts(device.SMALL, Path()) if only in part.name for row in part.rows}


def check_row(row: dict[str, Any]) -> None:
    """Check that a row has its numbers, that they are possible, and that the CPU is equal to itself."""
    assert not {"error", "skipped"} & set(row), row
    numbers = {name: value for name, value in row.items() if not isinstance(value, str | list | None)}
    assert all(math.isfinite(value) and value >= 0 for value in numbers.values()), row
    assert {name for name, value in row.items() if value is None} <= MAY_BE_NULL
    if row["row"].startswith("equality"):
        assert row["env_steps"] > 0 and row["difference"] < 1e-4 and row["flips"] == 0
    else:
        positive = ("compile_s", "kernels", "steps_per_s", "peak_mib", "bytes_per_env", "train_s")
        assert all(row[name] > 0 for name in positive if name in row) and row["compile_s"] > 0


def test_rows_have_numbers_and_the_step_its_program(device: Any, tmp_path: Path) -> None:
    """One part, in this process, which has rows of two kinds; `long` runs the program and all parts."""
    id, seconds = next(iter(device.SMALL.timed_ids.items()))
    rows = {row["row"]: row for row in device.measure_speed(device.SMALL, id, seconds, tmp_path)}
    assert set(rows) == list_rows(device, f"speed {id}")
    assert all(name in device.format_row(row) for name, row in rows.items())
    for row in rows.values():
        check_row(row)
    (step,) = (row for row in rows.values() if "hlo" in row)
    assert "ENTRY" in (tmp_path / step["hlo"]).read_text()


@long
def test_all_rows_of_the_small_form_have_numbers(device: Any, tmp_path: Path) -> None:
    rows, _ = run_small(tmp_path)
    assert set(rows) == list_rows(device)
    for row in rows.values():
        check_row(row)


@long
def test_rows_past_their_deadline_are_skipped(device: Any, tmp_path: Path) -> None:
    """The first part ends at the deadline, and no time is left for the others."""
    rows, table = run_small(tmp_path, "--minutes", "0.02")
    assert set(rows) == list_rows(device)
    first, *_, last = (rows[name]["skipped"] for name in rows)
    assert first.startswith("past the deadline") and last == "no time left"
    assert table.count("skipped") == len(rows)


def test_an_error_is_a_row_and_other_rows_follow(device: Any) -> None:
    def fail() -> dict[str, Any]:
        raise MemoryError("too large")

    row = device.make_row("speed", fail)
    assert row["error"] == "MemoryError: too large" and row["row"] == "speed"


def test_differences_are_relative_and_flips_are_counted_once_per_environment_step(device: Any) -> None:
    here = {
        "float": np.array([[1.0, 100.0], [np.nan, np.inf], [3.0, 0.0]]),
        "stage": np.array([[0, 1], [2, 3], [4, 5]]),
    }
    there = {
        "float": np.array([[1.0, 101.0], [np.nan, np.inf], [9.0, 0.0]]),
        "stage": np.array([[0, 1], [2, 3], [0, 0]]),
    }
    found = device.compare(here, there)
    assert found["difference"] == pytest.approx(1 / 101) and found["env_steps"] == 3
    assert found["flips"] == 1 and found["flipped"] == ["['stage']"] and found["most_different"] == "['float']"
    assert device.find_difference(np.array([1.0]), np.array([np.nan])) == math.inf


HLO = """HloModule step
%fused (p: f32[2]) -> f32[2] {
  ROOT %e = f32[2]{0} exponential(%p)
}
%condition (p: (s32[])) -> pred[] {
  %p = (s32[]) parameter(0)
  ROOT %less = pred[] fusion(%p), kind=kLoop, calls=%fused
}
%body (p: (s32[])) -> (s32[]) {
  %p = (s32[]) parameter(0)
  %a = s32[] fusion(%p), kind=kLoop, calls=%fused
  %c = s32[] call(%a), to_apply=%called
  ROOT %t = (s32[]) tuple(%c)
}
%called (p: s32[]) -> s32[] {
  %p = s32[] parameter(0)
  ROOT %s = s32[] sort(%p), to_apply=%fused
}

ENTRY %main (p: (s32[])) -> (s32[]) {
  %p = (s32[]) parameter(0)
  ROOT %w = (s32[]) while(%p), condition=%condition, body=%body, metadata={op_name="while"}
}
"""


def test_kernels_are_counted_in_what_the_entry_calls_and_not_in_fusions(device: Any) -> None:
    """One of the condition, one of the body and one that the body calls."""
    assert device.count_kernels(HLO) == (3, 1)


def test_the_eight_minutes_are_those_of_the_parts(device: Any) -> None:
    assert sum(part.seconds for part in device.list_parts(device.FULL, Path())) <= 8 * 60
