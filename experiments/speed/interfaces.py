"""The speed of an id on this machine: start-up, steps per second and memory by interface, and the parts of one step.

Every row of the first table is measured in its own process without the cache of compiled programs, so imports,
compilation and memory are measured from a fresh start. The parts of a step are measured in the process for
`gymnasium.make`, in turns with Gymnasium's CartPole, so that the ratio holds on other machines too.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array

from harvestgym import registry
from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.spaces import make_action_reader, noop_action
from harvestgym.core.view.tables import Table
from harvestgym.core.xla.fusion import CompiledFunction
from harvestgym.core.xla.setup import CACHE_VARIABLE
from harvestgym.gym.compiled_env import compile_functions
from harvestgym.gym.env import GymEnv
from harvestgym.gym.packed_tree import PackedTree, layout_of
from harvestgym.gym.vector_env import make_vec

ROOT = Path(__file__).parents[2]
SECONDS, PART_SECONDS = 1.0, 3.0
"""Seconds for which the steps of an interface are counted, and seconds for each part of a step."""
BLOCK = 250
"""Number of calls in a block; the fastest block counts. It contains at least one reset of most environments."""
STRIDE = 10
"""Steps of random play between two states from which the compiled step is measured."""
ROLLOUT_STEPS = 64
SINGLE, VECTOR, ROLLOUT = "gymnasium.make", "make_vec", "rollout"
DEFAULT_CASES = ((SINGLE, 1), (VECTOR, 256), (ROLLOUT, 1024))
REFERENCE = "CartPole-v1"

CHILD = """
import sys, time
start = time.perf_counter()
import harvestgym.gym.env
seconds = time.perf_counter() - start
from experiments.speed.interfaces import print_speed
print_speed(sys.argv[1], sys.argv[2], int(sys.argv[3]), seconds)
"""


class Speed(NamedTuple):
    """The speed of one interface of an id in a fresh process.

    Attributes:
        interface: `gymnasium.make`, `make_vec` or `rollout`.
        num_envs: environments in the batch.
        import_seconds: seconds to import the package with JAX.
        first_seconds: seconds from the first call to the first result, while the environment is made and compiled.
        steps_per_second: steps of all environments together; for a rollout, in the fastest run.
        peak_mib: peak memory of the process in MiB; NaN on Windows.
        bytes_per_env: size of the state of one environment.
        step_us: the parts of one step from `measure_step`; only for `gymnasium.make`, otherwise empty.
    """

    interface: str
    num_envs: int
    import_seconds: float
    first_seconds: float
    steps_per_second: float
    peak_mib: float
    bytes_per_env: int
    step_us: dict[str, float]


def measure_speed(id: str, interface: str, num_envs: int) -> Speed:
    """Measure an interface in a new process without cached programs; raises ConfigError for an unknown id."""
    if registry.spec(id).id not in registry.ids():
        raise ConfigError(f"id: expected a registered id, got the file {id}")
    command = [sys.executable, "-c", CHILD, id, interface, str(num_envs)]
    variables = os.environ | {CACHE_VARIABLE: "off"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{interface} of {id} failed: {done.stderr.strip().splitlines()[-1]}")
    return Speed(**json.loads(done.stdout))


def print_speed(id: str, interface: str, num_envs: int, import_seconds: float) -> None:
    """Measure in this process and print a `Speed` as JSON."""
    start = time.perf_counter()
    call, steps = PREPARE[interface](id, num_envs)
    call.time()
    first = time.perf_counter() - start
    seconds = list(_time_calls(call, SECONDS))
    env = registry.make(id)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    speed = steps / (min(seconds) if interface == ROLLOUT else float(np.mean(seconds)))
    memory, parts = _peak_mib(), measure_step(id) if interface == SINGLE else {}
    print(json.dumps(Speed(interface, num_envs, import_seconds, first, speed, memory, size, parts)._asdict()))


class _Call(NamedTuple):
    """A timed function, and an untimed function that is called after it each time."""

    run: Callable[[], Any]
    after: Callable[[], Any] = lambda: None

    def time(self) -> float:
        """Return the seconds of one call."""
        start = time.perf_counter()
        self.run()
        seconds = time.perf_counter() - start
        self.after()
        return seconds


def _prepare_single(id: str, num_envs: int) -> tuple[_Call, int]:
    env = gymnasium.make(id)
    env.reset(seed=0)
    return _step_of(env), 1


def _prepare_vector(id: str, num_envs: int) -> tuple[_Call, int]:
    envs = make_vec(id, num_envs)
    envs.reset(seed=0)
    space, idle = envs.single_action_space, _idle_action(envs.single_action_space)
    actions = concatenate(space, [idle] * num_envs, create_empty_array(space, num_envs))
    return _Call(lambda: envs.step(actions)), num_envs


def _prepare_rollout(id: str, num_envs: int) -> tuple[_Call, int]:
    env, key = registry.make(id), jax.random.key(0)
    rewards = jax.jit(lambda key: rollout(env, random_policy(env), key, num_envs, ROLLOUT_STEPS).reward.sum())
    return _Call(lambda: rewards(key).block_until_ready()), num_envs * ROLLOUT_STEPS


PREPARE = {SINGLE: _prepare_single, VECTOR: _prepare_vector, ROLLOUT: _prepare_rollout}
"""Functions of an id and a number of environments that return the call to measure and its number of steps."""


def _idle_action(space: gymnasium.Space[Any]) -> Any:
    """Return the action that does nothing or, in a space without one, always the same random action."""
    idle = noop_action(space)
    if idle is None:
        space.seed(0)
        return space.sample()
    return idle


def _step_of(env: Any) -> _Call:
    """Return a step with the idle action, followed by a reset if the episode is over."""
    idle, over = _idle_action(env.action_space), False

    def step() -> None:
        nonlocal over
        *_, terminated, truncated, _ = env.step(idle)
        over = terminated or truncated

    return _Call(step, lambda: env.reset() if over else None)


def _random_step_of(env: Any, sample: Callable[[], Any]) -> Callable[[], None]:
    """Return a step with an action from `sample`, and a reset if it ends the episode."""

    def step() -> None:
        *_, terminated, truncated, _ = env.step(sample())
        if terminated or truncated:
            env.reset()

    return step


def _time_calls(call: _Call, seconds: float) -> Iterator[float]:
    """Yield the duration of each call, for about `seconds` and at least three calls."""
    call.time()
    end, calls = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or calls < 3:
        yield call.time()
        calls += 1


def _peak_mib() -> float:
    if sys.platform == "win32":
        return float("nan")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


class CompiledStep:
    """The compiled step of one environment, as `GymEnv` calls it, from states of random play in turn."""

    def __init__(self, env: Env[Any, Any]) -> None:
        layout = layout_of(env.params)
        params, functions = layout.put(env.params), compile_functions(env, layout, ())
        self._step, given, yes, no = functions.step, [], np.bool_(True), np.bool_(False)
        kept = functions.start(functions.zeros, params, np.uint32(0), yes, yes)
        for action in map(make_action_reader(env.action_space), _sample(env.action_space)):
            given.append((kept, params, action))
            kept = self._step(*given[-1])
            shown = functions.read(kept)
            if shown.terminated or shown.truncated:
                kept = functions.start(kept, params, np.uint32(0), no, yes)
        self._given = cycle(given[::STRIDE])
        self._empty = CompiledFunction(lambda kept, params, action: kept, _add_number, as_single_kernel=True)

    def text(self) -> str:
        """Return the optimised program as XLA HLO; works only without the cache of compiled programs."""
        return self._step.text(*next(self._given))

    def call(self) -> None:
        """Call the step from Python."""
        jax.block_until_ready(self._step(*next(self._given)))

    def call_empty(self) -> None:
        """Call a program that takes and returns the same buffers and computes nothing."""
        jax.block_until_ready(self._empty(*next(self._given)))

    def measure(self, seconds: float = PART_SECONDS) -> tuple[float, float]:
        """Return the seconds of `call` and of `call_empty`; the difference is the time of the program itself."""
        step, empty = _time_in_turns((self.call, self.call_empty), seconds)
        return step, empty


def _add_number(kept: PackedTree, number: jax.Array) -> PackedTree:
    return PackedTree(kept.words + number, kept.large)


def _sample(space: gymnasium.Space[Any]) -> list[Any]:
    """Return random actions, the same in every run."""
    space.seed(0)
    return [space.sample() for _ in range(BLOCK)]


def measure_step(id: str, seconds: float = PART_SECONDS) -> dict[str, float]:
    """Measure the parts of one step through `gymnasium.make` with random actions, in microseconds; resets count.

    Apart from measurement noise, the parts sum to the whole: sampling the action, Gymnasium's wrappers, the package's
    Python code (checks, conversion and resets), the call with its transfers, and the compiled step. If JAX does not
    compile the environment, as for a forager with numba, the last three are one part. The last entry is a whole step of
    CartPole, with sampling and resets too.
    """
    env, reference = gymnasium.make(id), gymnasium.make(REFERENCE)
    listed = cycle(_sample(env.action_space))
    for each in (env, reference):
        each.reset(seed=0)
    calls = [_random_step_of(each, each.action_space.sample) for each in (env, reference)]
    calls += [_random_step_of(each, partial(next, listed)) for each in (env, env.unwrapped)]
    if isinstance(env.unwrapped, GymEnv):
        compiled = CompiledStep(env.unwrapped.core)
        whole, cartpole, wrapped, bare, call, empty = _time_in_turns(
            [*calls, compiled.call, compiled.call_empty], seconds
        )
        inside = {"Python of the package": bare - call, "call and transfer": empty, "compiled step": call - empty}
    else:
        whole, cartpole, wrapped, bare = _time_in_turns(calls, seconds)
        inside = {"environment": bare}
    outside = {"sampling the action": whole - wrapped, "wrappers of Gymnasium": wrapped - bare}
    parts = {"whole step": whole} | outside | inside | {REFERENCE: cartpole}
    return {name: round(1e6 * part, 2) for name, part in parts.items()}


def _time_in_turns(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """Return the seconds of each call in its fastest block of `BLOCK` calls; blocks take turns, so load affects all."""
    best = [math.inf] * len(calls)
    for call in calls:
        call()
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or math.inf in best:
        for i, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(BLOCK):
                call()
            best[i] = min(best[i], (time.perf_counter() - start) / BLOCK)
    return best


def make_speed_table(id: str, speeds: Sequence[Speed]) -> Table:
    """Tabulate the speed of the interfaces of an id; "first s" are the seconds to the first result."""
    columns = ("interface", "envs", "import s", "first s", "steps/s", "MiB", "bytes/env")
    rows = [
        (s.interface, f"{s.num_envs:,}", f"{s.import_seconds:.1f}", f"{s.first_seconds:.1f}",
         f"{s.steps_per_second:,.0f}", f"{s.peak_mib:,.0f}", f"{s.bytes_per_env:,}")
        for s in speeds
    ]  # fmt: skip
    return Table(f"{id}, each row in a fresh process without cached programs", columns, rows)


def make_step_table(id: str, parts: Mapping[str, float]) -> Table:
    """Tabulate the parts of one step from `measure_step`, with their fraction of the whole."""
    whole = parts["whole step"]
    rows = [(name, f"{part:.1f}", f"{part / whole:.2f}") for name, part in parts.items()]
    title = f"One step of {id} through gymnasium.make, {whole / parts[REFERENCE]:.1f} times a step of {REFERENCE}"
    return Table(title, ("part", "us", "of the whole step"), rows)
