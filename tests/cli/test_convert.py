"""The command `convert`: one farm file from Farm-Gym's files, and a list of what was kept, changed and lost."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

import harvestgym
from harvestgym.cli.app import app
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from tests.farm.paper.farm_gym.folders import FARM, SIDE_FILES, write_folder

TABLE = "Tmin,Tmax,T,RH,U,Rain\n" + "10,20,15,60,2,1.5\n" * 365


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["convert", *map(str, words)])
    return result.exit_code, result.output


def test_a_folder_becomes_one_file_which_is_the_same_farm(tmp_path: Path) -> None:
    folder, out = tmp_path / "mine", tmp_path / "one.yaml"
    one_plot = FARM.replace("length#nb: 2", "length#nb: 1").replace("lille3", "valley")
    sides = {name: text.replace("(1, 0)", "(0, 0)") for name, text in SIDE_FILES.items()}
    sides["actions"] = sides["actions"].replace("'(0, 0)', '(0, 0)'", "'(0, 0)'")
    write_folder(folder, one_plot, **sides)
    (folder / "valley.csv").write_text(TABLE, encoding="utf-8")
    code, said = run(folder, "--out", out)
    assert code == 0, said
    lines = said.splitlines()
    assert lines[0] == f"wrote {out}; try `harvestgym run {out} --policy random`"
    assert lines[1].startswith("kept     entities: 3, fields: 1, farmers: 1, stopping conditions: 4, ")
    assert "changed  plain.yaml > Farm > Field-0 > entities > 0: the weather is the table valley.csv" in lines
    assert "lost     plain.yaml > author: has no counterpart here" in lines
    assert "table: mine/valley.csv" in out.read_text(encoding="utf-8"), "seen from the new file"
    spec = read_any_farm(out)
    assert spec.rules.init["Field-0"]["Weather-0"]["day#int365"] == [100]
    assert harvestgym.make(str(out)).spec.rules == spec.rules  # pyright: ignore[reportAttributeAccessIssue]
    assert run(folder, "--out", out) == (
        2,
        f"harvestgym: {out}: expected a new file, got an existing one; try another name\n",
    )


def test_mistakes_write_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_folder(folder, FARM.replace("Soil: clay", "Soil: mud"), **SIDE_FILES)
    code, said = run(folder, "--out", tmp_path / "one.yaml")
    assert code == 2 and "Soil set: expected a known name, got 'mud'" in said
    code, said = run(tmp_path, "--out", tmp_path / "one.yaml")
    assert code == 2 and "expected one farm file of Farm-Gym, with a key Farm, got 0" in said
    code, said = run(folder, "--out", tmp_path / "one.txt")
    assert code == 2 and "expected a file name ending in .yaml" in said
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
