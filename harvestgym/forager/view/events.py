"""Events of a forager between two steps of a record, and the problems of a policy in evaluated episodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harvestgym.core.rollout import Episodes
from harvestgym.core.view.events import Event
from harvestgym.core.view.timeline import Record
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.reward_laws import RATE
from harvestgym.forager.world import ACTION_NAMES, EMPTY


def find_events(env: Forager, record: Record, first: int, last: int) -> Iterator[Event]:
    """Yield each collision after step `first`, up to step `last`."""
    for step in range(first + 1, last + 1):
        if (met := int(record["collided"][step])) != EMPTY:
            taken = record["collected"][step] > record["collected"][step - 1]
            words = f"{'took' if taken else 'met'} {env.world.names[met]}"
            yield Event(step, words.partition(" ")[0], say_move(record, step), words)


def average_recent(record: Record) -> np.ndarray:
    """Return the mean of the recent rewards at each step: the running mean, without the weight of its start at 0."""
    return record["reward_rate"] / (1 - (1 - RATE) ** np.maximum(record["clock#step"], 1.0))


def say_move(record: Record, step: int) -> str:
    """Return the move of a step in words."""
    return f"went {ACTION_NAMES[int(record['action'][step])]}"


def say_goal(env: Forager) -> tuple[str, ...]:
    """Return the goal of the game in short sentences: how the score is computed, and when an episode ends."""
    ends = "The episode has no end: stop when you like. The rivals then play as many steps as you did."
    return (
        "Walk and find out what gives a reward. The score is the sum of the rewards of all steps.",
        "Objects that look different give different rewards, some negative. Collected objects may grow back.",
        f"The episode has {env.horizon} steps." if env.horizon else ends,
    )


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
