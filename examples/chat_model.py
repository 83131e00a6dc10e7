"""Let a chat model play a season through an OpenAI-compatible address, and count its tokens and mistakes.

    python examples/chat_model.py http://127.0.0.1:8000/v1 MODEL farm/full-1x1-v0 --seed 3

Needs only the standard library. The key, if the server wants one, is read from the variable OPENAI_API_KEY.
"""

import argparse
import json
import os
import urllib.request
from typing import Any

from harvestgym.text import TextGame

RULES = "You play a game. Answer with orders and commands only, one a line. End each answer with done or wait."


def ask(url: str, model: str, messages: list[dict[str, str]]) -> tuple[str, dict[str, int]]:
    """Return the model's answer and the tokens that it used."""
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    body = json.dumps({"model": model, "messages": messages}).encode()
    request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        answer = json.load(response)
    return answer["choices"][0]["message"]["content"] or "", answer.get("usage", {})


def play(url: str, model: str, game: TextGame, seed: int = 0, memory: int = 20, most: int = 400) -> dict[str, Any]:
    """Play an episode; the model sees the rules and the last `memory` messages, since each text restates the state."""
    start = [{"role": "system", "content": RULES}, {"role": "user", "content": game.reset(seed)}]
    history: list[dict[str, str]] = []
    used = {"prompt_tokens": 0, "completion_tokens": 0}
    mistakes = turns = 0
    while not game.session.over and turns < most:
        orders, usage = ask(url, model, start + history[-memory:])
        reply = game.step(orders)
        history += [{"role": "assistant", "content": orders}, {"role": "user", "content": reply.text}]
        used = {name: used[name] + usage.get(name, 0) for name in used}
        mistakes, turns = mistakes + len(reply.info["mistakes"]), turns + 1
        print(f"> {orders}\n{reply.text}\n", flush=True)
    return {"id": game.id, "seed": seed, "return": game.session.total, "turns": turns, "mistakes": mistakes} | used


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of the server, up to /v1")
    parser.add_argument("model")
    parser.add_argument("id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", help="an HTML file for the season and its messages; needs the extra plot")
    given = parser.parse_args()
    season = TextGame(given.id)
    print(json.dumps(play(given.url, given.model, season, given.seed)))
    if given.page:
        season.write_page(given.page)  # needs the extra `plot`
