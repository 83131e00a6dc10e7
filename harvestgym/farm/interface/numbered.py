"""What is done in the language of a `Farm`, in the numbers of the functional environment inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.active import ActiveFarm

from .language import Language, Move
from .observation_items import Ask


def numbered(language: Language, pairs: Sequence[Any], acting: bool) -> Any:
    """The member of the model's action space that does a gym action in an intervention, or else in a looking around.

    What is not due then is left out, as the farm does. ConfigError if the integer form has no such action.
    """
    model, moves = language.model, [language.from_pair(pair) for pair in pairs]
    orders = [move for move in moves if acting and not isinstance(move.what, Ask)]
    numbers = np.zeros(model.schedule, np.int32)
    numbers[: len(orders)] = [model.actions.index(language.to_tuple(move)) for move in orders]
    order = numbers if model.schedule > 1 else numbers[0]
    if not isinstance(model, ActiveFarm):
        return order
    asked = [move for move in moves if not acting and isinstance(move.what, Ask)]
    return {"order": order} | ({"request": _request(language, model, asked)} if model.offered.looks else {})


def _request(language: Language, model: ActiveFarm, asked: Sequence[Move]) -> np.ndarray:
    """Which looks of the offer the asks are, int32 (looks,)."""
    covered = np.zeros(model.offered.size, bool)
    for move in asked:
        assert isinstance(move.what, Ask)
        mine = model.asking.asks([(move.farmer, move.what.group, move.what.plot)], 1)
        covered |= np.asarray(model.asking.covered(mine))[0]
    parts = np.split(covered, np.cumsum([look.size for look in model.offered.looks])[:-1])
    for part, look in zip(parts, model.offered.looks, strict=True):
        if (part.any() and not part.all()) or (part.any() and any(move.farmer for move in asked)):
            told = [language.to_tuple(move) for move in asked]
            raise ConfigError(f"{told}: the integer form looks at all of {look.variable.name} at once, by its first "
                              "farmer; ask so")  # fmt: skip
    return np.asarray([part.all() for part in parts], np.int32)
