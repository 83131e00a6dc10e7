"""Write the figures of the README: the table of the core suite, and the speed.

python tools/make_readme.py
"""

from __future__ import annotations

import json
from typing import Any

from experiments.speed.interfaces import ROLLOUT, SINGLE
from harvestgym import registry
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import read_anchors
from harvestgym.farm.engine.model import FarmModel
from tools.check_links import SITE
from tools.docs_blocks import DOCS, body, put
from tools.make_pages import say_actions

ROOT = DOCS.parent
SPEEDS, SPEED_ID = ROOT / "experiments" / "results" / "farm-speed-2-cores.json", "farm/bean-1x1-v0"


def main() -> None:
    """Write the blocks."""
    for name, lines in make_blocks().items():
        put(ROOT / "README.md", name, lines)


def make_blocks() -> dict[str, list[str]]:
    """Return the lines of each block by its name."""
    return {"suite": body(tabulate_suite())[2:-1], "speed": [say_speed()]}


def tabulate_suite() -> Table:
    """Make the table of the suite: size, what is hard, and the mean returns of the reference policies."""
    rows = []
    for id, item in splits.list_suite().items():
        env, anchor = registry.make(id), read_anchors()[id]
        returns = map(say_return, (float(anchor.nothing.mean()), anchor.expert, float(anchor.best.mean())))
        rows.append(
            (f"[`{id}`]({SITE}/{id}.html)", say_plots(env), say_actions(env.action_space), item.tests, *returns)
        )
    return Table("", ("id", "plots, cells", "actions", "what is hard", "nothing", "expert", "best known"), rows)


def say_return(mean: float) -> str:
    """Return a mean with three significant digits, or as a whole number."""
    return f"{mean:.3g}" if abs(mean) < 100 else f"{mean:,.0f}"


def say_plots(env: Any) -> str:
    """Return the number of plots of a farm, or the sides of a world; empty for a fishery."""
    if isinstance(env, FarmModel):
        return str(sum(field.shape[0] * field.shape[1] for field in env.fields))
    return f"{env.world.width} x {env.world.height}" if hasattr(env, "world") else ""


def say_speed() -> str:
    """Return a sentence with the speed of one environment and of a compiled rollout."""
    rows = json.loads(SPEEDS.read_text(encoding="utf-8"))[SPEED_ID]["interfaces"]
    one, many = (_find(rows, *which) for which in ((SINGLE, 1), (ROLLOUT, 4096)))
    return (
        f"On two cores of a shared cloud machine (AMD EPYC, no GPU), `{SPEED_ID}` runs at {one} steps per second\n"
        f"through `gymnasium.make` and at {many} in a compiled rollout of 4,096 seasons ([all speeds](docs/speed.md))."
    )


def _find(rows: list[dict[str, Any]], interface: str, num_envs: int) -> str:
    speeds = {(row["interface"], row["num_envs"]): row["steps_per_second"] for row in rows}
    return f"{float(f'{speeds[interface, num_envs]:.3g}'):,.0f}"


if __name__ == "__main__":
    main()
