"""Schedules of the paper's tuples as the arrays that compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harvestgym.farm.engine.actions import ActionTable, Orders


def encode_orders(table: ActionTable, schedule: Sequence[Any], size: int) -> Orders:
    """Return a schedule as orders of length `size`; ConfigError if one is not allowed."""
    kind, farmer = np.zeros(size, np.int32), np.zeros(size, np.int32)
    plot, values = np.full((size, 2), -1, np.int32), np.zeros((size, table.width), np.float32)
    for i, order in enumerate(map(table.parse, schedule)):
        kind[i], farmer[i] = 1 + order.row.number, order.farmer
        plot[i], values[i, : len(order.values)] = order.plot or (-1, -1), order.values
    return Orders(kind, farmer, plot, values)  # type: ignore[arg-type]
