"""Measure a machine with a GPU: equality with its CPU, speed, kernels, memory and PPO, in eight minutes.

    python experiments/device.py                        # out/device: device.json, and the HLO of one step of each id
    python experiments/device.py --small                # a minute or two on two cores, for CI
    python experiments/device.py --only "speed farm"    # the parts whose names contain this

The machine needs a copy of the clone, Python 3.12, JAX 0.11 and optax, but no network: the other dependencies are
copied as wheels in a folder that git ignores. In the clone, on a machine with a network and the same kind of processor:

    echo /.wheels/ >> "$(git rev-parse --git-common-dir)/info/exclude"
    python3 -m pip download --only-binary=:all: --python-version 3.12 --dest .wheels \
        gymnasium pydantic platformdirs pyyaml pillow rich typer
    rm .wheels/numpy-*                                  # keep the one that JAX came with

On the machine with the GPU, in the copy of the clone with that folder:

    python3 -m pip install -q --no-index --no-deps --no-compile --target out/site .wheels/*.whl
    PYTHONPATH=.:out/site python3 experiments/device.py --out FOLDER

The parts run one after the other, each in its own process, since only a process can be stopped while XLA compiles. A
part has several rows, because JAX takes about ten seconds to start on a GPU, and compiles their programs in threads.
Each row is added to device.json as soon as it is measured. Rows that are still missing at the part's deadline are
skipped.

    equality  Takes random actions on the CPU, and repeats each step on the GPU from the same states; without a GPU, on
              the CPU in a batch twice as large. `flips` counts environment steps in which an integer or a flag differs;
              `difference` is the largest relative difference of a float in all other steps.
    step      Compiles one step of a batch, without policy and restarts. `kernels` counts the launches in its optimised
              HLO, fusions and others, in the entry and in the computations that it calls. A branch or the body of a
              loop counts once. Operations and bytes are from XLA's cost analysis.
    speed     Runs `harvestgym.rollout` with random actions and restarts. `peak_mib` is the peak memory of the process
              so far, on the device, or on the host if JAX does not report it. The smallest batch comes first.
    ppo       Runs examples/ppo.py. All updates take the same time. `expert_s` and `expert_env_steps` are the time and
              the steps up to the first ten updates whose seasons, with exploration, earn as much as the expert on the
              training split: at least the lower end of its mean's 95 % interval. They are null if no updates do. The
              test split is used at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode

import harvestgym
from harvestgym.core.autoreset import Advance, RunState, advance, start_episode
from harvestgym.core.episode import episode_keys, make_policy_keys
from harvestgym.core.loading import import_file
from harvestgym.core.policy import Policy, random_policy, sample, together
from harvestgym.core.random import is_key
from harvestgym.core.rollout import evaluate
from harvestgym.core.xla.setup import CACHE_VARIABLE
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import Summary, summarise

ROOT = Path(__file__).resolve().parent.parent
EQUALITY_SECONDS, PPO_SECONDS = 110.0, 60.0
"""Deadlines of the parts "equality" and "ppo", in seconds."""
COMPILE_SHARE = 0.85
"""Fraction of a speed part's deadline after which it no longer waits for batches that are still being compiled."""
ENVS, FLOOR = 64, 1e-3
"""Number of environments compared, and the floor of relative differences as a fraction of an array's largest number."""
ROLLOUT_STEPS, RUNS, RUN_SECONDS = 64, 5, 4.0
"""Steps of a rollout, maximum number of timed runs, and seconds after which no further run starts."""
WINDOW = 10
"""Number of PPO updates whose mean return is compared with the expert's."""


class Scale(NamedTuple):
    """The ids to compare, the ids to time with their deadlines, the batch sizes, and the length of training.

    `patience` is a factor for the deadlines.
    """

    equal_ids: tuple[str, ...]
    equal_steps: int
    timed_ids: dict[str, float]
    batches: tuple[int, ...]
    ppo_id: str
    updates: int
    ppo_envs: int
    seasons: int
    patience: float


