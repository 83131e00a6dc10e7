"""A file from a stranger imports no module and calls no function, in whichever place and spelling it names one."""

from __future__ import annotations

import gzip
import itertools
import json
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import harvestgym
from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core import loading
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode
from harvestgym.forager.drop_in import ForagerConfig
from harvestgym.gym.env import GymEnv
from harvestgym.play.start_session import start_session
from harvestgym.sweep.grid import read_sweep_file
from harvestgym.sweep.result_folder import find_status, read_labels
from tests.farm.engine.test_engine import FILE
from tests.long_form import ALL

SPY = "spy_of_a_stranger"
LAW = """
import pathlib

from harvestgym.core.pytree import par
from harvestgym.fishing.growth import GrowthLaw

pathlib.Path(__file__).with_name("ran").touch()


class Law(GrowthLaw):
    r: object = par("r", "growth rate", low=0.0, default=0.3)

    def __call__(self, left):
        return left + self.r * left * (1 - left)


def make(*args):
    raise SystemExit("a function ran")
"""

SPELLINGS = (
    f"{SPY}:Law", f"{SPY}:make", "{folder}/spy.py:Law", f"{SPY}.sub:Law", f"{SPY}:Law.make", "os:system",
    "builtins:eval", "subprocess:Popen", "harvestgym.core.loading:importlib.import_module", "harvestgym.__main__:app",
    "harvestgym.play.web.server:serve", f"{SPY}:", ":Law", "::", f".{SPY}:Law", "../spy.py:Law", "spy.py:Law",
    "!!python/object/apply:os.system ['true']", f"!!python/name:{SPY}.Law", f"__import__('{SPY}')",
    "().__class__.__base__.__subclasses__()",
)  # fmt: skip

