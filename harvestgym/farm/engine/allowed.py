"""What the rules leave of the parameters of an intervention: some of its plots, choices and numbers."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.base import Parameter
from harvestgym.farm.schema import Interval


def checked(parameter: Parameter, value: Any, where: str) -> Any:
    """A value that the parameter allows, as it is; ConfigError otherwise."""
    if parameter.continuous:
        low, high = parameter.range
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) <= high:
            raise ConfigError(f"{where} > {parameter.key}: wanted a number in [{low:g}, {high:g}], found {value!r}")
        return float(value)
    if isinstance(value, bool) or not any(value == choice for choice in parameter.choices):
        wanted = ", ".join(map(str, parameter.choices))
        raise ConfigError(f"{where} > {parameter.key}: wanted one of {wanted}; found {value!r}")
    return value


def narrow(parameter: Parameter, limit: Any, where: str) -> Parameter:
    """What a limit (choices, an interval, None for no limit) leaves of a parameter; ConfigError for nothing of it."""
    if limit is None:
        return parameter
    if isinstance(limit, Interval):
        if not parameter.continuous:
            raise ConfigError(
                f"{where} > {parameter.key}: wanted a list of {list(parameter.choices)}, found an interval"
            )
        ends = (limit.low, limit.high)
        for end in ends:
            checked(parameter, end, where)
        if ends[0] > ends[1]:
            raise ConfigError(f"{where} > {parameter.key}: wanted low <= high, found ({ends[0]:g}, {ends[1]:g})")
        return Parameter(parameter.key, (), ends)
    if not limit:
        raise ConfigError(f"{where} > {parameter.key}: wanted at least one value, found none")
    for value in limit:
        checked(parameter, value, where)
    check_apart(limit, f"{where} > {parameter.key}")
    return Parameter(parameter.key, tuple(limit), parameter.range)


def check_apart(listed: Sequence[Any], where: str) -> None:
    """Raise ConfigError if something is listed twice."""
    if twice := [value for i, value in enumerate(listed) if value in listed[:i]]:
        raise ConfigError(f"{where}: {twice[0]} stands twice; keep one")
