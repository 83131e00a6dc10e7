"""Write the learning curves and the tables of trained agents into docs/training.md.

python examples/ppo.py --id farm/tomato-sand-1x1-v1 farm/corn-sand-1x1-v1 --seeds 3 --out docs/training
python examples/ppo.py --id farm/bean-clay-1x1-v1 --seeds 3 --out docs/training
python examples/ppo.py --id farm/paid-looks-1x1-v1 --updates 250 --seeds 3 --out docs/training
python tools/make_training.py             # curves and table of what is in docs/training
python tools/make_training.py contexts    # and an agent in contexts that it was not trained in
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import numpy as np
from blocks import DOCS, PICTURES, body, put
from matplotlib.figure import Figure

from harvestgym.core.loading import import_file
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise

PAGE = "training.md"


def agents() -> None:
    """Write the table and the curves of all trainings that `examples/ppo.py --out docs/training` has left."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "training").glob("ppo-*.json"))]
    table = Table("return over the held-out seasons (95 % interval)", COLUMNS, [_row(run) for run in runs])
    pictures = [f"![Learning curves of {run['id']}](pictures/{draw(run)})" for run in runs]
    put(PAGE, "ppo", [*body(table), *[line for picture in pictures for line in ("", picture)]])


COLUMNS = ("game", "million days", "seasons", "expert", "random", "agents, one per seed", "CPU seconds")


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
    """Return the learning curves of a game as a picture, and its name."""
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
    name = f"ppo-{run['id'].partition('/')[2].rpartition('-v')[0]}.png"
    page.savefig(PICTURES / name, dpi=90)
    return name


SEASONS, ID = 500, "farm/contexts-1x1-v1"
HELD_OUT = {
    "nothing": (),
    "soil": ("soil",),
    "site": ("site",),
    "site, soil and day of sowing": ("site", "soil", "day"),
}


def contexts() -> None:
    """Train an agent once, and put into the page what it makes of contexts that it was and was not trained in."""
    ppo = import_file(DOCS.parent / "examples" / "ppo.py")
    side, settings = splits.split(ID, "train"), ppo.Settings()
    school = side.make()
    actor, moments = ppo.train(school, settings, school.params, side.key(0))[0]
    floor = 2e-8 * (1 + moments.mean**2)
    agents = actor, moments._replace(var=moments.var.clip(floor)), moments
    rows = [(name, *_in_contexts(ppo, which, agents)) for name, which in HELD_OUT.items()]
    columns = ("held out", "no action", "expert", "agent, entries that never varied standardised as others", "agent")
    put(PAGE, "contexts", body(Table(f"return over {SEASONS} seasons (95 % interval)", columns, rows)))


def _in_contexts(ppo: Any, which: tuple[str, ...], agents: Any) -> list[str]:
    """Returns where some of the context is of the test side, the rest of the training side."""
    sides = {False: splits.split(ID, "train").overrides, True: splits.split(ID, "test").overrides}
    only = {"Field-0": "site", "Field-0/Soil-0": "soil"}
    context = {"only": {path: sides[part in which]["context"]["only"][path] for path, part in only.items()}}
    env: Any = splits.make(ID, "test", context=context, rules=sides["day" in which]["rules"])
    actor, naive, moments = agents
    policies = [policy_named(ID, env, name) for name in ("none", "expert")]
    policies += [ppo.policy_of(env, ppo.Settings(), (actor, seen)) for seen in (naive, moments)]
    key = splits.split(ID, "test").key(ppo.HELD_OUT)
    returns = [np.asarray(evaluate(env, policy, key, SEASONS, horizon(env)).returns) for policy in policies]
    return [_told(asdict(summarise(each))) for each in returns]


if __name__ == "__main__":
    agents()
    if "contexts" in sys.argv[1:]:
        contexts()
