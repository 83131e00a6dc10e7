"""Code shared by the learners: train several seeds, evaluate on held-out seasons, and store results as JSON."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import jax
from map_ppo import returns_of

from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.evaluate.statistics import summarise

Found = tuple[list[float], dict[str, Policy]]
"""A learning curve, and the policies to evaluate, by agent name."""


class Task(NamedTuple):
    """A farm, and how an agent is trained on it.

    Attributes:
        test: the environment on the test split.
        known: the policies "expert" and "none".
        train: trains the agent of a seed.
        parameters: number of learned parameters.
        own: the test environment with the agents' wrappers, if there are any.
    """

    test: Env[Any, Any]
    known: dict[str, Policy]
    train: Callable[[int], Found]
    parameters: int
    own: Env[Any, Any] | None = None


def count_parameters(sizes: Sequence[int]) -> int:
    """Return the number of weights and biases of layers with these widths."""
    return sum((n + 1) * m for n, m in zip(sizes[:-1], sizes[1:], strict=True))


def make_parser(text: str, defaults: Any) -> argparse.ArgumentParser:
    """Return a parser for the options that all learners have, and for the fields of their settings."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", nargs="+", default=["farm/bean-clay-weeds-3x4-v0"])
    parser.add_argument("--seeds", type=int, default=1, help="number of agents per id")
    parser.add_argument("--seasons", type=int, default=200, help="number of reported seasons")
    parser.add_argument("--out", type=Path, help="file for results as JSON; existing results stay in it")
    for name, default in asdict(defaults).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser


def read_settings(kind: type[Any], args: argparse.Namespace) -> Any:
    """Return the settings of a learner from the options of `make_parser`."""
    return kind(**{field.name: getattr(args, field.name) for field in fields(kind)})


def run(args: argparse.Namespace, make_task: Callable[[str], Task]) -> None:
    """Train on each id separately, and write or update a file of results.

    Seeds that are already in the file with the same settings, expert and seasons are not trained again.
    """
    for id in args.ids:
        before = json.loads(args.out.read_text(encoding="utf-8")) if args.out and args.out.exists() else {}
        command = {"command": shlex.join(["python", *sys.argv]), "settings": vars(args) | {"out": None, "ids": [id]}}
        report = compare(id, make_task(id), args, command, before.get(id, {}))
        if args.out is not None:
            args.out.write_text(json.dumps(before | {id: report}, indent=1) + "\n", encoding="utf-8")


def compare(
    id: str, task: Task, args: argparse.Namespace, command: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    """Train the seeds that a matching report `before` does not contain, and evaluate on held-out seasons."""

    def play(policy: Policy, env: Env[Any, Any] = task.test) -> dict[str, Any]:
        found = asdict(summarise(returns_of(id, env, policy, args.seasons)))
        return {name: round(found[name], 4) for name in ("mean", "cvar10", "iqm", "low", "high")}

    known = {name: play(policy) for name, policy in task.known.items()}
    print(f"{id}: " + ", ".join(f"{name} {score['mean']:.3f}" for name, score in known.items()), flush=True)
    report = command | {"seasons": args.seasons, "parameters": task.parameters, **known, "seeds": []}
    if describe(report) == describe(before):
        report["seeds"] = before["seeds"][: args.seeds]
    for seed in range(len(report["seeds"]), args.seeds):
        wall, cpu = time.perf_counter(), time.process_time()
        curve, found = jax.block_until_ready(task.train(seed))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        scores = {name: play(policy, task.own or task.test) for name, policy in found.items()}
        report["seeds"].append({"seed": seed, "curve": curve, "wall": round(wall), "cpu": round(cpu)} | scores)
        line = ", ".join(f"{name} {s['mean']:.3f} ({s['low']:.3f} to {s['high']:.3f})" for name, s in scores.items())
        print(f"{id} seed {seed}: {line} after {wall:.0f} s ({cpu:.0f} s CPU)", flush=True)
    return report


def describe(report: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a report that must be equal for its seeds to be merged: all but seeds and command."""
    settings = {name: value for name, value in report.get("settings", {}).items() if name != "seeds"}
    return {name: value for name, value in report.items() if name not in ("command", "seeds")} | {"settings": settings}