BEAN = "farm/bean-1x1-v0"
TIMED = {
    BEAN: 55.0,
    "fishing/may-v0": 25.0,
    "forager/two-biome-v0": 40.0,
    "farm/full-1x1-v0": 75.0,
    "farm/full-3x4-v0": 115.0,
}
"""The ids that are timed, each with its part's deadline in seconds; all parts together take eight minutes."""
FULL = Scale((*TIMED, "fishing/three-species-v0"), 100, TIMED, (2**10, 2**15, 2**19), BEAN, 200, 512, 1000, 1.0)
FEW = ("fishing/may-v0", "fishing/three-species-v0")
SMALL = Scale(FEW, 20, dict.fromkeys(FEW, 60.0), (2**4, 2**6), "fishing/logistic-levels-v0", WINDOW, 16, 20, 5.0)
QUICK = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
"""Environment variables for `--small`: programs compile in half the time, but run more slowly."""

Row = dict[str, Any]


class Part(NamedTuple):
    """The rows that one process measures, with its name and its deadline in seconds."""

    name: str
    seconds: float
    rows: list[str]
    measure: Callable[[], Iterator[Row]]


def list_parts(scale: Scale, out: Path) -> list[Part]:
    """List the parts to measure, the most important first."""
    equal, ppo = [f"equality {id}" for id in scale.equal_ids], [f"ppo {scale.ppo_id}"]
    parts = [
        Part("equality", EQUALITY_SECONDS * scale.patience, equal, partial(measure_equality, scale)),
        Part("ppo", PPO_SECONDS * scale.patience, ppo, partial(measure_ppo, scale)),
    ]
    for id, seconds in scale.timed_ids.items():
        deadline = seconds * scale.patience
        rows = [f"step {id}", *(f"speed {id} {batch}" for batch in scale.batches)]
        parts.append(Part(f"speed {id}", deadline, rows, partial(measure_speed, scale, id, deadline, out)))
    return parts


def make_row(name: str, function: Callable[..., Row], *args: Any) -> Row:
    """Return a row with the function's measurements, or with its error."""
    row = {"row": name, "device": jax.devices()[0].device_kind}
    try:
        return row | function(*args)
    except Exception as error:
        return row | {"error": f"{type(error).__name__}: {error}"[:1000]}


def measure_equality(scale: Scale) -> Iterator[Row]:
    """Compare each id in a thread, since most of the time goes into compilation."""
    pool = ThreadPoolExecutor(os.cpu_count())
    compare_id = partial(compare_devices, steps=scale.equal_steps)
    rows = [pool.submit(make_row, f"equality {id}", compare_id, id) for id in scale.equal_ids]
    yield from (row.result() for row in as_completed(rows))


def compare_devices(id: str, steps: int) -> Row:
    """Step some environments on the CPU, and repeat each step on the device from the same states."""
    env, cpu, device = harvestgym.make(id), jax.devices("cpu")[0], jax.devices()[0]
    here, there = jax.device_put(env.params, cpu), jax.device_put(env.params, device)

    def step(run: RunState, params: Any) -> Advance:
        action = jax.vmap(partial(sample, env.action_space))(make_policy_keys(run.key))
        return advance(env, run, action, params, AutoresetMode.SAME_STEP)

    def step_in_larger_batch(run: RunState, params: Any) -> Advance:
        both = step(jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), run), params)
        return jax.tree.map(lambda leaf: leaf[:ENVS], both)

    first, second = jax.jit(step), jax.jit(step if device != cpu else step_in_larger_batch)
    keys = jax.device_put(episode_keys(jax.random.key(0), ENVS), cpu)
    run, _ = jax.jit(partial(start_episode, env))(keys, here)
    results, again = [], []
    for _ in range(steps):
        again.append(to_numpy(second(jax.device_put(run, device), there)))
        result = first(run, here)
        results.append(to_numpy(result))
        run = result.run
    join = partial(jax.tree.map, lambda *leaves: np.concatenate(leaves))
    against = "the device" if device != cpu else "the CPU in a batch twice as large"
    return {"against": against} | compare(join(*results), join(*again))


