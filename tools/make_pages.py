"""Write the docs pages that are derived from metadata: one per registered id, in docs/<family>/, and the galleries.

    python tools/make_pages.py

`docs/conf.py` calls `write_pages` when the site is built. The scores come from docs/leaderboard.json.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

import harvestgym
from harvestgym.adapters.pettingzoo import describe_parallel
from harvestgym.core.config import read_extended, read_sets
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.run import find_idle_action
from harvestgym.farm.build.components import load_kind
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.public_names import KINDS
from harvestgym.farm.view.describe import make_parameter_table
from harvestgym.registry import FAMILIES, doc, family_function, hard, locate_file

DOCS = Path(__file__).parent.parent / "docs"
NOTE = "<!-- Made with the site by tools/make_pages.py; do not edit. -->"
COLUMNS = 3
"""Number of pictures per row of a gallery."""
LONG = 25
"""Maximum number of rows of a table that is not folded."""

POLICIES = {
    "none": "does nothing",
    "random": "draws from the action space",
    "expert": "is the rule provided with the id",
    "blind": "is the best fixed schedule of actions, which observes nothing",
    "best": "is the best known policy, found by [the adversary](../heldout.md#the-adversary)",
    "foresight": "is the best schedule that a planner found, or the best rule in hindsight; it knows the random events",
    "optimum": "is dynamic programming that knows the year in which the episode ends",
    "oracle": "observes the current reward of every kind",
}
"""Explanations of the policies in the table of scores."""

TWINS = (
    "Foragers are endless. Each has a twin that truncates its episodes after 5,000 steps, "
    "such as `forager/weather-5000-v0` ([why](forager.md#training-with-other-libraries))."
)

LIST = (
    "The last two columns are mean returns over the test seasons, of doing nothing and of the expert, in the unit of "
    'the id\'s reward. "4 of 125" means four actions a step, each one of 125; an amount is a number. The galleries of '
    "[farms](farm/index.md), [fisheries](fishing/index.md) and [foragers](forager/index.md) have larger pictures; "
    "[what each environment tests](difficulty.md) helps to choose."
)

SEVERAL = (
    "These ids are PettingZoo parallel environments (`pip install '.[multi]'`). `harvestgym.make_parallel(id)` makes "
    "them; `gymnasium.make` does not. `harvestgym list --multi-agent` prints them. "
    "[More](map.md#several-agents-with-one-water-quota)."
)

TITLES = {"farm": "Farm environments", "fishing": "Fishery environments", "forager": "Foraging environments"}


def history(id: str) -> dict[str, str]:
    """Return the description of each version of an environment, from its file and the files that it extends."""
    known = read_extended(locate_file(id), id.partition("/")[0]).get("history", {})
    return {version: text for version, text in known.items() if int(version[1:]) <= int(id.rpartition("v")[2])}


def page(id: str) -> str:
    """Return the page of an id as Markdown: what makes it hard, a picture, facts, scores, history and tables."""
    env = harvestgym.make(id)
    lines = [f"# {id}", "", NOTE, "", doc(id, env), "", f"**What is hard.** {hard(id)}", ""]
    lines += [f"![A step of the expert on {id}](../pictures/{id.replace('/', '-')}.png)", ""]
    lines += markdown(Table("At a glance", ("", ""), list(facts(id, env).items())))
    lines += scores(id)
    lines += ["## Versions", "", *(f"- {version}: {change}" for version, change in history(id).items()), ""]
    tables = family_function(id, "describe")(env)
    for table in farm_tables(env, tables) if isinstance(env, FarmModel) else tables:
        lines += fold(table)
    return "\n".join(lines)


def facts(id: str, env: Any) -> dict[str, str]:
    """Return facts about an id as text: how to make it, its spaces, reward, episode length and policies."""
    horizon = find_horizon(env)
    tags = getattr(getattr(env, "spec", None), "tags", [])
    reward = (inspect.getdoc(type(env).reward) or "").partition("\n")[0].removeprefix("Return ")
    policies = [*family_function(id, "policies")(env), "random", *["none"] * (find_idle_action(id, env) is not None)]
    found = {
        "make it": f'`gymnasium.make("harvestgym:{id}")`',
        "action": describe_space(env.action_space),
        "observation": describe_space(env.observation_space),
        "reward": reward.rstrip("."),
        "an episode": f"at most {horizon} {env.step_unit}" if horizon else "endless",
        "policies": ", ".join(f"`{name}`" for name in policies),
    }
    return found | ({"tags": ", ".join(tags)} if tags else {})


def describe_space(space: spaces.Space[Any]) -> str:
    """Return a description of a Gymnasium space, such as "an integer from 0 to 4"."""
    if isinstance(space, spaces.Dict):
        return "a dictionary: " + "; ".join(f"`{name}`: {describe_space(part)}" for name, part in space.items())
    if isinstance(space, spaces.Discrete):
        return f"an integer from 0 to {space.n - 1} (`Discrete`)"
    if isinstance(space, spaces.MultiDiscrete):
        return f"{space.nvec.size} integers from 0 to {space.nvec.max() - 1} (`MultiDiscrete`)"
    if isinstance(space, spaces.MultiBinary):
        return f"{space.n} times 0 or 1 (`MultiBinary`)"
    if not isinstance(space, spaces.Box):
        return f"`{space}`"
    shape = " x ".join(map(str, space.shape))
    if space.dtype == bool:
        return f"{shape} times 0 or 1 (`Box`)"
    ends = [float(end.flat[0]) for end in (space.low, space.high) if np.ptp(end) == 0]
    between = f" from {ends[0]:g} to {ends[1]:g}" if len(ends) == 2 else ""
    return f"{shape} {'number' if shape == '1' else 'numbers'}{between} (`Box`)"


def scores(id: str) -> list[str]:
    """Return an id's scores on the leaderboard as Markdown."""
    rows = [row for row in leaderboard() if row["id"] == id]
    lines = ["## Scores", ""]
    if not rows:
        return [*lines, "The [leaderboard](../leaderboard.md) has no rows of this version yet.", ""]
    meanings = [f"`{r['policy']}` {POLICIES[r['policy']]}" for r in rows]
    lines += [f"Returns on the test seasons. {'; '.join(meanings)} ([more](../leaderboard.md#policies)).", ""]
    columns = {
        "policy": [r["policy"] for r in rows],
        "mean return": [f"{r['mean']:.4g}" for r in rows],
        "95 % interval": [f"{r['low']:.4g} to {r['high']:.4g}" for r in rows],
        "score": ["" if r["score"] is None else f"{r['score']:z.2f}" for r in rows],
        "episodes": [f"{r['seasons']:,}" for r in rows],
    }
    if any(columns["score"]):
        best = "best known policy" if any(r["policy"] == "best" for r in rows) else "expert"
        lines[-2] += f" The score is 0 for doing nothing and 1 for the {best}."
    else:
        del columns["score"]  # foragers have no score, because a forager cannot do nothing
    return lines + markdown(Table("", tuple(columns), list(zip(*columns.values(), strict=True))))[2:]


