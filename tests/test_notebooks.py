"""The notebooks run from the first cell to the last, and what their last lines return can be shown.

They run in this process, without Jupyter; the site executes them with it (`HARVESTGYM_NOTEBOOKS=force`). Those that
take longest are part of the long form.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .load_script import ROOT
from .long_form import some

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("[0-9]*.md"))
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHORT = ("1_season", "3_yaml", "5_looking", "6_fishery")


def run(cell: str, names: dict[str, object]) -> object:
    """Run a cell and return the value of its last line, if that is an expression, as a notebook does."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), names)


@pytest.mark.parametrize("name", some([path.stem for path in NOTEBOOKS], *SHORT))
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    if name == "2_ppo":
        pytest.importorskip("optax")
    folder = ROOT / "docs" / "notebooks"
    monkeypatch.chdir(folder)
    before, names = set(Path().iterdir()), {"__name__": "__main__"}
    for cell in CELL.findall((folder / f"{name}.md").read_text(encoding="utf-8")):
        shown = run(cell, names)
        for method in ("_repr_html_", "_repr_png_"):
            assert getattr(shown, method, lambda: True)(), f"{name}: nothing is shown for {shown!r}"
    assert capsys.readouterr().out, "a result is printed"
    assert set(Path().iterdir()) == before, "nothing is written where it was not asked"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_needs_and_its_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "pip install" in text.partition("```{code-cell}")[0]
    for target in re.findall(r"\]\(([^)#:]+)\)", CELL.sub("", text)):
        assert (path.parent / target).exists(), f"{path.name} points to {target}"
