"""Make every table and figure of the docs, or some of them by the name of their part.

python tools/make_docs.py                      # everything: hours on two cores, most of them for the leaderboard
python tools/make_docs.py studies training     # parts: tune, training, studies, leaderboard, pages, pictures, screens

Needs all extras and what .ci/run installs in addition; `screens` a Chromium.
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
COMMAND = shlex.quote(str(Path(sys.executable).with_name("harvestgym")))
PPO = "examples/ppo.py --seeds 3 --out docs/training --id"

PARTS = {
    "tune": ["tools/tune_all.py"],
    "training": [
        f"{PPO} farm/tomato-sand-1x1-v2 farm/corn-sand-1x1-v2",
        f"{PPO} farm/bean-clay-1x1-v1",
        f"{PPO} farm/paid-looks-1x1-v1 --updates 250",
        "tools/make_training.py contexts",
    ],
    "studies": ["tools/make_studies.py"],
    "leaderboard": [
        f"{COMMAND} leaderboard --out docs",
        "benchmarks/rule_search.py farm fishing forager --out benchmarks/results/rule-search.json",
        "tools/make_scores.py",
        "tools/make_pages.py",
    ],
    "pages": ["tools/make_pages.py"],
    "pictures": [
        "tools/make_pictures.py",
        "tools/make_monitor.py",
        f"{COMMAND} run farm/full-3x4-v1 --episodes 1 --width 640 --fps 20 --gif docs/pictures/season.gif",
    ],
}
"""What Python is asked for, from the root of the repository."""

SHOTS = {"replay-desktop": "replay"}
"""Screens that have another name in the docs."""


def screens() -> None:
    """Take the pages in a browser, as the tests see them; those that the docs show are kept."""
    with tempfile.TemporaryDirectory() as folder:
        tests = "-m pytest -n 0 tests/play/test_page.py tests/render/test_replay.py"
        python(tests, HARVESTGYM_SHOTS=folder)
        for shot in Path(folder).glob("*.png"):
            name = f"{SHOTS.get(shot.stem, shot.stem)}.png"
            if (PICTURES / name).exists():
                shutil.copy(shot, PICTURES / name)


def python(arguments: str, **environment: str) -> None:
    """Run a line of `PARTS`; CalledProcessError if it fails."""
    subprocess.run([sys.executable, *shlex.split(arguments)], cwd=ROOT, env=os.environ | environment, check=True)


def main() -> None:
    """Make the parts that are named, or all."""
    wanted = sys.argv[1:] or [*PARTS, "screens"]
    if unknown := set(wanted) - {*PARTS, "screens"}:
        raise SystemExit(f"expected parts among {', '.join([*PARTS, 'screens'])}, got {', '.join(sorted(unknown))}")
    for part in wanted:
        for line in PARTS.get(part, []):
            python(line)
        if part == "screens":
            screens()


if __name__ == "__main__":
    main()
