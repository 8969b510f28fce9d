"""Every route, over the real application."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import (
    CorpusDriftError,
    CredentialsError,
    DatabaseError,
    FilterError,
    MissingExtraError,
    ModelError,
    SettingsError,
    UnavailableError,
    UnknownCorpusError,
)
from knowtrail.retrieval.procedures.registry import PROCEDURES
from knowtrail.retrieval.serve.guard import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.retrieval.serve.conftest import Client, Steered

QUESTION = 'Größe & Gewicht + "Mond"?'
ROW = {
    "answer": 'It said "no", \\ and left.',
    "citation": ["s1", "s2"],
    "confidence": 0.5,
    "traversalId": None,
}
pytestmark = pytest.mark.filterwarnings("error")

EXPLORER = files("knowtrail.retrieval") / "explorer"


async def test_procedures_are_listed_with_their_signatures(
    client: Callable[..., Client],
) -> None:
    """All four, with types; by GET and by POST."""
    async with client() as http:
        got, posted = await http.get("/procedures"), await http.post("/procedures")

    listed = {entry["name"]: entry for entry in got.json()["procedures"]}
    assert list(listed) == list(PROCEDURES)
    assert listed["traverse"]["arguments"][0]["type"] == "STRING"
    assert {"name", "type", "description"} == set(listed["ask"]["columns"][1])
    assert "maxSentences" in [o["name"] for o in listed["search"]["options"]]
    assert posted.json() == got.json()


@pytest.mark.parametrize("ending", ["", ".csv"])
async def test_parameters_of_the_url_reach_the_procedure(
    client: Callable[..., Client], backend: Steered, ending: str
) -> None:
    """Arguments and options are told apart and have their types."""
    params = {
        "algorithm": "kg_traversal",
        "question": QUESTION,
        "maxSentences": "3",
        "record": "false",
    }

    async with client() as http:
        done = await http.get(f"/procedures/traverse{ending}", params=params)

    assert done.status_code == 200
    assert backend.asked == [
        (
            "traverse",
            {"algorithm": "kg_traversal", "question": QUESTION},
            {"maxSentences": 3, "record": False},
        )
    ]


async def test_body_is_the_same_as_the_url(
    client: Callable[..., Client], backend: Steered
) -> None:
    """A JSON object has arguments and options side by side."""
    body = {"question": QUESTION, "k": 2, "filter": {"category": "Ice"}}

    async with client() as http:
        await http.post("/procedures/search", json=body)

    assert backend.asked == [
        ("search", {"question": QUESTION}, {"k": 2, "filter": {"category": "Ice"}})
    ]


async def test_json_has_the_rows(
    client: Callable[..., Client], backend: Steered
) -> None:
    """Lists stay lists, null stays null."""
    backend.rows = [ROW]

    async with client() as http:
        done = await http.get("/procedures/ask", params={"question": "Why?"})

    assert done.json() == {"procedure": "ask", "columns": list(ROW), "rows": [ROW]}
    assert done.headers["content-type"] == "application/json"
    assert done.headers["cache-control"] == "no-store"


async def test_csv_has_a_header_and_the_rows(
    client: Callable[..., Client], backend: Steered
) -> None:
    """Any reader of CSV finds the columns in the order of the registry."""
    backend.rows = [ROW]

    async with client() as http:
        done = await http.get("/procedures/ask.csv", params={"question": "Why?"})

    header, row = csv.reader(io.StringIO(done.text, newline=""), strict=True)
    assert header == list(ROW)
    assert row == [ROW["answer"], '["s1", "s2"]', "0.5", ""]
    assert done.headers["content-type"].startswith("text/csv; charset=utf-8")


async def test_csv_is_escaped_for_neo4j(
    client: Callable[..., Client], backend: Steered
) -> None:
    """LOAD CSV is known by its name."""
    backend.rows = [ROW]
    headers = {"User-Agent": "NeoLoadCSV_Java/25"}

    async with client(headers=headers) as http:
        url = "/procedures/ask.csv?question=Why"
        done, asked = await http.get(url), await http.get(f"{url}&escape=rfc4180")
        wrong = await http.get(f"{url}&escape=none")

    assert '""no"", \\\\ and' in done.text
    assert '""no"", \\ and' in asked.text
    assert wrong.status_code == 400


async def test_stored_question_is_asked_of_its_corpus(
    client: Callable[..., Client], backend: Steered
) -> None:
    """A Query's id stands for its text; a corpus that is given wins."""
    backend.stored = {"q1": {"text": QUESTION, "corpus": "birds"}}

    async with client() as http:
        await http.get("/procedures/search?queryId=q1")
        await http.post("/procedures/search?queryId=q1", json={"corpus": "bees"})

    assert backend.asked == [
        ("search", {"question": QUESTION}, {"corpus": "birds"}),
        ("search", {"question": QUESTION}, {"corpus": "bees"}),
    ]


