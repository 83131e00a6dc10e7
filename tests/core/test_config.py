"""Strict configuration: every mistake at once, with its path, what was found and the nearest name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.config import build_params, check_numbers, choose_set, merge, read_sets
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import Meta, Pytree, par
from harvestgym.core.yaml_io import parse, read_file
from harvestgym.farm.entities.response import Response, Window, expglm


class Sprout(Response):
    """A response with two drivers."""

    temperature: Window
    humidity: Window


class Seed(Pytree):
    """A parameter class with a plain, a stacked, a labelled and a nested parameter."""

    size_max: float = par("size_max#cm", "maximal size", low=0.0)
    uptake: float = par(("N#g", "K#g"), "uptake", low=0.0)
    habit: int = par("habit", "growth habit", labels=("bush", "pole"))
    count: int = par("count#nb", "seeds", dtype="int", low=0, default=3)
    sprout: Sprout


GOOD = {
    "size_max#cm": {"value": 60, "source": "a table"},
    "N#g": 0.1,
    "K#g": 0.2,
    "habit": "pole",
    "sprout": {
        "source": "a book",
        "temperature": {"low": 8, "high": float("inf"), "sensitivity": 0.7},
        "humidity": {"low": 30, "high": 95, "sensitivity": 0.4},
    },
}


def test_a_good_mapping_becomes_float32_leaves() -> None:
    seed = build_params(Seed, GOOD, "seed.yaml > bean")
    assert seed.size_max == np.float32(60) and seed.size_max.dtype == np.float32
    np.testing.assert_array_equal(seed.uptake, np.float32([0.1, 0.2]))
    assert (seed.habit, seed.count) == (1, 3)
    assert float(expglm(seed.sprout, temperature=6.0, humidity=50.0)) == pytest.approx(np.exp(-1.4), rel=1e-6)


def test_all_mistakes_are_listed_with_path_and_nearest_name() -> None:
    bad = merge(GOOD, {"size_mx#cm": 3, "N#g": -1, "habit": "climber", "sprout": {"humidty": {}}})
    with pytest.raises(ConfigError) as error:
        build_params(Seed, bad, "seed.yaml > bean")
    text = str(error.value)
    for part in ("seed.yaml > bean: 4 mistakes", "try 'size_max#cm'", "N#g", "got -1", "'bush' or 'pole'",
                 "sprout > humidty", "try 'humidity'"):  # fmt: skip
        assert part in text, f"{part!r} is not in {text}"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("no", "got 'no'"),
        (False, "yes/no"),
        (float("nan"), "expected a finite number, got nan"),
        ([1], "expected a number, got"),
    ],
)
def test_a_wrong_type_is_refused(value: object, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        build_params(Seed, merge(GOOD, {"N#g": value}), "seed.yaml")


def test_a_missing_part_is_named() -> None:
    without = {k: v for k, v in GOOD.items() if k != "K#g"}
    with pytest.raises(ConfigError, match="K#g: expected a value"):
        build_params(Seed, without, "seed.yaml")


class Band(Pytree):
    """A parameter class whose numbers must keep something among themselves."""

    least: float = par("least#g", "the least")
    most: float = par("most#g", "the most")

    def check(self) -> Iterator[str]:
        if self.least > self.most:
            yield f"least#g: expected at most most#g ({self.most:g}), got {self.least:g}"


class Bands(Pytree):
    """Two of them."""

    first: Band
    second: Band


def test_what_numbers_must_keep_among_themselves_is_asked_of_their_class() -> None:
    well, wrong = {"least#g": 1, "most#g": 1}, {"least#g": 2, "most#g": 1}
    assert build_params(Bands, {"first": well, "second": well}, "x").first.least == 1
    with pytest.raises(ConfigError) as error:
        build_params(Bands, {"first": wrong, "second": wrong}, "bands.yaml")
    lines = [f"  {name} > least#g: expected at most most#g (1), got 2" for name in ("first", "second")]
    assert str(error.value).splitlines() == ["bands.yaml: 2 mistakes", *lines]


def test_a_number_is_finite_and_fits_in_what_holds_it() -> None:
    for value, words in ((float("inf"), "finite"), (1e39, "within ±3.4e"), (-1e39, "within ±3.4e")):
        with pytest.raises(ConfigError, match=words):
            build_params(Band, {"least#g": value, "most#g": 1}, "x")
    with pytest.raises(ConfigError, match="count#nb: expected a number from 0 to 2147483647"):
        build_params(Seed, merge(GOOD, {"count#nb": 2**31}), "seed.yaml")
    window = merge(GOOD, {"sprout": {"humidity": {"low": float("inf"), "high": float("inf")}}})
    with pytest.raises(ConfigError, match="sprout > humidity > low: expected a number, or -.inf for no bound, got inf"):
        build_params(Seed, window, "seed.yaml")


def test_sets_extend_one_another(tmp_path: Path) -> None:
    file = tmp_path / "seed.yaml"
    file.write_text("bean: {a: 1, g: {x: 1, y: 2}}\ndwarf: {extends: bean, g: {y: 3}}\n")
    assert read_sets(file)["dwarf"] == {"a": 1, "g": {"x": 1, "y": 3}}
    file.write_text("a: {extends: b}\nb: {extends: a}\n")
    with pytest.raises(ConfigError, match="expected no cycle"):
        read_sets(file)
    for wrong in ("[bean]", "{a: 1}", "5", "''", "null"):
        file.write_text(f"bean: {{}}\ndwarf: {{extends: {wrong}}}\n")
        with pytest.raises(ConfigError, match="dwarf > extends: expected a known set"):
            read_sets(file)
    file.write_text("bean: {extends: baen}\n")
    with pytest.raises(ConfigError, match="expected a known set, got 'baen'; try 'bean'"):
        read_sets(file)


def test_an_unknown_set_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "seed.yaml"
    file.write_text("bean: {}\ncorn: {}\n")
    with pytest.raises(ConfigError, match="Seed set: expected a known name, got 'baen'; try 'bean'"):
        choose_set(file, "baen", "Seed")


def test_floats_are_read_as_people_mean_them() -> None:
    assert parse("{a: 1e-3, b: -2.5E+4, c: 3, d: 1.5, e: .inf}") == {
        "a": 1e-3,
        "b": -2.5e4,
        "c": 3,
        "d": 1.5,
        "e": float("inf"),
    }
    assert parse("[a, =, 1]") == ["a", "=", 1], "an operator"


@pytest.mark.parametrize(
    ("text", "word"),
    [("a: 1\na: 2\n", r"line 2: expected key 'a' once, got it on lines 1 and 2"), ("a:\n\t- 1\n", "spaces, never tabs"),
     ("", "got an empty file"), ("a: [1\n", "line 2"), ("a: !!python/name:os.system x\n", "could not determine")],
)  # fmt: skip
def test_malformed_yaml_is_refused_with_its_line(tmp_path: Path, text: str, word: str) -> None:
    file = tmp_path / "farm.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=word):
        read_file(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a file, got none"):
        read_file(tmp_path / "absent.yaml")


def test_a_set_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    file, folder = tmp_path / "seed.yaml", tmp_path / "seed_sets"
    folder.mkdir()
    file.write_text("bean: {N#g: 1, K#g: 2}", encoding="utf-8")
    (folder / "pea.yaml").write_text("extends: bean\nN#g: 3", encoding="utf-8")
    assert list(read_sets(file)) == ["bean", "pea"]
    assert choose_set(file, "pea", "Seed") == ("pea", {"N#g": 3, "K#g": 2})
    (folder / "bad.yaml").write_text("[1]", encoding="utf-8")
    with pytest.raises(ConfigError, match="bad.yaml: expected a mapping, got list"):
        choose_set(file, "bad", "Seed")


def test_a_limit_in_float32_is_within_the_limit() -> None:
    """Arrays of the engine are float32, in which 0.99 is 0.9900000095."""
    share = Meta("par", ("share",), "a share", high=0.99)
    assert check_numbers(share, np.float32(0.99)) == np.float32(0.99)
    with pytest.raises(ValueError, match="0.99"):
        check_numbers(share, 0.9901)
