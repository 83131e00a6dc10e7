"""The report of a conversion: entries that were kept, changed and lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

from harvestgym.core.config import validate
from harvestgym.core.errors import warn_user
from harvestgym.farm.paper.farm_gym.file_models import Part

PartT = TypeVar("PartT", bound=Part)


class NotConverted(UserWarning):
    """Warning that an entry of a Farm-Gym file has no counterpart here."""


class Report:
    """The entries of Farm-Gym files that were kept, changed or lost.

    Attributes:
        kept: the number of entries that mean the same here, by type.
        changed: entries that are written differently here, as `path: change`.
        lost: entries without a counterpart, as `path: reason`; those below a lost entry are not listed.
    """

    def __init__(self) -> None:
        self.kept: Counter[str] = Counter()
        self.changed: list[str] = []
        self.lost: list[str] = []
        self._lost_paths: list[str] = []

    def change(self, path: str, change: str) -> None:
        """Report an entry that is written differently here."""
        self.changed.append(f"{path}: {change}")

    def lose(self, path: str, reason: str = "has no counterpart here") -> None:
        """Report an entry without a counterpart, once."""
        if not any(f"{path} > ".startswith(f"{above} > ") for above in self._lost_paths):
            self._lost_paths.append(path)
            self.lost.append(f"{path}: {reason}")

    def read(self, part: type[PartT], data: Any, path: str) -> PartT:
        """Validate a part of a file, and report the entries that its schema does not name."""
        made = validate(part, data, path)
        self._lose_unnamed(made, path)
        return made

    def _lose_unnamed(self, part: Part, path: str) -> None:
        for key in part.model_extra or ():
            self.lose(f"{path} > {key}")
        for name, below in part:
            if isinstance(below, Part):
                self._lose_unnamed(below, f"{path} > {name}")

    def warn(self, folder: Path) -> None:
        """Warn about each entry that was not converted."""
        for loss in self.lost:
            warn_user(f"{folder / loss}", NotConverted)
