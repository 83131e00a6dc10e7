"""A local server with an OpenAI-compatible address, whose answers a function gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Messages = list[dict[str, Any]]


class Stub(NamedTuple):
    """A running server: its address, and the bodies of the requests so far."""

    url: str
    requests: list[dict[str, Any]]


@contextmanager
def serve_chat(answer: Callable[[Messages], str]) -> Iterator[Stub]:
    """Serve a model that answers messages with a text, at once or as a stream, and always uses 100 and 5 tokens."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            stream, text = requests[-1].get("stream", False), answer(requests[-1]["messages"])
            said = {"role": "assistant", "content": text}
            choice = {"index": 0, "finish_reason": "stop", ("delta" if stream else "message"): said}
            usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
            kind = "chat.completion" + ".chunk" * stream
            body = json.dumps(
                {"id": "0", "object": kind, "created": 0, "model": "stub", "choices": [choice], "usage": usage}
            )
            sent = (f"data: {body}\n\ndata: [DONE]\n\n" if stream else body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            """Be silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Stub(f"http://127.0.0.1:{server.server_address[1]}/v1", requests)
    finally:
        server.shutdown()
        server.server_close()
