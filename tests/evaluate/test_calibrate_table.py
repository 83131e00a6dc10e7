"""Calibration from a table: the file that it writes has the fitted values, and every rule refuses its case."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.scene import Chart, Line
from harvestgym.evaluate.calibrate import curves, fit, fitted
from harvestgym.evaluate.calibrate_table import Calibration, calibrate_table, read_columns
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.build.farm_writer import to_yaml
from harvestgym.farm.policies.rule_numbers import replace_numbers
from tests.fishing.test_fit import TRUTHS, fish
from tests.long_form import long

DAYS = 40
WATER, SIZE = "Field-0/Soil-0/available_Water#L", "Field-0/Plant-0/size#cm"
DEPTH, MAX_SIZE = "Field-0/Soil-0/depth#m", "Field-0/Plant-0/size_max#cm"
FREE = {DEPTH: (0.3, 0.8), MAX_SIZE: (30.0, 90.0)}
TRUTH = {DEPTH: 0.6, MAX_SIZE: 70.0}
OUT = ("bean.yaml", "bean.json", "bean.png")


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the file of a bean that nobody waters, and return its path."""
    path = tmp_path_factory.mktemp("farm") / "mine.yaml"
    rules = {"horizon#day": DAYS}
    path.write_text(to_yaml({"extends": "farm/bean-1x1-v0", "doc": "Mine.", "rules": rules, "expert": []}), "utf-8")
    return str(path)


def write(path: Path, columns: dict[str, Any]) -> Path:
    """Write a table; None is an empty cell."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join("" if cell is None else str(cell) for cell in row) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def season(farm: str) -> dict[str, list[Any]]:
    """Return the columns of a season with known parameters and noise."""
    env: Any = harvestgym.make(farm)
    made = curves(env, fitted(env, TRUTH), [WATER, SIZE], seasons=4, days=DAYS)
    days, rng = np.arange(4, DAYS + 1, 4), np.random.default_rng(0)
    noisy = {name: (made[name][days] * (1 + 0.03 * rng.normal(size=len(days)))).tolist() for name in made}
    return {"day": days.tolist(), **noisy}


def test_a_command_writes_a_farm_with_the_fitted_values(farm: str, season: dict[str, Any], tmp_path: Path) -> None:
    """Names may be short, days may be dates, and cells may be empty."""
    columns = {
        "date": [date(2023, 5, 1) + timedelta(day) for day in season["day"]], "Soil-0.available_Water": season[WATER],
        "field-0/plant-0/size#cm": [None, *season[SIZE][1:]],
    }  # fmt: skip
    table, out = write(tmp_path / "bean.csv", columns), tmp_path / "out"
    free = [part for path, (low, high) in FREE.items() for part in ("--free", f"{path}={low}:{high}")]
    args = ["calibrate", farm, str(table), *free, "--seasons", "4", "--start", "2023-05-01", "--policy", "none"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    assert DEPTH in result.output and f"rmse of {WATER}: " in result.output and "least squares, " in result.output
    assert " candidates, least mean squared error " in result.output, "it also says how far it is"
    assert [path.name for path in tmp_path.iterdir()] == ["bean.csv"], "nothing is written without --out"
    result = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert result.exit_code == 0 and sorted(path.name for path in out.iterdir()) == sorted(OUT), result.output
    written = json.loads((out / "bean.json").read_text(encoding="utf-8"))
    numbers, values = written["parameters"], written["values"]
    assert len(values) == 2 * len(season["day"]) - 1
    assert {*values[0]} == {"name", "day", "before", "fitted", "observed"}
    assert all(value["fitted"] == pytest.approx(value["observed"], rel=0.2) for value in values)
    env: Any = harvestgym.make(str(out / "bean.yaml"))
    made = env.params.fields[0].entities
    for path, value in ((DEPTH, made[1].depth), (MAX_SIZE, made[2].size_max)):
        assert numbers[path]["low"] < TRUTH[path] < numbers[path]["high"]
        assert float(value) == pytest.approx(numbers[path]["value"], rel=1e-5) == pytest.approx(TRUTH[path], rel=0.1)
    assert numbers[DEPTH]["before"] == 0.5
    assert "bean.csv" in (out / "bean.yaml").read_text(encoding="utf-8")
    again = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert again.exit_code == 2 and "expected a new file" in again.output


def test_weather_tables_are_named_relative_to_the_written_file(tmp_path: Path) -> None:
    weather = ["Weather", {"extends": "base", "table": str(tmp_path / "days.csv")}]
    files = {suffix: tmp_path / "out" / f"fitted{suffix}" for suffix in (".yaml", ".json", ".png")}
    (tmp_path / "out").mkdir()
    days = Chart("", "", 0, (Line("", np.zeros(2), "#000000"),), {})
    Calibration(to_yaml({"entities": [weather]}), [], [], [days], "day").write(files)
    assert "table: ../days.csv" in files[".yaml"].read_text(encoding="utf-8")


def test_a_value_on_its_bound_is_named(farm: str, season: dict[str, Any], tmp_path: Path) -> None:
    free = {DEPTH: (0.3, 0.45), MAX_SIZE: FREE[MAX_SIZE]}
    notes = calibrate_table(farm, write(tmp_path / "t.csv", season), free, policy="none", seasons=4).notes
    warnings = [note for note in notes if "on a bound" in note]
    assert len(warnings) == 1 and f"{DEPTH} = 0.45 is on a bound" in warnings[0]


def test_a_fit_that_depends_on_the_seed_has_a_warning(
    farm: str, season: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise of the simulation is next to each error; another seed that leaves an interval is named."""

    def refit(env: Any, free: Any, series: Any, policy: Any, seasons: int, seed: int, **options: Any) -> Any:
        found = fit(env, free, series, policy, seasons, **options)
        return found._replace(values=found.values | {DEPTH: 0.31}) if seed else found

    monkeypatch.setattr("harvestgym.evaluate.calibrate_table.fit", refit)
    notes = calibrate_table(farm, write(tmp_path / "t.csv", season), FREE, policy="none", seasons=4).notes
    noise = [float(note.rpartition(": ")[2]) for note in notes if note.startswith("noise of the simulation in ")]
    assert len(noise) == len(season) - 1 and max(noise) > 0
    (note,) = [note for note in notes if "another seed" in note]
    assert note.startswith(f"warning: another seed finds {DEPTH} = 0.31; try more --seasons")


