"""Write the golden trajectories, tests/golden/<id>.json: the values in one season of an id at a few steps.

python tools/make_golden.py [ID ...]    # all of `IDS`, or some of them

Write them again after an intended change in the behaviour of an id, and document the change in the id's history.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import harvestgym
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named

FOLDER = Path(__file__).parent.parent / "tests" / "golden"
IDS = (
    "farm/bean-1x1-v0", "farm/corn-1x1-v0", "farm/tomato-1x1-v0",
    "farm/full-1x1-v0", "farm/paid-looks-1x1-v0", "farm/contexts-1x1-v0",
    "fishing/logistic-survey-v0", "fishing/patches-v0",
    "forager/two-biome-v0", "forager/flowers-v0",
)  # fmt: skip
"""Ids with a golden trajectory; no policy from dynamic programming, because rounding decides between its near ties."""

POLICIES = {"fishing/logistic-survey-v0": "dfo", "fishing/patches-v0": "escapement", "forager": "planner"}
"""Untuned policies by id or family; all other ids use the expert."""

ARGUMENTS = {"farm/corn-1x1-v0": {"soil": "sand"}, "farm/tomato-1x1-v0": {"soil": "loam"}}
"""Arguments of `harvestgym.make` by id."""

SEED = 1
STEPS = (0, 1, 2, 10, 30, 60, 90)
"""The stored steps; the last step of the season is added."""

DERIVED = ("info/", "forecast/")
"""Names that contain these parts are left out: they follow from the other values and would make the files long."""


def fingerprint(id: str) -> dict[str, Any]:
    """Run one season; return its return, and the sum or mean over plots of each variable at some steps."""
    env = harvestgym.make(id, **ARGUMENTS.get(id, {}))
    policy = POLICIES.get(id) or POLICIES.get(id.partition("/")[0], "expert")
    record = record_episode(id, env, policy_named(id, env, policy), SEED)
    last = len(record["reward"]) - 1
    steps = sorted({min(step, last) for step in (*STEPS, last)})
    kept = {name: values for name, values in record.items() if not any(part in name for part in DERIVED)}
    values = {name: [_number(array[step]) for step in steps] for name, array in sorted(kept.items())}
    total = float(np.sum(record["reward"], dtype=np.float64))
    return {"id": id, "seed": SEED, "jax": jax.__version__, "return": total, "steps": steps, "values": values}


def _number(array: np.ndarray) -> int | float:
    """Return the exact sum of integers, or the mean of other numbers to seven significant digits."""
    return int(np.sum(array)) if array.dtype.kind in "biu" else float(f"{np.mean(array, dtype=np.float64):.7g}")


def path(id: str) -> Path:
    """Return the path of an id's golden trajectory."""
    return FOLDER / f"{id.replace('/', '-')}.json"


def text(golden: dict[str, Any]) -> str:
    """Return JSON with one variable per line."""
    head = {name: value for name, value in golden.items() if name != "values"}
    lines = [f"    {json.dumps(name, ensure_ascii=False)}: {json.dumps(v)}" for name, v in golden["values"].items()]
    return json.dumps(head, indent=2)[:-2] + ',\n  "values": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def main() -> None:
    """Write the golden files of the ids named on the command line, or of all `IDS`."""
    FOLDER.mkdir(exist_ok=True)
    for id in sys.argv[1:] or IDS:
        path(id).write_text(text(fingerprint(id)), encoding="utf-8")
        print(f"wrote {path(id).name}")


if __name__ == "__main__":
    main()
