"""Objects are found by `package.module:name` or `path/to/file.py:name`; a string that names none is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import load_object
from harvestgym.core.policy import random_policy


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere", "expected package.module:name, got 'nowhere'"),
        ("nowhere.at.all:make", "got the unknown module 'nowhere'"),
        ("harvestgym.nowhere:make", "got the unknown module 'harvestgym.nowhere'"),
        ("harvestgym.registry:mak", "expected a known name, got 'mak'; try 'make'"),
    ],
)
def test_a_target_that_names_nothing_is_an_error(target: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        harvestgym.EnvSpec("farm/my-v0", target).make()


def test_a_target_must_be_a_subclass_of_the_base() -> None:
    assert load_object("harvestgym.core.errors:ConfigError", ValueError) is ConfigError
    for target in ("json:loads", "pathlib:Path"):
        with pytest.raises(ConfigError, match=f"here: expected a subclass of ValueError, got '{target}'"):
            load_object(target, ValueError, "here")


def test_an_import_error_of_the_module_itself_is_raised_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mymodel.py").write_text("import a_library_that_is_not_there\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_there"):
        load_object("mymodel:make")


def test_functions_are_loaded_from_files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def best(id, env):\n    return id\n", encoding="utf-8")
    assert load_object(f"{tmp_path / 'mine.py'}:best")("its id", None) == "its id"
    assert load_object("harvestgym.core.policy:random_policy") is random_policy
    with pytest.raises(ConfigError, match="a file that does not exist"):
        load_object(f"{tmp_path / 'yours.py'}:best")
    with pytest.raises(ConfigError, match="expected a known name, got 'bets'; try 'best'"):
        load_object(f"{tmp_path / 'mine.py'}:bets")


def test_a_file_imports_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_neighbour.py").write_text("NUMBER = 3\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("from my_neighbour import NUMBER\n", encoding="utf-8")
    before = list(sys.path)
    assert load_object(f"{tmp_path / 'mine.py'}:NUMBER") == 3
    assert sys.path == before