def test_one_value_more_than_parameters_is_enough(farm: str, season: dict[str, Any], tmp_path: Path) -> None:
    """Two values give the depth and an interval of 12.7 standard errors; three say nothing about the size."""
    few = {name: season[name][:2] for name in ("day", WATER)}
    depth = {DEPTH: FREE[DEPTH]}
    found = calibrate_table(farm, write(tmp_path / "t.csv", few), depth, policy="none", seasons=4)
    assert "intervals: ± 12.7 standard errors (2 values, 1 free)" in found.notes
    few = {name: season[name][:3] for name in ("day", WATER)}
    both = calibrate_table(farm, write(tmp_path / "t.csv", few), FREE, policy="none", seasons=4)
    assert f"warning: the values hardly restrict {MAX_SIZE}; try more values, or fewer parameters" in both.notes
    assert both.rows[1][3:] == FREE[MAX_SIZE]


FARM_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another unit in the name": ({WATER.replace("#L", "#mm"): range(10)}, "try 'available_Water#L'"),
    "no such variable": ({"colour": range(10)}, "rule 1.*entity"),
    "no days": ({"day": None, "time": range(10)}, "rule 1|rule 2"),
    "dates without a start": ({"day": None, "date": ["2023-05-01"] * 10}, "rule 2.*--start"),
    "days in disorder": ({"day": [2, 4, 3, *range(5, 12)]}, "rule 2.*ascending"),
    "days after the end": ({"day": range(35, 45)}, f"rule 2.*day 0 to {DAYS}"),
    "a gap in the days": ({"day": [2, None, *range(4, 12)]}, "rule 2"),
    "zeros": ({WATER: [0.0] * 10}, "rule 3: expected values that are not all equal"),
    "no values": ({WATER: [None] * 10}, "rule 3.*got none"),
    "a value below the range": ({WATER: [-5.0, *range(9)]}, "rule 3.*from 0 to"),
    "another unit of the values": ({WATER: [1000.0 * i for i in range(10)]}, "rule 4: expected values in the unit"),
    "too few values": ({WATER: [1.0, 2.0, *[None] * 8], SIZE: None}, "rule 5: expected at least 3 values, .*, got 2"),
}


@pytest.mark.parametrize("case", FARM_CASES)
def test_every_rule_for_a_season_refuses_its_case(case: str, farm: str, season: dict[str, Any], tmp_path: Path) -> None:
    change, words = FARM_CASES[case]
    columns = {name: values for name, values in (season | change).items() if values is not None}
    with pytest.raises(ConfigError, match=words):
        calibrate_table(farm, write(tmp_path / "t.csv", columns), FREE, policy="none", seasons=4)