WATCHED = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class"}
EVENTS: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what a program must not do; an audit hook cannot be removed."""
    if event in WATCHED or (event == "import" and str(arguments[0]).startswith(SPY)):
        EVENTS.append(f"{event} {arguments[0]}")


sys.addaudithook(watch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path with a module that leaves a file there when it is imported."""
    for name in (f"{SPY}.py", "spy.py"):
        (tmp_path / name).write_text(LAW, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in (SPY, str(tmp_path / "spy.py")):
        sys.modules.pop(name, None)


def ran(folder: Path) -> bool:
    return (folder / "ran").exists()


def text_of(data: Any, name: str) -> str:
    """Return YAML with `name` where the data has NAME, as a tag if it is one."""
    text = yaml.safe_dump(data, sort_keys=False)
    return text.replace("NAME", name if name.startswith("!!") else json.dumps(name))


FARM: dict[str, Any] = {**FILE, "fields": {"Field-0": FILE["fields"]["Field-0"] | {"entities": [["Soil", "clay"]]}}}
FISHERY = {"doc": "", "law": {"kind": "logistic", "r": 0.3, "K": 1.0}, "Tmax": 5, "start": 0.7}
FORAGER = {
    "doc": "", "size": 9, "aperture": 3, "kinds": {"flower": {"collectable": True}}, "density": {"flower": 0.1}
}  # fmt: skip


def put(data: dict[str, Any], way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy of nested data with a value at a place."""
    first, *rest = way
    inside = data.get(first, {})
    return data | {first: put(inside if isinstance(inside, dict) else {}, tuple(rest), value) if rest else value}


PLACES: dict[str, tuple[dict[str, Any], tuple[Any, ...], Any]] = {
    "entity": (FARM, ("fields", "Field-0", "entities"), [["NAME", "clay"]]),
    "set": (FARM, ("fields", "Field-0", "entities"), [["Soil", "NAME"]]),
    "table": (FARM, ("fields", "Field-0", "entities"), [["Weather", {"table": "NAME"}]]),
    "farmer": (FARM, ("farmers",), [{"kind": "NAME"}]),
    "rule": (FARM, ("rules", "further"), {"a": {"kind": "NAME"}}),
    "term": (FARM, ("scoring", "terms"), {"a": {"kind": "NAME"}}),
    "condition": (FARM, ("rules", "terminal_conditions"), "NAME"),
    "start": (FARM, ("rules", "init"), {"Field-0": {"Soil-0": {"available_Water#L": "NAME"}}}),
    "expert": (FARM, ("expert",), [{"when": "NAME", "do": "Soil-0.water"}]),
    "order": (FARM, ("expert",), [{"when": "Soil-0.depth#m > 1", "do": "NAME"}]),
    "base": (FARM, ("extends",), "NAME"),
    "law": (FISHERY, ("law", "kind"), "NAME"),
    "law of laws": (FISHERY, ("law",), {"kind": "one-of", "laws": [{"kind": "NAME"}]}),
    "noise": (FISHERY, ("noise",), {"kind": "NAME"}),
    "vary": (FISHERY, ("vary",), "NAME"),
    "drift": (FISHERY, ("drift",), {"NAME": {"rate": 1, "limit": 1}}),
    "fishing expert": (FISHERY, ("expert",), {"rule": "NAME", "numbers": {}}),
    "reward": (FORAGER, ("kinds", "flower", "reward"), {"NAME": {}}),
    "mode": (FORAGER, ("observation_mode",), "NAME"),
    "forager expert": (FORAGER, ("expert",), {"rule": "NAME", "numbers": {}}),
}
"""Places in files for a name: the file, the way to the place, and what stands there."""

PAIRS = list(itertools.product(PLACES, range(len(SPELLINGS))))
SOME = PAIRS if ALL else [PAIRS[i] for i in np.random.default_rng(0).permutation(len(PAIRS))[:40]]


def test_no_file_of_an_environment_runs_code(folder: Path) -> None:
    """Every place and spelling is an error of the file, whether its name is imported elsewhere or not."""
    for i, (place, spelling) in enumerate(SOME):
        data, way, value = PLACES[place]
        path = folder / f"file-{i}.yaml"
        path.write_text(text_of(put(data, way, value), SPELLINGS[spelling].format(folder=folder)), encoding="utf-8")
        EVENTS.clear()
        with pytest.raises(ValueError if place == "base" else ConfigError):
            env = harvestgym.make(str(path))
            dict(registry.family_function(str(path), "policies")(env))
        assert not EVENTS and not ran(folder), (place, SPELLINGS[spelling])


def test_the_error_says_how_to_allow_the_code_and_then_it_runs(folder: Path) -> None:
    path = folder / "fish.yaml"
    path.write_text(text_of(put(FISHERY, ("law",), {"kind": "NAME", "r": 0.2}), f"{SPY}:Law"), encoding="utf-8")
    words = (
        rf"law.*: expected a class of a module that you allow, got '{SPY}:Law'; "
        rf"try allow=\['{SPY}'\], or --allow {SPY}"
    )
    for refused in (harvestgym.make, lambda path: harvestgym.make_vec(path, 2), start_session):
        with pytest.raises(ConfigError, match=words):
            refused(str(path))
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert shown.exit_code == 2 and f"--allow {SPY}" in shown.output and not ran(folder)
    with pytest.raises(ConfigError, match=r"allow: expected a list of modules, got 'a'; try allow=\['mine'\]"):
        harvestgym.make(str(path), allow="a")
    with pytest.raises(
        ConfigError, match="allow: expected package.module:name, got the unknown module 'nowhere_at_all'"
    ):
        harvestgym.make(str(path), allow=["nowhere_at_all"])
    CliRunner().invoke(app, ["show", "nothing", "--allow", SPY])
    assert type(harvestgym.make(str(path)).params.law).__name__ == "Law"  # it is imported now


def test_a_file_of_python_is_allowed_by_its_path_and_a_package_by_an_entry_point(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(name: str, **more: Any) -> Any:
        (folder / "fish.yaml").write_text(text_of(put(FISHERY, ("law",), {"kind": "NAME"}), name), encoding="utf-8")
        return harvestgym.make("fish.yaml", **more).params.law

    assert type(make("spy.py:Law", allow=["spy.py"])).__name__ == "Law"
    points = {loading.PLUGINS: [types.SimpleNamespace(value=SPY)]}
    monkeypatch.setattr(loading, "entry_points", lambda group: points[group])
    assert type(make(f"{SPY}:Law")).__name__ == "Law"


def test_a_module_that_fails_is_not_half_allowed(folder: Path) -> None:
    (folder / "spy.py").write_text(f"{LAW}\nraise ValueError('late')\n", encoding="utf-8")
    (folder / "fish.yaml").write_text(text_of(put(FISHERY, ("law",), {"kind": "NAME"}), "spy.py:Law"), encoding="utf-8")
    with pytest.raises(ValueError, match="late"):
        harvestgym.make("fish.yaml", allow=["spy.py"])
    with pytest.raises(ConfigError, match="that you allow"):
        harvestgym.make("fish.yaml")


@pytest.mark.parametrize("name", SPELLINGS[:17])
def test_a_configuration_of_the_forager_package_runs_no_code(name: str, folder: Path) -> None:
    text = json.dumps({"size": 9, "object_types": {"a": name.format(folder=folder)}})
    (folder / "world.json").write_text(text, encoding="utf-8")
    EVENTS.clear()
    with pytest.raises(ConfigError, match="object_types > a"):
        ForagerConfig.from_file(folder / "world.json")
    assert not EVENTS and not ran(folder)


def test_a_sweep_file_runs_no_policy_of_its_own(folder: Path) -> None:
    path = folder / "sweep.yaml"
    further = {"cases": [{"id": "fishing/may-v0", "policy": "NAME"}]}
    for name in ("spy.py:make", f"{SPY}:make", "os:system"):
        for data in ({"ids": ["fishing"], "policies": ["NAME"]}, further):
            path.write_text(text_of(data, name), encoding="utf-8")
            with pytest.raises(ConfigError, match="policies: expected a module that you allow"):
                read_sweep_file(path, ["another"])
            shown = CliRunner().invoke(app, ["sweep", "run", str(path), "--dry-run"])
            assert shown.exit_code == 2 and "--allow" in shown.output and not ran(folder)
    path.write_text(text_of({"ids": ["fishing/may-v0"], "policies": ["NAME"]}, "spy.py:make"), encoding="utf-8")
    assert [case.policy for case in read_sweep_file(path, ["spy.py"])] == [f"{folder / 'spy.py'}:make"]
    path.write_text(text_of({"ids": ["fishing/may-v0"], "overrides": {"allow": [["NAME"]]}}, SPY), encoding="utf-8")
    with pytest.raises(ConfigError, match="overrides: expected no `allow`"):
        read_sweep_file(path)
    assert not ran(folder)


def test_a_folder_of_results_runs_nothing(folder: Path) -> None:
    case = json.dumps({"case": f"{SPY}:Law", "runner": f"{SPY}:make"})
    manifest = {"version": "", "labels": ["a"], "cases": {"0": case}, "failures": {case: "x"}}
    (folder / "sweep.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert find_status(folder).total == 1 and read_labels(folder) == ["a"] and not ran(folder)


def test_recorded_episodes_allow_nothing(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    path = folder / "seasons.parquet"
    year, ends = np.zeros((1, 1), np.float32), np.ones(1, bool)
    season = Episode(np.zeros((2, 1), np.float32), year, year[0], ends, ends, {}, 0)
    write_demonstrations(Demonstrations("fishing/logistic-v0", "me", [season], {"Tmax": 3, "allow": [SPY]}), path)
    assert read_demonstrations(path).overrides == {"Tmax": 3} and not ran(folder)


class Reduced:
    """Runs a function when its pickle is read."""

    def __reduce__(self) -> Any:
        return __import__, (SPY,)


def forged(change: Callable[[dict[str, Any]], None], kept: Path, path: Path) -> Path:
    head = json.loads(gzip.decompress(kept.read_bytes()))
    change(head)
    path.write_bytes(gzip.compress(json.dumps(head).encode()))
    return path


def test_a_checkpoint_runs_nothing(folder: Path) -> None:
    kept, path = folder / "kept", folder / "forged"
    env = GymEnv(harvestgym.make("fishing/logistic-v0"))
    env.reset(seed=0)
    harvestgym.save(env, kept)
    farm = text_of(put(FARM, ("fields", "Field-0", "entities"), [["NAME", "clay"]]), f"{SPY}:Law")
    made = [
        {"class": "harvestgym.farm.engine.model:FarmModel", "text": farm},
        {"class": "harvestgym.render.monitor_sinks:CsvSink", "path": str(folder / "ran")},
        {"class": "harvestgym.gym.monitoring:Monitor", "watches": []},
        *({"class": name.format(folder=folder)} for name in SPELLINGS),
    ]
    for content in made:
        for part in ("made", "kept", "rng"):
            value = {"is": "object", "of": content}
            EVENTS.clear()
            with pytest.raises(ConfigError):
                harvestgym.load(forged(lambda head: head.update({part: value}), kept, path))  # noqa: B023
            assert not EVENTS and not ran(folder), content
    for code in (pickle.dumps(Reduced()), gzip.compress(pickle.dumps(Reduced()))):
        path.write_bytes(code)
        with pytest.raises(ConfigError, match="expected an intact checkpoint"):
            harvestgym.load(path)
    assert not EVENTS and not ran(folder)
