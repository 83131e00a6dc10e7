"""Tune the expert of every id, or of some, and write tuned/NAME.yaml next to their catalogue files.

python tools/tune_all.py                       # all ids: hours on two cores
python tools/tune_all.py fishing farm/game0-v2  # a family, an id
"""

from __future__ import annotations

import subprocess
import sys

from make_docs import COMMAND, ROOT

import harvestgym
from harvestgym.evaluate.leaderboard.run import count_plot_steps, expand_ids
from harvestgym.evaluate.tune import find_rules

WORK = 16_000_000
"""Plots times steps that the candidates of a rule may cost."""

SEASONS = {"farm": 48, "fishing": 48, "forager": 8}
FEWEST, MOST = 64, 480
"""Candidates of a rule."""


def main() -> None:
    """Tune the ids that are named, each in its own process, which frees its compiled programs."""
    for id in expand_ids(sys.argv[1:]):
        env = harvestgym.make(id)
        if find_rules(id, env)[0]:
            seasons = SEASONS[id.partition("/")[0]]
            candidates = min(max(WORK // (count_plot_steps(env) * seasons), FEWEST), MOST)
            options = f"--candidates {candidates} --seasons {seasons}"
            subprocess.run(f"{COMMAND} tune {id} {options}", shell=True, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
