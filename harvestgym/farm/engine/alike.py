"""Fields of one structure, computed together where a day is a single kernel: one compiles much faster then.

The time to compile a kernel grows with more than its size: that of six such fields took sixteen times as long as that
of one, and takes three times as long if they are mapped. Where XLA makes a kernel of each operation, as in batches,
joining the arrays of fields would cost more kernels than it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from harvestgym.core.xla.fusion import traces_single_kernel


def map_fields(function: Callable[..., Any], structures: Sequence[Hashable], *parts: Sequence[Any]) -> list[Any]:
    """Return `function(structure, *parts)` of each field.

    In a single kernel it is traced once for all fields of equal structure whose parts are trees of equal shapes, and
    mapped over them.
    """
    if not traces_single_kernel():
        return list(map(function, structures, *parts))
    alike: dict[Hashable, list[int]] = {}
    for i, (structure, *mine) in enumerate(zip(structures, *parts, strict=True)):
        leaves, tree = jax.tree.flatten(mine)
        shapes = tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
        alike.setdefault((structure, tree, shapes), []).append(i)
    out: dict[int, Any] = {}
    for members in alike.values():
        of_one, mine = partial(function, structures[members[0]]), [[part[i] for part in parts] for i in members]
        if len(members) == 1:
            out[members[0]] = of_one(*mine[0])
            continue
        together = jax.vmap(of_one)(*jax.tree.map(lambda *leaves: jnp.stack(leaves), *mine))
        for place, i in enumerate(members):
            out[i] = jax.tree.map(lambda leaf, place=place: leaf[place], together)
    return [out[i] for i in range(len(structures))]
