"""The held-out protocol: nothing that a test season is made of can be met in training."""

from __future__ import annotations

import csv
import datetime
import hashlib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_id, evaluate_together
from harvestgym.fishing.us_stocks import list_stocks, read_stocks
from tests.long_form import long, some

IDS = ("farm/bean-1x1-v0", "fishing/ricker-v0", "forager/flowers-v0")
SITES = "harvestgym.farm.entities.weather.sites"


def table(env: Any) -> np.ndarray:
    """Return the days that a farm replays, (n, 6)."""
    return np.asarray(env.params.fields[0].entities[0].sky.days)


@pytest.mark.parametrize("id", IDS)
def test_seeds_are_apart(id: str) -> None:
    train, test = (splits.split(id, name).seeds for name in ("train", "test"))
    assert train.stop <= test.start and len(train) > 1e9 and len(test) > 1e9


def test_training_never_sees_a_day_of_a_test_year() -> None:
    with (files(SITES) / "seattle.csv").open(encoding="utf-8") as file:
        rain = {row["Date"]: float(row["Rain"]) for row in csv.DictReader(file) if not row["Date"].endswith("02-29")}
    for name, years in (("train", ("2012", "2014")), ("test", ("2013", "2015"))):
        days = table(splits.make(IDS[0], name))
        np.testing.assert_allclose(days[:, 5], [mm for date, mm in rain.items() if date[:4] in years], rtol=1e-6)
        np.testing.assert_array_equal(days, table(splits.make("farm/full-1x1-v0", name)))


FARM = """
doc: A farm on a table of its own.
fields:
  Field-0:
    localization: {{latitude#°: 50, longitude#°: 3, altitude#m: 0}}
    shape: {{length#nb: 1, width#nb: 1}}
    entities: [[Weather, {{extends: base, table: {table}, rain: mm}}], [Soil, clay], [Plant, bean]]
rules: {{horizon#day: 100}}
"""


def write_farm(folder: Path, first: int, last: int) -> str:
    """Write a farm on a table whose rain, in tenths of a mm, counts the years from the first; return its path."""
    day, rows = datetime.date(first, 1, 1), ["Date,Tmin,Tmax,T,RH,U,Rain"]
    while day.year <= last:
        rows.append(f"{day},{10 - day.day % 3},20,15,60,2,{(day.year - first) / 10:g}")
        day += datetime.timedelta(1)
    (folder / "days.csv").write_text("\n".join(rows))
    (folder / "farm.yaml").write_text(FARM.format(table=folder / "days.csv"))
    return str(folder / "farm.yaml")


def test_the_middle_of_three_decades_is_held_out(tmp_path: Path) -> None:
    path = write_farm(tmp_path, 1984, 2015)
    train, test = (
        {round(10 * mm) for mm in table(splits.make(path, name))[:, 5].tolist()} for name in ("train", "test")
    )
    assert test == set(range(10, 20)) and train == {*range(10), *range(20, 32)}


def test_shorter_tables_are_split_by_thirds_and_single_years() -> None:
    for years, test in ((range(2000, 2030), range(2010, 2020)), (range(2003, 2021), range(2009, 2015)),
                        ([2001, 2004, 2009], [2004]), ([2012, 2013], [2013]), ([2012], [])):  # fmt: skip
        assert splits.select_blocks(years, [1]) == [*test]
        assert splits.select_blocks(years, [0, 2]) == [year for year in years if year not in test]


