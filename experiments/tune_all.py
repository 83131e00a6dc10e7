"""Tune the expert of every id, or of some, and write tuned/NAME.yaml next to their catalogue files.

python -m experiments.tune_all                       # all ids: hours on two cores
python -m experiments.tune_all fishing farm/game0-v0  # a family, an id

An id that was tuned before is tuned again with the command in its file; delete the file to tune with the default
effort.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import harvestgym
from experiments.leaderboard.run import expand_ids
from experiments.plot_steps import count_plot_steps
from harvestgym import registry
from harvestgym.core.tuning.rule_family import read_tuned
from harvestgym.evaluate.tune import find_rules

COMMAND = Path(sys.executable).with_name("harvestgym")
WORK = 16_000_000
"""Maximum cost of a rule's candidates, in plots times steps."""

SEASONS = {"farm": 48, "fishing": 48, "forager": 8}
FEWEST, MOST = 64, 480
"""Minimum and maximum number of candidates for a rule."""


def choose_options(id: str) -> list[str]:
    """Return the `harvestgym` arguments that tune an id; empty if it has no rules."""
    env = harvestgym.make(id)
    if not find_rules(id, env)[0]:
        return []
    before = read_tuned(registry.locate_file(id))
    if before is not None and "command" in before.made:
        return shlex.split(str(before.made["command"]))[1:]
    seasons = SEASONS[id.partition("/")[0]]
    candidates = min(max(WORK // (count_plot_steps(env) * seasons), FEWEST), MOST)
    return ["tune", id, "--candidates", str(candidates), "--seasons", str(seasons)]


def main() -> None:
    """Tune the given ids, each in its own process, so that its compiled programs are freed."""
    for id in expand_ids(sys.argv[1:]):
        if options := choose_options(id):
            subprocess.run([COMMAND, *options], check=True)


if __name__ == "__main__":
    main()
