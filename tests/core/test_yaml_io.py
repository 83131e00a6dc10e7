"""YAML files: how deep they may be nested."""

from __future__ import annotations

import pytest

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.core.yaml_io import DEEPEST


@pytest.mark.parametrize("depth", [DEEPEST + 1, 20 * DEEPEST])
def test_a_file_that_is_nested_too_deep_is_refused(depth: int) -> None:
    assert yaml_io.parse("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(ConfigError, match="at most 100 levels of nesting"):
        yaml_io.parse("{a: " * depth + "1" + "}" * depth)
