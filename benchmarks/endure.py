"""Commands and servers killed at random, and `serve` asked by many for long."""

from __future__ import annotations

import http.server
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil
from measure import MIB, Table

from knowtrail.graph.db.statements import statement_record
from knowtrail.graph.server.folder import server_status, stop_server
from knowtrail.graph.server.lease import join_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from knowtrail.graph.db.connection import Connection

KNOWTRAIL = [sys.executable, "-m", "knowtrail.graph.cli.root"]
CORPUS = "endured"
MODEL = "parrot:1b"
PLACES = ("Skarn", "Oster", "Kelp Point", "Tromsund", "Veld", "Harrow", "Ness", "Ulm")
SUBJECTS = ("lamp", "bell", "tide", "ferry", "school", "clock", "whale", "map")
BLOCK = """[SKN]
@src harbours | fresh:low | reliability:0.9
@facts
  ! "Lamps burn" [0.95]
@causal
  oil -> light [0.9]
@gaps
  - the height
@risk misdirection:low | missing_context:low
[/SKN]"""
UNFINISHED = statement_record("corpus/verify_unfinished").purpose
ATTEMPTS = 4
"""Times as many kills are tried as are wanted: some come too late."""
QUIET = "MATCH (r:Research) SET r.updatedAt = r.updatedAt - duration('PT15M')"
"""Research whose process was killed is taken up after ten minutes: let them be over."""
ASKED = 3.0
"""Seconds that a server is asked after the one before it was killed."""
CONNECTIONS = "CALL dbms.listConnections() YIELD connectionId RETURN count(*) AS n"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--kills", type=int, help="kills that hit (default 200)")
    parser.add_argument("--minutes", type=float, help="of the soak (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of places and times")
    parser.add_argument("--callers", type=int, default=20, help="of the soak")
    parser.add_argument("--pause", type=float, default=0, help="seconds, of a caller")
    parser.add_argument("--only", nargs="+", help="of what is killed, by its name")
    parser.add_argument("--documents", type=int, help="of the corpus (default 120)")


def run(given: argparse.Namespace) -> None:
    """Kill, then soak."""
    kills = given.kills if given.kills is not None else (7 if given.small else 200)
    minutes = given.minutes
    if minutes is None:
        minutes = 0.5 if given.small else 60.0
    documents = given.documents or (30 if given.small else 120)
    with tempfile.TemporaryDirectory(prefix="knowtrail-endure-") as name, _model() as u:
        place = Place(Path(name), documents, u)
        for number in (signal.SIGTERM, signal.SIGINT):  # in the background, too
            signal.signal(number, signal.default_int_handler)
        try:
            if kills:
                _kill(place, kills, random.Random(given.seed), given.only)
            if minutes:
                _soak(place, minutes * 60, given)
        finally:
            for home in (place.home, place.bulk_home):
                stop_server(home)


class Place:
    """A folder with texts, homes of servers, and the commands that use them."""

    def __init__(self, folder: Path, documents: int, model_url: str) -> None:
        self.folder = folder
        self.home, self.bulk_home = folder / "home", folder / "bulk-home"
        self.texts = folder / "texts.jsonl"
        self.judged = folder / "judged.jsonl"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NEO4J_", "KNOWTRAIL_"))
        } | {
            "KNOWTRAIL_EMBEDDER": "hash:32",
            "KNOWTRAIL_OLLAMA_URL": model_url,
            "KNOWTRAIL_CORPUS": CORPUS,
        }
        rows = [_article(number) for number in range(documents)]
        _write(self.texts, rows)
        _write(folder / "passages.jsonl", rows[:20])
        questions = [
            {
                "id": f"q{number}",
                "question": f"What is said of {rows[number]['title']}?",
                "answer": "much",
                "gold_documents": [rows[number]["id"]],
            }
            for number in range(12)
        ]
        _write(folder / "questions.jsonl", questions)
        (folder / "asked.txt").write_text(
            "".join(f"{row['question']}\n" for row in questions), "utf-8"
        )

    def begin(self, words: list[str], home: Path) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [*KNOWTRAIL, f"--home={home}", *words],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE if "serve" in words else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def whole(self, words: list[str], home: Path) -> float:
        """Run a command to its end; return its seconds."""
        begin = time.monotonic()
        process = self.begin(words, home)
        _, err = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(words)} exited {process.returncode}: {err}")
        return time.monotonic() - begin

    def done(self, work: Work) -> float:
        """Run the command of a work to its end, or ask it; return its seconds."""
        if not work.asked:
            return self.whole(work.words, work.home)
        begin = time.monotonic()
        process = self.begin(work.words, work.home)
        url = _address(process)
        told = Told(time.monotonic() + ASKED)
        _call(url, told, 0, 0)
        process.terminate()
        process.communicate()
        assert set(told.statuses) == {"200"}, told.statuses
        return time.monotonic() - begin

    @contextmanager
    def connected(self, home: Path) -> Iterator[Connection]:
        """Yield a connection to the server of a home."""
        settings = Settings.from_env(env={}, home=home)
        with open_connection(settings, stay=True) as connection:
            yield connection


