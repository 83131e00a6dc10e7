"""The metadata of the package: types, extras and direct dependencies."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

from .script import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
APART = {"all", "dev", "gpu"}
"""Extras that `all` leaves out: itself, the tools of developers, and a platform."""


def test_the_package_is_typed() -> None:
    assert files("harvestgym").joinpath("py.typed").is_file()


def test_the_extra_all_has_every_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    (entry,) = extras["all"]
    assert set(re.findall(r"\w+", entry.partition("[")[2])) == set(extras) - APART
