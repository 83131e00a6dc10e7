"""Write the learning curves and the tables of trained agents into experiments/training/TABLES.md.

python -m experiments.make_training             # curves and tables of everything in docs/training
python -m experiments.make_training contexts    # also train an agent, and test it in unseen contexts

The agents are trained by steps of `steps.yaml`.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.aggregates import bootstrap_strata, mean_of_all
from harvestgym.core.loading import import_file
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.statistics import summarise
from tools.docs_blocks import DOCS, PICTURES, body, put

PAGE = DOCS.parent / "experiments" / "training" / "TABLES.md"


def draw(name: str, runs: dict[str, Any], label: str, total: Any, line: Any = None) -> str:
    """Draw the learning curves up to `total(run)`, one panel per game; return the Markdown for the picture.

    A thin line marks `line(run)`. Updates in which no season ended are left out.
    """
    rows, columns = -(-len(runs) // 3), min(len(runs), 3)
    page = Figure(figsize=(max(3.3 * columns, 5), 2.9 * rows), layout="constrained")
    grid = page.subplots(rows, columns, squeeze=False)
    for axes, (id, run) in zip(grid.flat, runs.items(), strict=False):
        for seed in run["seeds"]:
            shown = np.asarray(seed["curve"])
            at = total(run) * np.linspace(0, 1, len(shown) + 1)[1:]
            axes.plot(at[shown != 0], shown[shown != 0], lw=1, label=f"seed {seed['seed']}")
        if line is not None:
            axes.axvline(line(run), color="#bbbbbb", lw=1)
        _finish(axes, id, run, label)
    for axes in grid.flat[len(runs) :]:
        axes.remove()
    page.axes[0].set_ylabel("return", fontsize=8)
    page.axes[0].legend(frameon=False, fontsize=7)
    page.savefig(PICTURES / name, dpi=90)
    return f"![Learning curves](../../docs/pictures/{name})"


def _finish(axes: Any, id: str, run: dict[str, Any], label: str) -> None:
    axes.axhline(run["expert"]["mean"], color="#444444", ls="--", lw=1, label="expert, held out")
    axes.axhline(run["none"]["mean"], color="#999999", ls=":", lw=1, label="nothing, held out")
    axes.set_title(id.partition("/")[2], fontsize=9)
    axes.set_xlabel(label, fontsize=8)


def _describe(score: dict[str, float]) -> str:
    return f"{score['mean']:z.3f} ({score['low']:z.3f} to {score['high']:z.3f})"


def maps() -> None:
    """Write the table and the curves of the agents that start by imitating the expert."""
    runs = _read("maps")
    rows = [row for id, run in runs.items() for row in _clone_rows(id, run)]
    title = "imitation and PPO on maps: return of held-out seasons, mean of the seeds"
    table = Table(title, (*COLUMNS, "orders", "parameters"), rows)
    put(PAGE, "maps", [*body(table), draw_orders("map-agents.png", runs), "", *_conclude(runs)])


def jobs() -> None:
    """Write the table and the curves of the Stable-Baselines3 learners on macro jobs."""
    runs = {(id, name): run for name in ("PPO", "DQN") for id, run in _read(f"jobs-{name.lower()}").items()}
    rows = [_row(id, name, run, "agent", run["settings"]["steps"], run["parameters"])
            for (id, name), run in runs.items()]  # fmt: skip
    title = "Stable-Baselines3 on macro jobs: return of held-out seasons, mean of the seeds"
    table = Table(title, (*COLUMNS, "jobs", "parameters"), rows)
    shown = {", ".join(names): run for names, run in runs.items()}
    picture = draw("jobs-agents.png", shown, "thousand jobs", lambda run: run["settings"]["steps"] / 1000)
    put(PAGE, "jobs", [*body(table), picture])


def residual() -> None:
    """Write the table and the curves of the agents that start from the expert."""
    runs = _read("residual")
    agents = {"likeliest": "agent", "drawn": "drawing agent"}
    rows = [_row(id, name, run, agent, _orders(run), run["parameters"])
            for id, run in runs.items() for name, agent in agents.items()]  # fmt: skip
    title = "the expert and PPO on maps: return of held-out seasons, mean of the seeds"
    table = Table(title, (*COLUMNS[:1], "orders taken", *COLUMNS[2:], "orders", "parameters"), rows)
    put(PAGE, "residual", [*body(table), draw_orders("residual-agents.png", runs), "", *_conclude(runs)])


def evolution() -> None:
    """Write the table and the curves of the agents trained with evolution strategies."""
    runs = _read("evolution")
    taught = {id: run for id, run in runs.items() if run["settings"].get("school") not in (None, id)}
    rows = [_row(id, f"that of {run['settings']['school']}" if id in taught else "evolution", run, "agent",
                 _seasons(run), run["parameters"]) for id, run in runs.items()]  # fmt: skip
    title = "evolution strategies on maps: return of held-out seasons, mean of the seeds"
    table = Table(title, (*COLUMNS, "seasons", "parameters"), rows)
    shown = {id: run for id, run in runs.items() if id not in taught}
    picture = draw("evolution-agents.png", shown, "thousand seasons", lambda run: _seasons(run) / 1000)
    put(PAGE, "evolution", [*body(table), picture, "", *_conclude(runs)])


def _seasons(run: dict[str, Any]) -> int:
    """Return the number of seasons from which an agent of `map_evolution.py` learned."""
    settings = run["settings"]
    return settings["updates"] * settings["train_seasons"] * (2 * settings["pairs"] + 1)


def _read(name: str) -> dict[str, Any]:
    """Read the runs of a method by id, without the versions: the farms were never released and have changed since."""
    text = (DOCS / "training" / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(re.sub(r"-v[0-9]+\b", "", text))


def _orders(run: dict[str, Any], updates: int | None = None) -> int:
    """Return the number of orders in this many updates; by default, in all updates of the run."""
    settings = run["settings"]
    all_updates = settings.get("imitate", 0) + settings["updates"]
    return settings["num_envs"] * settings["num_steps"] * (all_updates if updates is None else updates)


def _conclude(runs: dict[str, Any]) -> list[str]:
    whole = bootstrap_strata([_shares(run, "agent") for run in runs.values()])
    return [f"Over the {len(runs)} farms, the interquartile mean of the agents' share is {whole}."]


COLUMNS = (
    "game", "agent", "seeds", "nothing", "expert", "agent's return (95 %)", "share (95 %)", "IQM", "CVaR 10 %",
    "expert's CVaR", "CPU s per seed",
)  # fmt: skip


def _clone_rows(id: str, run: dict[str, Any]) -> list[tuple[str, ...]]:
    names = {
        "clone": "clone", "drawing clone": "clone, orders drawn",
        "agent": "clone, then PPO", "drawing agent": "clone, then PPO, orders drawn",
    }  # fmt: skip
    imitated = run["settings"]["imitate"]
    return [
        _row(id, name, run, agent, _orders(run, imitated if "clone" in agent else None), run["parameters"])
        for agent, name in names.items() if agent in run["seeds"][0]
    ]  # fmt: skip


def _row(id: str, name: str, run: dict[str, Any], agent: str, *sizes: int) -> tuple[str, ...]:
    """Return a row of the table; intervals come from resampling the seeds, whose values are means over seasons."""
    scores = [seed[agent] for seed in run["seeds"]]
    means, share = (_over_seeds(values) for values in ([score["mean"] for score in scores], _shares(run, agent)))
    iqm, cvar = (f"{np.mean([score[key] for score in scores]):z.3f}" for key in ("iqm", "cvar10"))
    ends = f"{run['none']['mean']:z.3f}", f"{run['expert']['mean']:z.3f}"
    cpu = "" if "clone" in agent else ", ".join(f"{seed['cpu']:.0f}" for seed in run["seeds"])
    cost = cpu, *(f"{size:,}" for size in sizes)
    return id, name, str(len(scores)), *ends, means, share, iqm, cvar, f"{run['expert']['cvar10']:z.3f}", *cost


def _over_seeds(values: list[float]) -> str:
    """Return the mean over the seeds, with its interval if there are several."""
    return f"{values[0]:z.3g}" if len(values) == 1 else str(bootstrap_strata([values], mean_of_all))


def _shares(run: dict[str, Any], agent: str) -> list[float]:
    """Return each seed's gain over doing nothing, as a fraction of the expert's gain."""
    nothing, expert = run["none"]["mean"], run["expert"]["mean"]
    return [(seed[agent]["mean"] - nothing) / (expert - nothing) for seed in run["seeds"]]


def draw_orders(name: str, runs: dict[str, Any]) -> str:
    """Draw the learning curves over orders, with a line where PPO begins; return the Markdown for the picture."""

    def before(run: dict[str, Any]) -> float:
        return _orders(run, run["settings"].get("imitate", run["settings"].get("settle"))) / 1000

    return draw(name, runs, "thousand orders; PPO after the line", lambda run: _orders(run) / 1000, before)


SEASONS, ID = 500, "farm/contexts-1x1-v0"
HELD_OUT = {
    "nothing": (),
    "soil": ("soil",),
    "site": ("site",),
    "site, soil and day of sowing": ("site", "soil", "day"),
}


def contexts() -> None:
    """Train an agent once, and write its returns in seen and in unseen contexts into the page."""
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
    """Return the cells of a row: returns if only the parts `which` of the context are from the test split."""
    sides = {False: splits.split(ID, "train").overrides, True: splits.split(ID, "test").overrides}
    only = {"Field-0": "site", "Field-0/Soil-0": "soil"}
    context = {"only": {path: sides[part in which]["context"]["only"][path] for path, part in only.items()}}
    env: Any = splits.make(ID, "test", context=context, rules=sides["day" in which]["rules"])
    actor, naive, moments = agents
    policies = [policy_named(ID, env, name) for name in ("none", "expert")]
    policies += [ppo.policy_of(env, ppo.Settings(), (actor, seen)) for seen in (naive, moments)]
    key = splits.split(ID, "test").key(ppo.HELD_OUT)
    returns = [np.asarray(evaluate(env, policy, key, SEASONS, horizon(env)).returns) for policy in policies]
    return [_describe(asdict(summarise(each))) for each in returns]


if __name__ == "__main__":
    maps()
    residual()
    evolution()
    jobs()
    if "contexts" in sys.argv[1:]:
        contexts()
