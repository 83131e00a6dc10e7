"""Make every table and figure in the docs, or only those of the named parts.

python tools/make_docs.py                   # everything; takes hours on two cores, mostly for agents and leaderboard
python tools/make_docs.py studies training  # some parts: a key of `PARTS`, or screens

It needs all extras and the additional packages that .ci/run installs; `screens` also needs Chromium.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
PPO = "examples/ppo.py --seeds 5 --out docs/training --id"
IMITATION = "examples/map_imitation.py --imitate 40 --updates 20 --out docs/training/maps.json --ids"
EVOLUTION = "examples/map_evolution.py --seeds 5 --seasons 1000 --out docs/training/evolution.json --ids"
JOBS = "examples/sb3_jobs.py --seeds 5 --seasons 1000 --out docs/training/jobs-{0}.json --learner {0} --ids"

PARTS = {
    "tune": ["-m experiments.tune_all"],
    "training": [
        f"{PPO} farm/bean-1x1-v0 --updates 200",
        f"{PPO} farm/paid-looks-1x1-v0 --updates 250",
        f"{PPO} farm/fertilizer-1x1-v0 farm/pests-weeds-1x1-v0 --updates 300 --idle 4",
        f"{IMITATION} farm/bean-clay-weeds-3x4-v0 --seeds 5 --num-envs 64 --num-steps 64",
        f"{IMITATION} farm/polyculture-3x4-v0",
        "examples/map_residual.py --ids farm/full-1x1-v0 farm/fertilizer-1x1-v0 farm/game0-weeds-v0 --seeds 5 "
        "--seasons 1000 --out docs/training/residual.json",
        f"{EVOLUTION} farm/bean-clay-weeds-3x4-v0 farm/pollination-3x4-v0",
        f"{EVOLUTION} farm/polyculture-3x4-v0 --updates 25 --train-seasons 32 --noise 0.4",
        f"{EVOLUTION} farm/paid-looks-1x1-v0 --train-seasons 32",
        f"{EVOLUTION} farm/full-3x4-v0 farm/full-10x10-v0 --school farm/full-3x4-v0 --updates 80",
        f"{JOBS.format('ppo')} farm/bean-clay-weeds-3x4-v0 farm/pollination-3x4-v0 farm/game0-weeds-v0",
        f"{JOBS.format('dqn')} farm/bean-clay-weeds-3x4-v0",
        f"{JOBS.format('dqn')} farm/pollination-3x4-v0 farm/game0-weeds-v0 farm/game0-v0 --steps 300000",
        "-m experiments.make_training contexts",
    ],
    "studies": ["-m experiments.make_studies"],
    "agents": [
        "-m experiments.training train",
        "-m experiments.training adopt",
        "-m experiments.training test",
    ],
    "leaderboard": [
        "-m experiments.adversary search --forms thresholds relative tree calendar linear network correction rules",
        "-m experiments.adversary search farm/contexts-1x1-v0 --without lille",
        "-m experiments.adversary search farm/contexts-1x1-v0 --without seattle_generated",
        "-m experiments.adversary choose",
        "-m experiments.adversary table",
        "-m experiments.suite_anchors",
        "-m experiments.training suite",
        "-m experiments.leaderboard --out docs",
        "-m experiments.leaderboard.reference_returns",
        "-m experiments.leaderboard.tables",
        "-m experiments.difficulty",
        "tools/make_readme.py",
    ],
    "pictures": [
        "tools/make_pictures.py",
        "tools/make_monitor.py",
        "tools/make_films.py",
    ],
}
"""The Python command lines of each part, run from the root of the repository."""

SHOTS = {"replay-desktop": "replay"}
"""Screenshots that have a different name in the docs."""


def screens() -> None:
    """Take screenshots by running the browser tests, and keep the ones that are used in the docs."""
    with tempfile.TemporaryDirectory() as folder:
        tests = "-m pytest -n 0 tests/play/test_page.py tests/render/test_replay.py"
        python(tests, HARVESTGYM_SHOTS=folder)
        for shot in Path(folder).glob("*.png"):
            name = f"{SHOTS.get(shot.stem, shot.stem)}.png"
            if (PICTURES / name).exists():
                shutil.copy(shot, PICTURES / name)


def python(arguments: str, **environment: str) -> None:
    """Run Python with a command line from `PARTS`; raises CalledProcessError if it fails."""
    subprocess.run([sys.executable, *shlex.split(arguments)], cwd=ROOT, env=os.environ | environment, check=True)


def main() -> None:
    """Make the parts named on the command line, or all of them."""
    known = [*PARTS, "screens"]
    wanted = sys.argv[1:] or known
    if unknown := set(wanted) - set(known):
        raise SystemExit(f"parts: expected some of {', '.join(known)}, got {', '.join(sorted(unknown))}")
    for part in wanted:
        for line in PARTS.get(part, []):
            python(line)
        if part == "screens":
            screens()


if __name__ == "__main__":
    main()
