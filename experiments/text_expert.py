"""Play the experts through text: a player that reads only the words of a game, and answers with sentences.

python -m experiments.text_expert                             # the ids of the text tasks, one season each
python -m experiments.text_expert farm/full-3x4-v0 --seed 3 --transcripts out/text

Each day, the player reads the answer to `look`, computes the expert's observation from these words, and sends the
expert's orders as sentences. Days with the same orders as the expert, which reads the numbers, prove that the text
says enough and that the orders are understood. The results are in `results/text-expert.json`; tokens are counted if
`tiktoken` is installed with the encoding o200k_base.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.test_side import RESULTS
from harvestgym.core.episode import seed_key
from harvestgym.core.random import key_for
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.view.words import say_order
from harvestgym.text.farm_text import CALENDAR, FarmText
from harvestgym.text.game import TextGame

OUT = RESULTS / "text-expert.json"

IDS = (
    "farm/bean-1x1-v0", "farm/corn-1x1-v0", "farm/fertilizer-1x1-v0", "farm/pests-weeds-1x1-v0", "farm/full-1x1-v0",
    "farm/full-3x4-v0", "farm/polyculture-3x4-v0", "farm/rotation-v0", "farm/two-climates-v0", "farm/contexts-1x1-v0",
    "fishing/logistic-v0", "fishing/three-species-v0", "fishing/tipping-v0", "fishing/myers-v0", "fishing/driver-v0",
    "fishing/us-stocks-v0",
)  # fmt: skip

MONTHS = {f"{datetime.date(2001, month, 1):%B}": datetime.date(2001, month, 1).timetuple().tm_yday - 1
          for month in range(1, 13)}  # fmt: skip
"""The day of the year before the first of each month."""


def read_farm(view: FarmText, text: str) -> np.ndarray:
    """Return the observation that the words of a farm say, float32."""
    env = view.session.env
    date = re.search(r"Day \d+ of \d+, (\d+) (\w+)", text)
    said, drawn = {}, ""
    for line in text.splitlines()[1:]:
        title, _, listed = line.rstrip(".").partition(": ")
        if title == "This season":
            drawn = listed
            continue
        field = f" in {title.split()[0]}" * (len(env.fields) > 1)
        for part in listed.split(", "):
            name = max((n for n in view.names.values() if (part + field).startswith(_plain(n, field) + " ")), key=len)
            said[_plain(name, field) + field] = part.removeprefix(_plain(name, field)).split()
    values = {}
    for variable in env.variables:
        size = int(np.prod(variable.shape, dtype=int))
        if variable.key == CALENDAR and date:
            numbers = [float(date[1]) + MONTHS[date[2]]]
        elif view.names.get(variable.name) in said:
            words = said[view.names[variable.name]][:size]
            labels = ("no", "yes") if variable.meta.dtype == "bool" else variable.meta.labels
            numbers = [float(labels.index(word)) if labels else float(word) for word in words]
        else:
            numbers = [0.0] * size
        values[variable.name] = np.asarray(numbers, np.float32).reshape(variable.shape)
    seen = env.full_plan.see(lambda variable: values[variable.name])
    return np.concatenate([np.asarray(seen, np.float32), read_drawn(view, drawn)])


def read_drawn(view: FarmText, text: str) -> np.ndarray:
    """Return what was drawn for the season, one-hot, from words such as `site lille, soil clay`."""
    said = text.split(", ")
    draws = [draw for draw in view.session.env.contexts.draws if draw.shown]
    return np.asarray(
        [f"{view.name_draw(draw.name)} {label}" in said for draw in draws for label in draw.labels], np.float32
    )


def _plain(name: str, field: str) -> str:
    return name.removesuffix(field) if field else name


def read_fishery(view: Any, text: str) -> np.ndarray:
    """Return the observation that the words of a fishery say, float32."""
    survey = re.search(r"Survey: ([^.]*(?:\.\d[^.]*)*)\.", text)
    assert survey is not None
    numbers = [float(part.split()[-1]) for part in survey[1].split(", ")]
    return np.asarray(view.session.env.units.observation(np.asarray(numbers, np.float32)), np.float32)


def say_action(view: Any, action: Any) -> list[str]:
    """Return the sentences of an action."""
    env = view.session.env
    if not isinstance(view, FarmText):
        return [f"{view.verb} {' '.join(f'{a:.9g}' for a in np.ravel(env.units.wanted(action)).tolist())}"]
    orders = (env.actions.order(int(number)) for number in np.ravel(action) if number)
    return [say_order(env, order) for order in orders if order is not None]


def play_expert(game: TextGame, seed: int) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Play a season; return its results and its messages."""
    id, env = game.id, game.session.env
    policy = policy_named(id, env, "expert").traced()
    act = jax.jit(policy.act)
    first = game.reset(seed)
    reading, truth, key = policy.init, policy.init, key_for(seed_key(seed), "policy")
    messages = [{"role": "game", "text": first}]
    same, shown, mistakes = 0, [], 0
    while not game.session.over:
        view, number = game.view, game.session.steps
        text = view.look()
        seen = read_farm(view, text) if isinstance(view, FarmText) else read_fishery(view, text)
        step = jax.random.fold_in(key, number)
        reading, order = act(reading, seen, step)
        truth, exact = act(truth, game.session.obs, step)
        same += np.array_equal(np.asarray(order), np.asarray(exact)) or np.allclose(order, exact, atol=1e-5)
        message = "\n".join([*say_action(view, order), "done"])
        reply = game.step(message)
        mistakes += len(reply.info["mistakes"])
        messages += [{"role": "player", "text": message}, {"role": "game", "text": reply.text}]
        shown.append(reply.text)
    days = len(shown)
    row = {"id": id, "seed": seed, "steps": days, "same orders": same / days, "mistakes": mistakes}
    row |= {"return": round(game.session.total, 4), "characters a step": round(float(np.mean([*map(len, shown)])), 1)}
    return row | count_tokens(first, shown), messages


def count_tokens(first: str, shown: list[str]) -> dict[str, float]:
    """Return the tokens of the first text and the mean of the others; nothing without a tokenizer."""
    try:
        encoding = import_module("tiktoken").get_encoding("o200k_base")
    except Exception:  # not installed, or no copy of the encoding on this machine
        return {}
    counts = [len(encoding.encode(text)) for text in shown]
    return {"tokens at the start": len(encoding.encode(first)), "tokens a step": round(float(np.mean(counts)), 1)}


def main() -> None:
    """Play the ids and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", default=IDS)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--transcripts", type=Path, help="folder for the messages as JSON lines")
    args = parser.parse_args()
    rows = {row["id"]: row for row in (json.loads(OUT.read_text(encoding="utf-8")) if OUT.is_file() else [])}
    for id in args.ids:
        rows[id], messages = play_expert(TextGame(id), args.seed)
        print(rows[id], flush=True)
        if args.transcripts:
            args.transcripts.mkdir(parents=True, exist_ok=True)
            lines = "".join(json.dumps(message) + "\n" for message in messages)
            (args.transcripts / f"{id.replace('/', '-')}.jsonl").write_text(lines, encoding="utf-8")
    OUT.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