def test_what_cannot_be_split_is_said(tmp_path: Path) -> None:
    path = Path(write_farm(tmp_path, 1990, 1990))
    farm = path.read_text()
    undated = "\n".join(line.partition(",")[2] for line in (tmp_path / "days.csv").read_text().splitlines())
    two = f"table: {tmp_path / 'days.csv'}, rain: mm"
    path.write_text(farm.replace("extends: base, " + two, "extends: seattle_generated"))
    assert splits.split(str(path), "train").overrides == {}, "generated days are different in every season"
    path.write_text(farm.replace("extends: base, " + two, "extends: dry"))
    assert splits.split(str(path), "train").overrides == {}, "a constant day is no record"
    path.write_text(farm.replace("extends: base, " + two, "extends: seattle, years: [2013, 2015]"))
    sides = [splits.split(str(path), name).overrides["entities"]["Field-0/Weather-0"] for name in ("train", "test")]
    assert [side["years"] for side in sides] == [[2013], [2015]], "only years of the farm"
    path.write_text(farm.replace("extends: base, " + two, "extends: seattle, years: [2012, 2012]"))
    with pytest.warns(UserWarning, match=r"expected at least two recorded years.*got \[2012\]"):
        assert splits.split(str(path), "test").overrides == {}, "a year listed twice is one year"
    context = "context: {draws: {Field-0/Weather-0: [newark, new_york_jfk]}}\n"
    (tmp_path / "undated.csv").write_text(undated)
    for text, said in (
        (farm, r"Field-0/Weather-0: expected at least two recorded years.*got \[1990\].*replay the same days; try"),
        (farm.replace("days.csv", "undated.csv"), "with dates, got none"),
        (farm.replace("extends: base, " + two, "extends: dry") + context, "context > draws > Field-0"),
    ):
        path.write_text(text)
        with pytest.warns(UserWarning, match=said):
            assert splits.split(str(path), "test").overrides == {}


def find_recorded_seasons(env: Any) -> set[bytes]:
    """Return the years of days that a farm replays, each as one value."""
    skies = [entity.sky for field in env.params.fields for entity in field.entities if hasattr(entity, "sky")]
    tables = [np.asarray(sky.days) for sky in skies if hasattr(sky, "days")]
    return {days[at : at + 365].tobytes() for days in tables for at in range(0, len(days), 365)}


@pytest.mark.parametrize("id", some(harvestgym.ids("farm"), "corn-1x1-v0", "two-climates-v0"))
def test_no_recorded_season_is_in_both_splits_of_a_farm(id: str) -> None:
    train, test = (find_recorded_seasons(splits.make(id, name)) for name in ("train", "test"))
    every = find_recorded_seasons(harvestgym.make(id))
    assert not train & test and train | test == every and bool(train) == bool(test) == bool(every)


def test_training_never_sees_a_site_of_a_test() -> None:
    """Sites lie apart, each is drawn, and a policy of one split can act in the other."""
    places: dict[str, set[str]] = {}
    spaces = []
    for name in ("train", "test"):
        found = splits.split_sites(IDS[0], name)
        env: Any = found.make()
        draw = jax.vmap(lambda key, env=env: env.contexts.first(key, env.params).numbers)
        chosen = np.unique(np.asarray(draw(jax.random.split(jax.random.key(0), 100)))[:, 0])
        places[name] = {place["Weather-0"] for place in found.overrides["context"]["draws"]["Field-0"]}
        assert len(chosen) == len(places[name]) >= 2
        spaces.append((env.observation_space, env.action_space))
    assert not places["train"] & places["test"] and spaces[0] == spaces[1]


@long
def test_training_never_sees_a_soil_or_a_site_of_a_test() -> None:
    met = {}
    for name in ("train", "test"):
        env: Any = splits.make("farm/contexts-1x1-v0", name)
        draw = jax.vmap(lambda key, env=env: env.contexts.first(key, env.params).numbers)
        met[name] = np.asarray(draw(jax.random.split(jax.random.key(0), 300)))[:, :2]
        assert env.observation_space == harvestgym.make("farm/contexts-1x1-v0").observation_space
    for column in (0, 1):
        assert not set(met["train"][:, column]) & set(met["test"][:, column])
    assert len(np.unique(met["train"], axis=0)) == 6, "both sites on all three soils"


