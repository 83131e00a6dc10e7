"""Step speed and start-up time with `gymnasium.make`, by JAX version and process setting.

    python experiments/step_speed.py [PYTHON]... --out experiments/results/step_speed.json

Each PYTHON is the interpreter of an environment with the package; the default is the current interpreter. Every cell
runs in its own process with an empty program cache. The cells take turns for `--rounds` rounds, so that load from other
programs affects all of them equally. A table shows the best round: steps per second, and seconds from the import to the
first step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

IDS = ("farm/bean-1x1-v0", "farm/full-1x1-v0", "farm/full-3x4-v0")

SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "programs in a thread of XLA": {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "1"},
    "HARVESTGYM_XLA=off": {"HARVESTGYM_XLA": "off"},
    "second process": {},  # with the first one's programs in the cache
}

CHILD = """
import json, sys, time
begun = time.perf_counter()
import gymnasium
env = gymnasium.make("harvestgym:" + sys.argv[1])
env.action_space.seed(0)
actions = [env.action_space.sample() for _ in range(256)]
env.reset(seed=0)
env.step(actions[0])
first = time.perf_counter() - begun

def play(steps):
    spent, done = 0.0, 0
    while done < steps:
        env.reset(seed=done)
        over, start, before = False, time.perf_counter(), done
        while not over and done < steps:
            _, _, terminated, truncated, _ = env.step(actions[done % 256])
            over, done = terminated or truncated, done + 1
        spent += time.perf_counter() - start
    return steps / spent

play(500)
rates = [play(1000) for _ in range(10)]
import jax
print(json.dumps({"JAX": jax.__version__, "steps per second": max(rates), "first step, s": first}))
"""


def run(python: str, id: str, setting: str, folder: str) -> dict[str, float | str]:
    """Measure one cell."""
    variables = os.environ | SETTINGS[setting] | {"HARVESTGYM_CACHE": folder, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([python, "-c", CHILD, id], env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Measure all cells in turns and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ids", nargs="+", default=IDS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    best: dict[tuple[str, str, str], dict[str, float]] = {}
    for _ in range(options.rounds):
        for id in options.ids:
            for python in options.pythons:
                with tempfile.TemporaryDirectory() as kept:
                    for setting in SETTINGS:
                        with tempfile.TemporaryDirectory() as empty:
                            shared = setting in ("default", "second process")
                            found = run(python, id, setting, kept if shared else empty)
                        cell = best.setdefault((id, f"JAX {found.pop('JAX')}", setting), {})
                        for name, value in found.items():
                            choose = max if "per" in name else min
                            cell[name] = choose(float(value), cell.get(name, float(value)))
                        print(id, python, setting, found, file=sys.stderr, flush=True)
    for measure, digits in (("steps per second", 0), ("first step, s", 1)):
        versions = sorted({version for _, version, _ in best})
        print(f"\n| {measure} | " + " | ".join(f"{v}, {s}" for s in SETTINGS for v in versions) + " |")
        print("|---" + "|---:" * len(versions) * len(SETTINGS) + "|")
        for id in options.ids:
            cells = (f"{best[id, v, s][measure]:,.{digits}f}" for s in SETTINGS for v in versions)
            print(f"| `{id}` | " + " | ".join(cells) + " |")
    if options.out:
        rows = [{"id": i, "version": v, "setting": s} | cell for (i, v, s), cell in best.items()]
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
