"""The results of training runs: the records of each id and agent, their test seasons, a table, and suite results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.aggregates import bootstrap_strata, mean_of_all
from experiments.search.found import Entry, store_entry, write_numbers
from experiments.test_side import RESULTS as ALL_RESULTS
from harvestgym.core.env import Env
from harvestgym.core.view.tables import Table
from harvestgym.core.wrappers import TimeLimit
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate import splits
from harvestgym.evaluate.score import scale_return
from harvestgym.evaluate.suite import RETURN, SuiteResult, play_seasons, read_anchors
from harvestgym.sweep.cases import read_package_version
from harvestgym.sweep.engine import run_cases
from harvestgym.sweep.result_folder import find_result_path, is_complete, read_result

from .agents import make_school
from .cases import RECORD, WEIGHTS, TrainingCase, unpack_weights

RESULTS = ALL_RESULTS / "training"

SEEDS = 5
"""Training runs of an agent."""


class Store(NamedTuple):
    """A folder of results: a JSON line per seed in `<id>-<agent>.jsonl`.

    Attributes:
        folder: the folder.
    """

    folder: Path

    def find_path(self, id: str, agent: str) -> Path:
        """Return the file of an agent on an id."""
        return self.folder / f"{id.replace('/', '-')}-{agent}.jsonl"

    def read(self, id: str, agent: str) -> dict[int, dict[str, Any]]:
        """Read the records by seed."""
        path = self.find_path(id, agent)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return {record["seed"]: record for record in map(json.loads, lines)}

    def write(self, record: Mapping[str, Any]) -> None:
        """Write a record, replacing the record of the same seed."""
        whole = self.read(record["id"], record["agent"]) | {record["seed"]: dict(record)}
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(whole[seed])}\n" for seed in sorted(whole))
        self.find_path(record["id"], record["agent"]).write_text(text, encoding="utf-8")

    def find(self, case: TrainingCase) -> dict[str, Any] | None:
        """Return the record of a training run with the same key; None if there is none."""
        record = self.read(case.id, case.agent).get(case.seed)
        return record if record is not None and record["key"] == case.digest else None


def train(cases: Sequence[TrainingCase], store: Store, work: Path, command: str) -> list[str]:
    """Train the runs that are not finished, and store each; return the messages of failures.

    A run is finished if its record has the same key, and either test seasons or weights in the folder `work`.
    """
    missing = [case for case in cases if not _is_finished(case, store, work)]
    failures = []
    for case, outcome in run_cases(missing, work) if missing else ():
        if outcome.columns is None:
            failures.append(f"{case}: {outcome.error}")
            continue
        record = json.loads(outcome.columns[RECORD][0]) | {"command": command}
        store.write(record)
        print(f"{case}: train {record['train']:.4g}, {record['cpu']:.0f} CPU s", flush=True)
    return failures


def _is_finished(case: TrainingCase, store: Store, work: Path) -> bool:
    record = store.find(case)
    return record is not None and (is_tested(record) or is_complete(find_result_path(work, case)))


def has_returns(record: Mapping[str, Any]) -> bool:
    """Return whether a training run has returns on this version of the test side."""
    return record.get("digest") == splits.digest()


def is_tested(record: Mapping[str, Any]) -> bool:
    """Return whether a training run has returns, and all costs that have limits, on this version of the test side."""
    return has_returns(record) and set(splits.list_suite()[record["id"]].limits) <= set(record.get("costs", ()))


def test(cases: Sequence[TrainingCase], store: Store, work: Path) -> None:
    """Evaluate the finished runs on the test seasons of the suite."""
    for case in cases:
        record, path = store.find(case), find_result_path(work, case)
        if record is None or is_tested(record) or not is_complete(path):
            continue
        free_programs_if_full()
        weights = unpack_weights(read_result(work, case)[WEIGHTS])
        own, policy = case.learner.enter(case.id, make_test(case.id), case.options, weights)
        seasons = {name: row.tolist() for name, row in play_seasons(case.id, own, policy, case.seasons).items()}
        returns = seasons.pop(RETURN)
        store.write(record | {"digest": splits.digest(), "test": returns, "costs": seasons})
        print(f"{case}: test {np.mean(returns):.4g}", flush=True)


def adopt(cases: Sequence[TrainingCase], store: Store, work: Path, seed: int) -> None:
    """Make the best training run a find of the adversary's seed, a candidate for the best known policy.

    The best run is that with the highest return in training seasons. An agent on another interface cannot be a find.
    """
    runs = [(case, store.find(case)) for case in cases if is_complete(find_result_path(work, case))]
    finished = [(record["train"], case, record) for case, record in runs if record is not None]
    if not finished:
        return
    mean, case, record = max(finished, key=lambda run: run[0])
    columns, env = read_result(work, case), make_school(case.id)
    own, _ = case.learner.enter(case.id, env, case.options, unpack_weights(columns[WEIGHTS]))
    if own is not env and not isinstance(own, TimeLimit):
        print(f"{case.id} {case.agent}: not a find, because it plays another interface", flush=True)
        return
    entry = Entry(case.id, case.agent, seed, mean, len(finished), case.seasons, record["cpu"], record["settings"])
    write_numbers(entry, {WEIGHTS: np.asarray([str(columns[WEIGHTS][0])])})
    store_entry(entry)
    print(f"{entry.id} {entry.name}: {entry.mean:.4g}", flush=True)


@cache
def make_test(id: str) -> Env[Any, Any]:
    """Make the environment of an id's test split; the same object each time, for compiled programs."""
    return splits.split(id, "test").make()


