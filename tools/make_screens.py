"""Take screenshots of the game and the replay by running their browser tests; keep those that the docs show.

python tools/make_screens.py    # needs the extra test, and Chromium
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SHOTS = {"replay-desktop": "replay"}
"""Screenshots that have a different name in the docs."""


def main() -> None:
    """Run the tests and copy their screenshots."""
    with tempfile.TemporaryDirectory() as folder:
        tests = ("-m", "pytest", "-n", "0", "tests/play/test_page.py", "tests/render/test_replay.py")
        subprocess.run([sys.executable, *tests], cwd=ROOT, env=os.environ | {"HARVESTGYM_SHOTS": folder}, check=True)
        for shot in Path(folder).glob("*.png"):
            name = f"{SHOTS.get(shot.stem, shot.stem)}.png"
            if (PICTURES / name).exists():
                shutil.copy(shot, PICTURES / name)


if __name__ == "__main__":
    main()
