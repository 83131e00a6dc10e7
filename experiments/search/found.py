"""Results of the adversary: entries in `results/adversary.json`, their numbers, and the best known policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.test_side import RESULTS
from experiments.training.agents import change, find_agent
from experiments.training.cases import unpack_weights
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import TunedRule, build_rule
from harvestgym.evaluate.run import policy_named
from harvestgym.evaluate.suite import round_number
from harvestgym.evaluate.tune import find_rules

from .forms import restore_policy
from .players import make_player

FOUND, NUMBERS, BEST_KNOWN = RESULTS / "adversary.json", RESULTS / "adversary", RESULTS / "best-known.json"

INFORMED_FORMS = ("rules", "correction")
"""Forms that start from the expert."""

CHOSEN_SEED = 1
"""The seed of the searches from which the best known policies are chosen."""

LEARNERS = ("ppo", "recurrent", "dqn")
"""Agents of `experiments.training` whose weights may be entries."""


class Entry(NamedTuple):
    """The best policy of one form in a search.

    Attributes:
        mean: mean return in fresh training seasons, minus a penalty if it breaks a limit.
        tried: number of candidates.
        rule: for `rules`, the tuned rule and its numbers; for an agent, its settings.
        without: the site of the training side that the search left out; "" for none.
    """

    id: str
    form: str
    seed: int
    mean: float
    tried: int
    seasons: int
    seconds: float
    rule: dict[str, Any] | None = None
    without: str = ""

    @property
    def name(self) -> str:
        """The name of the entry's numbers in the id's file."""
        return f"{self.form}-{self.seed}" + f"-without-{self.without}" * bool(self.without)


def _numbers_file(id: str) -> Path:
    return NUMBERS / f"{id.replace('/', '-')}.npz"


def write_numbers(entry: Entry, arrays: dict[str, np.ndarray]) -> None:
    """Store the arrays of an entry with those of the id's other entries."""
    path = _numbers_file(entry.id)
    whole: dict[str, Any] = dict(np.load(path)) if path.is_file() else {}
    whole |= {f"{entry.name}/{name}": array for name, array in arrays.items()}
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **whole)


def read_entries(id: str, without: str = "") -> list[Entry]:
    """Return the stored entries of an id, from searches on the whole training side, or without one of its sites."""
    return [entry for entry in _read_all() if (entry.id, entry.without) == (id, without)]


def _read_all() -> list[Entry]:
    return [Entry(**row) for row in read_rows(FOUND)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of `write_rows`; none if there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Write named tuples as JSON, with a line for each and numbers of six digits."""
    text = ",\n".join(" " + json.dumps(round_numbers(row._asdict())) for row in rows)
    path.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def store_entry(entry: Entry) -> None:
    """Add an entry to the file, in place of an older one with the same form and seed."""
    rest = [one for one in _read_all() if (one.id, one.name) != (entry.id, entry.name)]
    write_rows(FOUND, sorted([*rest, entry], key=lambda one: (one.id, one.seed, one.without, one.form)))


def round_numbers(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with numbers of six digits."""
    return {name: round_number(value) if isinstance(value, float) else value for name, value in row.items()}


def load_entry(entry: Entry, env: Env[Any, Any]) -> Policy:
    """Return the policy of an entry for an environment of its id."""
    if entry.form in LEARNERS:
        return _load_agent(entry, env)
    if entry.rule is not None:
        named = {} if entry.rule["numbers"] else {entry.rule["rule"]: policy_named(entry.id, env, entry.rule["rule"])}
        return build_rule(TunedRule(**entry.rule), find_rules(entry.id, env)[0], named)
    with np.load(_numbers_file(entry.id)) as file:
        arrays = {part: file[f"{entry.name}/{part}"] for part in ("numbers", "scale", "varying")}
    player = make_player(env)
    if entry.form in INFORMED_FORMS:
        player = player.advised_by(policy_named(entry.id, env, "expert"))
    return restore_policy(player, entry.form, arrays)


def _load_agent(entry: Entry, env: Env[Any, Any]) -> Policy:
    learner = find_agent(entry.form, entry.id)
    assert learner is not None
    with np.load(_numbers_file(entry.id)) as file:
        weights = unpack_weights(file[f"{entry.name}/weights"])
    return learner.enter(entry.id, env, change(learner.settings(entry.id, env), entry.rule or {}), weights)[1]


def read_choices() -> dict[str, dict[str, Any]]:
    """Return the choice of the best known policy of each id: its `form`, and the training returns of the candidates."""
    return json.loads(BEST_KNOWN.read_text(encoding="utf-8")) if BEST_KNOWN.is_file() else {}


def find_choice(id: str) -> str:
    """Return the name of the best known policy of an id, such as `network-1`; `expert` without a better find."""
    return read_choices().get(id, {"form": "expert"})["form"]


def find_form(id: str) -> str:
    """Return the form of the best known policy of an id, such as `network`."""
    return find_choice(id).partition("-")[0]


def has_find(id: str) -> bool:
    """Return whether a search found a better policy than the expert of an id."""
    return find_choice(id) != "expert"


def best_known(id: str, env: Env[Any, Any]) -> Policy:
    """Return the best known policy of an id: the expert, unless a search found a better one."""
    if (name := find_choice(id)) == "expert":
        return policy_named(id, env, name)
    return load_entry(next(entry for entry in read_entries(id) if entry.name == name), env)
