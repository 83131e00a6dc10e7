"""The time of an order and the memory of a server with 200 text games.

    python -m experiments.speed.text_sessions [ID...] > experiments/results/text-sessions-2-cores.json

The games are spread over the ids. Two threads, one per core, send each game random orders with `done` in turn; the time
of an order is measured inside the server, so that it contains neither a protocol nor the wait for a thread. A game that
has ended is replaced. Nothing is compiled in advance except what a server compiles before its first client.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from harvestgym.play.start_session import start_session
from harvestgym.text.game import TextGame
from harvestgym.text.sessions import Games

IDS = ("farm/full-1x1-v0", "farm/full-3x4-v0", "farm/paid-looks-1x1-v0", "fishing/logistic-v0", "forager/flowers-v0")
GAMES, ORDERS, CORES = 200, 60, 2


def play(games: Games, number: int, examples: dict[str, list[str]]) -> tuple[list[float], list[float]]:
    """Send orders to a new game; return the seconds of each order and of each start."""
    random, orders, starts = np.random.default_rng(number), list[float](), list[float]()
    id, key = games.ids[number % len(games.ids)], ""
    for _ in range(ORDERS):
        start = time.perf_counter()
        if not key:
            key, _ = games.start(id, int(random.integers(2**31)))
            starts.append(time.perf_counter() - start)
        message = f"{random.choice(examples[id])}\ndone"
        start = time.perf_counter()
        done = games.send(key, message).done
        orders.append(time.perf_counter() - start)
        if done:
            games.end(key)
            key = ""
    return orders, starts


def main() -> None:
    """Print the figures as JSON."""
    begin = time.perf_counter()
    games = Games(sys.argv[1:] or IDS)
    games.prepare()
    ready = time.perf_counter() - begin
    examples = {id: ["", *TextGame(id, session=start_session(id)).view.list_examples()] for id in games.ids}
    begin = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        found = [*pool.map(lambda number: play(games, number, examples), range(GAMES))]
    wall = time.perf_counter() - begin
    orders, starts = ([second for pair in found for second in pair[part]] for part in (0, 1))
    by_id = {id: found[at :: len(games.ids)] for at, id in enumerate(games.ids)}
    report = {
        "ids": list(games.ids), "games": GAMES, "games at the end": len(games), "orders": len(orders),
        "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2), "seconds until ready": round(ready, 1),
        "orders per second": round(len(orders) / wall, 1),
        "start, ms": summarise_times(starts), "order, ms": summarise_times(orders),
        "order by id, ms": {id: summarise_times([s for pair in mine for s in pair[0]]) for id, mine in by_id.items()},
        "memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }  # fmt: skip
    json.dump(report, sys.stdout, indent=1)
    print()


def summarise_times(seconds: list[float]) -> dict[str, float]:
    """Return the median, the 99th percentile and the maximum in milliseconds."""
    levels = {"median": 50, "p99": 99, "maximum": 100}
    return {name: round(1000 * float(np.percentile(seconds, level)), 2) for name, level in levels.items()}


if __name__ == "__main__":
    main()
