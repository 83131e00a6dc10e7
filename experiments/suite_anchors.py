"""Make the anchors of the core suite: the test seasons of doing nothing, the expert and the best known policy.

python -m experiments.suite_anchors                          # all ids
python -m experiments.suite_anchors --ids farm/rotation-v0   # some; the others keep their anchors

The best known policy of an id is named in `results/best-known.json`, and was chosen on the training split; it is the
expert where that file lacks the id. Each call opens the test side, and adds a line to `results/test-side-opened.jsonl`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from experiments.leaderboard.weather_years import list_blocks
from experiments.search.found import find_form
from experiments.test_side import log_opening
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import find_idle_action, find_policy
from harvestgym.evaluate.suite import (
    RETURN,
    SUITE_ANCHORS,
    Seasons,
    format_lines,
    make_cases,
    play_seasons,
    round_number,
)

BEST_KNOWN = "experiments.search.found:best_known"
"""The best known policies, as for `harvestgym suite`."""


def make_anchor(id: str, seasons: int | None = None) -> dict[str, Any]:
    """Run the policies on the test seasons of an id and return its entry in the file."""
    best, side, count = find_form(id), splits.split(id, "test"), seasons or splits.list_suite()[id].seasons
    env = side.make()

    def play(policy: str) -> Seasons:
        return play_seasons(id, *find_policy(id, env, policy), count)

    played = play(best if best == "expert" else BEST_KNOWN)
    check_limits(id, best, played)
    idle = play("none")[RETURN] if find_idle_action(id, env) is not None else np.zeros(count)
    expert = played if best == "expert" else play("expert")
    returns = {"nothing": idle.tolist(), "best": played[RETURN].tolist()}
    means = {"expert": round_number(expert[RETURN].mean())}
    blocks = list_blocks(env, side.seed(0), count).tolist()
    return {"policy": best, "digest": splits.digest()} | means | returns | {"blocks": blocks}


def check_limits(id: str, policy: str, played: Seasons) -> None:
    """Raise ConfigError for a policy that breaks a limit of an id on average, as its score would be at most 0."""
    for name, limit in splits.list_suite()[id].limits.items():
        if (mean := played[name].mean()) > limit:
            raise ConfigError(
                f"{id}: expected a policy with a mean {name} of at most {limit:g}, got {policy}: {mean:.3g}"
            )


def make_anchors(ids: Annotated[list[str] | None, typer.Option(help="ids of the suite; default: all")] = None) -> None:
    """Make the anchors of ids, and write each when it is finished."""
    chosen: Sequence[str] = list(make_cases("none", ids))
    log_opening("anchors of the core suite", chosen)
    for id in chosen:
        anchors = json.loads(SUITE_ANCHORS.read_text(encoding="utf-8")) if SUITE_ANCHORS.exists() else {}
        anchors[id] = make_anchor(id)
        ordered = {id: anchors[id] for id in splits.list_suite() if id in anchors}
        SUITE_ANCHORS.write_text(format_lines(ordered), encoding="utf-8")
        means = ", ".join(f"{name} {np.mean(anchors[id][name]):.4g}" for name in ("nothing", "expert", "best"))
        print(f"{id}: {anchors[id]['policy']}: {means}; {len(set(anchors[id]['blocks']))} blocks", flush=True)


if __name__ == "__main__":
    try:
        typer.run(make_anchors)
    except ConfigError as error:
        sys.exit(f"suite_anchors: {error}")