@dataclass(slots=True, kw_only=True)
class Work:
    """What is killed, and how one sees what it has done.

    Attributes:
        words: The command.
        clear: Removes what the command stored.
        state: What it has stored, without ids and times.
        home: Whose server it uses.
        server: Whether its server is killed in its place.
        asked: Whether it is a server itself, which is asked until it is killed, and
            afterwards once more.
    """

    words: list[str]
    clear: Callable[[Connection], object]
    state: Callable[[Connection], Any]
    home: Path
    server: bool = False
    asked: bool = False
    seconds: float = 0.0
    wanted: Any = None
    half: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)


def _works(place: Place) -> dict[str, Work]:
    ingest = ["ingest", "jsonl", str(place.texts), f"--corpus={CORPUS}"]
    data = f"jsonl:{place.folder / 'questions.jsonl'},{place.folder / 'passages.jsonl'}"
    candidates, judged = str(place.folder / "pairs.jsonl"), str(place.judged)
    shared: dict[str, Any] = {"clear": _delete, "state": _digest}
    evaluated: dict[str, Any] = {"clear": _forget_runs, "state": _metrics}
    return {
        "extract": Work(
            words=["extract", f"--model={MODEL}", "--variant=skn", "--limit=24"],
            clear=_forget_extractions,
            state=_counts,
            home=place.home,
        ),
        "eval retrieval": Work(
            words=["eval", "retrieval", "--dataset", data, "--algorithms=dense,bm25"],
            home=place.home,
            **evaluated,
        ),
        "eval zelo annotate": Work(
            words=["eval", "zelo", "annotate", candidates, judged, "--judge=bm25"],
            clear=lambda _: _remove_judged(place),
            state=lambda _: place.judged.is_file() and place.judged.read_text("utf-8"),
            home=place.home,
        ),
        "research": Work(
            words=["research", "--budget=12", f"--corpus={CORPUS}", "Who keeps lamps?"],
            clear=_forget_research,
            state=_claims,
            home=place.home,
        ),
        "serve, storing walks": Work(
            words=["serve", "--port=0"],
            clear=lambda _: None,
            state=_digest,
            home=place.home,
            asked=True,
        ),
        "ingest": Work(words=[*ingest, "--no-bulk"], home=place.home, **shared),
        "ingest --bulk": Work(
            words=[*ingest, "--bulk"], home=place.bulk_home, **shared
        ),
        "server, under ingest": Work(
            words=[*ingest, "--no-bulk"], home=place.home, server=True, **shared
        ),
    }