YIELD = "Field-0/Plant-0/harvest_weight#kg"
WEIGHT, RULE = "Field-0/Plant-0/fruit_weight_max#g", "2 watering_discrete: Soil-0.available_Water#L <"
TRIAL = {"start": [120, 120, 140, 140], RULE: [150, 100, 150, 100], DEPTH: [0.5, 0.5, 0.6, 0.6]}


@long
def test_a_row_is_a_season_with_its_own_start_irrigation_and_soil(tmp_path: Path) -> None:
    """The yields of four treatments are predicted by the seasons with these settings, and their weight comes back."""
    id, (env, rows) = "farm/bean-1x1-v0", (harvestgym.make("farm/bean-1x1-v0"), [])
    for start, water, depth in zip(*TRIAL.values(), strict=True):
        rules = replace_numbers(env.spec.expert, {RULE: water}, "")
        own = {"Soil-0/depth#m": depth, "Plant-0/fruit_weight_max#g": 8.0}
        days = {"init": {"Field-0": {"Weather-0": {"day#int365": [start]}}}}
        made: Any = harvestgym.make(id, entities=own, rules=days, expert=[rule.model_dump() for rule in rules])
        rows.append(float(curves(made, made.params, [YIELD], policy_named(id, made, "expert"), seasons=3)[YIELD][-1]))
    table = write(tmp_path / "trial.csv", TRIAL | {'"Plant-0.harvest_weight[0, 0]"': rows})
    found = calibrate_table(id, table, {WEIGHT: (3.0, 12.0)}, seasons=3)
    assert found.rows[0][2] == pytest.approx(8.0, rel=0.01) and len(set(rows)) == 4
    assert f"4 seasons, with their own start, {RULE}, {DEPTH}" in found.notes and found.across == "row"
    assert any(note.startswith(f"rmse of {YIELD}[0, 0]: ") for note in found.notes)
    assert found.compare().columns == ("name", "row", "before", "fitted", "observed")
    assert [value[1] for value in found.values] == [1, 2, 3, 4]
    np.testing.assert_allclose([value[-1] for value in found.values], rows, rtol=1e-5)
    np.testing.assert_allclose([value[-2] for value in found.values], rows, rtol=0.02)
    assert {line.style for chart in found.charts for line in chart.lines} == {"dots"}
    tonnes = write(tmp_path / "tonnes.csv", TRIAL | {YIELD: [10 * row for row in rows]})
    with pytest.raises(ConfigError, match="rule 4.*at most 5 times.*try kg on a plot: 1 t/ha is 0.1 kg on 1 m2"):
        calibrate_table(id, tonnes, {WEIGHT: (3.0, 12.0)}, seasons=3)
    hole = write(tmp_path / "hole.csv", TRIAL | {"start": [120, None, 140, 140], YIELD: rows})
    with pytest.raises(ConfigError, match="rule 6: expected no empty cells in start"):
        calibrate_table(id, hole, {WEIGHT: (3.0, 12.0)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("day,a\n1,dry", "t.csv, line 2, column a: expected a number, a date"),
        ("", "expected a header"),
        ("day,a\n1,2,3", "the same number of cells"),
        ("day,a\n1,2\n3", "the same number of cells"),
    ],
)
def test_a_table_that_is_none_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_columns(tmp_path / "t.csv")


