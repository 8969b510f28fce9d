"""Who may ask: hosts, origins, keys, sizes; and what the log says."""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING

import pytest

from knowtrail.retrieval.serve.guard import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.retrieval.serve.conftest import Client

KEY = "0123456789abcdef-KEY"
URL = "/procedures/search?question=Why"
BASIC = "Basic " + base64.b64encode(f"knowtrail:{KEY}".encode()).decode()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:7475", 200),
        ("LOCALHOST", 200),
        ("[::1]:7475", 200),
        ("host.docker.internal:7475", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:7475", 403),
        ("[", 403),
        ("", 403),
    ],
)
async def test_only_names_of_this_machine_are_served(
    client: Callable[..., Client], host: str, status: int
) -> None:
    """A page whose name was made to point here does not reach the procedures."""
    async with client(headers={"Host": host}) as http:
        done = await http.get(URL)

    assert done.status_code == status


async def test_any_name_is_served_where_the_rules_say_so(
    client: Callable[..., Client],
) -> None:
    """Bound elsewhere, the key protects."""
    rules = Rules(keys={"": KEY}, hosts=None)
    headers = {"Host": "graph.example", "Authorization": f"Bearer {KEY}"}

    async with client(rules=rules, headers=headers) as http:
        done = await http.get(URL)

    assert done.status_code == 200


async def test_each_caller_has_so_many_calls_a_minute(
    client: Callable[..., Client],
) -> None:
    """One who has none left is told when to come again; others are served."""
    rules = Rules(keys={"ada": KEY, "ben": f"{KEY}-2"}, per_minute=2)

    async with client(rules=rules) as http:
        statuses = [
            await http.get(path, headers={"Authorization": f"Bearer {key}"})
            for path, key in (
                *((URL, KEY), (URL, KEY), (URL, KEY), (URL, f"{KEY}-2")),
                ("/health", KEY),
                ("/explore/about", KEY),
            )
        ]

    codes = [done.status_code for done in statuses]
    assert codes[:5] == [200, 200, 429, 200, 200]
    assert codes[5] != 429
    assert 0 < int(statuses[2].headers["Retry-After"]) <= 30


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
    ],
)
async def test_pages_of_other_sites_are_refused(
    client: Callable[..., Client], headers: dict[str, str]
) -> None:
    """They could not read the answer, but would have walks recorded."""
    async with client(headers=headers) as http:
        done = await http.get(URL)

    assert done.status_code == 403
    assert "access-control-allow-origin" not in done.headers


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [
        ("/", {}, 307),
        ("/explore/", {}, 200),
        ("/explore/app.js", {}, 200),
        ("/explore/", {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/explore/", {"Sec-Fetch-Mode": "no-cors"}, 403),
        ("/explore/", {"Origin": "http://evil.example"}, 403),
        ("/explore/about", {}, 403),
        ("/explore/rows", {}, 403),
        (URL, {}, 403),
    ],
)
async def test_link_in_another_page_opens_the_explorer_alone(
    client: Callable[..., Client], path: str, changed: dict[str, str], status: int
) -> None:
    """Its pages run nothing; rows and procedures stay closed."""
    headers = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }

    async with client(headers=headers | changed) as http:
        done = await http.get(path)

    assert done.status_code == status


async def test_own_page_is_served(client: Callable[..., Client]) -> None:
    """The forms of the page are of the same origin."""
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:7475"}

    async with client(headers=headers) as http:
        done = await http.get(URL)

    assert done.status_code == 200


@pytest.mark.parametrize(
    ("url", "header", "status"),
    [
        (URL, f"Bearer {KEY}", 200),
        (URL, BASIC, 200),
        (URL, "Bearer 0123456789abcdef-WRONG", 401),
        (URL, "", 401),
        (f"{URL}&key={KEY}", "", 401),
        (f"/procedures/search.csv?question=Why&key={KEY}", "", 200),
        ("/procedures/search.csv?question=Why&key=0123456789abcdef", "", 401),
        ("/procedures/search.csv?question=Why&key=%FF", "", 401),
        ("/procedures/search.csv?question=Why", "", 401),
        (f"/procedures/search.csv?question=Why&key={KEY}", "Bearer wrong", 401),
        ("/procedures", "", 401),
        ("/openapi.json", "", 401),
        ("/", "", 401),
        ("/health", "", 200),
        ("/ready", "", 200),
    ],
)
async def test_key_is_needed_where_there_is_one(
    client: Callable[..., Client], url: str, header: str, status: int
) -> None:
    """As a bearer, as a password, and for CSV in the URL."""
    headers = {"Authorization": header} if header else {}

    async with client(rules=Rules(keys={"": KEY}), headers=headers) as http:
        done = await http.get(url)

    assert done.status_code == status
    assert ("www-authenticate" in done.headers) == (status == 401)


async def test_log_has_ids_and_no_secrets(
    client: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    """One line a request, with neither key nor question, on one line whatever came."""
    caplog.set_level(logging.INFO)
    paths = [f"/procedures/search.csv?question=Private&key={KEY}", "/a%0Ab"]

    async with client(
        rules=Rules(keys={"": KEY}), headers={"Authorization": BASIC}
    ) as http:
        done = [await http.get(path) for path in paths]

    told = [r for r in caplog.records if r.name.startswith("knowtrail.retrieval")]
    lines = [r.getMessage() for r in told]
    assert [line.split()[0] for line in lines] == [
        d.headers["x-request-id"] for d in done
    ]
    assert "/procedures/search.csv 200" in lines[0]
    assert [r.levelname for r in told] == ["INFO", "WARNING"]
    assert [line for line in lines if KEY in line or "Private" in line] == []
    assert [line for line in lines if "\n" in line] == []
    assert KEY not in repr(Rules(keys={"": KEY}))


async def test_log_names_the_caller(
    client: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    """Who asked, where keys have names; never what."""
    caplog.set_level(logging.INFO)

    async with client(
        rules=Rules(keys={"ada": KEY}), headers={"Authorization": BASIC}
    ) as http:
        await http.get("/procedures/search?question=Private")

    (line,) = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("knowtrail.retrieval.serve.guard")
    ]
    assert line.endswith(" ms for ada")
    assert "Private" not in line


async def test_long_bodies_are_refused(client: Callable[..., Client]) -> None:
    """Whether the length is announced or not."""

    async def chunks() -> object:
        for _ in range(10):
            yield b" " * 100

    async with client(rules=Rules(body_bytes=500)) as http:
        announced = await http.post("/procedures/search", content=b" " * 1000)
        unannounced = await http.post("/procedures/search", content=chunks())

    assert (announced.status_code, unannounced.status_code) == (413, 413)
    assert "more than 500 bytes" in announced.json()["detail"]
    assert unannounced.json()["error"] == announced.json()["error"]
