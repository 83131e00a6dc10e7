"""Let a chat model play a season through an OpenAI-compatible address, and count its tokens and mistakes.

    python examples/chat_model.py http://127.0.0.1:8000/v1 MODEL farm/full-1x1-v0 --season 3  # or any --seed

Needs only the standard library. The key, if the server wants one, is read from the variable OPENAI_API_KEY.
"""

import argparse
import json
import os
import time
import urllib.request
from typing import Any

from harvestgym.text import TASKS, TextGame, TextTask

RULES = "You play a game. Answer with orders and commands only, one a line. End each answer with done or wait."


class Conversation:
    """The rules and the last 20 to 40 messages. Half of them are dropped at once, so that the server's cache lasts."""

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
        answer = send(urllib.request.Request(self.url, body, headers))
        orders = answer["choices"][0]["message"]["content"] or ""
        self.latest.append({"role": "assistant", "content": orders})
        if len(self.latest) > 2 * self.memory:
            self.latest = self.latest[-self.memory :]
        self.used = {name: count + answer.get("usage", {}).get(name, 0) for name, count in self.used.items()}
        return orders


def send(request: urllib.request.Request, waits: tuple[float, ...] = (2, 10, 60)) -> Any:
    """Return the server's answer; try again after each wait if it cannot be reached, or is busy or broken."""
    for wait in (*waits, None):
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return json.load(response)
        except OSError as error:
            if wait is None or getattr(error, "code", 500) in range(400, 429):
                raise SystemExit(f"{request.full_url}: {error}") from None
            time.sleep(wait)


def play(url: str, model: str, game: TextGame, seed: int | None = None, most: int = 400) -> dict[str, Any]:
    """Play an episode of at most `most` answers; without a seed, that of the game."""
    answer, text, mistakes, turns = Conversation(url, model), game.reset(seed), 0, 0
    while not game.session.over and turns < most:
        orders = answer(text)
        reply = game.step(orders)
        text, mistakes, turns = reply.text, mistakes + len(reply.info["mistakes"]), turns + 1
        print(f"> {orders}\n{text}\n", flush=True)
    counts = {"turns": turns, "mistakes": mistakes, "return": game.session.total}
    return {"id": game.id, "seed": game.session.seed} | counts | answer.used


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of the server, up to /v1")
    parser.add_argument("model")
    parser.add_argument("id")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--season", type=int, help="the number of a held-out season, instead of a seed")
    parser.add_argument("--page", help="an HTML file for the season and its messages; needs the extra plot")
    given = parser.parse_args()
    season = TextGame(given.id) if given.season is None else TextTask(given.id, "").start(given.season)
    result = play(given.url, given.model, season, given.seed)
    if task := next((task for task in TASKS if task.id == given.id), None):
        result["score"] = task.scale(season.session.total)
    print(json.dumps(result))
    if given.page:
        season.write_page(given.page)