@pytest.mark.parametrize(
    ("query", "body", "status", "detail"),
    [
        ("", None, 400, "give question, or queryId"),
        ("question=", None, 400, "give question, or queryId"),
        ("question=a&queryId=q", None, 400, "give one"),
        ("queryId=gone", None, 404, "No Query has the id 'gone'"),
        ("", {"queryId": 5}, 400, "queryId is 5: give a text"),
        ("question=a&k=x", None, 400, "give a whole number"),
        ("question=%FF", None, 400, "not UTF-8"),
        ("", [1], 400, "send an object"),
    ],
)
async def test_mistakes_of_the_caller_are_400s(
    client: Callable[..., Client], query: str, body: Any, status: int, detail: str
) -> None:
    """They are told in one shape, and the procedure is not run."""
    async with client() as http:
        done = await http.request("POST", f"/procedures/search?{query}", json=body)

    assert done.status_code == status
    assert detail in done.json()["detail"]
    assert done.headers["content-type"] == "application/problem+json"
    assert done.json()["requestId"] == done.headers["x-request-id"]


@pytest.mark.parametrize("ending", ["", ".csv", ".ndjson"])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (FilterError("What: do."), 400),
        (UnknownCorpusError("What: do."), 404),
        (CorpusDriftError("What: do."), 409),
        (SettingsError("What: do."), 500),
        (CredentialsError("What: do."), 500),
        (DatabaseError("What: do."), 500),
        (MissingExtraError("What: do."), 501),
        (UnavailableError("What: do."), 503),
        (ModelError("What: do."), 503),
    ],
)
async def test_each_error_has_its_status(
    client: Callable[..., Client],
    backend: Steered,
    error: Exception,
    status: int,
    ending: str,
) -> None:
    """Mistakes are 4xx, failures 5xx, whatever the form of the answer."""
    backend.error = error
    backend.pieces = [error]

    async with client() as http:
        done = await http.get(f"/procedures/ask{ending}?question=Why")

    assert done.status_code == status
    assert (done.json()["detail"], done.json()["error"]) == (
        "What: do.",
        type(error).__name__,
    )
    assert ("retry-after" in done.headers) == (status == 503)


