"""Each example runs in its short form, as its docstring says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_ppo_of_stable_baselines3(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    program = [sys.executable, str(EXAMPLES / "sb3_ppo.py"), "--steps", "40000"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = re.search(r"expert ([-.\d]+), random ([-.\d]+), agent ([-.\d]+)", done.stdout)
    assert figures is not None, done.stdout
    expert, random, agent = map(float, figures.groups())
    assert random < agent, "a fifth of the training is enough to beat chance"
    assert random < expert and not list(tmp_path.iterdir())
