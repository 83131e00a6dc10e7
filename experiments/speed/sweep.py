"""Cost of a sweep: overhead per case, time to resume, Ray workers, and rollouts over virtual devices.

    python -m experiments.speed.sweep > sweep.json

Overhead is the CPU time of a sweep minus the CPU time of its compiled calls. Ray is left out if it is not installed.
The load of the machine is printed with the figures, since a busy machine is slower.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.autoreset import Batched
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.episode_runner import EPISODE_ROWS, prepare_setting
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.sweep.batches import EngineOptions
from harvestgym.sweep.cases import EpisodeCase
from harvestgym.sweep.engine import sweep
from harvestgym.sweep.result_folder import find_result_path

ID, CASES, EPISODES, FINISHED = "farm/bean-1x1-v0", 64, 64, 10_000
DEVICES = (1, 2, 4, 8)


def measure(function: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def make_cases(first: int = 0, number: int = CASES) -> list[EpisodeCase]:
    """Make cases that differ in soil depth and seed."""
    depths = np.linspace(0.4, 1.2, 8).round(2).tolist()
    return [EpisodeCase(id=ID, overrides={"entities": {"Soil-0/depth#m": depths[i % 8]}}, episodes=EPISODES, seed=i)
            for i in range(first, first + number)]  # fmt: skip


def run_episodes_only() -> None:
    """Run the episodes of all cases in the compiled calls of the sweep, and nothing else."""
    setting = prepare_setting(make_cases()[0])
    params, policy = jax.tree.map(lambda leaf: np.repeat(leaf[None], EPISODE_ROWS, axis=0), setting.arrays)
    for i in range(CASES * EPISODES // EPISODE_ROWS):
        keys = evaluation_keys(i, np.arange(EPISODE_ROWS))
        found = evaluate(setting.env, Batched(policy), keys, EPISODE_ROWS, setting.steps, Batched(params))
        jax.block_until_ready(found.returns)


def measure_local(folder: Path) -> dict[str, float]:
    """Measure a sweep in this process, and its overhead per case."""
    sweep(make_cases(number=8), folder / "warm")
    run_episodes_only()
    wall, cpu = measure(lambda: sweep(make_cases(), folder / "local"))
    _, least = measure(run_episodes_only)
    return {"cases/s": CASES / wall, "overhead, CPU ms per case": 1000 * (cpu - least) / CASES}


def measure_resume(folder: Path) -> dict[str, float]:
    """Measure how long a finished sweep takes to detect that nothing is left to do."""
    cases = [EpisodeCase(id=ID, episodes=1, seed=seed) for seed in range(FINISHED)]
    out, one = folder / "finished", make_cases()[0]
    out.mkdir()
    for case in cases:
        shutil.copy(find_result_path(folder / "local", one), find_result_path(out, case))
    fresh = [EpisodeCase.from_text(case.text) for case in cases]
    wall, cpu = measure(lambda: sweep(fresh, out))
    return {"cases": FINISHED, "seconds": wall, "CPU s": cpu}


def measure_ray(folder: Path, workers: int) -> dict[str, float]:
    """Measure a sweep on Ray workers whose programs are already compiled; the start of Ray is measured separately."""
    ray, start = import_module("ray"), time.perf_counter()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    started = time.perf_counter() - start
    for part in range(workers):
        sweep(make_cases(10_000 + 100 * part, 32 * workers), folder / f"warm{workers}-{part}", EngineOptions("ray"))
    wall, _ = measure(lambda: sweep(make_cases(), folder / f"ray{workers}", EngineOptions("ray")))
    ray.shutdown()
    return {"cases/s": CASES / wall, "start of Ray, s": started}


DEVICE_CODE = f"""
import sys, time, jax, harvestgym
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
env = harvestgym.make("{ID}")
def run(key):
    return jax.block_until_ready(rollout(env, random_policy(env), key, 2048, 64, devices=jax.devices()).reward)
run(jax.random.key(0))
start = time.perf_counter()
for i in range(3):
    run(jax.random.key(i))
print(3 * 2048 * 64 / (time.perf_counter() - start))
"""


def measure_devices(number: int) -> float:
    """Return the steps per second of a rollout over virtual CPU devices."""
    flags = f"--xla_force_host_platform_device_count={number}"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", DEVICE_CODE], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the figures as JSON."""
    figures: dict[str, Any] = {"jax": jax.__version__, "id": ID, "cases": CASES, "episodes of a case": EPISODES}
    figures["load of the machine"] = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures["local"] = measure_local(folder)
        figures["resume"] = measure_resume(folder)
        if find_spec("ray") is not None:
            figures |= {f"ray, {workers} workers": measure_ray(folder, workers) for workers in (1, 2)}
    figures["steps/s over virtual devices"] = {str(number): measure_devices(number) for number in DEVICES}
    json.dump(figures, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
