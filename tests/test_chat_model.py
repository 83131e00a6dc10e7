"""The example for chat models plays a season with a local stub of a server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

from tests.load_script import script

ANSWERS = ["I will water.\n\nwater 20 L\ndone", "water 7 L\ndone", "wait 200 days", "wait 200 days"]


class Stub(BaseHTTPRequestHandler):
    """Answers with replayed texts, and remembers the requests."""

    requests: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        content = ANSWERS[len(self.requests) - 1]
        usage = {"prompt_tokens": 100, "completion_tokens": 5}
        body = json.dumps({"choices": [{"message": {"content": content}}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


def test_a_chat_model_plays_a_season() -> None:
    server = HTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        play = script("examples/chat_model.py").play
        result = play(f"http://127.0.0.1:{server.server_address[1]}/v1", "stub", "farm/bean-1x1-v0", seed=3)
    finally:
        server.shutdown()
        server.server_close()
    assert result["turns"] == len(Stub.requests) and result["mistakes"] == 1
    assert result["completion_tokens"] == 5 * result["turns"]
    assert "has not ended" in Stub.requests[2]["messages"][-1]["content"]
