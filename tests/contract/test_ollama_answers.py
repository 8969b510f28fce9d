"""What happens when a language model's server answers badly."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import ModelError
from knowtrail.ingest.themes import LlmThemes

if TYPE_CHECKING:
    from collections.abc import Iterator


class Answers:
    """A server that gives prepared answers in turn and keeps the requests."""

    def __init__(self) -> None:
        self.contents: list[str] = []
        self.status = 200
        self.options: list[dict[str, object]] = []
        self.url = ""


@pytest.fixture
def answers() -> Iterator[Answers]:
    """Yield a server that speaks Ollama's chat protocol."""
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            answers.options.append(json.loads(self.rfile.read(length))["options"])
            row: dict[str, object] = {"error": "out of memory"}
            if answers.status == 200:
                message = {"role": "assistant", "content": answers.contents.pop(0)}
                row = {"model": "m", "message": message, "done": True}
            body = json.dumps(row).encode() + b"\n"
            self.send_response(answers.status)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield answers
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("contents", "themes"),
    [
        (["not JSON", '{"themes": "none"}'], []),
        (['{"topics": []}', "[]"], []),
        (
            [
                '{"themes": ["Ice", "ice ", 5, "!", "' + "x" * 90 + '"]}',
                '{"themes": ["Sea"]}',
            ],
            ["ice", "sea"],
        ),
        (
            ['{"themes": ["a1", "b2", "c3", "d4", "e5"]}'],
            ["a1", "b2", "c3", "d4", "e5"],
        ),
    ],
)
def test_unusable_answer_is_asked_for_once_more(
    answers: Answers, contents: list[str], themes: list[str]
) -> None:
    """The second try has another seed and the same context; nothing is raised."""
    answers.contents = list(contents)

    found = LlmThemes("m", answers.url).themes("Ice", "Ice is cold.", language="en")

    assert found == themes
    assert len(answers.options) == len(contents)
    assert {options["num_ctx"] for options in answers.options} == {4096}
    assert [options.get("seed") for options in answers.options][1:] == [1] * (
        len(contents) - 1
    )


def test_error_of_the_server_is_told(answers: Answers) -> None:
    """Its words are passed on."""
    answers.status = 500

    with pytest.raises(ModelError, match="out of memory"):
        LlmThemes("m", answers.url).themes("Ice", "Ice.", language="en")
