"""Write a page for every registered id under docs/<family>/, and the galleries, all of it from metadata.

python tools/make_pages.py           # write
python tools/make_pages.py --check   # exit 1 and name the pages that are out of date

The scores on the pages are those of docs/leaderboard.json, so run this after the leaderboard.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

import harvestgym
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.run import find_idle_action
from harvestgym.registry import FAMILIES, doc, family_function

DOCS = Path(__file__).parent.parent / "docs"
NOTE = "<!-- Made by `python tools/make_pages.py`; do not edit. -->"
COLUMNS = 3
"""Pictures in a row of a gallery."""

TITLES = {"farm": "Farm environments", "fishing": "Fishery environments", "forager": "Foraging environments"}


def page(id: str) -> str:
    """Return the Markdown page of an id: its difficulty, a picture, facts, scores, tables and history."""
    env = harvestgym.make(id)
    lines = [f"# {id}", "", NOTE, "", doc(id, env), ""]
    lines += [f"![A step of the expert on {id}](../pictures/{id.replace('/', '-')}.png)", ""]
    lines += markdown(Table("At a glance", ("", ""), list(facts(id, env).items())))
    lines += scores(id)
    for table in family_function(id, "describe")(env):
        lines += markdown(table)
    history = getattr(getattr(env, "spec", None), "history", {})
    versions = [f"- {version}: {change}" for version, change in history.items()]
    return "\n".join([*lines, *(["## Versions", "", *versions, ""] if versions else [])])


def facts(id: str, env: Any) -> dict[str, str]:
    """Return how an environment is made, its spaces and reward in words, its length and its policies."""
    horizon = int(getattr(env.params, "horizon", 0)) * (getattr(env, "steps_per_day", None) or 1)
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
    """Describe a space in words."""
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
    """Return the scores of the leaderboard as Markdown."""
    rows = [row for row in leaderboard() if row["id"] == id]
    lines = ["## Scores", ""]
    if not rows:
        return [*lines, "The [leaderboard](../leaderboard.md) has no rows of this version yet.", ""]
    lines += ["Returns on the test seasons of the [leaderboard](../leaderboard.md), which explains the policies.", ""]
    columns = ("policy", "mean return", "95 % interval", "score", "episodes")
    cells = [
        (r["policy"], f"{r['mean']:.4g}", f"{r['low']:.4g} to {r['high']:.4g}",
         "" if r["score"] is None else f"{r['score']:.2f}", f"{r['seasons']:,}")
        for r in rows
    ]  # fmt: skip
    return lines + markdown(Table("", columns, cells))[2:]


@functools.cache
def leaderboard() -> list[dict[str, Any]]:
    """Read the rows of the leaderboard."""
    return json.loads((DOCS / "leaderboard.json").read_text(encoding="utf-8"))["rows"]


def markdown(table: Table) -> list[str]:
    """Return a table in Markdown under its title."""
    head = [f"## {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns))]
    return head + [_row(row) for row in table.rows] + [""]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def gallery(family: str) -> str:
    """Return the page with a picture of every id of a family, which links to its page."""
    cells = [_picture(id) for id in harvestgym.ids(family)]
    cells += [""] * (-len(cells) % COLUMNS)
    rows = [tuple(cells[at : at + COLUMNS]) for at in range(0, len(cells), COLUMNS)]
    table = markdown(Table("", ("",) * COLUMNS, rows))[2:]
    names = [id.partition("/")[2] for id in harvestgym.ids(family)]
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
    """Return the list of all pages."""
    lines = ["# All environments", "", NOTE, ""]
    for family in FAMILIES:
        lines += [f"## {TITLES[family]}", "", f"The [gallery]({family}/index.md) shows a picture of each.", ""]
        lines += [*(f"- [{id}]({id}.md) {doc(id)}" for id in harvestgym.ids(family)), ""]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Return every page and its text."""
    made = {DOCS / f"{id}.md": page(id) for id in harvestgym.ids()} | {DOCS / "ids.md": index()}
    return made | {DOCS / family / "index.md": gallery(family) for family in FAMILIES}


def main() -> None:
    """Write the pages, or check them."""
    made = pages()
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        print("\n".join(f"{path.relative_to(DOCS.parent)} is out of date" for path in stale))
        sys.exit(bool(stale))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    print(f"wrote {len(stale)} of {len(made)} pages")


if __name__ == "__main__":
    main()
