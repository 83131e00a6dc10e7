"""Sentences about problems of a policy: a single direction, blocked moves, kinds never met, a full memory."""

from __future__ import annotations

import numpy as np

from harvestgym.core.rollout import Episodes
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.world import ACTION_NAMES


def explain(env: Forager, episodes: Episodes) -> list[str]:
    """Return sentences about problems in the evaluated episodes; none if the evaluation was run without counts."""
    if "met" not in episodes.counts:
        return []
    moves, met = int(np.sum(episodes.length)), np.asarray(episodes.counts["met"]).sum(0)
    kinds = list(zip(env.world.kinds, met.tolist(), strict=True))
    ways = np.asarray(episodes.counts["moves"]).sum(0)
    notes = [f"every move was to the {way}" for way, n in zip(ACTION_NAMES, ways, strict=True) if 0 < n == moves]
    blocked = [(kind.name, number) for kind, number in kinds if kind.blocking and number]
    shares = ("every move was" if number == moves else f"{number} of {moves} moves were" for _, number in blocked)
    notes += [f"{share} blocked by {name}" for share, (name, _) in zip(shares, blocked, strict=True)]
    if never := [kind.name for kind, number in kinds if not number]:
        notes.append(f"never met: {', '.join(never)}")
    if refused := int(np.sum(episodes.info["refused"])):
        notes.append(f"{refused} objects stayed, because {env.capacity} objects were already changed (capacity)")
    return notes
