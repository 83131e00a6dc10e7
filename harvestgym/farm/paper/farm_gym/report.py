"""The report of a conversion: entries that were kept, changed and lost."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path


class NotConverted(UserWarning):
    """Warning that an entry of a Farm-Gym file has no counterpart here."""


class Report:
    """The entries of Farm-Gym files that were kept, changed or lost.

    Attributes:
        kept: the number of entries that mean the same here, by what they are.
        changed: entries written in another way here, as `path: change`.
        lost: entries without a counterpart, as `path: reason`.
    """

    def __init__(self) -> None:
        self.kept: Counter[str] = Counter()
        self.changed: list[str] = []
        self.lost: list[str] = []

    def keep(self, what: str, number: int = 1) -> None:
        """Count entries that mean the same here."""
        self.kept[what] += number

    def change(self, path: str, change: str) -> None:
        """Note an entry that is written in another way here."""
        self.changed.append(f"{path}: {change}")

    def lose(self, path: str, reason: str = "has no counterpart here") -> None:
        """Note an entry without a counterpart, once."""
        if (loss := f"{path}: {reason}") not in self.lost:
            self.lost.append(loss)

    def warn(self, folder: Path) -> None:
        """Warn of each loss."""
        for loss in self.lost:
            warnings.warn(f"{folder / loss}", NotConverted, stacklevel=4)
