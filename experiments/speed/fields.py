"""Seconds to compile a farm of identical fields for one environment, and microseconds per day.

    python -m experiments.speed.fields [FIELDS ...]

The fields are copies of the first one in `three-fields.yaml`. With `together`, the fields share one compiled function,
as in `gymnasium.make`; with `apart`, each field is compiled separately.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import jax
import yaml

from experiments.speed.interfaces import CompiledStep
from harvestgym.core.xla.setup import CACHE_VARIABLE
from harvestgym.farm.build.compile import build_text
from harvestgym.farm.engine import field_day
from harvestgym.gym.compiled_env import compile_functions

FILE = Path(__file__).with_name("three-fields.yaml")


def write(number: int) -> str:
    """Return the text of a farm file with `number` copies of the first field."""
    data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    first = data["fields"]["Field-0"]
    data["fields"] = {f"Field-{i}": first for i in range(number)}
    seen = data["rules"]["free_observations"]
    data["rules"]["free_observations"] = [name for name in seen if name.partition(".")[0] in data["fields"]]
    return yaml.safe_dump(data, allow_unicode=True)


def measure(text: str) -> dict[str, float]:
    """Return the seconds to trace and compile `start` and then `step`, and the microseconds per day."""
    compile_functions.cache_clear()
    jax.clear_caches()
    env = build_text(text)
    start = time.perf_counter()
    step = CompiledStep(env)
    compiling = time.perf_counter() - start
    call, empty = step.measure()
    return {"compile s": round(compiling, 1), "us a day": round(1e6 * (call - empty), 1)}


def main() -> None:
    """Print the figures as JSON."""
    os.environ[CACHE_VARIABLE] = "off"
    report, ask = {}, field_day.traces_single_kernel
    for number in map(int, sys.argv[1:] or (1, 2, 3, 6)):
        text = write(number)
        for name, answer in (("together", ask), ("apart", lambda: False)):
            field_day.traces_single_kernel = answer
            report[f"{number} fields, {name}"] = measure(text)
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
