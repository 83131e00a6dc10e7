"""Drawing context: the observed variables of one entity on one day, read by its `draw` and `describe` methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass

import numpy as np

from harvestgym.core.view.scene import Mark, Sprite

SMALL, CORNER = 0.17, 0.4
"""Sizes of a small drawing, in plots."""


@dataclass(eq=False, repr=False)
class DrawContext(dict[str, np.ndarray]):
    """Variables of an entity by key, `seen["plot_population#nb"]`; unknown values are NaN.

    Attributes:
        name: the name of the entity, `Plant-0`.
        sets: the names of its parameter set and of the sets that it extends, such as `("bean",)`.
        rank, kinds: its index among the entities of the same kind on the field, and the number of these entities.
        margin: space around the field for drawings outside it, in plots.
        crowded: whether the field has so many plots that small drawings are moved to the corners of their plot.
    """

    known: InitVar[Mapping[str, np.ndarray]]
    name: str = ""
    sets: tuple[str, ...] = ()
    rank: int = 0
    kinds: int = 1
    margin: float = 0.0
    crowded: bool = False

    def __post_init__(self, known: Mapping[str, np.ndarray]) -> None:
        self.update(known)

    def number(self, key: str, plot: tuple[int, int] | tuple[()] = ()) -> float:
        """Return the value of a field-wide variable, or of a plot; NaN if unknown."""
        return float(np.asarray(self[key])[plot]) if key in self else float("nan")

    def plots(self, key: str) -> Iterator[tuple[int, int, float]]:
        """Yield `x, y, value` for each plot where a variable is known and nonzero."""
        if key in self:
            values = np.asarray(self[key], float)
            for x, y in np.argwhere(np.isfinite(values) & (values != 0)).tolist():
                yield x, y, float(values[x, y])

    def total(self, key: str) -> float:
        """Return the sum over the plots where a variable is known; NaN if there are none."""
        values = np.asarray(self.get(key, np.nan), float)
        return float(np.nansum(values)) if np.isfinite(values).any() else float("nan")

    def marks(self, sprite: Sprite, key: str, at: tuple[float, float], meaning: str) -> list[Mark]:
        """Draw a sprite at the same position in each plot, with the number next to it if greater than one.

        On a crowded field, the sprite is enlarged, moved to the nearest corner of the plot, and has no number.
        """
        size, (x0, y0) = (SMALL, at) if not self.crowded else (CORNER, tuple(0.2 if c < 0.5 else 0.8 for c in at))
        shown = [(x, y, "" if n <= 1 or self.crowded else f"{n:.0f}") for x, y, n in self.plots(key)]
        return [Mark(sprite, (x + x0, y + y0), size, text=text, meaning=meaning) for x, y, text in shown]
