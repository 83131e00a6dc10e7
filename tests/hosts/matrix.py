"""The matrix of hosts and ids: each host is a process of its own, compared with a plain one.

    python -m tests.hosts.matrix [ID]...    # prints the matrix; without ids, all that it has

A cell names the largest difference of one step of 64 stored states, relative where a number is above 1; the states, if
any, in which a discrete number differs; and by how many standard errors the mean return of 64 episodes differs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .host import ROWS

IDS = (
    "fishing/logistic-v0", "fishing/walleye-v0", "fishing/patches-v0", "fishing/three-species-v0",
    "farm/bean-1x1-v0", "farm/full-1x1-v0", "farm/full-3x4-v0", "farm/full-10x10-v0", "farm/contexts-1x1-v0",
    "farm/paid-looks-1x1-v0", "forager/two-biome-v0", "forager/flowers-v0",
)  # fmt: skip
"""A game of a forager runs on the engine of numba, its steps and episodes on that of JAX."""

HOSTS: dict[str, dict[str, str]] = {
    "reference": {},
    "JAX used before": {},
    "large batch": {},
    "64 bits": {"JAX_ENABLE_X64": "1"},
    "NaN checks": {"JAX_DEBUG_NANS": "1"},
    "no jit": {"JAX_DISABLE_JIT": "1"},
    "flags of the user": {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"},
    "spawned": {},
    "two threads": {},
    "other training": {},
    "home read-only": {"HOME": "/proc", "XDG_CACHE_HOME": ""},
    "no home": {"HOME": "/nonexistent/home", "XDG_CACHE_HOME": ""},
    "eight devices": {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"},
    "notebook": {},
    "XLA off": {"HARVESTGYM_XLA": "off"},
}
"""The environment variables of each host; the rest of what it does is in `host.WAYS`."""

ONLY = {"no jit": ("fishing/logistic-v0",)}
"""Hosts in which only some ids are played."""

CELL = "from tests.hosts.host import main\nmain(*{arguments!r})\n"


class Difference(NamedTuple):
    """The differences of an id in a host from the reference."""

    step: float
    flipped: int
    errors: float
    game: float

    @property
    def is_small(self) -> bool:
        """True if the host gives the same numbers."""
        return self.step <= 1e-5 and self.flipped == 0 and self.errors <= 3 and self.game <= 1e-4


def run(host: str, folder: Path, ids: Sequence[str]) -> str:
    """Play the ids in a host; return what it wrote to stderr."""
    away = "XLA_FLAGS", "JAX_ENABLE_X64", "HARVESTGYM_TEST_FLAGS", "HARVESTGYM_XLA", "JAX_COMPILATION_CACHE_DIR"
    if "HOME" in HOSTS[host]:
        away += ("HARVESTGYM_CACHE", "NUMBA_CACHE_DIR")
    variables = {name: value for name, value in os.environ.items() if name not in away} | HOSTS[host]
    arguments = [host, str(folder), *ids]
    command = [sys.executable, "-m", "tests.hosts.host", *arguments]
    if host == "notebook":
        run_cell = (
            "import sys, nbclient, nbformat.v4 as v\n"
            f"cell = v.new_code_cell({CELL.format(arguments=arguments)!r})\n"
            "nbclient.NotebookClient(v.new_notebook(cells=[cell]), timeout=900, kernel_name='python3').execute()"
        )
        command = [sys.executable, "-c", run_cell]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, f"{host}: {done.stderr[-3000:]}"
    return done.stderr


def compare(host: str, folder: Path, ids: Iterable[str]) -> dict[str, Difference]:
    """Return how each id that was played in a host differs from the reference."""
    with np.load(folder / "reference.npz") as expected, np.load(folder / f"{host}.npz") as found:
        arrays = dict(expected), dict(found)
    return {id: _compare(id, *arrays) for id in ids}


def _compare(id: str, expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> Difference:
    step, flipped = 0.0, np.zeros(ROWS, bool)
    for name in (name for name in expected if name.startswith(f"{id} step ")):
        a, b = expected[name], found[name]
        a = np.concatenate([a] * (len(b) // ROWS))
        assert a.shape == b.shape and a.dtype == b.dtype, (name, a.shape, b.shape, a.dtype, b.dtype)
        if a.dtype.kind == "f":
            # NaN and infinity must stand in the same places.
            away = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(b - a) / np.maximum(1, np.abs(a)))
            step = max(step, float(np.nan_to_num(away, nan=np.inf).max(initial=0)))
        else:
            flipped |= (a != b).reshape(len(a) // ROWS, ROWS, a[0].size).any((0, 2))
    returns = expected[f"{id} returns"], found[f"{id} returns"]
    spread = float(np.sqrt(sum(part.var(ddof=1) / ROWS for part in returns)))
    away = abs(float(returns[0].mean() - returns[1].mean()))
    games = expected[f"{id} game"], found[f"{id} game"]
    game = float(np.max(np.abs(games[0] - games[1]) / np.maximum(1, np.abs(games[0]))))
    return Difference(step, int(flipped.sum()), away / spread if away else 0.0, game)


def main(ids: Sequence[str]) -> None:
    """Run all hosts and print the matrix."""
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), dict[str, dict[str, Difference]]()
        for host in HOSTS:
            played = [id for id in ids if id in ONLY.get(host, ids)]
            print(host, file=sys.stderr, flush=True)
            run(host, folder, played)
            rows[host] = compare(host, folder, played)
    print("| host | " + " | ".join(ids) + " |\n" + "|---" * (len(ids) + 1) + "|")
    for host, differences in rows.items():
        print(f"| {host} | " + " | ".join(_cell(differences.get(id)) for id in ids) + " |")


def _cell(found: Difference | None) -> str:
    if found is None:
        return ""
    flipped = f", {found.flipped} flipped" if found.flipped else ""
    return f"{found.step:.0e}{flipped}, {found.errors:.2f} SE".replace("0e+00", "0")


if __name__ == "__main__":
    main(sys.argv[1:] or IDS)
