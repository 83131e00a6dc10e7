"""The local engine: every case once, in any interruption, and a fault stays with its case."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.saving.files import PARTIAL
from harvestgym.sweep.batches import EngineOptions, make_batches
from harvestgym.sweep.engine import collect, sweep
from harvestgym.sweep.result_folder import find_result_path, find_status, open_folder, read
from tests.sweep.counting import CountCase, read_log

NUMBERS = range(1, 9)


def cases(folder: Path | str = "", numbers: Sequence[int] = NUMBERS, **fields: Any) -> list[CountCase]:
    return [CountCase(number=number, folder=str(folder), **fields) for number in numbers]


def rows(out: Path) -> list[tuple[int, float]]:
    table = read(out)
    return list(zip(table["number"].to_pylist(), table["value"].to_pylist(), strict=True))


EXPECTED = [(n, pytest.approx(i / 3)) for n in NUMBERS for i in range(n)]


def test_a_sweep_writes_a_file_for_each_case(tmp_path: Path) -> None:
    report = sweep(cases(), tmp_path)
    assert (report.total, report.found, report.ran, report.failures) == (len(NUMBERS), 0, len(NUMBERS), {})
    assert rows(tmp_path) == EXPECTED
    assert {path.stem for path in tmp_path.glob("*.parquet")} == {case.digest for case in cases()}
    assert find_status(tmp_path)[:2] == (len(NUMBERS), len(NUMBERS))


def test_a_second_sweep_runs_nothing(tmp_path: Path) -> None:
    sweep(cases(tmp_path), tmp_path)
    seen: list[int] = []
    report = sweep(cases(tmp_path), tmp_path, progress=seen.append)
    assert report.found == len(NUMBERS) and report.ran == 0 and sum(seen) == len(NUMBERS)
    assert read_log(tmp_path) == list(NUMBERS)


def test_a_larger_sweep_runs_what_is_new(tmp_path: Path) -> None:
    sweep(cases(tmp_path, numbers=[2, 4]), tmp_path)
    assert sweep(cases(tmp_path), tmp_path).found == 2
    assert sorted(read_log(tmp_path)) == list(NUMBERS) and rows(tmp_path) == EXPECTED


def test_equal_cases_run_once(tmp_path: Path) -> None:
    assert sweep([*cases(tmp_path), *cases(tmp_path)], tmp_path).total == len(NUMBERS)


def test_a_case_that_raises_is_listed_and_the_rest_runs(tmp_path: Path) -> None:
    bad = CountCase(number=5, fault="raise")
    report = sweep([*cases(), bad], tmp_path, EngineOptions(max_retries=1))
    assert [*report.failures] == [bad]
    assert "ValueError: cannot count to 5" in report.failures[bad] and "counting.py:" in report.failures[bad]
    assert rows(tmp_path) == EXPECTED
    status = find_status(tmp_path)
    assert list(status.failures) == [bad.text] and status.done == len(NUMBERS)
    assert not list(tmp_path.glob(f"*{PARTIAL}"))


def test_a_failure_is_tried_again_but_not_a_mistake(tmp_path: Path) -> None:
    once, mistake = (CountCase(number=3, fault=fault, folder=str(tmp_path)) for fault in ("once", "mistake"))
    alone = cases(tmp_path, numbers=[1])
    report = sweep([once, mistake, *alone], tmp_path / "out", EngineOptions(max_retries=2))
    assert [*report.failures.values()] == ["number: expected another, got 3"]
    assert sorted(set(read_log(tmp_path))) == [1, 3]


def test_without_retries_the_first_failure_counts(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    once = CountCase(number=3, fault="once", folder=str(tmp_path / "first"))
    options = EngineOptions(max_retries=0)
    assert len(sweep([once], tmp_path / "out", options).failures) == 1
    assert sweep([once], tmp_path / "out", options).failures == {}, "the next sweep tries what failed"


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1 and no end"])
def test_a_damaged_file_is_run_again(tmp_path: Path, damage: bytes) -> None:
    sweep(cases(), tmp_path)
    path = find_result_path(tmp_path, cases()[3])
    path.write_bytes(damage)
    assert find_status(tmp_path).incomplete == [path] and len(rows(tmp_path)) == len(EXPECTED) - cases()[3].number
    assert sweep(cases(), tmp_path).ran == 1
    assert rows(tmp_path) == EXPECTED


def test_a_file_damaged_inside_is_named_by_the_reader(tmp_path: Path) -> None:
    sweep(cases(), tmp_path)
    path = find_result_path(tmp_path, cases()[3])
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 8) + whole[-4:])
    with pytest.raises(ConfigError, match=f"{path.name}: expected a complete Parquet file, got"):
        read(tmp_path)


def test_a_full_disk_is_a_failure_that_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, full = pyarrow.parquet.write_table, find_result_path(tmp_path, cases()[2]).stem

    def fill_disk(table: Any, path: Path) -> None:
        if full in path.name:
            path.write_bytes(b"PAR1 half")
            raise OSError(errno.ENOSPC, "No space left on device")
        write(table, path)

    monkeypatch.setattr(pyarrow.parquet, "write_table", fill_disk)
    report = sweep(cases(), tmp_path)
    assert [*report.failures] == [cases()[2]]
    assert "No space left on device" in report.failures[cases()[2]]
    assert not find_result_path(tmp_path, cases()[2]).exists() and not list(tmp_path.glob(f"*{PARTIAL}"))
    monkeypatch.undo()
    assert sweep(cases(), tmp_path).ran == 1 and rows(tmp_path) == EXPECTED


def test_an_interruption_leaves_a_valid_folder(tmp_path: Path) -> None:
    def interrupt(done: int) -> None:
        if find_status(tmp_path).done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(cases(tmp_path), tmp_path, progress=interrupt)
    assert find_status(tmp_path)[:2] == (len(NUMBERS), 3)
    assert sweep(cases(tmp_path), tmp_path).found == 3 and rows(tmp_path) == EXPECTED


KILLED = """
from tests.sweep.test_engine import cases
from harvestgym.sweep.engine import sweep
import sys
chosen = [case.model_copy(update={"key": str(case.number)}) for case in cases(sys.argv[1], fault="wait")]
sweep(chosen, sys.argv[1] + "/out")
"""


def test_a_killed_driver_goes_on_where_it_was(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "out").glob("*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    out = tmp_path / "out"
    (out / f"left{PARTIAL}").write_bytes(b"PAR1")
    status = find_status(out)
    assert 2 <= status.done < len(NUMBERS)
    chosen = [case.model_copy(update={"key": str(case.number)}) for case in cases(tmp_path, fault="wait")]
    report = sweep(chosen, out)
    assert report.found == status.done and report.failures == {} and rows(out) == EXPECTED
    assert not list(out.glob(f"*{PARTIAL}"))


def test_collected_columns_are_those_of_the_folder(tmp_path: Path) -> None:
    memory, stored = collect(cases()), collect(cases(), tmp_path)
    assert [list(each["value"]) for each in memory] == [list(each["value"]) for each in stored]
    with pytest.raises(ConfigError, match="expected all to succeed, got 1 that failed\n.*cannot count to 2"):
        collect([CountCase(number=2, fault="raise")])


def test_batches_are_filled_up_and_hold_one_key() -> None:
    chosen = [*cases(numbers=range(5), key="a"), *cases(numbers=range(3), key="b")]
    assert [[case.number for case in batch] for batch in make_batches(chosen, rows=2)] == [
        [0, 1],
        [2, 3],
        [4],
        [0, 1],
        [2],
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cases": []}, "cases: expected at least one, got none"),
        ({"options": EngineOptions("rai")}, "engine: expected a known name, got 'rai'; try 'ray'"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        sweep(**({"cases": cases(), "out": tmp_path} | given))


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected the folder of a sweep, with sweep\.json, got none"):
        read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="expected a folder, got a file"):
        open_folder(tmp_path / "file")
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(ConfigError, match=r"sweep\.json: expected JSON"):
        find_status(tmp_path)


def test_unknown_engines_are_refused_in_memory_too() -> None:
    with pytest.raises(ConfigError, match="engine: expected a known name, got 'dask'"):
        collect(cases(), options=EngineOptions(engine="dask"))
