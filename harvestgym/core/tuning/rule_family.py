"""Rule families (policies that differ in named numbers) and the tuned rule of an expert.

A family of environments defines its rules in `make_rule_families(env)`. `harvestgym tune` optimises their numbers and
writes the best rule to `tuned/NAME.yaml` next to the environment file, which uses it as its expert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from harvestgym.core.config import TUNED_FOLDER, Strict, locate_tuned, validate
from harvestgym.core.errors import check_keywords, check_name, mismatch
from harvestgym.core.policy import Policy
from harvestgym.core.yaml_io import read_file


@dataclass(frozen=True)
class NumberRange:
    """The range of a number in a search.

    Attributes:
        low, high: the limits.
        start: the value before the search.
        choices: the allowed values, in order, if there are only a few; `low` and `high` are then the first and last.
        whole: whether the values are integers.
    """

    low: float
    high: float
    start: float
    choices: tuple[float, ...] = ()
    whole: bool = False

    def decode(self, share: float) -> float:
        """Return the value at a relative position in the range, 0 to 1."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        value = self.low + share * (self.high - self.low)
        return float(round(value)) if self.whole else float(f"{value:.5g}")

    def encode(self, value: float) -> float:
        """Return the relative position of a value in the range, 0 to 1."""
        if self.choices:
            nearest = int(np.argmin(np.abs(np.asarray(self.choices) - value)))
            return (nearest + 0.5) / len(self.choices)
        return float(np.clip((value - self.low) / max(self.high - self.low, 1e-12), 0, 1))


@dataclass(frozen=True)
class RuleFamily:
    """A set of rules that have the same form and differ only in their numbers.

    Attributes:
        numbers: the range of each number by name; empty for a rule without numbers.
        build: makes the policy for given numbers. All policies in a family have the same pytree structure.
    """

    numbers: Mapping[str, NumberRange]
    build: Callable[[Mapping[str, float]], Policy]

    def decode(self, shares: Sequence[float] | np.ndarray) -> dict[str, float]:
        """Return the numbers at relative positions in their ranges, each 0 to 1."""
        return {name: r.decode(share) for (name, r), share in zip(self.numbers.items(), shares, strict=True)}

    def encode(self, numbers: Mapping[str, float]) -> np.ndarray:
        """Return the relative positions of the numbers in their ranges, each 0 to 1."""
        return np.array([r.encode(numbers[name]) for name, r in self.numbers.items()])

    @property
    def start(self) -> dict[str, float]:
        """The numbers at which the search starts."""
        return {name: r.start for name, r in self.numbers.items()}


class TunedRule(Strict):
    """The rule of an expert: its name, its numbers, and how they were found."""

    rule: str
    numbers: dict[str, float] = {}
    made: dict[str, str | float] = {}

    def write(self, path: Path) -> None:
        """Write the rule to a file."""
        path.parent.mkdir(exist_ok=True)
        text = yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120)
        path.write_text(text, encoding="utf-8")


def build_rule(tuned: TunedRule, families: Mapping[str, RuleFamily], policies: Mapping[str, Policy]) -> Policy:
    """Make the policy for a tuned rule from a rule family or a named policy; raise ConfigError if there is neither."""
    known = families if tuned.numbers else policies
    check_name("rule", tuned.rule, known, "expert")
    if not tuned.numbers:
        return policies[tuned.rule]
    check_keywords("expert", tuned.numbers, expected := families[tuned.rule].numbers)
    if missing := [name for name in expected if name not in tuned.numbers]:
        raise mismatch("expert", f"a number for {missing[0]!r}", "none", "`harvestgym tune`")
    return families[tuned.rule].build(tuned.numbers)


def read_tuned(path: Path) -> TunedRule | None:
    """Read the tuned rule of an environment file; None if there is none, ConfigError if it is invalid."""
    file = locate_tuned(path)
    return validate(TunedRule, read_file(file), f"{TUNED_FOLDER}/{file.name}") if file.is_file() else None
