"""The command line: tables, JSON, files of an episode, errors in one line."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import harvestgym
from harvestgym import registry
from harvestgym.cli import app, environments
from harvestgym.cli.app import CommandGroup
from harvestgym.cli.console import print_table, progress_bars
from harvestgym.cli.environments import print_ids
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.score import BEST
from harvestgym.evaluate.statistics import format_mean
from tests.long_form import long

ID = "farm/bean-1x1-v0"
SCREEN_LINES = 45
runner = CliRunner()


def run_command(*args: str) -> str:
    result = runner.invoke(app, [*args])
    assert result.exit_code == 0, result.output
    return result.output


def test_list_prints_all_ids_or_those_of_a_family() -> None:
    assert run_command("list").split() == harvestgym.ids()
    assert run_command("list", "farm").split() == harvestgym.ids("farm")


def test_list_on_a_terminal_prints_one_line_with_description_per_id(capsys: pytest.CaptureFixture[str]) -> None:
    print_ids({id: registry.doc(id) for id in ("farm/game0-v0", "fishing/fox-v0")})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("farm/game0-v0   The simple game of") and second.startswith("fishing/fox-v0  Fox's")
    assert len(first) <= 80, "a line each"


def test_list_names_the_environments_of_several_agents() -> None:
    found = run_command("list", "--multi-agent").split()
    assert {id.partition("/")[0] for id in found} == set(registry.FAMILIES) and not set(found) & set(harvestgym.ids())
    assert run_command("list", "fishing", "--multi-agent").split() == ["fishing/commons-v0", "fishing/fleets-v0"]
    refused = runner.invoke(app, ["list", "--multi-agent", "--tag", "watering"])
    assert refused.exit_code == 2 and "--tag: expected no tag with --multi-agent" in refused.output


def test_list_filters_by_tag() -> None:
    found = run_command("list", "--tag", "polyculture").split()
    assert "farm/polyculture-3x4-v0" in found and "farm/bean-1x1-v0" not in found
    refused = runner.invoke(app, ["list", "--tag", "watring"])
    assert refused.exit_code == 2 and "try 'watering'" in refused.output


@pytest.mark.parametrize(
    "id", [ID, "farm/full-10x10-v0", "farm/contexts-1x1-v0", "fishing/patches-v0", "forager/unending-v0"]
)
def test_show_fits_within_a_screen_and_names_spaces_and_sections(id: str) -> None:
    text = run_command("show", id)
    assert len(text.splitlines()) <= SCREEN_LINES
    assert "Gymnasium spaces" in text and type(harvestgym.make(id).action_space).__name__ in text
    assert all(name in text for name in ("actions", "parameters", "all sections"))


@pytest.mark.parametrize(
    ("section", "there", "absent"),
    [("actions", "watering_discrete", "FAO-56"), ("parameters", "FAO-56", "watering_discrete"),
     ("entities", "Soil-0", "FAO-56"), ("state", "global_stage", "FAO-56"), ("rules", "horizon#day", "FAO-56")],
)  # fmt: skip
def test_show_prints_the_section_asked_for(section: str, there: str, absent: str) -> None:
    text = run_command("show", ID, section)
    assert there in text and absent not in text


def test_show_refuses_a_section_that_the_id_lacks() -> None:
    refused = runner.invoke(app, ["show", "fishing/logistic-v0", "rules"])
    assert (
        refused.exit_code == 2
        and "section of fishing/logistic-v0: expected a known name, got 'rules'" in refused.output
    )


def test_show_prints_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table("Ends", ("when",), [("[harvested, dead]",)]))
    assert "[harvested, dead]" in capsys.readouterr().out


def test_a_bar_pulses_without_a_share_until_a_first_part_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    with progress_bars() as start_bar:
        advance = start_bar("job", 4, "compiling")
        time.sleep(0.25)
        waiting = capsys.readouterr().err
        advance(1)
        time.sleep(0.25)
        moving = capsys.readouterr().err
    assert "job: compiling" in waiting and "0:00:00" in waiting and "%" not in waiting and "left" not in waiting
    assert "25%" in moving and "compiling" not in moving


def test_a_warning_is_one_line_without_a_place_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warnings.formatwarning", warnings.formatwarning)
    run_command("list")
    assert warnings.formatwarning(UserWarning("no fish"), UserWarning, "main.py", 1445) == "harvestgym: no fish\n"


@pytest.mark.parametrize("id", [ID, "farm/full-3x4-v0", "fishing/tipping-v0", "forager/seasons-v0"])
def test_show_has_every_column_on_a_terminal_of_80(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harvestgym.cli.console.PIPE_WIDTH", 80)
    lines = run_command("show", id).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line[-1] in "┓┃┩│┘" for line in lines if line[0] in "┏┃┡│└"), "the right border is there"
    assert len(lines) <= SCREEN_LINES


def test_show_prints_the_condition_that_ends_an_episode() -> None:
    assert "Plant-0.global_stage in [harvested, dead]" in " ".join(run_command("show", ID, "rules").split())


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("extends: farm/bean-1x1-v0\nrules: {horizon#day: 100}\n", "1 point for each kg harvested. .* 100 days"),
        ("extends: fishing/logistic-v0\nTmax: 30\n", "The score is the sum of the catches .* 30 years"),
        ("extends: forager/weather-v0\ndoc: Mine.\n", "mine.yaml  Mine."),
    ],
)
def test_show_describes_a_file_without_doc_by_its_goal(text: str, goal: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    shown = " ".join(run_command("show", str(tmp_path / "mine.yaml")).split("Gymnasium spaces")[0].split("\n"))
    assert re.search(goal, shown), shown


def test_show_prints_units_ranges_and_sources() -> None:
    text = run_command("show", ID, "all")
    for part in ("air_temperature/max#°C", "available_Water#L", "watering_discrete", "FAO-56", "global_stage"):
        assert part in text


def test_score_prints_the_policy_next_to_its_references() -> None:
    table = run_command("score", "fishing/logistic-v0", "--policy", "none", "--episodes", "20")
    (mine,) = (line for line in table.splitlines() if re.match(r"\W+none ", line))
    assert re.findall(r"-?[\d.]+", mine)[-2:] == ["0.00", "20"]
    assert "reference: expert" in table and "reference: optimum" in table
    assert "held-out episodes" in table and "season" not in table and BEST not in table  # it has no `best`


def test_suite_lists_the_ids_or_scores_a_policy_and_writes_its_result(tmp_path: Path) -> None:
    listed = run_command("suite")
    assert "fishing/driver-v0" in listed and "a hidden driver of growth" in listed and "best known" in listed
    assert listed.endswith(f"{BEST}\n") and "season" not in listed
    ids, out = ("fishing/driver-v0", "fishing/us-stocks-v0"), tmp_path / "mine.json"
    asked = ("--policy", "none", "--ids", ids[0], "--ids", ids[1])
    text = run_command("suite", *asked, "--name", "idle", "--out", str(out))
    assert f"wrote {out}" in text and "total" not in text and "idle on the core suite" in text
    found = json.loads(out.read_text())
    assert found["policy"] == "idle" and set(found) > {"version", "digest", "failures", "total"}
    for id in ids:
        (line,) = (line for line in text.splitlines() if id in line)
        assert format_mean(found[id]["score"], *found[id]["interval"]) in line and " 400 " in line


@long  # tests/test_capabilities.py runs the command
def test_run_prints_a_table_and_the_same_numbers_as_json() -> None:
    table = run_command("run", ID, "--episodes", "50", "--seed", "3")
    numbers = json.loads(run_command("run", ID, "--episodes", "50", "--seed", "3", "--json"))
    assert numbers["id"] == ID and numbers["episodes"] == 50 and numbers["seed"] == 3
    assert set(numbers["return"]) == {"mean", "sd", "cvar10", "iqm", "ci95"}
    assert f"{numbers['return']['mean']:.3f}" in table and "yield kg" in table and "CVaR" in table
    assert "95 % interval of the mean return: {:.3f} to {:.3f}".format(*numbers["return"]["ci95"]) in table
    deaths = numbers["Plant-0 cause of death"]
    assert sum(deaths.values()) == 50 and f"Plant-0 cause of death: none in {deaths['none']}" in table


def test_run_writes_the_first_episode(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = run_command("run", ID, "--episodes", "1", "--out", str(tmp_path / "season"))
    assert "one episode" in table and "sd" not in table and "interval" not in table, "of one there is no spread"
    files = sorted(p.suffix for p in (tmp_path / "season").iterdir())
    assert files == [".parquet", ".png"]
    table = parquet.read_table(next((tmp_path / "season").glob("*.parquet")))
    water = np.asarray(table["Field-0/Soil-0/available_Water#L/(0, 0)"])
    assert table.num_rows > 20 and (water > 0).all()
    assert "info/Field-0/Plant-0/cause_of_death/(0, 0)" in table.column_names
    assert table["Field-0/Weather-0/day#int365"].to_pylist()[:2] in ([115, 116], [125, 126], [135, 136])


@pytest.mark.parametrize(
    ("args", "words"),
    [(("run", "farm/been-clay-1x1-v1"), f"try '{ID}'"),
     (("run", ID, "--policy", "expurt"), "expected a known policy, got 'expurt'; try 'expert'"),
     (("run", "fishing/commons-v0"), "try harvestgym.make_parallel('fishing/commons-v0')"),
     (("list", "farms"), "family: expected a known name, got 'farms'; try 'farm'"),
     (("list", "fishing", "--tag", "watering"), "tag: expected None"),
     (("show", "bean"), "environment: expected a known name, got 'bean'"),
     (("show", "/tmp"), "try `harvestgym list`"),
     (("run", ID, "--out", "pyproject.toml/season"), "--out: expected a folder, got the file"),
     (("run", ID, "--html", "nowhere/season.html"), "nowhere/season.html: expected an existing folder"),
     (("run", ID, "--html", "season.txt"), "expected a file name ending in .html or .htm, got .txt"),
     (("tune", ID, "--out", "tests"), "expected a file name ending in .yaml or .yml, got no suffix"),
     (("tune", ID, "--out", "nowhere/rule.yaml"), "nowhere/rule.yaml: expected an existing folder"),
     (("suite", "--policy", "expert", "--ids", "fishing/drivr-v0"), "try 'fishing/driver-v0'"),
     (("suite", "--out", "mine.json"), "--policy: expected a policy, got none"),
     (("suite", "--policy", "expert", "--out", "mine.yaml"), "try mine.json"),
     (("suite", "--policy", "nomodule:f"), "got the unknown module 'nomodule'"),
     (("score", ID, "--policy", "expurt"), "expected a known policy, got 'expurt'; try 'expert'"),
     (("score", ID, "--policy", "nomodule:f"), "got the unknown module 'nomodule'")],
)  # fmt: skip
def test_user_error_is_printed_in_one_line(args: tuple[str, ...], words: str) -> None:
    result = runner.invoke(app, [*args])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output


def test_unreadable_file_is_printed_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "mine.yaml")

    monkeypatch.setattr("harvestgym.registry.ids", locked)
    result = runner.invoke(app, ["list"])
    assert result.exit_code == 2 and result.output == "harvestgym: mine.yaml: Permission denied\n"


def test_version_is_printed() -> None:
    assert run_command("--version") == f"harvestgym {version('harvestgym')}\n"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "harvestgym", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("harvestgym ")


def test_check_reports_a_kept_contract() -> None:
    assert "meets the contract" in run_command("check", "fishing/logistic-v0")


def test_help_is_printed_without_loading_jax() -> None:
    code = (
        "import sys; from harvestgym.cli import app; app(['--help'], standalone_mode=False); "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_command_added_to_a_group_is_a_command_of_the_application() -> None:
    group = typer.Typer()

    @group.command()
    def greet(name: str) -> None:
        raise ConfigError(f"{name}: no greeting")

    extended = typer.Typer(cls=CommandGroup)
    extended.add_typer(environments.group)
    extended.add_typer(group)
    result = runner.invoke(extended, ["greet", "Ada"])
    assert result.exit_code == 2 and result.output == "harvestgym: Ada: no greeting\n"
    assert runner.invoke(extended, ["list", "farm"]).output.split() == harvestgym.ids("farm")


@pytest.mark.parametrize("extra", ["mcp", "openenv"])
def test_serve_names_the_missing_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "text games" in run_command("serve", "--help") and "ID..." in run_command("serve", extra, "--help")
    monkeypatch.setattr("harvestgym.core.errors.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, f"harvestgym.text.{extra}_server", raising=False)
    refused = runner.invoke(app, ["serve", extra, "fishing/logistic-v0"])
    assert refused.exit_code == 2 and f"try pip install 'harvestgym[{extra}]'" in refused.output