@functools.cache
def leaderboard() -> list[dict[str, Any]]:
    """Read the rows of the leaderboard."""
    return json.loads((DOCS / "leaderboard.json").read_text(encoding="utf-8"))["rows"]


def markdown(table: Table) -> list[str]:
    """Return a table as Markdown, with its title as a heading."""
    head = [f"## {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns))]
    return head + [_row(row) for row in table.rows] + [""]


def fold(table: Table) -> list[str]:
    """Return a table as Markdown, with its title as a heading; long tables are folded."""
    title, blank, *rows = markdown(table)
    if len(table.rows) <= LONG:
        return [title, blank, *rows]
    return [title, "", "<details>", f"<summary>{len(table.rows)} rows</summary>", "", *rows, "</details>", ""]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def farm_tables(env: FarmModel, tables: list[Table]) -> Iterator[Table]:
    """Yield the tables of a farm's page; plots are merged, and only parameters that differ from their set are shown."""
    sets = {f"{f.name}/{slot.name}": (slot.kind, which)
            for f, spec in zip(env.fields, env.spec.fields.values(), strict=True)
            for slot, (_, which) in zip(f.slots, spec.entities, strict=True)}  # fmt: skip
    for table in tables:
        place = table.title.removeprefix("Parameters of ")
        if table.title == "Entities":
            rows = [(*r[:2], link_set(*sets[f"{r[0]}/{r[1]}"]), r[3]) for r in table.rows]
            yield table._replace(columns=("field", "entity", "parameters", "what it is"), rows=rows)
        elif table.title == "Observation":
            yield table._replace(rows=list(join_plots(table.rows)))
        elif place not in sets:
            yield table
        elif changed := [row for row in table.rows if row[:2] not in read_set(*sets[place])]:
            yield table._replace(title=f"Parameters of {place} that differ from the set", rows=changed)


def join_plots(rows: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of an observation; the rows of one variable on several plots are merged."""
    for _, group in itertools.groupby(rows, key=lambda row: (row[1].partition("/(")[0], row[2])):
        first, *_, last = [*group] * 2
        if first == last:
            yield first
        else:
            yield f"{first[0]} to {last[0]}", f"{first[1]} to {last[1].rpartition('/')[2]}", first[2]


def name_set(kind: type[Any], which: str | Mapping[str, Any]) -> str:
    """Return the name of the parameter set that an entity has or changes."""
    return which if isinstance(which, str) else which.get("extends") or next(iter(read_sets(kind.file())))


def link_set(kind: type[Any], which: str | Mapping[str, Any]) -> str:
    """Return a link to the page of a parameter set."""
    name = name_set(kind, which)
    return f"[{name}](sets/{kind.__name__.lower()}-{name}.md)" + (
        "" if isinstance(which, str) else ", changed: see below"
    )


@functools.cache
def _read_named(kind: type[Any], name: str) -> frozenset[tuple[str, ...]]:
    return frozenset(row[:2] for row in make_parameter_table("", kind.named(name), name).rows)


def read_set(kind: type[Any], which: str | Mapping[str, Any]) -> frozenset[tuple[str, ...]]:
    """Return the names and values of the parameter set that an entity has or changes."""
    return _read_named(kind, name_set(kind, which))


def set_pages() -> dict[Path, str]:
    """Return one page for each parameter set of each kind of entity, and a page that lists them."""
    folder, made, lists = DOCS / "farm" / "sets", {}, ["# Parameter sets", "", NOTE, ""]
    lists += ["Parameters of the entities of farms, each with its value, unit and source.", ""]
    for kind in map(load_kind, KINDS):
        names = [name for name in read_sets(kind.file()) if name != "base"]  # not a complete set: other sets extend it
        lists += [f"- {kind.__name__}: " + ", ".join(f"[{n}]({kind.__name__.lower()}-{n}.md)" for n in names)]
        for name in names:
            table = make_parameter_table("", kind.named(name), name)
            title = [f"# {kind.__name__}: {name}", "", NOTE, "", (kind.__doc__ or "").partition("\n")[0], ""]
            made[folder / f"{kind.__name__.lower()}-{name}.md"] = "\n".join(title + markdown(table)[2:])
    tree = ["", "```{toctree}", ":hidden:", "", *(path.stem for path in made), "```", ""]
    return made | {folder / "index.md": "\n".join(lists + tree)}


def gallery(family: str) -> str:
    """Return the gallery of a family: a picture of every id that links to the id's page."""
    cells = [_picture(id) for id in harvestgym.ids(family)]
    cells += [""] * (-len(cells) % COLUMNS)
    rows = [tuple(cells[at : at + COLUMNS]) for at in range(0, len(cells), COLUMNS)]
    table = markdown(Table("", ("",) * COLUMNS, rows))[2:]
    names = [id.partition("/")[2] for id in harvestgym.ids(family)] + ["sets/index"] * (family == "farm")
    return "\n".join([
        f"# {TITLES[family]}", "", NOTE, "", *table, "```{toctree}", ":hidden:", "", *names, "```", "",
    ])  # fmt: skip


def _picture(id: str) -> str:
    name = id.partition("/")[2]
    short, stop, _ = doc(id).partition(". ")
    return (
        f"[![{id}](../pictures/{id.replace('/', '-')}.png)]({name}.md)<br>[{name}]({name}.md)<br>{short}{stop.strip()}"
    )


def index() -> str:
    """Return the page that lists all ids in one table."""
    rows = [_row_of(id) for id in harvestgym.ids()]
    table = markdown(Table("", ("", "id", "an episode", "actions", "nothing", "expert"), rows))[2:]
    lines = ["# All environments", "", NOTE, "", LIST, "", TWINS, "", "```{table}", ":class: ids", "", *table[:-1]]
    lines += ["```", "", "## Environments of several agents", "", SEVERAL, ""]
    return "\n".join([*lines, *(f"- `{id}`: {what}" for id, what in describe_parallel().items()), ""])


def _row_of(id: str) -> tuple[str, ...]:
    """Return the cells of an id: its picture, what it is, its size, and the returns of two policies."""
    env, returns = (
        harvestgym.make(id),
        {row["policy"]: f"{row['mean']:z.3g}" for row in leaderboard() if row["id"] == id},
    )
    horizon = find_horizon(env)
    picture = f"[![{id}](thumbs/{id.replace('/', '-')}.png)]({id}.md)"
    short, stop, _ = doc(id, env).partition(". ")
    return (
        picture, f"[{id}]({id}.md)<br>{short}{stop.strip()}", f"{horizon:,} {env.step_unit}" if horizon else "endless",
        say_actions(env.action_space), *(returns.get(policy, "") for policy in ("none", "expert")),
    )  # fmt: skip


def find_horizon(env: Any) -> int:
    """Return the maximum number of steps of an episode; 0 if it is endless."""
    return int(getattr(env.params, "horizon", 0)) * (getattr(env, "steps_per_day", None) or 1)


def say_actions(space: spaces.Space[Any]) -> str:
    """Return the size of an action space in a few words, such as "4 of 125"."""
    match space:
        case spaces.Discrete():
            return f"{space.n:,}"
        case spaces.MultiDiscrete():
            return f"{space.nvec.size} of {space.nvec.max():,}"
        case spaces.Dict():
            return f"{say_actions(space['order'])} and {math.prod(space['request'].shape or ())} looks"
        case spaces.Box():
            count = math.prod(space.shape)
            return f"{count} amount{'s' * (count > 1)}"
    return f"`{space}`"


def list_paths() -> list[Path]:
    """List the paths of all generated pages without generating them."""
    sets = [(load_kind(kind), kind.lower()) for kind in KINDS]
    names = [f"farm/sets/{prefix}-{name}" for kind, prefix in sets for name in read_sets(kind.file())]
    lists = ["ids", "leaderboard", "farm/sets/index", *(f"{family}/index" for family in FAMILIES)]
    return [DOCS / f"{name}.md" for name in (*harvestgym.ids(), *names, *lists)]


def pages() -> dict[Path, str]:
    """Return the text of every page by path."""
    made = {DOCS / f"{id}.md": page(id) for id in harvestgym.ids()} | {DOCS / "ids.md": index()} | set_pages()
    return made | {DOCS / family / "index.md": gallery(family) for family in FAMILIES}


def write_pages() -> None:
    """Write the pages whose text has changed."""
    for path, text in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()
