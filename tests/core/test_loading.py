"""Objects are found by `package.module:name` or `path/to/file.py:name`; a string that names none is reported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import allow_modules, load_class_of_file, load_object
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


@pytest.mark.parametrize("name", ["hail.py:Hail", "hail:Hail"])
def test_a_farm_file_names_a_class_next_to_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the class is relative to the farm's folder, and the allowed module to the current one."""
    (tmp_path / "mine").mkdir()
    imports = "from harvestgym.core.pytree import pytree\nfrom harvestgym.farm import Facility\n"
    code = f"{imports}@pytree\nclass Hail(Facility):\n    pass\n"
    (tmp_path / "mine" / "hail.py").write_text(code, encoding="utf-8")
    fields = f"fields: {{Field-0: {{entities: [[Weather, lille], [Soil, clay], [Plant, bean], ['{name}', hedge]]}}}}"
    start = "rules: {init: {Field-0: {Plant-0: {stage: seed}}}}"
    text = f"extends: farm/bean-1x1-v0\n{fields}\n{start}\n"
    (tmp_path / "mine" / "farm.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if name.startswith("hail.py"):
        with pytest.raises(ConfigError, match=f"--allow {tmp_path / 'mine' / 'hail.py'}"):
            harvestgym.make("mine/farm.yaml")
    env: Any = harvestgym.make("mine/farm.yaml", allow=["mine/hail.py"])
    assert type(env.params.fields[0].entities[3]).__name__ == "Hail"
    del sys.modules[str(tmp_path / "mine" / "hail.py")]


def test_a_file_imports_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_neighbour.py").write_text("NUMBER = 3\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("from my_neighbour import NUMBER\n", encoding="utf-8")
    before = list(sys.path)
    assert load_object(f"{tmp_path / 'mine.py'}:NUMBER") == 3
    assert sys.path == before


def test_the_path_keeps_what_a_file_adds_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", [*before, str(tmp_path)])
    (tmp_path / "mine.py").write_text("import sys\nsys.path.append('elsewhere')\n", encoding="utf-8")
    load_object(f"{tmp_path / 'mine.py'}:sys")
    assert sys.path == [*before, str(tmp_path), "elsewhere"]


def test_a_file_does_not_choose_between_two_modules_of_one_name(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "twin.py" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("class C: ...\n", encoding="utf-8")
    try:
        allow_modules([str(paths[0])])
        assert load_class_of_file("twin:C", object, "here").__module__ == str(paths[0])
        allow_modules([str(paths[1])])
        with pytest.raises(ConfigError, match=f"here: expected a class of a single module, .*; try {paths[0]}:C"):
            load_class_of_file("twin:C", object, "here")
        assert load_class_of_file(f"{paths[1]}:C", object, "here").__module__ == str(paths[1])
    finally:
        for path in paths:
            sys.modules.pop(str(path), None)


@pytest.mark.parametrize("names", ["mine", "", [3], ["no module"]])
def test_allowed_modules_are_a_list_of_names(names: Any) -> None:
    with pytest.raises(ConfigError, match="allow: expected a list of modules"):
        allow_modules(names)
