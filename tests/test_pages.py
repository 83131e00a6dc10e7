"""The page of every id is what its metadata says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_pages_are_up_to_date() -> None:
    program = [sys.executable, str(ROOT / "tools" / "make_pages.py"), "--check"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + "run python tools/make_pages.py"
