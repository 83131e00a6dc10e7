"""Write the learning curves and the tables of docs/training.md.

python examples/ppo.py --id farm/tomato-sand-1x1-v0 farm/corn-sand-1x1-v0 --seeds 3 --out docs/training
python examples/ppo.py --id farm/bean-clay-1x1-v0 --seeds 3 --out docs/training
python examples/ppo.py --id farm/paid-looks-1x1-v0 --updates 250 --seeds 3 --out docs/training
python tools/make_training.py                          # curves and table of what is in docs/training
python tools/make_training.py looking risk memory      # and the studies, from scratch

The tables are between `<!-- NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from make_pages import markdown
from matplotlib.figure import Figure

from harvestgym.core.describe import Table
from harvestgym.evaluate import studies

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "training.md"


def put(name: str, lines: list[str]) -> None:
    """Put lines into their block of the page."""
    start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    block = "\n".join([start, "", *lines, "", end])
    text, count = re.subn(f"{start}.*?{end}", lambda _: block, PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{PAGE.name}: wanted one block {start} ... {end}, found {count}")
    PAGE.write_text(text, encoding="utf-8")


def body(table: Table) -> list[str]:
    """A table in Markdown, its title in bold."""
    return [f"**{line[3:]}**" if line.startswith("## ") else line for line in markdown(table)]


def agents() -> None:
    """The table and the curves of all trainings that `examples/ppo.py --out docs/training` has left."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "training").glob("ppo-*.json"))]
    table = Table("return over the held-out seasons (95 % interval)", COLUMNS, [_row(run) for run in runs])
    pictures = [f"![Learning curves of {run['id']}](pictures/{draw(run)})" for run in runs]
    put("ppo", [*body(table), *[line for picture in pictures for line in ("", picture)]])


COLUMNS = ("game", "million days", "seasons", "expert", "random", "agents, one for each seed", "seconds of processor")


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    scores, seeds = run["scores"], [value for name, value in run.items() if name.startswith("seed ")]
    mine = "; ".join(_told(score) for name, score in scores.items() if name.startswith("agent"))
    seconds = ", ".join(f"{seed['cpu']:.0f}" for seed in seeds)
    days = f"{_days(run['settings']) / 1e6:.1f}"
    return run["id"], days, str(run["seasons"]), _told(scores["expert"]), _told(scores["random"]), mine, seconds


def _told(score: dict[str, float]) -> str:
    return f"{score['mean']:.3f} ({score['low']:.3f} to {score['high']:.3f})"


def _days(settings: dict[str, Any]) -> int:
    return settings["updates"] * settings["num_envs"] * settings["num_steps"]


def draw(run: dict[str, Any]) -> str:
    """The learning curves of a game as a picture, and its name."""
    scores, page = run["scores"], Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = page.subplots()
    for name, seed in ((name, value) for name, value in run.items() if name.startswith("seed ")):
        days = _days(run["settings"]) * np.linspace(0, 1, len(seed["curve"]) + 1)[1:] / 1e6
        axes.plot(days, seed["curve"], label=name, lw=1)
    mine = np.mean([score["mean"] for name, score in scores.items() if name.startswith("agent")])
    axes.axhline(scores["expert"]["mean"], color="#444444", ls="--", lw=1, label="expert, held out")
    axes.axhline(mine, color="#2a7f3f", ls=":", label="agents, held out")
    axes.set(title=run["id"], xlabel="million days of training", ylabel="return of the seasons that ended")
    axes.legend(frameon=False, fontsize=8)
    name = f"ppo-{run['id'].partition('/')[2].removesuffix('-v0')}.png"
    page.savefig(DOCS / "pictures" / name, dpi=90)
    return name


def study(name: str) -> None:
    """Run a study, put its table into the page and its figure beside the others."""
    with tempfile.TemporaryDirectory() as folder:
        table = studies.named(name)(out=Path(folder))
        shutil.copy(Path(folder) / f"{name}.png", DOCS / "pictures" / f"study-{name}.png")
    put(name, body(table))


if __name__ == "__main__":
    agents()
    for wanted in sys.argv[1:]:
        study(wanted)