def _kill(
    place: Place, kills: int, chance: random.Random, only: list[str] | None
) -> None:
    """Kill each kind of work in turn, and complete it."""
    begin = time.monotonic()
    for home in (place.home, place.bulk_home):
        place.whole(["server", "start"], home)
    works = _works(place)
    ingest = works["ingest"].words
    place.whole(ingest, place.home)
    place.whole(
        [
            *("eval", "zelo", "export", str(place.folder / "pairs.jsonl")),
            f"--questions={place.folder / 'asked.txt'}",
        ],
        place.home,
    )
    works = {n: work for n, work in works.items() if n in (only or works)}
    for work in works.values():
        with place.connected(work.home) as connection:
            work.clear(connection)
        work.seconds = place.done(work)
        with place.connected(work.home) as connection:
            work.wanted = work.state(connection)
            assert work.wanted
    hits, attempts, names = 0, 0, list(works)
    with suppress(KeyboardInterrupt):
        while hits < kills and attempts < kills * ATTEMPTS:
            name = names[attempts % len(names)]
            attempts += 1
            hits += _one_kill(place, works[name], chance)
            told = {"killed": name, "kills": hits, **works[name].done}
            print(json.dumps(told), file=sys.stderr, flush=True)
    table = Table(
        title=f"endure: {hits} kills in {(time.monotonic() - begin) / 60:.0f} minutes",
        columns=("killed", "kills", "too late", "half-written", "lost", "slowest end"),
    )
    for name, work in works.items():
        counts = [work.done["kills"], work.done["late"], len(work.half)]
        counts.append(work.done["lost"])
        table.notes += [f"{name}: {check}" for check in sorted(set(work.half))]
        table.add(name, *map(str, counts), f"{work.done['longest']} s")
    table.notes.append(
        "half-written: `corpus verify` finds something after the kill, beside that the "
        "corpus is unfinished; lost: what the command stores when it has run again "
        "differs from what it stores when nobody kills it; slowest end: of a command "
        "whose server was killed."
    )
    table.print()


def _one_kill(place: Place, work: Work, chance: random.Random) -> int:
    with place.connected(work.home) as connection:
        work.clear(connection)
    process = place.begin(work.words, work.home)
    told = Told(math.inf)
    threads = _callers(_address(process), told, 4) if work.asked else []
    with suppress(subprocess.TimeoutExpired):
        process.wait(chance.uniform(0.2, 1.0) * work.seconds)
    if process.poll() is not None:
        process.communicate()
        work.done["late"] += 1
        work.seconds *= 0.9
        return 0
    begin = time.monotonic()
    if work.server:
        info = server_status(work.home)
        assert info is not None
        os.kill(info.pid, signal.SIGKILL)
        _, err = process.communicate(timeout=300)
        if process.returncode == 0:
            work.done["late"] += 1
            return 0
        assert len(err.strip().splitlines()[-1:]) == 1, err
        work.done["longest"] = max(
            work.done["longest"], round(time.monotonic() - begin)
        )
    else:
        process.kill()
        told.end = 0
        for thread in threads:
            thread.join()
        process.communicate()
    work.done["kills"] += 1
    with place.connected(work.home) as connection:
        found = (
            [f for f in verify_corpus(connection, CORPUS) if f.count]
            if (connection.query("MATCH (k:Corpus {name: $n}) RETURN k", {"n": CORPUS}))
            else []
        )
        work.half += [f.check for f in found if f.check != UNFINISHED]
        connection.run_schema(QUIET)
    work.seconds = min(work.seconds, place.done(work))  # or kills come too late
    with place.connected(work.home) as connection:
        found = [f for f in verify_corpus(connection, CORPUS) if f.count]
        work.half += [f.check for f in found]
        work.done["lost"] += work.state(connection) != work.wanted
    return 1


def _delete(connection: Connection) -> None:
    names = [row["name"] for row in connection.read("corpus/list")]
    for name in names:
        delete_corpus(connection, name)


def _digest(connection: Connection) -> Any:
    return corpus_digest(connection, CORPUS).value


def _forget_extractions(connection: Connection) -> None:
    connection.run_schema(
        "MATCH (n:Extraction|Fact|Concept|Gap|Entity) DETACH DELETE n"
    )


def _counts(connection: Connection) -> Any:
    return connection.query(
        "MATCH (n:Extraction|Fact|Concept|Gap|Entity) OPTIONAL MATCH (n)-[r]->() "
        "RETURN labels(n) AS labels, type(r) AS type, count(DISTINCT n) AS nodes, "
        "count(r) AS edges ORDER BY labels, type"
    )


