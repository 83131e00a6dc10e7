"""Map a function over the shards of its arguments, as one program for several devices.

Internals: the argument `check_vma` of `jax.shard_map`. The check is off, because it rejects a loop that starts from
constants.
Gain: one call runs on all devices, with one compiled program.
Without it: a rollout on one device, the default, does not use this module; there is no other way to use several, so
the off switch does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

SHARDS = "shards"
"""The name of the only axis of the mesh."""


def map_over_shards(
    function: Callable[..., Any], devices: Sequence[Any], in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """Return `function` as one program for all devices; each runs it on its shard of the arguments."""
    mesh = jax.sharding.Mesh(np.asarray(devices), (SHARDS,))
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
