"""Servers that speak the interfaces of OpenAI and Anthropic, as tests tell them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from werkzeug import Request, Response

from knowtrail.graph.models.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from pytest_httpserver import HTTPServer

KEY = "sk-secret-1"
_PATHS = {"openai": ("/v1", "/chat/completions"), "anthropic": ("", "/v1/messages")}


def openai_answer(text: str, ended: str) -> str:
    """Return a text as OpenAI streams it, in two pieces."""
    rows = [
        {"index": 0, "delta": {"role": "assistant", "content": text[:3]}},
        {"index": 0, "delta": {"content": text[3:]}},
        {"index": 0, "delta": {}, "finish_reason": ended},
    ]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    sent: list[dict[str, Any]] = [{**head, "choices": [row]} for row in rows]
    sent.append({**head, "choices": [], "usage": usage})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in sent) + "data: [DONE]\n\n"


def anthropic_answer(text: str, ended: str) -> str:
    """Return a text as Anthropic streams it, in two pieces."""
    usage = {"input_tokens": 30, "output_tokens": 4}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m"}
    pieces = [{"type": "text_delta", "text": part} for part in (text[:3], text[3:])]
    block = {"type": "text", "text": ""}
    sent: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**message, "content": [], "usage": usage},
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": p} for p in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": ended}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {s['type']}\ndata: {json.dumps(s)}\n\n" for s in sent)


@dataclass
class Service:
    """A provider's server, which does in turn what it is told, then says hello.

    Attributes:
        provider: Whose interface it speaks.
        plan: Texts are answers; numbers and pairs of a number and a message are errors;
            `slow` keeps silent for a second.
        headers: What goes with an error.
        requests: What it was asked.
        ended: Why its answers end; empty for the usual reason.
        says: Gives the answer to the last message where the plan is done.
    """

    provider: str
    plan: list[Any] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    ended: str = ""
    says: Callable[[str], str] = lambda _: "hello you"

    def open(self, server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer on a server, and say in the environment where that is."""
        provider = PROVIDERS[self.provider]
        root, path = _PATHS[self.provider]
        expected = server.expect_request(f"{root}{path}", method="POST")
        expected.respond_with_handler(self.answer)
        monkeypatch.setenv(provider.keys[0], f"{KEY}\n")
        monkeypatch.setenv(provider.addresses[0], server.url_for(root))

    def answer(self, request: Request) -> Response:
        """Answer a request."""
        prompt = request.get_json()["messages"][-1]["content"]
        self.requests.append(request)
        step = self.plan.pop(0) if self.plan else self.says(prompt)
        if step == "slow":
            time.sleep(1)
        if isinstance(step, int):
            step = (step, f"no, {KEY} will not do")
        if isinstance(step, tuple):
            status, message = step
            error = {"type": "x", "message": message, "code": self.headers.get("code")}
            body = {"type": "error", "error": error}
            return Response(
                json.dumps(body), status, self.headers, content_type="application/json"
            )
        is_openai = self.provider == "openai"
        write = openai_answer if is_openai else anthropic_answer
        ended = self.ended or ("stop" if is_openai else "end_turn")
        return Response(write(step, ended), content_type="text/event-stream")

    @property
    def sent(self) -> list[dict[str, Any]]:
        """Return the bodies of all requests."""
        return [request.get_json() for request in self.requests]
