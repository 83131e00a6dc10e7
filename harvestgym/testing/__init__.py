"""Contract tests for your own environments and entities.

`check_entity` is in `harvestgym.testing.entity`, which loads the farm family.
"""

from .env import check_env

__all__ = ["check_env"]
