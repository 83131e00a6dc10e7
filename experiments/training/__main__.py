"""Train agents on the training split of each suite id, and evaluate their final weights on the test split.

python -m experiments.training train                          # all ids and agents, five seeds each
python -m experiments.training train --ids farm/rotation-v0 --agents ppo
python -m experiments.training adopt --ids fishing/driver-v0  # candidates for the best known policy
python -m experiments.training test                           # the test seasons of all trained agents
python -m experiments.training table
python -m experiments.training page                           # the same table in docs/training.md
python -m experiments.training suite                          # results/suite/AGENT.json, for the leaderboard

All agents of an id get the same number of environment steps. A training run is a case of a sweep (`harvestgym.sweep`),
and only runs with a new key (`cases.py`) are trained when the program starts again. The folder of results has a file
for each id and agent, with a line per seed. Weights stay in the folder of the sweep (`--work`). Training runs in
`splits.sealed()`; `test` is a separate step, which logs that it opens the test side.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from experiments.test_side import LOG, ROOT, log_opening
from experiments.test_side import RESULTS as ALL_RESULTS
from harvestgym.cli.console import print_table
from harvestgym.core.errors import check_each_name, check_extras
from harvestgym.evaluate import splits
from tools.docs_blocks import body, put

WORK, SUITE = ROOT / "out" / "training", ALL_RESULTS / "suite"

STEP_BUDGET = 5_000_000
"""Environment steps of a training run."""


def main(words: Sequence[str] | None = None) -> None:
    """Run one of the steps."""
    ids = list(splits.list_suite())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "adopt", "test", "table", "page", "suite"])
    parser.add_argument("--ids", nargs="+", choices=ids, default=ids, metavar="ID")
    parser.add_argument("--agents", nargs="+", metavar="AGENT", help="default: all")
    parser.add_argument("--seeds", type=int, help="training runs of an agent")
    parser.add_argument("--steps", type=int, default=STEP_BUDGET, help="environment steps of a training run")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the agents, as JSON")
    parser.add_argument("--out", type=Path, default=ALL_RESULTS / "training", help="folder of results")
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the sweep, with the weights")
    args = parser.parse_args(words)

    check_extras("python -m experiments.training", test="cma")  # help works without it
    from experiments.search.found import CHOSEN_SEED, LEARNERS

    from .agents import AGENTS
    from .cases import list_cases
    from .results import SEEDS, Store, adopt, make_table, test, train, write_results

    args.agents, args.seeds = args.agents or list(AGENTS), SEEDS if args.seeds is None else args.seeds
    check_each_name("agent", args.agents, AGENTS)
    store = Store(args.out)
    if args.step == "table":
        print_table(make_table(args.ids, args.agents, store))
        return
    if args.step == "page":
        put("training.md", "suite", body(make_table(args.ids, args.agents, store))[2:])
        return
    if args.step == "suite":
        write_results(args.agents, store, SUITE)
        return
    changes = {name: json.loads(value) for name, _, value in (word.partition("=") for word in args.set)}
    failures = []
    if args.step == "test":
        log_opening(f"trained agents: {', '.join(args.agents)}", args.ids, args.out.parent / LOG.name)
    for id in args.ids:
        with splits.sealed():
            cases = list_cases([id], args.agents, args.seeds, args.steps, changes)
            if args.step == "train":
                failures += train(cases, store, args.work, _name_command(id, args))
            for name in LEARNERS if args.step == "adopt" else ():
                adopt([case for case in cases if case.agent == name], store, args.work, CHOSEN_SEED)
        if args.step == "test":
            test(cases, store, args.work)
    if failures:
        raise SystemExit("\n".join(failures))


def _name_command(id: str, args: argparse.Namespace) -> str:
    """Return the command that trains on an id again."""
    words = ["python", "-m", "experiments.training", "train", "--ids", id, "--agents", *args.agents]
    more = ["--steps", str(args.steps)] * (args.steps != STEP_BUDGET) + ["--set", *args.set] * bool(args.set)
    return shlex.join([*words, *more])


if __name__ == "__main__":
    main()
