"""Loading and reading by `graph.py2neo` against py2neo itself and the bare driver.

The same rows, in batches of the same size, go to one server in turn: by our functions,
by py2neo's of the same names in a process of their own, and by statements written by
hand and run by the driver, as this product's own writer does. Where py2neo cannot
connect to the server, its error is printed and its rows are missing.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Server, Table, Took, cpu, median, served, spread, walls

from knowtrail.graph.py2neo import Graph
from knowtrail.graph.py2neo.bulk import (
    create_nodes,
    create_relationships,
    merge_nodes,
    merge_relationships,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

PEER = Path(__file__).with_name("peer_py2neo.py")
PY2NEO = "py2neo==2021.2.4"
BATCH = 10_000
KEYS = ("id", "name", "born", "score")
ENDS = {"start_node_key": ("Person", "id"), "end_node_key": ("Person", "id")}
LISTS, DICTIONARIES = "create nodes, lists", "create nodes, dictionaries"
NEW, OLD = "merge nodes, new", "merge nodes, there"
RELATE, AGAIN = "create relationships", "merge relationships, there"
READ_ROWS, READ_NODES = "read rows", "read nodes"
READ = {
    READ_ROWS: "MATCH (n:Person) RETURN n.id AS id, n.name AS name, n.score AS score",
    READ_NODES: "MATCH (n:Person) RETURN n",
}
LOADS = (LISTS, DICTIONARIES, NEW, OLD, RELATE, AGAIN)
WORKS = (*LOADS, *READ)
MAP = "id: r[0], name: r[1], born: r[2], score: r[3]"
BY_HAND = {
    LISTS: f"UNWIND $data AS r CREATE (n:Person {{{MAP}}})",
    DICTIONARIES: "UNWIND $data AS r CREATE (n:Person) SET n = r",
    NEW: f"UNWIND $data AS r MERGE (n:Person {{id: r[0]}}) SET n += {{{MAP}}}",
    OLD: f"UNWIND $data AS r MERGE (n:Person {{id: r[0]}}) SET n += {{{MAP}}}",
    **READ,
    RELATE: "UNWIND $data AS r MATCH (a:Person {id: r[0]}), (b:Person {id: r[2]}) "
    "CREATE (a)-[:KNOWS {since: r[1][0]}]->(b)",
    AGAIN: "UNWIND $data AS r MATCH (a:Person {id: r[0]}), (b:Person {id: r[2]}) "
    "MERGE (a)-[k:KNOWS]->(b) SET k.since = r[1][0]",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, help="rows of each kind (default 50000)")
    parser.add_argument("--repeats", type=int, help="rounds (default 5)")
    parser.add_argument(
        "--no-peer", action="store_true", help="leave py2neo out (no uv needed)"
    )


def made_rows(count: int) -> dict[str, list[Any]]:
    """Return the rows of each kind of work, the same every time."""
    lists = [[i, f"Person {i:07d}", 1900 + i % 120, i / 7] for i in range(count)]
    edges = [[i, [1950 + i % 70], (i * 7919 + 1) % count] for i in range(count)]
    dictionaries = [dict(zip(KEYS, row, strict=True)) for row in lists]
    return {
        LISTS: lists,
        DICTIONARIES: dictionaries,
        NEW: lists,
        OLD: lists,
        RELATE: edges,
        AGAIN: edges,
        READ_ROWS: [],
        READ_NODES: [],
    }


def load(graph: Graph, work: str, rows: Sequence[Any]) -> None:
    """Load rows by our functions, a transaction a batch; or read them all."""
    if work in READ:
        graph.run(READ[work]).data()
    for start in range(0, len(rows), BATCH):
        batch, tx = rows[start : start + BATCH], graph.auto()
        if work == LISTS:
            create_nodes(tx, batch, labels={"Person"}, keys=KEYS)
        elif work == DICTIONARIES:
            create_nodes(tx, batch, labels={"Person"})
        elif work in {NEW, OLD}:
            merge_nodes(tx, batch, ("Person", "id"), keys=KEYS)
        elif work == RELATE:
            create_relationships(tx, batch, "KNOWS", keys=["since"], **ENDS)
        else:
            merge_relationships(tx, batch, "KNOWS", keys=["since"], **ENDS)


def by_hand(server: Server, work: str, rows: Sequence[Any]) -> None:
    """Load rows by statements written by hand, a transaction a batch; or read them."""
    connection = server.connection
    if work in READ:
        result = connection.driver.execute_query(
            READ[work], database_=connection.database
        )
        [record.data() for record in result.records]
    for start in range(0, len(rows), BATCH):
        connection.driver.execute_query(
            BY_HAND[work],
            data=rows[start : start + BATCH],
            database_=connection.database,
        )


def prepare(server: Server, work: str) -> None:
    """Leave the database as a kind of work needs it."""
    run = server.connection.run_schema
    kept = work in {OLD, RELATE, AGAIN, *READ}
    if work == RELATE:
        run("MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS")
    if not kept:
        run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS")
    if work in {LISTS, DICTIONARIES}:
        run("DROP CONSTRAINT person_id IF EXISTS")
    else:
        run(
            "CREATE CONSTRAINT person_id IF NOT EXISTS "
            "FOR (n:Person) REQUIRE n.id IS UNIQUE"
        )
        run("CALL db.awaitIndexes(60)")
    server.quiet()


class Peer:
    """py2neo in a process of its own.

    Attributes:
        greeting: What it says of itself, or why it cannot work.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.greeting = self._answer()

    def load(self, work: str) -> dict[str, float]:
        """Let it do a kind of work."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{work}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        """Read one line of it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("The py2neo process ended; see its message above.")
        found: dict[str, Any] = json.loads(line)
        return found

    @classmethod
    @contextmanager
    def started(cls, server: Server, rows: dict[str, list[Any]]) -> Iterator[Peer]:
        """Start it with the same rows."""
        settings = server.settings
        login = {
            "uri": settings.uri,
            "username": settings.username,
            "password": settings.password,
        }
        given = {
            "rows": rows,
            "read": READ,
            "keys": KEYS,
            "batch": BATCH,
            "login": login,
        }
        with tempfile.TemporaryDirectory(prefix="knowtrail-peer-") as name:
            (Path(name) / "rows.json").write_text(json.dumps(given), "utf-8")
            uv = shutil.which("uv") or f"{Path(sys.executable).parent}/uv"
            process = subprocess.Popen(
                [
                    uv, "run", "--no-project", "--isolated", "--quiet",
                    "--python", sys.executable, "--with", PY2NEO,
                    "python", "-P", str(PEER), name,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"},
                cwd=name,
            )  # fmt: skip
            try:
                yield cls(process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(30)


def run(given: argparse.Namespace) -> None:
    """Measure all sides in turn and print the table."""
    count = given.rows or (2_000 if given.small else 50_000)
    repeats = given.repeats or (1 if given.small else 5)
    rows = made_rows(count)
    with served() as server:
        settings = server.settings
        graph = Graph(settings.uri, auth=(settings.username, settings.password))
        if given.no_peer:
            times = _rounds(server, graph, rows, repeats, None)
            note = "py2neo was left out."
        else:
            with Peer.started(server, rows) as peer:
                there = peer if "error" not in peer.greeting else None
                times = _rounds(server, graph, rows, repeats, there)
                note = f"py2neo's process says {peer.greeting}."
        _print(server, count, repeats, times, note)


def _rounds(
    server: Server,
    graph: Graph,
    rows: dict[str, list[Any]],
    repeats: int,
    peer: Peer | None,
) -> dict[tuple[str, str], list[Took]]:
    """Return what each side took, after one round that is thrown away."""
    times: dict[tuple[str, str], list[Took]] = {}
    for number in range(repeats + 1):
        sides = ("ours", "by hand", "py2neo")
        turn = number % 3
        for side in sides[turn:] + sides[:turn]:
            if side == "py2neo" and peer is None:
                continue
            for work in WORKS:
                prepare(server, work)
                took = _took(server, graph, side, work, rows[work], peer)
                times.setdefault((work, side), []).append(took)
        if not number:
            times.clear()
    return times


def _took(
    server: Server,
    graph: Graph,
    side: str,
    work: str,
    rows: Sequence[Any],
    peer: Peer | None,
) -> Took:
    """Let a side do a kind of work."""
    if side == "ours":
        return server.time(lambda: load(graph, work, rows))
    if side == "by hand" or peer is None:
        return server.time(lambda: by_hand(server, work, rows))
    before = server.cpu()
    answer = peer.load(work)
    after = server.cpu()
    used = None if after is None or before is None else after - before
    return Took(wall=answer["wall"], own=answer["own"], server=used)


def _print(
    server: Server,
    count: int,
    repeats: int,
    times: dict[tuple[str, str], list[Took]],
    note: str,
) -> None:
    """Print the table."""
    table = Table(
        title=f"py2neo: {count:,} rows of each kind, batches of {BATCH:,}, "
        f"{repeats} rounds",
        columns=("work", "side", "seconds", "rows/s", "CPU s: own + server"),
    )
    for (work, side), took in sorted(
        times.items(), key=lambda item: (WORKS.index(item[0][0]), item[0][1])
    ):
        seconds = walls(took)
        rates = spread([count / s for s in seconds], "{:,.0f}")
        table.add(work, side, spread(seconds), rates, cpu(took))
    for other, wanted in (("py2neo", "at most 1"), ("by hand", "at most 1.2")):
        for kind, works in (("Loading", LOADS), ("Reading", tuple(READ))):
            ratios = [
                median(times[work, "ours"]) / median(times[work, other])
                for work in works
                if (work, other) in times
            ]
            if ratios:
                each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
                wish = f" ({wanted} is wanted)" if works is LOADS else ""
                table.notes.append(
                    f"{kind}: our time over that of {other}{wish}: {each}; "
                    f"geometric mean {statistics.geometric_mean(ratios):.2f}."
                )
    table.notes.append(note)
    table.print(server)
