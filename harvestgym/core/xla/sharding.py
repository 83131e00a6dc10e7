"""Mapping of a function over the shards of its arguments: `jax.shard_map`, under the name that each version of JAX has.

JAX calls it `jax.experimental.shard_map.shard_map` up to 0.6, where `check_vma` is `check_rep`. The check is off, as it
refuses a loop that starts from constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import jax
from jax.sharding import AxisType

SHARDS = "shards"
"""The name of the only axis of the mesh."""


def map_over_shards(
    function: Callable[..., Any], devices: Sequence[Any], in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """Return `function` as one program for all devices; each runs it on its shard of the arguments."""
    mesh = jax.make_mesh((len(devices),), (SHARDS,), axis_types=(AxisType.Auto,), devices=devices)
    return _find_shard_map()(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def _find_shard_map() -> Callable[..., Any]:
    if hasattr(jax, "shard_map"):
        return partial(jax.shard_map, check_vma=False)
    return partial(import_module("jax.experimental.shard_map").shard_map, check_rep=False)
