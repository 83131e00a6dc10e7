"""The studies of agents in their short form: each finds the phenomenon that it is there to show."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.risk import CVaR
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import studies
from harvestgym.evaluate.statistics import summarise
from harvestgym.evaluate.studies import looking, memory, risk
from harvestgym.evaluate.studies.common.findings import bootstrap
from harvestgym.fishing.family import make
from tests.script import ROOT, script


def test_the_command_names_every_study() -> None:
    help_text = CliRunner().invoke(app, ["study", "--help"]).output
    assert all(name in help_text for name in studies.list_studies())


def test_every_study_has_its_place_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table and a figure, which one tool makes; that the figure is there is asked of all links of the docs."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pages = script("tools/make_studies.py").PAGES
    assert set(pages) == set(studies.list_studies())
    for name, page in (*pages.items(), ("calibration", "calibration.md")):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        [block] = re.findall(f"<!-- {name} -->(.*?)<!-- end {name} -->", text, re.DOTALL)
        assert "| --- |" in block and f"(pictures/study-{name}.png)" in text, name


def test_the_best_farmer_looks_now_and_then(tmp_path: Path) -> None:
    """At the game's price, looking every five days beats both looking at all daily and not looking, in 60 seasons."""
    table = looking.run(60, tmp_path, games=("paid-looks-1x1-v0",), days=(1, 5), blind=((14, 190), (8, 205)))
    seasons = pyarrow.parquet.read_table(tmp_path / "looking.parquet").to_pydict()
    farmers = list(dict.fromkeys(seasons["farmer"]))
    gross, seen = (np.asarray(seasons[c]).reshape(5, 60) for c in ("return_looks_not_paid", "numbers_seen"))
    assert farmers[:3] == ["everything, daily", "needed, every 1 days", "needed, every 5 days"]
    assert seen[0].mean() > 2.5 * seen[1].mean() > 5 * seen[2].mean() and (seen[3:] == 0).all()
    net = gross - looking.PRICE * seen
    for other in (0, 1, 3, 4):
        assert summarise(net[2] - net[other]).low > 0, farmers[other]
    best = {row[1]: row[2] for row in table.rows}
    assert best["0.003"] == "needed, every 5 days" and "nothing" in best["0.03"]
    assert (tmp_path / "looking.png").stat().st_size > 0


def test_the_best_on_average_is_not_the_best_of_the_worst_tenth(tmp_path: Path) -> None:
    table = risk.run(1000, tmp_path, sigmas=(0.05, 0.1), escapements=(0.5, 0.7, 0.78, 0.82, 0.86, 0.9))
    kept = pyarrow.parquet.read_table(tmp_path / "risk.parquet").to_pydict()
    returns = np.asarray(kept["return"]).reshape(2, 6, 1000)
    chosen = {(row[0], row[1]): float(row[2]) for row in table.rows}
    assert chosen["0.1", "CVaR 10 %"] == 0.5 and chosen["0.1", "mean"] > 0.7
    bold, careful = returns[1, 4], returns[1, 0]
    assert summarise(bold - careful).low > 0.4, "who leaves much earns more on average"
    worst = partial(bootstrap, CVaR(level=0.1), resamples=risk.MEASURE_RESAMPLES)
    assert worst(careful).low > worst(bold).high + 0.2
    assert (tmp_path / "risk.png").stat().st_size > 0


def test_who_remembers_surveys_catches_more(tmp_path: Path) -> None:
    """A recurrent net beats one without memory on the same 400 episodes, each trained once for 150 updates."""
    pytest.importorskip("optax")
    memory.run(400, tmp_path, updates=150, trainings=1, games=("logistic-survey-v0",))
    kept = pyarrow.parquet.read_table(tmp_path / "memory.parquet").to_pydict()
    returns = dict(zip(dict.fromkeys(kept["agent"]), np.asarray(kept["return"]).reshape(5, 400), strict=True))
    assert summarise(returns["recurrent"] - returns["memoryless"]).low > 0
    assert returns["memoryless"].mean() > 0.97 * returns["rule: escapement"].mean(), (
        "the memoryless one has learnt, too"
    )
    assert (tmp_path / "memory.png").stat().st_size > 0


def test_jobs_are_the_threads_that_a_study_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA makes as many as this variable says when it starts, which is after the command has set it."""
    given: list[str] = []

    def run(**_: object) -> Table:
        given.append(os.environ["NPROC"])
        return Table("nothing", ("a",), [("1",)])

    monkeypatch.setenv("NPROC", "9")
    monkeypatch.setattr(studies, "load_study", lambda name: run)
    assert CliRunner().invoke(app, ["study", "risk", "--jobs", "3"]).exit_code == 0
    assert given == ["3"]


@pytest.mark.parametrize(("kind", "differs"), [("memoryless", False), ("stacked", True), ("recurrent", True)])
def test_what_was_seen_before_matters_to_who_remembers(kind: str, differs: bool) -> None:
    agent, key = memory.Agent(kind), jax.random.key(0)
    weights = agent.weights(key)
    obs = make("logistic-survey-v0").observation_space
    acts = []
    for first in (obs.low, obs.high):
        carry, _ = agent(weights, agent.start, first, key)
        acts.append(agent(weights, carry, 0 * first, key)[1])
    assert (float(abs(acts[0] - acts[1])[0]) > 1e-6) == differs
