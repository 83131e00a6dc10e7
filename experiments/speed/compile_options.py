"""CPU seconds to compile a rollout, and microseconds per step, with various XLA compiler options.

    python -m experiments.speed.compile_options farm/full-1x1-v0 [--num-envs 1024] [--num-steps 200]

The runs take turns, and each figure is the median of seven runs. Put `taskset -c 0` in front to use only one core.
"""

from __future__ import annotations

import argparse
import statistics
import time

import jax

import harvestgym
from harvestgym.core.episode import episode_keys, seed_key
from harvestgym.core.rollout import rollout
from harvestgym.core.xla.compilation import QUICK
from harvestgym.evaluate.run import policy_named

OPTIONS = {"default": {}, "level 1": {"xla_backend_optimization_level": 1}, "level 0": QUICK}
RUNS = 7


def main() -> None:
    """Print a line for each option."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("id")
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--num-steps", type=int, default=200)
    args = parser.parse_args()
    env = harvestgym.make(args.id)
    policy, keys = policy_named(args.id, env, "random"), episode_keys(seed_key(0), args.num_envs)
    lowered = jax.jit(lambda keys, params: rollout(env, policy, keys, args.num_envs, args.num_steps, params)).lower(
        keys, env.params
    )
    programs, seconds = {}, {}
    for name, options in OPTIONS.items():
        start = time.process_time()
        programs[name] = lowered.compile(compiler_options=options)
        seconds[name] = time.process_time() - start
    runs: dict[str, list[float]] = {name: [] for name in OPTIONS}
    for _ in range(RUNS):
        for name, program in programs.items():
            start = time.perf_counter()
            jax.block_until_ready(program(keys, env.params))
            runs[name].append(time.perf_counter() - start)
    for name, each in runs.items():
        step = statistics.median(each) / args.num_envs / args.num_steps
        print(f"{args.id}, {name}: {seconds[name]:.1f} CPU s to compile, {step * 1e6:.3f} us a step")


if __name__ == "__main__":
    main()
