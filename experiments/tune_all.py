"""Tune the expert of every id, or of some, and write tuned/NAME.yaml next to their catalogue files.

python -m experiments.tune_all                       # all ids: hours on two cores
python -m experiments.tune_all fishing farm/game0-v2  # a family, an id

An id that was tuned before is tuned by the command in its file again; delete the file for the default effort.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import harvestgym
from experiments.leaderboard.run import count_plot_steps, expand_ids
from harvestgym import registry
from harvestgym.core.tuning.rule_family import read_tuned
from harvestgym.evaluate.tune import find_rules

COMMAND = Path(sys.executable).with_name("harvestgym")
WORK = 16_000_000
"""Plots times steps that the candidates of a rule may cost."""

SEASONS = {"farm": 48, "fishing": 48, "forager": 8}
FEWEST, MOST = 64, 480
"""Candidates of a rule."""


def choose_options(id: str) -> list[str]:
    """Return the arguments of `harvestgym` that tune an id; none if it has no rules."""
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
    """Tune the ids that are named, each in its own process, which frees its compiled programs."""
    for id in expand_ids(sys.argv[1:]):
        if options := choose_options(id):
            subprocess.run([COMMAND, *options], check=True)


if __name__ == "__main__":
    main()
