"""The role of a family in the text interface: what a player sees, what can be ordered, and how time passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from harvestgym.core.errors import mismatch
from harvestgym.core.view.tables import round_number, write_number
from harvestgym.play.session import Session


class Quantity(NamedTuple):
    """A quantity that the player knows.

    Attributes:
        values: its numbers; those of a quantity with a value per plot have the shape of the field.
        unit: its unit; empty for counts and codes.
        labels: the meaning of each number of a code; empty for numbers.
        age: the steps since it was observed.
        fresh: whether it is observed in every step, so that a player can wait for it.
    """

    values: np.ndarray
    unit: str = ""
    labels: tuple[str, ...] = ()
    age: int = 0
    fresh: bool = True


class TextView:
    """An episode in words; a subclass for each family.

    Attributes:
        unit: the unit of time of a step.
        first_words: words with which an order may begin.
        waits: whether time can pass without a new decision.
    """

    unit: ClassVar[str] = "step"
    first_words: frozenset[str] = frozenset()
    waits: ClassVar[bool] = True

    def __init__(self, session: Session) -> None:
        self.session: Any = session

    def list_goals(self) -> list[str]:
        """Return sentences about the score and the end of an episode."""
        return list(self.session.goal)

    def list_orders(self) -> list[tuple[str, str]]:
        """Return the form of each order, and what it does."""
        raise NotImplementedError

    def list_hints(self) -> list[str]:
        """Return what a player must know to write orders and conditions, beyond their forms."""
        return []

    @property
    def example_limit(self) -> str:
        """A condition for `wait`."""
        return name_condition(self.list_quantities())

    def list_examples(self) -> list[str]:
        """Return valid orders; the one nearest to a mistake is suggested."""
        raise NotImplementedError

    def reads(self, line: str) -> bool:
        """Return whether a line that begins with no known word is an order."""
        return False

    def queue(self, line: str) -> list[str]:
        """Queue the orders of a line for the current step; return each in words. ConfigError if it is not valid."""
        raise NotImplementedError

    def list_queued(self) -> list[str]:
        """Return the orders of the current step in words."""
        raise NotImplementedError

    def clear(self) -> None:
        """Remove the orders of the current step."""
        raise NotImplementedError

    def observe(self, line: str) -> str:
        """Pay for observations of the current step; return what was learned."""
        raise mismatch("observe", "an order", "a request, although everything that can be observed is already shown")

    def finish(self) -> None:
        """Carry out the orders, and let the step pass."""
        raise NotImplementedError

    def list_news(self, since: int) -> list[str]:
        """Return what happened after a step, as far as the player knows."""
        return self.session.news(since)

    def list_quantities(self) -> dict[str, Quantity]:
        """Return what the player knows, by name."""
        return {}

    def describe(self) -> str:
        """Return what the player knows about the current step, in words."""
        raise NotImplementedError

    def look(self) -> str:
        """Return every known number."""
        return self.describe()

    def list_facts(self) -> dict[str, Any]:
        """Return what the player knows about the current step, as JSON values."""
        return {name: say_json(quantity) for name, quantity in self.list_quantities().items()}


def name_condition(quantities: Mapping[str, Quantity]) -> str:
    """Return a condition for `wait` that does not hold now: half of the first number that is observed every step."""
    numbers = ((name, np.max(q.values)) for name, q in quantities.items() if q.fresh and not q.labels and name != "day")
    name, value = next(numbers, ("stock", 1.0))
    return f"{name} < {write_number(value / 2, 2)}"


def say_json(quantity: Quantity) -> Any:
    """Return the values of a quantity as numbers or words in nested lists; None where unknown."""

    def say(value: float) -> float | str | None:
        if not np.isfinite(value):
            return None
        return quantity.labels[int(value)] if quantity.labels else round_number(value)

    return np.vectorize(say, otypes=[object])(quantity.values).tolist()