def make_table(ids: Sequence[str], agents: Sequence[str], store: Store) -> Table:
    """Make a table of the agents' gains over doing nothing in the test seasons, as shares of the expert's gain."""
    rows = list[tuple[str, ...]]()
    for id in ids:
        anchor = read_anchors()[id]
        known = {"none": float(anchor.nothing.mean()), "expert": anchor.expert}
        shares = [_say_share(store.read(id, name), known) for name in agents]
        rows += [(id, *shares)] * any(shares)
    return Table("trained agents on test seasons, as shares of the expert's gain", ("id", *agents), rows)


def _say_share(records: Mapping[int, Mapping[str, Any]], known: Mapping[str, float]) -> str:
    """Return the mean share over the seeds with its interval; empty without test seasons."""
    means = [float(np.mean(record["test"])) for record in records.values() if has_returns(record)]
    shares = [share for mean in means if (share := scale_return(mean, known)) is not None]
    if not shares:
        return ""
    found = bootstrap_strata([shares], mean_of_all)
    return f"{found.value:z.2f} ({found.low:z.2f} to {found.high:z.2f})"


def make_result(name: str, store: Store) -> SuiteResult:
    """Return the result of an agent on the core suite, with a row for each seed in the arrays of each id."""
    seasons, failures = {}, {}
    for id, item in splits.list_suite().items():
        tested = [record for record in store.read(id, name).values() if has_returns(record)]
        if len(tested) < SEEDS:
            failures[id] = f"trained with {len(tested)} of {SEEDS} seeds"
        elif not all(map(is_tested, tested)):
            failures[id] = "tested without costs; test again"
        else:
            costs = {cost: np.asarray([record["costs"][cost] for record in tested]) for cost in item.limits}
            seasons[id] = {RETURN: np.asarray([record["test"] for record in tested])} | costs
    policy = f"{name}, mean of {SEEDS} seeds"
    return SuiteResult(policy, read_package_version(), splits.digest(), seasons, failures)


def write_results(agents: Sequence[str], store: Store, folder: Path) -> None:
    """Write the result file of each agent that was tested on an id of the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in agents:
        result = make_result(name, store)
        if result.seasons:
            result.write(folder / f"{name}.json")
