"""The tables of docs/speed.md and TABLES.md, from the results of the benchmarks.

python -m experiments.speed.page
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.speed.interfaces import REFERENCE, ROLLOUT, SINGLE, VECTOR
from harvestgym.core.view.tables import Table
from tools.docs_blocks import body, put

RESULTS = Path(__file__).parent.parent / "results"
PAGE, DETAILS = "speed.md", Path(__file__).parent / "TABLES.md"
CASES = {
    "one, `gymnasium.make`": (SINGLE, 1),
    "256, `make_vec`": (VECTOR, 256),
    "1,024, compiled rollout": (ROLLOUT, 1024),
    "4,096, `make_vec`": (VECTOR, 4096),
    "4,096, compiled rollout": (ROLLOUT, 4096),
}
SHOWN = ((SINGLE, 1), (VECTOR, 256), (ROLLOUT, 4096))
"""The cases on the page; the details have all."""


def read(name: str) -> Any:
    """Return a result."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}"


def _table(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return body(Table("", tuple(columns), list(rows)))[2:]


def read_speeds() -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    """Return the rows of each id, by interface and number of environments."""
    ids = {id: given for id, given in read("farm-speed-2-cores.json").items() if id.startswith("farm/")}
    return {id: {(row["interface"], row["num_envs"]): row for row in given["interfaces"]} for id, given in ids.items()}


def make_steps() -> list[str]:
    """Return steps per second by interface, and the time of a step relative to CartPole."""
    rows = []
    for id, cases in read_speeds().items():
        parts = cases[SINGLE, 1]["step_us"]
        speeds = [_number(cases[case]["steps_per_second"]) for case in SHOWN]
        rows.append((f"`{id}`", speeds[0], f"{parts['whole step'] / parts[REFERENCE]:.1f}", *speeds[1:]))
    columns = ("one, `gymnasium.make`", "time, CartPole = 1", "256, `make_vec`", "4,096, compiled rollout")
    return _table(("steps per second", *columns), rows)


def make_starts() -> list[str]:
    """Return the seconds from a new process without cached programs to the first step."""
    rows = []
    for id, cases in read_speeds().items():
        found = (cases[case] for case in SHOWN)
        rows.append((f"`{id}`", *(f"{row['import_seconds'] + row['first_seconds']:.1f}" for row in found)))
    return _table(("seconds", *(name for name, case in CASES.items() if case in SHOWN)), rows)


def make_parts() -> list[str]:
    """Return the microseconds of each part of a step."""
    speeds = {id: cases[SINGLE, 1]["step_us"] for id, cases in read_speeds().items()}
    names = list(next(iter(speeds.values())))
    return _table(("us", *(f"`{id}`" for id in speeds)), [
        (name, *(f"{parts[name]:.1f}" for parts in speeds.values())) for name in names
    ])  # fmt: skip


def make_memory() -> list[str]:
    """Return the peak memory of a process, and the size of the state of one environment."""
    speeds = read_speeds()
    rows = [(name, *(_number(cases[case]["peak_mib"]) for cases in speeds.values())) for name, case in CASES.items()]
    state = (
        "state of one environment, bytes",
        *(f"{cases[SINGLE, 1]['bytes_per_env']:,}" for cases in speeds.values()),
    )
    return _table(("MiB", *(f"`{id}`" for id in speeds)), [*rows, state])


def make_batches() -> list[str]:
    """Return steps per second by the number of environments."""
    rows = read("farm-batches-2-cores.json")["farm/full-1x1-v0"]["interfaces"]
    speeds = {(row["interface"], row["num_envs"]): _number(row["steps_per_second"]) for row in rows}
    sizes = sorted({size for _, size in speeds})
    return _table(("environments", "`make_vec`", "compiled rollout"), [
        (f"{size:,}", *(speeds.get((interface, size), "") for interface in (VECTOR, ROLLOUT))) for size in sizes
    ])  # fmt: skip


def main() -> None:
    """Write the tables."""
    for name, make in (("steps", make_steps), ("starts", make_starts)):
        put(PAGE, name, make())
    for name, make in (("parts", make_parts), ("memory", make_memory), ("batches", make_batches)):
        put(DETAILS, name, make())


if __name__ == "__main__":
    main()
