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
        except OSError as error:  # HTTPError and URLError are OSErrors
            code = getattr(error, "code", 500)
            if wait is None or (code < 500 and code != 429):
                raise SystemExit(f"{request.full_url}: {error}") from None
            time.sleep(wait)


def play(url: str, model: str, game: TextGame, seed: int | None = None, most: int = 400) -> dict[str, Any]:
    """Play an episode of at most `most` answers; without a seed, that of the game."""
    answer, text = Conversation(url, model), game.reset(seed)
    mistakes = turns = 0
    while not game.session.over and turns < most:
        orders = answer(text)
        reply = game.step(orders)
        text, mistakes, turns = reply.text, mistakes + len(reply.info["mistakes"]), turns + 1
        print(f"> {orders}\n{text}\n", flush=True)
    counts = {"turns": turns, "mistakes": mistakes} | answer.used
    return {"id": game.id, "seed": game.session.seed, "return": game.session.total} | counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of the server, up to /v1")
    parser.add_argument("model")
    parser.add_argument("id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--season", type=int, help="the number of a held-out season, instead of a seed")
    parser.add_argument("--page", help="an HTML file for the season and its messages; needs the extra plot")
    given = parser.parse_args()
    task, held_out = TextTask(given.id, ""), given.season is not None
    season = task.start(given.season) if held_out else TextGame(given.id)
    result = play(given.url, given.model, season, None if held_out else given.seed)
    score = {"score": task.scale(season.session.total)} if given.id in {known.id for known in TASKS} else {}
    print(json.dumps(result | score))
    if given.page:
        season.write_page(given.page)  # needs the extra `plot`
