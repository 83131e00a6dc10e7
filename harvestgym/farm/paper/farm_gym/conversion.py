"""The names in Farm-Gym files and our names for the same things, and the report of what a conversion kept and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from harvestgym.core import yaml_io
from harvestgym.core.config import validate
from harvestgym.core.errors import ConfigError, warn_user
from harvestgym.farm.build.compile import name_farm
from harvestgym.farm.build.components import compile_field
from harvestgym.farm.engine.name_table import EntityKey, list_leaves
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.base import Action
from harvestgym.farm.paper.farm_gym.file_models import Part
from harvestgym.farm.schema import FieldSpec

PartT = TypeVar("PartT", bound=Part)

DAY = "day#int365"
"""The day of the year, which starts at 0 in Farm-Gym and at 1 here."""


@cache
def read_terms() -> Mapping[str, Any]:
    """Return the names that differ, and the content that Farm-Gym writes into missing files."""
    return yaml_io.read_file(Path(__file__).with_name("names.yaml"))


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


class Conversion:
    """The names on a farm while its files are converted, and the report of the conversion.

    Args:
        fields: its fields.
        farmers: the names of its farmers.
        report: the report, to which the conversion of each file adds its entries.
    """

    def __init__(self, fields: Mapping[str, FieldSpec], farmers: Sequence[str], report: Report) -> None:
        self.table = name_farm({name: compile_field(field) for name, field in fields.items()})
        self.fields, self.farmers, self.report = fields, farmers, report

    def rename(self, entity: EntityKey, key: str) -> str:
        """Return our key of a variable."""
        known = read_terms()["variables"].get(self.table.slots[entity].kind.__name__, {})
        first, _, rest = key.partition("/")
        return known.get(key) or "/".join(filter(None, (known.get(first, first), rest)))

    def find(self, entity: EntityKey, key: str) -> list[Variable]:
        """Return the variables under a key; none if there is no such entity or key."""
        with suppress(ConfigError, KeyError):
            return list_leaves(self.table.below(entity, self.rename(entity, key).split("/"), "")[1])
        return []

    def action(self, entity: EntityKey, name: str) -> Action | None:
        """Return an intervention, if it exists."""
        with suppress(ConfigError, KeyError):
            return self.table.action(entity, name, "")
        return None