async def test_unforeseen_failure_shows_nothing(
    client: Callable[..., Client],
    backend: Steered,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its text may have a secret: it is neither in the answer nor in the log."""
    backend.error = RuntimeError("the password is hunter2")

    async with client() as http:
        done = await http.get("/procedures/search?question=Why")

    assert done.status_code == 500
    assert "hunter2" not in done.text + caplog.text
    assert done.json()["requestId"] in caplog.text
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/procedures/serach?question=a", 404, "did you mean 'search'?"),
        ("POST", "/procedures/serach.csv", 404, "did you mean 'search'?"),
        ("GET", "/procedures/zzz", 404, "there are search, traverse"),
        ("GET", "/nothing", 404, "Nothing at '/nothing'"),
        ("DELETE", "/procedures/search", 405, "use GET or POST"),
        ("GET", "/procedures/search.ndjson", 404, "No procedure 'search.ndjson'"),
    ],
)
async def test_unknown_places_are_told(
    client: Callable[..., Client], method: str, path: str, status: int, detail: str
) -> None:
    """A misspelt name has a suggestion."""
    async with client() as http:
        done = await http.request(method, path)

    assert (done.status_code, detail in done.json()["detail"]) == (status, True)


@pytest.mark.parametrize(
    ("path", "allowed"), [("/procedures/search", "GET, POST"), ("/health", "GET")]
)
async def test_other_methods_hear_which_there_are(
    client: Callable[..., Client], path: str, allowed: str
) -> None:
    """Every method of a path is named, and no other."""
    async with client() as http:
        done = await http.delete(path)

    assert (done.status_code, done.headers["allow"]) == (405, allowed)


async def test_body_must_be_json(client: Callable[..., Client]) -> None:
    """A form is refused, since a page of another site can send one."""
    async with client() as http:
        done = await http.post("/procedures/search", data={"question": "Why?"})

    assert done.status_code == 415


async def test_slow_call_is_stopped(
    client: Callable[..., Client], backend: Steered
) -> None:
    """After the time limit the client hears so, and the work has ended."""
    backend.wait = 5

    async with client(seconds=0.05) as http:
        done = await http.get("/procedures/search?question=Why")

    assert done.status_code == 504
    assert (backend.running, backend.cancelled) == (0, 1)


async def test_calls_beyond_the_limit_wait_or_are_refused(
    client: Callable[..., Client], backend: Steered
) -> None:
    """One runs, four wait, the others are told when to come back."""
    backend.wait = 0.02

    async with client(places=1) as http:
        url = "/procedures/search?question=Why"
        done = await asyncio.gather(*(http.get(url) for _ in range(7)))

    assert backend.most == 1
    assert sorted(d.status_code for d in done) == [200] * 5 + [503] * 2
    assert {d.headers.get("retry-after") for d in done} == {None, "1"}


async def test_one_failing_call_leaves_the_others(
    client: Callable[..., Client], backend: Steered
) -> None:
    """A mistake beside a good call is only its own."""
    backend.wait = 0.01

    async with client() as http:
        good, bad = await asyncio.gather(
            http.get("/procedures/search?question=Why"),
            http.get("/procedures/search?question=Why&k=x"),
        )

    assert (good.status_code, bad.status_code) == (200, 400)


async def test_answer_comes_line_by_line(
    client: Callable[..., Client], backend: Steered
) -> None:
    """Tokens first, the row last, each a JSON object."""
    backend.pieces = ["Ice ", "melts.", ROW]

    async with client() as http:
        done = await http.get("/procedures/ask.ndjson?question=Why")

    lines = [json.loads(line) for line in done.text.splitlines()]
    assert lines == [{"token": "Ice "}, {"token": "melts."}, {"row": ROW}]
    assert done.headers["content-type"] == "application/x-ndjson"
    assert "content-length" not in done.headers


async def test_failure_in_the_middle_is_the_last_line(
    client: Callable[..., Client], backend: Steered
) -> None:
    """The status has gone out by then."""
    backend.pieces = ["Ice ", ModelError("It stopped: start it again.")]

    async with client() as http:
        done = await http.get("/procedures/ask.ndjson?question=Why")

    first, last = [json.loads(line) for line in done.text.splitlines()]
    assert (done.status_code, first) == (200, {"token": "Ice "})
    assert last["error"]["detail"] == "It stopped: start it again."


async def test_stream_ends_with_the_time(
    client: Callable[..., Client], backend: Steered
) -> None:
    """The limit holds for all of an answer, not for each piece."""
    backend.pieces, backend.wait = ["a"] * 50, 0.02

    async with client(seconds=0.1) as http:
        done = await http.get("/procedures/ask.ndjson?question=Why")

    lines = [json.loads(line) for line in done.text.splitlines()]
    assert 1 <= len(lines) < 10
    assert lines[-1]["error"]["status"] == 504


async def test_health_and_readiness(
    client: Callable[..., Client], backend: Steered
) -> None:
    """The process lives from the start; it is ready once every part is."""
    async with client() as http:
        health, ready = await http.get("/health"), await http.get("/ready")
        backend.parts["model"] = "loading"
        waiting = await http.get("/ready")

    assert (health.status_code, ready.status_code) == (200, 200)
    assert (waiting.status_code, waiting.json()["model"]) == (503, "loading")
    assert waiting.headers["retry-after"] == "1"


async def test_openapi_describes_every_route(client: Callable[..., Client]) -> None:
    """Parameters and bodies have the types of the registry; ids are unique."""
    async with client() as http:
        document = (await http.get("/openapi.json")).json()

    paths = document["paths"]
    assert {f"/procedures/{name}" for name in PROCEDURES} <= set(paths)
    assert {f"/procedures/{name}.csv" for name in PROCEDURES} <= set(paths)
    found = paths["/procedures/traverse.csv"]["get"]["parameters"]
    by_name = {parameter["name"]: parameter for parameter in found}
    assert by_name["maxSentences"]["schema"] == {"type": "integer"}
    assert by_name["algorithm"]["required"]
    assert {"queryId", "escape", "key"} <= set(by_name)
    body = paths["/procedures/ask"]["post"]["requestBody"]["content"]
    assert "maxHops" in body["application/json"]["schema"]["properties"]
    assert [one["required"] for one in body["application/json"]["schema"]["oneOf"]] == [
        ["question"],
        ["queryId"],
    ]
    answer = paths["/procedures/traverse"]["post"]["responses"]["200"]["content"]
    rows = answer["application/json"]["schema"]["properties"]["rows"]["items"]
    assert rows["properties"]["traversalId"]["type"] == ["string", "null"]
    schemes = document["components"]["securitySchemes"]
    assert {name: about["scheme"] for name, about in schemes.items()} == {
        "bearer": "bearer",
        "basic": "basic",
    }
    assert document["security"] == [{}, {"bearer": []}, {"basic": []}]
    metrics = paths["/metrics"]["get"]["responses"]["200"]["content"]
    assert list(metrics) == ["text/plain"]
    table = paths["/procedures/search.csv"]["get"]["responses"]["200"]["content"]
    assert list(table) == ["text/csv"]
    ids = [o["operationId"] for path in paths.values() for o in path.values()]
    assert len(ids) == len(set(ids))


async def test_explorer_is_served_under_its_policy(
    client: Callable[..., Client],
) -> None:
    """Its page and files need no network, and nothing but its own scripts may run."""
    async with client() as http:
        done = await http.get("/", follow_redirects=True)
        names = re.findall(r'(?:src|href)="([\w./]+)"', done.text)
        files = [await http.get(f"/explore/{name}") for name in names]
        gone = [
            await http.get(f"/explore/{name}")
            for name in ("../serve/app.py", "%2e%2e/serve/app.py", "nothing.js")
        ]

    assert done.url.path == "/explore/"
    assert "vendor/cytoscape.min.js" in names
    assert {file.status_code for file in files} == {200}
    assert {file.status_code for file in gone} == {404}
    assert "https://" not in done.text
    for answer in (done, *files):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src" in policy


def test_pages_read_what_the_statement_of_a_walk_gives() -> None:
    """Each part of a step that a page names is one that the statement returns."""
    given = re.findall(
        r"^ +(\w+):", statement("retrieval/view_traversal"), re.MULTILINE
    )
    pages = [EXPLORER.joinpath(name) for name in ("walks.js", "compare.js")]
    named = {
        key
        for page in pages
        for key in re.findall(r"\b(?:step|before)\.(\w+)", page.read_text("utf-8"))
    }

    assert {"chunkId", "documentId", "title", "text", "hop"} <= named
    assert named - set(given) == set()


async def test_rows_of_statements(
    client: Callable[..., Client], backend: Steered
) -> None:
    """A saved one has all its parameters; one more row than wanted is asked for."""
    saved = {"saved": "inspect/walks", "parameters": {"corpus": "c"}, "limit": 2}
    async with client() as http:
        about = (await http.get("/explore/about")).json()
        done = await http.post("/explore/rows", json=saved)

    assert "Document" in about["styles"]["nodes"]
    assert "inspect/walks" in {one["name"] for one in about["saved"]}
    answer = done.json()
    assert (answer["columns"], answer["rows"], answer["more"]) == (
        ["n"],
        [[0], [1]],
        True,
    )
    ((text, params, options),) = backend.asked
    assert "MATCH (t:Traversal" in text
    assert params == {
        "corpus": "c",
        "question": None,
        "algorithm": None,
        "limit": None,
    }
    assert options == {"limit": 3}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Give one"),
        ({"saved": "inspect/walks", "statement": "RETURN 1"}, "Give one"),
        ({"saved": "inspect/nothing"}, "No saved statement 'inspect/nothing'"),
        ({"saved": ["inspect/walks"]}, "No saved statement"),
        ({"statement": 7}, "No statement"),
        ({"statement": "RETURN 1", "limit": 0}, "limit is 0"),
        ({"statement": "RETURN 1", "parameters": [1]}, "parameters is [1]"),
        ({"statement": "RETURN 1", "rows": 1}, "Unknown parameter 'rows'"),
    ],
)
async def test_bad_rows_are_refused(
    client: Callable[..., Client], body: dict[str, Any], said: str
) -> None:
    """What is wrong is told in one line."""
    async with client() as http:
        done = await http.post("/explore/rows", json=body)

    assert done.status_code == 400
    assert said in done.json()["detail"]


async def test_rows_are_for_one_caller(client: Callable[..., Client]) -> None:
    """Where several have keys, nobody reads the conversations of others."""
    keys = {"ada": "0123456789abcdef", "bob": "fedcba9876543210"}
    headers = {"Authorization": "Bearer 0123456789abcdef"}
    async with client(rules=Rules(keys=keys), headers=headers) as http:
        done = await http.post("/explore/rows", json={"statement": "RETURN 1"})

    assert done.status_code == 403
    assert "several callers" in done.json()["detail"]