def to_numpy(tree: Any) -> Any:
    """Return a tree with NumPy arrays; random keys become numbers."""
    return jax.device_get(jax.tree.map(lambda leaf: jax.random.key_data(leaf) if is_key(leaf) else leaf, tree))


def compare(here: Any, there: Any) -> Row:
    """Compare two trees row by row; the floats of a row with a flip are ignored, since they change with it."""
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(here)]
    pairs = list(zip(names, jax.tree.leaves(here), jax.tree.leaves(there), strict=True))
    whole = {name: (a != b).any(tuple(range(1, a.ndim))) for name, a, b in pairs if a.dtype.kind != "f"}
    flipped = np.any([*whole.values()], axis=0)
    floats = {name: find_difference(a[~flipped], b[~flipped]) for name, a, b in pairs if name not in whole}
    worst = max(floats, key=lambda name: floats[name])
    found = {"env_steps": len(flipped), "difference": floats[worst], "flips": int(flipped.sum())}
    return found | {
        "most_different": worst if floats[worst] else None,
        "flipped": [name for name, rows in whole.items() if rows.any()],
    }


def find_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference, relative to the larger of the two numbers; infinity where only one is finite."""
    floor = FLOOR * max(FLOOR, np.abs(a[np.isfinite(a)]).max(initial=0.0))
    differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
    a, b = a[differs], b[differs]
    with np.errstate(invalid="ignore"):
        relative = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), floor)
    return float(np.nan_to_num(relative, nan=np.inf).max(initial=0.0))


def measure_speed(scale: Scale, id: str, deadline: float, out: Path) -> Iterator[Row]:
    """Compile all programs at the same time, then time one batch after the other."""
    env, pool = harvestgym.make(id), ThreadPoolExecutor(len(scale.batches))
    programs = [pool.submit(compile_rollout, env, batch) for batch in scale.batches]
    yield make_row(f"step {id}", describe_step, env, scale.batches[1], out / f"{id.replace('/', '-')}.hlo.txt")
    wait(programs, COMPILE_SHARE * deadline)
    for batch, program in zip(scale.batches, programs, strict=True):
        yield make_row(f"speed {id} {batch}", time_rollout, env, batch, program)


def describe_step(env: Any, batch: int, hlo: Path) -> Row:
    """Compile one step of a batch, write its HLO, and count kernels, loops, operations and bytes."""
    start, keys = time.perf_counter(), jax.random.split(jax.random.key(0), batch)
    state, _ = jax.eval_shape(jax.vmap(env.reset, (0, None)), keys, env.params)
    action = jax.eval_shape(jax.vmap(partial(sample, env.action_space)), keys)
    program = jax.jit(jax.vmap(env.step, (0, 0, 0, None))).lower(keys, state, action, env.params).compile()
    compiling, text = time.perf_counter() - start, program.as_text() or ""
    hlo.write_text(text)
    kernels, loops = count_kernels(text)
    cost, memory = program.cost_analysis() or {}, program.memory_analysis()
    size = {
        "flop": cost.get("flops"),
        "bytes_moved": cost.get("bytes accessed"),
        "scratch": getattr(memory, "temp_size_in_bytes", None),
    }
    per_env = {f"{name}_per_env": number / batch for name, number in size.items() if number is not None}
    return {"batch": batch, "compile_s": compiling, "kernels": kernels, "loops": loops, "hlo": hlo.name} | per_env


FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id"}
"""Instructions that launch nothing."""
COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*? ([a-z][\w\-]*)\(")
CALLED = re.compile(r"(?:to_apply|condition|body|true_computation|false_computation|branch_computations)=({.*?}|[^,]+)")


def count_kernels(text: str) -> tuple[int, int]:
    """Count the kernels and the loops in the HLO of a program."""
    computations, name, entry = {"": list[str]()}, "", ""
    for line in text.splitlines():
        if found := COMPUTATION.match(line):
            name = found[2]
            computations[name], entry = [], name if found[1] else entry
        computations[name].append(line)

    def count(name: str) -> np.ndarray:
        total = np.zeros(2, int)
        for line in computations[name]:
            found = INSTRUCTION.match(line)
            if found and found[1] in ("call", "while", "conditional"):
                called = re.findall(r"[\w.\-]+", " ".join(CALLED.findall(line)))
                total += sum(map(count, called)) + np.array((0, found[1] == "while"))
            elif found and found[1] not in FREE and not found[1].endswith("-done"):
                total += (1, 0)
        return total

    kernels, loops = count(entry).tolist()
    return kernels, loops


def compile_rollout(env: Any, batch: int) -> tuple[Any, float]:
    """Return a compiled rollout that sums rewards, and the seconds of compilation."""
    start = time.perf_counter()
    rewards = jax.jit(lambda key: harvestgym.rollout(env, random_policy(env), key, batch, ROLLOUT_STEPS).reward.sum())
    return rewards.lower(jax.random.key(0)).compile(), time.perf_counter() - start


def time_rollout(env: Any, batch: int, program: Future[tuple[Any, float]]) -> Row:
    """Time some runs after an untimed first one; the median counts."""
    if not program.done():
        raise TimeoutError("not compiled in time")
    (rewards, compiling), seconds = program.result(), list[float]()
    while len(seconds) < 2 or (len(seconds) <= RUNS and sum(seconds) < RUN_SECONDS):
        start = time.perf_counter()
        rewards(jax.random.key(len(seconds))).block_until_ready()
        seconds.append(time.perf_counter() - start)
    step = median(seconds[1:]) / ROLLOUT_STEPS
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    row = {"batch": batch, "runs": len(seconds) - 1, "compile_s": compiling, "step_s": step}
    return row | {"steps_per_s": batch / step, "peak_mib": find_peak(), "bytes_per_env": size}


def find_peak() -> float:
    """Return the peak memory of this process in MiB: on the device, or on the host if JAX does not report it."""
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 2**10
    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", host) / 2**20


def measure_ppo(scale: Scale) -> Iterator[Row]:
    """Return a row with the result of one training run with PPO."""
    yield make_row(f"ppo {scale.ppo_id}", train_to_expert, scale)


def train_to_expert(scale: Scale) -> Row:
    """Train with PPO and find the first updates that earn as much as the expert."""
    ppo = import_file(ROOT / "examples" / "ppo.py")
    settings = ppo.Settings(num_envs=scale.ppo_envs, updates=scale.updates)
    env, key = splits.make(scale.ppo_id, "train"), splits.split(scale.ppo_id, "train").key(0)
    start = time.perf_counter()
    program = ppo.train.lower(env, settings, env.params, key).compile()
    compiling, start = time.perf_counter() - start, time.perf_counter()
    agent, curve = jax.block_until_ready(program(env.params, key))
    seconds = time.perf_counter() - start
    (expert,) = summarise_returns(scale, "train", 1)
    means = np.convolve(curve, np.full(WINDOW, 1 / WINDOW), "valid")
    updates = next((at + WINDOW for at, mean in enumerate(means) if mean >= expert.low), None)
    steps, share = settings.updates * settings.num_envs * settings.num_steps, updates and updates / settings.updates
    row = {"compile_s": compiling, "train_s": seconds, "env_steps": steps, "steps_per_s": steps / seconds}
    row |= {"expert_s": share and share * seconds, "expert_env_steps": share and round(share * steps)}
    test, tested = summarise_returns(scale, "test", ppo.HELD_OUT, ppo.policy_of(env, settings, agent))
    returns = {"expert": expert.mean, "agent": float(means[-1]), "test_expert": test.mean, "test_agent": tested.mean}
    return row | returns | {"peak_mib": find_peak(), "curve": np.asarray(curve).tolist()}


def summarise_returns(scale: Scale, split: str, seed: int, *agents: Policy) -> list[Summary]:
    """Compute the returns of the expert and of agents over the same seasons, with one program."""
    env, key = splits.make(scale.ppo_id, split), splits.split(scale.ppo_id, split).key(seed)
    policies = together([policy_named(scale.ppo_id, env, "expert"), *agents])
    return [summarise(evaluate(env, each, key, scale.seasons, horizon(env)).returns) for each in policies]


def read_report(file: Path) -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(file.read_text())


def write_report(file: Path, report: dict[str, Any]) -> None:
    """Replace the whole file. Only one process writes at a time: the part that is running."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(report, indent=1) + "\n")
    new.replace(file)