def _forget_runs(connection: Connection) -> None:
    connection.run_schema("MATCH (n:EvalRun|EvalRecord|Metric) DETACH DELETE n")
    for row in connection.read("corpus/list"):
        if row["name"] != CORPUS:
            delete_corpus(connection, row["name"])


def _metrics(connection: Connection) -> Any:
    return connection.query(
        "MATCH (r:EvalRun)-[:HAS_METRIC]->(m:Metric) "
        "WHERE NOT m.name CONTAINS 'millisecond' AND NOT m.name CONTAINS 'second' "
        "RETURN m.name AS name, m.value AS value, m.n AS n, "
        "COUNT { (r)-[:HAS_RECORD]->() } AS records ORDER BY name, value, n, records"
    )


def _remove_judged(place: Place) -> None:
    place.judged.unlink(missing_ok=True)
    shutil.rmtree(f"{place.judged}.zelo", ignore_errors=True)


def _forget_research(connection: Connection) -> None:
    connection.run_schema(
        "MATCH (n:Research|SubQuestion|Finding|Claim|Verdict) DETACH DELETE n"
    )


def _claims(connection: Connection) -> Any:
    """Return the claims of the newest run; nothing where a run is not complete.

    Where one is killed after its last write, the same question begins another.
    """
    rows = connection.query(
        "MATCH (r:Research) WITH r ORDER BY r.createdAt "
        "RETURN r.status AS status, "
        "COLLECT { MATCH (r)-[:CLAIMS]->(c) RETURN c.text ORDER BY c.text } AS claims"
    )
    loose = connection.query("MATCH (c:Claim) WHERE NOT (c)<-[:CLAIMS]-() RETURN c")
    whole = {row["status"] for row in rows} == {"complete"} and not loose
    return whole and rows[-1]["claims"]


