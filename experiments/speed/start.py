"""Seconds from a new process to the first step, without and with compiled programs in the cache.

    python -m experiments.speed.start [ID or FILE.yaml ...] > start.json

Each figure is the median of three processes. Names with "beyond" mean that `import jax` is subtracted; its own time
shows how fast the machine was. Bytecode is already compiled, as after `pip install`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

CODE = """
import time; t0 = time.perf_counter()
import gymnasium; t1 = time.perf_counter()
import harvestgym; t2 = time.perf_counter()
import jax; jax.numpy.zeros(1).block_until_ready(); t3 = time.perf_counter(); c3 = time.process_time()
from harvestgym.gym.env import make_env
env = {env}; env.reset(seed=0); env.step(env.action_space.sample()); t4 = time.perf_counter()
print([t1 - t0, t2 - t1, t3 - t2, t4 - t3, time.process_time() - c3])
"""

BYTECODE = os.path.join(tempfile.gettempdir(), "harvestgym-bytecode")


def times(env: str, cache: str) -> list[float]:
    """Return seconds to import gymnasium, then harvestgym, then jax, and to the first step in wall and CPU time."""
    code = CODE.replace("{env}", env)
    environment = os.environ | {
        "HARVESTGYM_CACHE": cache,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": BYTECODE,
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def figures(id: str) -> dict[str, float]:
    """Return the figures of an id or file: medians of three processes, in seconds."""
    cold, warm, many = [], [], []
    one = f"make_env({id!r})" if id.endswith(".yaml") else f"gymnasium.make({id!r})"
    vector = f"harvestgym.make_vec({id!r}, num_envs=64)"
    times(one, "off")  # compiles its bytecode
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(times(one, cache))
            warm.append(times(one, cache))
        many.append(times(vector, "off"))
    once, again, batch = (
        [statistics.median(column) for column in zip(*runs, strict=True)] for runs in (cold, warm, many)
    )
    report = {
        "import harvestgym beyond gymnasium": once[1],
        "import jax": once[2],
        "first step beyond imports, cold": once[3],
        "first step beyond imports, cold, CPU seconds": once[4],
        "first step beyond imports, warm": again[3],
        "first step of make_vec of 64 beyond imports, cold": batch[3],
        "first step of make_vec of 64 beyond imports, cold, CPU seconds": batch[4],
    }
    return {name: round(seconds, 3) for name, seconds in report.items()}


def main() -> None:
    """Print the figures as JSON."""
    ids = sys.argv[1:] or ["farm/bean-1x1-v0"]
    json.dump({id: figures(id) for id in ids}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
