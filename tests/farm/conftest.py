"""The farms that the tests of the interfaces share."""

from __future__ import annotations

import pytest

from harvestgym.farm import Farm
from tests.farm.ponds import farm


@pytest.fixture(scope="module")
def asking() -> Farm:
    """Return a farm on which looking costs, three actions a step."""
    return farm()


@pytest.fixture(scope="module")
def plain() -> Farm:
    """Return a farm with a step a day and one action."""
    return farm("po", max_action_schedule_size=1)
