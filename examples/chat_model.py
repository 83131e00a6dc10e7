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


class Conversation:
    """The messages of one season; a model sees the rules and the last 20 to 40, since each text restates the state.

    The older half of them is dropped at once, so that the server's cache of what it has read stays valid in between.
    """

    def __init__(self, url: str, model: str, memory: int = 20) -> None:
        self.url, self.model, self.memory = f"{url.rstrip('/')}/chat/completions", model, memory
        self.start = [{"role": "system", "content": RULES}]
        self.latest: list[dict[str, str]] = []
        self.used = {"prompt_tokens": 0, "completion_tokens": 0}

    def __call__(self, text: str) -> str:
        """Return the model's answer to a text; the first text has the rules."""
        (self.start if len(self.start) == 1 else self.latest).append({"role": "user", "content": text})
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        body = json.dumps({"model": self.model, "messages": self.start + self.latest}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url, body, headers), timeout=600) as response:
            answer = json.load(response)
        orders = answer["choices"][0]["message"]["content"] or ""
        self.latest.append({"role": "assistant", "content": orders})
        if len(self.latest) > 2 * self.memory:
            self.latest = self.latest[-self.memory :]
        self.used = {name: count + answer.get("usage", {}).get(name, 0) for name, count in self.used.items()}
        return orders


def play(url: str, model: str, game: TextGame, seed: int = 0, most: int = 400) -> dict[str, Any]:
    """Play an episode of at most `most` answers."""
    answer, text = Conversation(url, model), game.reset(seed)
    mistakes = turns = 0
    while not game.session.over and turns < most:
        orders = answer(text)
        reply = game.step(orders)
        text, mistakes, turns = reply.text, mistakes + len(reply.info["mistakes"]), turns + 1
        print(f"> {orders}\n{text}\n", flush=True)
    counts = {"turns": turns, "mistakes": mistakes} | answer.used
    return {"id": game.id, "seed": seed, "return": game.session.total} | counts


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