def test_the_overrides_are_plain_arguments_of_make() -> None:
    side = splits.split(IDS[0], "test")
    np.testing.assert_array_equal(table(harvestgym.make(IDS[0], **side.overrides)), table(side.make()))
    changed: Any = side.make(rules={"horizon#day": 9})
    assert int(changed.params.horizon) == 9 and len(table(changed)) == 730
    assert splits.split("farm/two-climates-v0", "test").overrides == {}, "a generator has no years"


def test_an_evaluation_takes_the_split_by_name() -> None:
    id = "fishing/logistic-survey-v0"
    both = evaluate_together(id, ("expert",), episodes=20, seed=3, split="test")["expert"]
    alone = evaluate_id(id, "expert", episodes=20, seed=splits.split(id, "test").seed(3))
    assert both.seed == alone.seed == 2**31 + 3
    np.testing.assert_allclose(both.returns, alone.returns, rtol=1e-3)
    assert not np.allclose(evaluate_id(id, "expert", episodes=20, seed=3).returns, alone.returns)


def test_the_test_side_is_frozen() -> None:
    """A change of the file changes published scores: make the anchors again, and say so in the change log."""
    assert splits.digest() == "0037fc390146e91d148ab90843fbd9c2e5e6da2d2cee64dacd94257859e4da94"


def test_the_digest_does_not_depend_on_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, windows = splits.digest(), tmp_path / "splits.yaml"
    windows.write_bytes(splits.FILE.read_bytes().replace(b"\n", b"\r\n"))
    monkeypatch.setattr(splits, "FILE", windows)
    assert splits.digest() == before
    windows.write_bytes(windows.read_bytes().replace(b"400", b"300", 1))
    assert splits.digest() != before


@pytest.mark.parametrize("name", ["train", "test"])
def test_a_third_of_the_stocks_is_drawn_for_the_test_by_sha_256(name: str) -> None:
    numbers = {stock.name: str(stock.stock_id).encode() for stock in read_stocks().values()}
    held_out = {stock: int(hashlib.sha256(number).hexdigest(), 16) % 3 == 0 for stock, number in numbers.items()}
    names = splits.split("fishing/us-stocks-v0", name).overrides["stocks"]
    assert names == [stock for stock, held in held_out.items() if held == (name == "test")] == list_stocks(name)


def test_code_in_a_search_does_not_reach_the_test_split() -> None:
    before = splits.split(IDS[1], "test")
    uses: list[Callable[[], Any]] = [
        lambda: splits.split(IDS[1], "test"),
        lambda: splits.make(IDS[1], "test"),
        lambda: splits.split_sites(IDS[0], "test"),
        lambda: before.make(),
        lambda: before.key(0),
        lambda: evaluate_id(IDS[1], "expert", 2, split="test"),
    ]
    with splits.sealed():
        for use in uses:
            with pytest.raises(ConfigError, match="split: expected 'train' within a search.*for reporting"):
                use()
        splits.make(IDS[1], "train")
        with splits.sealed():
            pass
        with pytest.raises(ConfigError):
            before.make()
    before.make()


def test_mistakes_are_refused() -> None:
    with pytest.raises(ConfigError, match="try 'test'"):
        splits.split(IDS[0], "tests")
    with pytest.raises(ConfigError, match="expected a seed from 0"):
        splits.split(IDS[0], "test").seed(-1)
    for years, said in (([2016], "2012, 2013, 2014, 2015"), ([], "got none")):
        with pytest.raises(ConfigError, match=said):
            harvestgym.make(IDS[0], entities={"Weather-0": {"extends": "seattle", "years": years}})
    with pytest.raises(ConfigError, match="expected a site with a table of days"):
        harvestgym.make(IDS[0], entities={"Weather-0": {"extends": "lille", "years": [2021]}})
    with pytest.raises(ConfigError, match="try 'sand'"):
        harvestgym.make("farm/contexts-1x1-v0", context={"only": {"Field-0/Soil-0": ["sandy"]}})