def test_a_table_has_numbers_dates_and_gaps(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", {"date": ["2023-01-01", "2023-01-03"], "a": ["NA", "1e3"]})
    columns = read_columns(table)
    assert np.diff(columns["date"]).tolist() == [2.0] and np.isnan(columns["a"][0]) and columns["a"][1] == 1000


def test_a_command_writes_a_fishery_with_the_fitted_stock(tmp_path: Path) -> None:
    stock = fish("fox", 0)
    columns = {"year": stock["years"], "biomass": stock["biomass"], "catch": stock["catch"]}
    table = write(tmp_path / "cod.csv", columns)
    args = ["calibrate", "fishing/pella-tomlinson-v0", str(table), "--out", str(tmp_path)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    assert "law: fox" in result.output and "MSY by law: " in result.output and "before" not in result.output
    env: Any = harvestgym.make(str(tmp_path / "cod.yaml"))
    law, numbers = env.params.law, json.loads((tmp_path / "cod.json").read_text(encoding="utf-8"))["parameters"]
    assert all(
        numbers[name]["low"] < numbers[name]["value"] < numbers[name]["high"] for name in ("MSY", "B_MSY", "U_MSY")
    )
    assert numbers["F_MSY"]["value"] == pytest.approx(-np.log(1 - numbers["U_MSY"]["value"]), rel=1e-5)
    assert type(law).__name__ == "Fox" and float(law.r) == pytest.approx(TRUTHS["fox"]["r"], rel=0.15)
    assert float(law.K) == pytest.approx(numbers["K"]["value"], rel=1e-5)
    assert float(env.params.correlation) == pytest.approx(numbers["correlation"]["value"], rel=1e-5)
    assert type(env.params.noise).__name__ == "MedianLognormal"
    assert float(env.params.start) == np.float32(stock["biomass"][-1])
    assert "cod.csv, 1900 to 1999" in env_text(tmp_path) and (tmp_path / "cod.png").stat().st_size > 10_000


def test_names_of_columns_of_a_stock_may_have_capitals(tmp_path: Path) -> None:
    stock = fish("fox", 0)
    columns = {"Year": stock["years"], "Biomass": stock["biomass"], "CATCH": stock["catch"]}
    found = calibrate_table("fishing/logistic-v0", write(tmp_path / "cod.csv", columns), {})
    assert "law: fox" in found.notes[0]
    chosen = calibrate_table("fishing/logistic-v0", write(tmp_path / "cod.csv", columns), {}, "logistic")
    assert "law: logistic" in chosen.notes[0] and "kind: logistic" in chosen.file
    table = write(tmp_path / "kg.csv", {"Year": stock["years"], "kg": stock["biomass"]})
    with pytest.raises(ConfigError, match="columns year, biomass and catch, got Year, kg, without .*; try SPiCT"):
        calibrate_table("fishing/logistic-v0", table, {})


def test_without_matplotlib_only_the_picture_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = fish("fox", 0)
    columns = {"year": stock["years"], "biomass": stock["biomass"], "catch": stock["catch"]}
    table = write(tmp_path / "cod.csv", columns)
    monkeypatch.setattr("harvestgym.core.errors.find_spec", lambda name: None)
    args = ["calibrate", "fishing/logistic-v0", str(table), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0 and "skipping cod.png: expected the extra plot" in result.output, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["cod.json", "cod.yaml"]


def env_text(folder: Path) -> str:
    return " ".join((folder / "cod.yaml").read_text(encoding="utf-8").split())


def test_a_stock_is_refused_with_its_rule_in_one_line(tmp_path: Path, farm: str) -> None:
    stock = fish("logistic", 0)
    columns = {"year": stock["years"], "biomass": stock["biomass"], "catch": 1000 * stock["catch"]}
    table = write(tmp_path / "cod.csv", columns)
    result = CliRunner().invoke(app, ["calibrate", "fishing/logistic-v0", str(table), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2 and "rule 3" in result.output and not (tmp_path / "out").exists()
    for id, free in ((farm, {}), ("fishing/logistic-v0", FREE)):
        with pytest.raises(ConfigError, match="expected a fishery without free parameters"):
            calibrate_table(id, table, free)


def test_what_is_no_farm_or_no_range_is_refused(tmp_path: Path, season: dict[str, Any], farm: str) -> None:
    table = write(tmp_path / "t.csv", season)
    with pytest.raises(ConfigError, match="expected a farm and its free parameters"):
        calibrate_table("fishing/logistic-v0", table, FREE)
    with pytest.raises(ConfigError, match="got 0 parameters"):
        calibrate_table(farm, table, {})
    for text in (MAX_SIZE, f"{MAX_SIZE}=1", f"{MAX_SIZE}=2:1"):
        result = CliRunner().invoke(app, ["calibrate", farm, str(table), "--free", text])
        assert result.exit_code == 2 and "--free: expected PATH=LOW:HIGH" in result.output


@long
def test_a_fitted_id_is_extended(tmp_path: Path, season: dict[str, Any]) -> None:
    """Only the changed sets and the expert are in the file."""
    id = "farm/bean-1x1-v0"
    found = calibrate_table(id, write(tmp_path / "bean.csv", season), FREE, policy="none", seasons=4)
    (tmp_path / "fitted.yaml").write_text(found.file, encoding="utf-8")
    assert found.file.startswith(f"extends: {id}") and len(found.file.splitlines()) < 30
    again: Any = harvestgym.make(str(tmp_path / "fitted.yaml"))
    assert float(again.params.fields[0].entities[1].depth) == pytest.approx(0.6, rel=0.05)
    original: Any = harvestgym.make(id)
    assert again.spec.expert == original.spec.expert
