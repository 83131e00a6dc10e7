"""`check_entity` accepts what keeps the contract and says in words what does not."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import Pytree, replace, var
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Ledger, Place, action
from harvestgym.testing.entity import check_entity
from tests.farm import kinds

SPRING = kinds.Spring(flow=np.float32(1.0))  # pyright: ignore[reportArgumentType]
REED = kinds.Reed(thirst=np.float32(2.0))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("entity", "company"), [(SPRING, ()), (REED, (SPRING,)), (kinds.Gauge(), (SPRING,))])
def test_kinds_that_keep_the_contract_pass(entity: Any, company: tuple[Any, ...]) -> None:
    check_entity(entity, company, days=8)


class Thief(kinds.Gauge):
    """Takes what no ledger names."""

    def holds(self, state: Any) -> dict[str, jax.Array]:
        return {"water": state.level}


class Double(kinds.Gauge):
    """Changes its dtype."""

    def update(self, state: Any, place: Place, board: Board, draws: Draws) -> tuple[Any, Ledger]:
        return kinds.GaugeState(level=jnp.ones(place.shape, jnp.int32)), Ledger({}, {})


class Low(kinds.Gauge):
    """Leaves its range."""

    def update(self, state: Any, place: Place, board: Board, draws: Draws) -> tuple[Any, Ledger]:
        return replace(state, level=state.level - 1), Ledger({}, {})


class Wild(kinds.Gauge):
    """An action that does not look where it is aimed."""

    @action("fill")
    def fill(self, state: Any, place: Place, where: jax.Array) -> ActionResult:
        """Fill every plot."""
        return ActionResult(replace(state, level=state.level + 1), where, Ledger({}, {}))


class BareState:
    """Not a pytree."""


class Bare(kinds.Gauge):
    """A state without a description."""

    State: ClassVar[type] = BareState


class HalfState(Pytree):
    """One field described, one not."""

    level: jax.Array = var("level#L", "a level")
    other: jax.Array


class Half(kinds.Gauge):
    """A field of the state without a description."""

    State: ClassVar[type] = HalfState


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Thief, "the change in the amount of water differs from its flows"),
        (Double, "level expected float32, got int32"),
        (Low, r"level is outside \[0, 1e\+08\]: -1"),
        (Wild, "changes plots that it did not target"),
        (Bare, "Bare.State is not a subclass of Pytree"),
        (Half, "other not described; declare them with var"),
    ],
)
def test_each_broken_promise_is_reported(kind: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_entity(kind(), (SPRING,), days=3)


def test_missing_company_is_named() -> None:
    with pytest.raises(ConfigError, match="the allocator: expected one Ground"):
        check_entity(REED)
