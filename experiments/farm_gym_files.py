"""Read, build and play all farms of Farm-Gym, the authors' implementation, with and without side files.

python experiments/farm_gym_files.py FOLDER... --out experiments/results/farm-gym-files.json

Each FOLDER is a checkout or a bare clone of github.com/farm-gym/farm-gym or github.com/farm-gym/farm-gym-games. Each
farm is read as published and, with `--reference PYTHON`, once more with the side files that Farm-Gym generates; PYTHON
is an interpreter with Farm-Gym's dependencies (numpy below 2), and one of the folders must contain Farm-Gym itself.
Both implementations play seasons of random actions. Their crops grow differently, so only the first days and the way in
which episodes end can be compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import yaml

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import evaluate
from harvestgym.farm.paper.farm_gym.folder import is_farm_gym, read_farm_gym

DAYS = 30
EPISODES = 4
MOST_STEPS = 800
"""More steps than a season has in any mode."""

PLAY = """
import contextlib, io, json, sys, types, warnings
warnings.simplefilter("ignore")
sys.modules["cv2"] = types.ModuleType("cv2")  # only for films
sys.path.insert(0, sys.argv[1])
out = {}
try:
    with contextlib.redirect_stdout(io.StringIO()):
        from farmgym.v2.make_farm import make_farm
        farm = make_farm(sys.argv[2])
        days = []
        for seed in range(int(sys.argv[3])):
            farm.reset(seed=seed)
            steps, ended = 0, False
            while not ended and steps < 800:
                farm.action_space.seed(1000 * seed + steps)
                _, _, ended, _, _ = farm.step(farm.action_space.sample())
                steps += 1
            days.append(steps if farm.interaction_mode == "POMDP" else steps / 2)
    out["days"] = days
except BaseException as error:
    out["error"] = f"{type(error).__name__}: {error}"[:200]
print(json.dumps(out))
"""


def check_out(folder: Path, target: Path) -> Path:
    """Return a folder with files; the files that a bare clone contains are first written to `target`."""
    if not (folder / "HEAD").is_file():
        return folder
    git = ["git", f"--git-dir={folder}"]
    names = subprocess.run([*git, "ls-tree", "-rz", "--name-only", "HEAD"], capture_output=True, check=True).stdout
    for name in names.decode().split("\0"):
        if name.endswith((".py", ".yaml", ".csv", ".ttf", ".png")):
            found = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=False)
            if found.returncode == 0:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(found.stdout)
    return target


def copy_farm(path: Path, target: Path) -> Path:
    """Copy a farm file and its published side files; return the path of the copy."""
    target.mkdir(parents=True, exist_ok=True)
    for file in [path, *path.parent.glob(f"{path.stem}_*.yaml")]:
        if file == path or not is_farm_gym(file):
            shutil.copy(file, target)
    return target / path.name


def play_reference(path: Path, reference: str, source: Path) -> dict[str, Any]:
    """Play Farm-Gym itself, which writes the missing side files."""
    command = [reference, "-c", PLAY, str(source), str(path), str(EPISODES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent)
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else {"error": done.stderr[-200:]}


def play_ours(path: Path) -> dict[str, Any]:
    """Build a farm from Farm-Gym's files and play seasons of random actions."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env = harvestgym.make(str(path))
        report = read_farm_gym(path)[1]
        episodes = evaluate(env, random_policy(env), jax.random.key(0), EPISODES, MOST_STEPS)
    except ConfigError as error:
        return {"error": str(error)}
    per_day = getattr(env, "steps_per_day", 1)
    return {
        "days": (np.asarray(episodes.length) / per_day).tolist(),
        "terminated": np.asarray(episodes.terminated).tolist(),
        "truncated": np.asarray(episodes.truncated).tolist(),
        "finite": bool(np.isfinite(np.asarray(episodes.returns)).all()),
        "kept": sum(report.kept.values()),
        "changed": len(report.changed),
        "lost": [line.partition(": ")[2] for line in report.lost],
        "seconds": round(time.perf_counter() - start, 1),
    }


def examine(path: Path, work: Path, reference: str | None, source: Path | None) -> dict[str, Any]:
    """Return a row for a farm: as published, with generated side files, and in Farm-Gym."""
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    published = copy_farm(path, work / "published")
    row: dict[str, Any] = {"mode": settings["interaction_mode"]}
    row["side files"] = sorted(f.stem.rpartition("_")[2] for f in published.parent.glob(f"{path.stem}_*.yaml"))
    row["published"] = play_ours(published)
    if reference is not None and source is not None:
        generated = copy_farm(path, work / "generated")
        row["reference"] = play_reference(generated, reference, source)
        row["generated files"] = len([*generated.parent.glob(f"{path.stem}_*.yaml")])
        row["generated"] = play_ours(generated)
    return row


def summarise(rows: dict[str, Any]) -> dict[str, Any]:
    """Count the farms that are built, that are played for the first days, and whose episodes end."""
    out: dict[str, Any] = {"farms": len(rows)}
    for kind in ("published", "generated", "reference"):
        played = [row[kind] for row in rows.values() if "days" in row.get(kind, {})]
        out[kind] = {
            "played": len(played),
            f"play {DAYS} days in each episode": sum(min(row["days"]) >= DAYS for row in played),
            "errors": sorted({row[kind]["error"] for row in rows.values() if "error" in row.get(kind, {})}),
        }
    return out


def main() -> None:
    """Examine the farms in the given folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--reference", help="a Python interpreter with Farm-Gym's dependencies")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as work:
        folders = [check_out(f.resolve(), Path(work) / f"folder-{i}") for i, f in enumerate(given.folders)]
        source = next((f for f in folders if (f / "farmgym" / "v2").is_dir()), None)
        farms = [(path, f) for f in folders for path in sorted(f.rglob("*.yaml")) if is_farm_gym(path)]
        for i, (path, folder) in enumerate(farms):
            name = str(path.relative_to(folder))
            rows[name] = examine(path, Path(work) / f"farm-{i}", given.reference, source)
            played = {kind: row.get("days", row) for kind, row in rows[name].items() if isinstance(row, dict)}
            print(name, json.dumps(played), flush=True)
            jax.clear_caches()
            result = {"days": DAYS, "episodes": EPISODES, "summary": summarise(rows), "farms": rows}
            if given.out:
                given.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(summarise(rows), indent=1))


if __name__ == "__main__":
    main()
