"""Wrong and odd arguments for constructors, and odd changes of the data of a file, drawn from a seed."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harvestgym.core.errors import ConfigError

ALWAYS_WRONG: tuple[Any, ...] = (math.nan, 1j, b"x", object())
"""Values that no argument may have."""

ODD: tuple[Any, ...] = (
    None, True, False, "", "text", "0.3", "3", [], {}, (), [1, "a"], ["a", "b"], {"a": 1}, {"kind": "ricker"}, -1, 0, 1,
    2, 3, 7, 1.5, 0.3, -0.0, 1e-30, 1e30, -1e30, 2**31, 2**70, -(2**63), math.inf, -math.inf, range(3), (3, 3), (3,),
    (0, 0, 0), (300, 0, 0), np.float32(2), np.int64(3), np.array(0.5), np.array([]), np.array([1.0, 2.0]),
    np.array(["a"]), np.array(None), float, math.sin, *ALWAYS_WRONG,
)  # fmt: skip
"""Values of all types; some of them are right in some places."""


def draw_arguments(rng: random.Random, names: Iterable[str], right: Mapping[str, Any]) -> dict[str, Any]:
    """Draw arguments: one or two of `names` are odd, one in twenty names is misspelt, and the rest are `right`."""
    given = dict(right)
    known = list(names)
    for name in rng.sample(known, min(len(known), rng.choice((1, 1, 2)))):
        given[name] = rng.choice(ODD)
    if rng.random() < 0.05:
        given["unheard_of"] = 1
    return given


def build_or_refuse(build: Callable[[], Any], given: Any) -> Any:
    """Return what `build` makes, or None where it refuses in clear words; any other error is an AssertionError."""
    try:
        made = build()
    except ConfigError as error:
        assert len(str(error)) > 10, (given, str(error))
        return None
    except TypeError as error:
        assert "argument" in str(error), (given, str(error))
        return None
    except Exception as error:
        raise AssertionError(f"{given!r}: {type(error).__name__}: {error}") from error
    assert "unheard_of" not in given, f"{given!r} was accepted"
    wrong = [value for value in given.values() if any(value is bad for bad in ALWAYS_WRONG)]
    assert not wrong, f"{given!r} was accepted"
    return made


def build_file(path: Path, data: Any, read: Callable[[Path], Any]) -> None:
    """Write data as YAML and read it as a file of an environment, which must refuse it clearly or build it."""
    path.write_text(yaml.dump(data, Dumper=yaml.Dumper))
    try:
        text = yaml.safe_load(path.read_text())
    except yaml.YAMLError:
        return  # no YAML
    build_or_refuse(lambda: read(path), {"data": text})


def change_data(rng: random.Random, data: Mapping[str, Any], others: Iterable[Any] = ()) -> dict[str, Any]:
    """Change the data of a file in one to three places: an odd value, a key that is gone, new, or misspelt."""
    changed = copy.deepcopy(dict(data))
    for _ in range(rng.choice((1, 1, 2, 3))):
        group = rng.choice([changed, *_find_groups(changed)])
        key = rng.choice([*group]) if group else "new"
        kind = rng.random()
        if kind < 0.6:
            group[key] = copy.deepcopy(rng.choice([*ODD[: -len(ALWAYS_WRONG)], *others]))
        elif kind < 0.75:
            group.pop(key, None)
        elif kind < 0.9:
            group[f"{key}x"] = group.pop(key, 1)
        else:
            group[rng.choice(["new", "kind", "doc", 3])] = copy.deepcopy(rng.choice(ODD))
    return changed


def _find_groups(data: Any) -> list[dict[Any, Any]]:
    """Return all mappings within the data."""
    values = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    inner = [value for value in values if isinstance(value, dict | list)]
    return [value for value in inner if isinstance(value, dict)] + [g for value in inner for g in _find_groups(value)]
