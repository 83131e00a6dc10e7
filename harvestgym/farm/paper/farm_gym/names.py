"""The names in Farm-Gym files, and our names for the same things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.farm.build.compile import name_farm
from harvestgym.farm.build.components import compile_field
from harvestgym.farm.engine.name_table import EntityKey, list_leaves
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.base import Action
from harvestgym.farm.paper.farm_gym.report import Report
from harvestgym.farm.schema import FieldSpec

DAY = "day#int365"
"""The day of the year, which starts at 0 in Farm-Gym and at 1 here."""


@cache
def read_terms() -> Mapping[str, Any]:
    """Return the names that differ, and the content that Farm-Gym writes into missing files."""
    return yaml_io.read_file(Path(__file__).with_name("names.yaml"))


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