def _soak(place: Place, seconds: float, given: argparse.Namespace) -> None:
    """Ask a server by many at once, and look at what it holds; Ctrl-C ends it early."""
    with ExitStack() as stack:
        lease = stack.enter_context(join_server(place.home))
        place.whole(
            ["ingest", "jsonl", str(place.texts), f"--corpus={CORPUS}"], place.home
        )
        connection = stack.enter_context(place.connected(place.home))
        process = subprocess.Popen(
            [*KNOWTRAIL, f"--home={place.home}", "serve", "--port=0"],
            env=place.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        url = _address(process)
        begin = time.monotonic()
        told = Told(begin + seconds)
        watched = [psutil.Process(process.pid), psutil.Process(lease.info.pid)]
        threads = _callers(url, told, given.callers, given.seed, given.pause)
        held = []
        with suppress(KeyboardInterrupt):
            while time.monotonic() < told.end:
                time.sleep(max(1.0, seconds / 60))
                held.append(_held(watched, connection, time.monotonic() - begin))
                print(json.dumps(held[-1]), file=sys.stderr, flush=True)
        told.end = time.monotonic()
        for thread in threads:
            thread.join()
    _tell(told, held, told.end - begin, given.callers, begin)


class Told:
    """Answers so far: when, how long, how they ended; and when callers stop."""

    def __init__(self, end: float) -> None:
        self.end = end
        self.answers: list[tuple[float, float]] = []
        self.statuses: Counter[str] = Counter()


def _address(process: subprocess.Popen[str]) -> str:
    """Return where `serve` answers, once it is ready."""
    assert process.stdout is not None
    found = re.search(r"http://[\w.:]+", process.stdout.readline())
    assert found is not None
    while httpx.get(f"{found[0]}/ready", timeout=10).status_code != 200:
        time.sleep(0.2)
    return found[0]


def _callers(
    url: str, told: Told, count: int, seed: int = 0, pause: float = 0
) -> list[threading.Thread]:
    """Start callers, each with a seed of its own."""
    threads = [
        threading.Thread(target=_call, args=(url, told, seed + number, pause))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    return threads


def _call(url: str, told: Told, seed: int, pause: float) -> None:
    chance = random.Random(seed)
    with httpx.Client(timeout=120) as client:
        while time.monotonic() < told.end:
            time.sleep(pause)
            door = chance.choice((
                "search",
                "search",
                "search.csv",
                "traverse",
                "traverse.csv",
                "ask",
            ))
            params = {
                "question": f"Who keeps the {chance.choice(SUBJECTS)} of "
                f"{chance.choice(PLACES)}?",
                "corpus": CORPUS,
            }
            if door.startswith("traverse"):
                names = ("query_traversal", "kg_traversal", "hybrid", "auto")
                params["algorithm"] = chance.choice(names)
            begin = time.monotonic()
            try:
                status = client.get(f"{url}/procedures/{door}", params=params)
                said = str(status.status_code)
            except httpx.HTTPError as error:
                said = type(error).__name__
            told.statuses[said] += 1
            told.answers.append((begin, time.monotonic() - begin))


def _held(
    watched: list[psutil.Process], connection: Connection, at: float
) -> dict[str, float]:
    serve, server = watched
    (row,) = connection.query(CONNECTIONS)
    return {
        "at": at,
        "memory": serve.memory_info().rss / MIB,
        "files": serve.num_fds(),
        "threads": serve.num_threads(),
        "bolt": row["n"],
        "server memory": server.memory_info().rss / MIB,
    }


def _tell(
    told: Told,
    held: list[dict[str, float]],
    seconds: float,
    callers: int,
    begin: float,
) -> None:
    """Print the first fifth beside the last, and how memory grew in the last half."""
    table = Table(
        title=f"endure: serve asked by {callers} for {seconds / 60:.1f} minutes, "
        f"{len(told.answers):,} answers",
        columns=("what", "first fifth", "last fifth"),
    )
    fifth = seconds / 5
    parts = [
        sorted(took for at, took in told.answers if low <= at - begin < low + fifth)
        for low in (0.0, seconds - fifth)
    ]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        cells = [p[min(len(p) - 1, int(len(p) * share))] * 1000 for p in parts]
        table.add(f"{name}, ms", *(f"{value:.0f}" for value in cells))
    for name in ("memory", "files", "threads", "bolt", "server memory"):
        ends = [
            statistics.mean(
                row[name] for row in held if low <= row["at"] <= low + fifth
            )
            for low in (0.0, seconds - fifth)
        ]
        unit = ", MiB" if "memory" in name else ""
        table.add(f"{name}{unit}", *(f"{value:.0f}" for value in ends))
    late = [row for row in held if row["at"] >= seconds / 2]
    slope = statistics.linear_regression(
        [row["at"] / 60 for row in late], [row["memory"] for row in late]
    ).slope
    table.notes.append(
        f"Memory of serve in the last half: {slope:+.2f} MiB a minute. Answers: "
        + ", ".join(f"{n:,} {status}" for status, n in told.statuses.most_common())
    )
    table.print()


def _article(number: int) -> dict[str, Any]:
    place, subject = PLACES[number % 8], SUBJECTS[number // 8 % 8]
    other = PLACES[(number * 3 + 1) % 8]
    return {
        "id": f"a{number}",
        "title": f"{subject.title()} {number} of {place}",
        "text": " ".join(
            f"The {subject} {number} of {place} is kept by keeper {number * 7 % 31} in "
            f"year {1700 + line}. A {SUBJECTS[(number + line) % 8]} of {other} stands "
            f"near it. It was moved {line} times."
            for line in range(6)
        ),
        "categories": [f"Kind {number % 3}"],
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@contextmanager
def _model() -> Iterator[str]:
    """Yield the address of a language model that always writes the same block."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.end_headers()
            if self.path == "/api/show":
                said: dict[str, Any] = {"model_info": {"bird.context_length": 4096}}
            else:
                message = {"role": "assistant", "content": BLOCK}
                said = {"message": message, "done": True, "done_reason": "stop"}
            self.wfile.write(json.dumps({"model": asked["model"], **said}).encode())
            self.wfile.write(b"\n")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
