"""`knowtrail serve` under requests that nobody means well by, and callers that go."""

from __future__ import annotations

import json
import re
import resource
import socket
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.corpora import store_articles
from tests.ollama import MODEL, parrot_server
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database
    from tests.ollama import Parrot
    from tests.serving import Serving

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.one_line,
    pytest.mark.timeout(600),
]

CONNECTIONS = 10_000
OPEN = """
SHOW TRANSACTIONS YIELD currentQuery
WHERE NOT currentQuery STARTS WITH '\\nSHOW'
RETURN currentQuery
"""


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        parrot.says('{"answer": "Owl.", "citations": [1], "confidence": 0.75}')
        yield parrot


@pytest.fixture(scope="module")
def served(
    database: Database,
    session_connection: Connection,
    server: Settings,
    parrot: Parrot,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Serving]:
    """Yield the server on loopback, over a small corpus."""
    database.holding(
        "small to abuse",
        lambda: store_articles(session_connection, server, "small", 8),
    )
    home = tmp_path_factory.mktemp("abused")
    words = [f"--uri={server.uri}", f"--home={home}", "--embedder=hash:32", "serve"]
    env = {
        "NEO4J_PASSWORD": server.password or "",
        "KNOWTRAIL_OLLAMA_URL": parrot.url,
        "KNOWTRAIL_LANGUAGE_MODEL": MODEL,
    }
    with serving(*words, env=env) as served:
        yield served
        assert served.stop() == 0
        assert "Traceback" not in "".join(served.log)


def test_whatever_the_description_allows_is_answered_as_it_says(
    served: Serving,
) -> None:
    """Every route, with valid and invalid values: no failure, no undescribed answer."""
    described = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    operations = [result.ok() for result in described.get_all_operations()]
    asked = []

    for operation in operations:

        @given(operation.as_strategy())
        @settings(
            max_examples=20,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case: schemathesis.Case) -> None:
            asked.append(case.operation.label)
            # Ranges of options are told in words: not all that fits is taken.
            answer = case.call(timeout=60)
            excluded = [positive_data_acceptance]
            if answer.status_code == 503 and answer.json()["error"] == "ModelError":
                # No such model, or the caller's `seconds` were too few for it.
                assert re.search(r"/ask(\.\w+)?$", case.operation.label), answer.text
                excluded.append(not_a_server_error)
            case.validate_response(answer, excluded_checks=excluded)

        check()

    assert len(operations) >= 8
    assert len(set(asked)) == len(operations)


DEEP = b'{"question":' + b'{"a":' * 40_000 + b"1" + b"}" * 40_001
BODIES = {
    "deep object": (DEEP, 400),
    "deep list": (b"[" * 100_000 + b"]" * 100_000, 400),
    "long number": (b'{"question": "a", "k": ' + b"9" * 100_000 + b"}", 400),
    "not a number": (b'{"question": "a", "k": NaN}', 400),
    "half a character": (b'{"question": "\\ud800"}', 400),
    "twice": (b'{"question": "a", "question": ["b"]}', 400),
    "not UTF-8": (b'{"question": "\xff"}', 400),
    "big": (b'{"question": "' + b"a" * 300_000 + b'"}', 413),
}


@pytest.mark.parametrize("name", BODIES)
def test_odd_bodies_are_refused_at_once(served: Serving, name: str) -> None:
    """With a problem of one line, in less than five seconds."""
    body, status = BODIES[name]
    begin = time.monotonic()

    answer = httpx.post(
        f"{served.url}/procedures/search",
        content=body,
        headers={"Content-Type": "application/json"},
        timeout=30,
    )

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert len(answer.text) < 1000
    assert time.monotonic() - begin < 5


def test_a_body_without_an_end_is_cut_off(served: Serving) -> None:
    """It is refused, nothing of it is kept, and soon nobody listens any more."""
    process = psutil.Process(served.process.pid)
    host, _, port = served.url.removeprefix("http://").partition(":")
    before, begin = process.memory_info().rss, time.monotonic()
    with socket.create_connection((host, int(port)), timeout=30) as link:
        link.sendall(
            b"POST /procedures/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        with suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() - begin < 60:
                link.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                time.sleep(0.001)
    assert time.monotonic() - begin < 30
    assert process.memory_info().rss - before < 20 << 20
    assert any(" 413 " in line for line in served.log)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_names_and_pages_are_refused(
    served: Serving, headers: dict[str, str]
) -> None:
    """A name that leads here is no leave to ask."""
    answer = httpx.get(
        f"{served.url}/procedures/search?question=a", headers=headers, timeout=30
    )

    assert answer.status_code == 403


def test_many_connections_keep_nobody_out(served: Serving) -> None:
    """Thousands that say nothing or a half: others are answered, nothing is kept."""
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    process = psutil.Process(served.process.pid)
    files, threads = process.num_fds(), process.num_threads()
    address = served.url.removeprefix("http://").split(":")
    slowest = 0.0
    with ExitStack() as stack:
        for number in range(min(CONNECTIONS, most_files // 2)):
            link = socket.create_connection((address[0], int(address[1])), timeout=30)
            stack.enter_context(link)
            if number % 2:
                with suppress(OSError):
                    link.sendall(b"GET /procedures HTTP/1.1\r\nHost: 127.0")
            if number % 500 == 499:
                begin = time.monotonic()
                assert httpx.get(f"{served.url}/health", timeout=30).status_code == 200
                slowest = max(slowest, time.monotonic() - begin)
        most = process.num_fds() - files
        found = httpx.get(f"{served.url}/procedures/search?question=reef", timeout=60)

    assert found.status_code == 200
    assert slowest < 5
    assert most <= 260
    assert comes_true(lambda: process.num_fds() <= files + 5)
    assert process.num_threads() <= threads + 20


def test_callers_that_go_leave_nothing_running(
    served: Serving, session_connection: Connection
) -> None:
    """Forty that hang up in the middle: no statement, file or connection is left."""
    process = psutil.Process(served.process.pid)
    httpx.get(f"{served.url}/procedures/compare?question=reef", timeout=60)
    files = process.num_fds()
    host, _, port = served.url.removeprefix("http://").partition(":")
    body = json.dumps({"question": "What shapes the reef near the harbour?"}).encode()
    for number in range(40):
        with socket.create_connection((host, int(port)), timeout=30) as link:
            link.sendall(
                b"POST /procedures/compare HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )
            time.sleep(number % 5 * 0.02)

    assert comes_true(lambda: session_connection.query(OPEN) == [])
    assert comes_true(lambda: process.num_fds() <= files + 8)
    found = httpx.get(f"{served.url}/procedures/search?question=reef", timeout=60)
    assert found.status_code == 200
    waits = [line for line in served.log if " 499 " in line or " None " in line]
    assert waits


def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for what a server does in its own time."""
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True