def add_row(file: Path, row: Row) -> None:
    """Add a row to the results."""
    report = read_report(file)
    write_report(file, report | {"rows": [*report["rows"], row]})


def run_part(part: Part, seconds: float, file: Path, small: bool) -> None:
    """Measure a part in its own process; rows that are missing when it ends are recorded as skipped."""
    reason = call_child(part, seconds, file, small) if seconds > 0 else "no time left"
    written = {row["row"] for row in read_report(file)["rows"]}
    for name in part.rows:
        if name not in written:
            add_row(file, {"row": name, "skipped": reason})


def call_child(part: Part, seconds: float, file: Path, small: bool) -> str:
    """Run this program for one part; return the reason why rows may be missing."""
    command = [sys.executable, __file__, "--child", part.name, "--out", str(file.parent), *["--small"] * small]
    variables = os.environ | {CACHE_VARIABLE: "off"} | (QUICK if small else {})
    with file.with_suffix(".log").open("a") as log:  # a pipe could outlive the process
        try:
            done = subprocess.run(command, timeout=seconds, stdout=log, stderr=log, env=variables)
        except subprocess.TimeoutExpired:
            return f"past the deadline of {seconds:.0f} s"
    return f"the process ended with {done.returncode}, see {log.name}"


def find_commit() -> str | None:
    """Return the commit of the clone; None without git."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


HIDDEN = ("row", "device", "batch", "runs", "hlo", "against", "most_different", "flipped", "curve")
"""Entries of a row that the table leaves out."""


def format_row(row: Row) -> str:
    """Return a line of the table: the row's name and numbers, or the reason why there are none."""
    shown = {key: value for key, value in row.items() if key not in HIDDEN}
    numbers = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items())
    return f"{row['row']:<34}  {'  '.join(numbers)}"


def main() -> None:
    """Measure the parts one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a short version for CI")
    parser.add_argument("--minutes", type=float, default=8.0, help="time limit of the whole program, in minutes")
    parser.add_argument("--only", default="", help="measure only the parts whose names contain this")
    parser.add_argument("--out", type=Path, default=Path("out/device"), help="the folder of the results")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    file, end = args.out / "device.json", time.monotonic() + 60 * args.minutes
    parts = list_parts(SMALL if args.small else FULL, args.out)
    if args.child:
        for row in next(part for part in parts if part.name == args.child).measure():
            add_row(file, row)
        os._exit(0)  # without waiting for threads that are still compiling
    args.out.mkdir(parents=True, exist_ok=True)
    about = {"jax": jax.__version__, "python": sys.version.split()[0], "commit": find_commit(), "small": args.small}
    write_report(file, about | {"rows": []})
    for part in (part for part in parts if args.only in part.name):
        run_part(part, min(part.seconds, end - time.monotonic()), file, args.small)
    print(*map(format_row, read_report(file)["rows"]), sep="\n")


if __name__ == "__main__":
    main()
