"""What every benchmark shares: a server, a clock, and the table it prints."""

from __future__ import annotations

import json
import platform
import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import psutil

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.readers.cypher import CypherReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.graph.models.embedders import Embedder

QUIET_SHARE = 0.05
QUIET_SECONDS = 0.5
LONGEST_WAIT = 20.0
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What a piece of work cost.

    Attributes:
        wall: Seconds on the clock.
        own: CPU seconds of this process.
        server: CPU seconds of the managed server; None for a server of someone else.
    """

    wall: float
    own: float
    server: float | None


@dataclass(slots=True)
class Server:
    """The server of a benchmark.

    Attributes:
        connection: To its database.
        settings: With its address and credentials.
        pid: Process of the managed server; None for a server of someone else.
    """

    connection: Connection
    settings: Settings
    pid: int | None

    def cpu(self) -> float | None:
        """Return the CPU seconds that the server has used so far."""
        if self.pid is None:
            return None
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def quiet(self) -> None:
        """Wait until what the server does in the background is done."""
        if self.pid is None:
            time.sleep(2)
            return
        end = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < end:
            before = self.cpu() or 0.0
            time.sleep(QUIET_SECONDS)
            if (self.cpu() or 0.0) - before < QUIET_SHARE * QUIET_SECONDS * 2:
                return

    def time(self, work: Callable[[], object]) -> Took:
        """Do something and say what it cost here and on the server."""
        server = self.cpu()
        own, wall = time.process_time(), time.perf_counter()
        work()
        taken = time.perf_counter() - wall
        now = self.cpu()
        return Took(
            wall=taken,
            own=time.process_time() - own,
            server=None if now is None or server is None else now - server,
        )


class Counting(CypherReader):
    """The Cypher reader, with its round trips and the size of its answers noted."""

    def __init__(self, connection: Connection, *, corpus: str) -> None:
        self.trips = 0
        self.sizes: list[int] | None = None
        super().__init__(cast("Connection", _Noted(connection, self)), corpus=corpus)


class _Noted:
    def __init__(self, connection: Connection, reader: Counting) -> None:
        self.connection, self.reader = connection, reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def values(self, text: str, params: dict[str, Any]) -> list[list[Any]]:
        rows = self.connection.values(text, params)
        self.reader.trips += 1
        if self.reader.sizes is not None:
            size = len(json.dumps(rows, default=lambda v: v.to_native()))
            self.reader.sizes.append(size)
        return rows


@contextmanager
def served() -> Iterator[Server]:
    """Yield the server of NEO4J_URI, or one with an empty folder of its own.

    A server of someone else must be empty: benchmarks delete what they find.
    """
    settings = Settings.from_env()
    with tempfile.TemporaryDirectory(prefix="knowtrail-benchmark-") as name:
        home = Path(name)
        if settings.uri is not None:
            settings = Settings.from_env(home=home)
            with Connection.open(settings) as connection:
                (row,) = connection.query("MATCH (n) RETURN count(n) AS nodes")
                if row["nodes"]:
                    raise SystemExit(
                        f"The database at {settings.uri} has {row['nodes']} nodes: "
                        "name an empty one, for benchmarks delete everything."
                    )
                yield Server(connection, settings, None)
            return
        from knowtrail.graph.server.lease import join_server

        with join_server(
            home,
            version=settings.neo4j_version,
            heap=settings.heap,
            page_cache=settings.page_cache,
        ) as lease:
            info = lease.info
            settings = Settings.from_env(env={}, home=home).with_server(
                uri=info.uri, username=info.username, password=info.password
            )
            with Connection.open(settings) as connection:
                yield Server(connection, settings, info.pid)


def warmed(embedder: Embedder) -> Embedder:
    """Load an embedder's model and let it embed a little."""
    embedder.embed_documents(["A sentence to warm the model up."] * 32)
    return embedder


@dataclass(slots=True)
class Table:
    """Rows of one benchmark, printed when all are there.

    Attributes:
        title: What is measured, with n.
        columns: Names of the columns.
        rows: Cells, as they are printed.
        notes: Lines below the table.
    """

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Append a row."""
        self.rows.append(cells)

    def print(self, server: Server | None = None) -> None:
        """Print title, machine, versions and rows as a Markdown table."""
        print(f"\n## {self.title}\n")
        print(f"{machine()}; {versions(server)}\n")
        widths = [
            max(map(len, column))
            for column in zip(self.columns, *self.rows, strict=True)
        ]
        for cells in (self.columns, ["-" * w for w in widths], *self.rows):
            line = " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True))
            print(f"| {line} |")
        for note in self.notes:
            print(f"\n{note}", end="")
        print(flush=True)


def machine() -> str:
    """Describe the machine in a line."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    memory = psutil.virtual_memory().total / 1024**3
    load = psutil.getloadavg()[0]
    return (
        f"{name}, {psutil.cpu_count()} cores, {memory:.0f} GiB, "
        f"load {load:.1f} at the end"
    )


def versions(server: Server | None) -> str:
    """Return the versions that matter."""
    parts = [f"Python {platform.python_version()}"]
    for name in ("knowtrail", "neo4j", "neo4j-rust-ext", "numpy", "torch"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"no {name}")
    if server is not None:
        (row,) = server.connection.read("schema/components")[:1]
        parts.insert(1, f"Neo4j {_first_version(row)}")
    return ", ".join(parts)


def _first_version(row: dict[str, Any]) -> str:
    """Return the version out of a row of the server's components."""
    value = row.get("version") or row.get("versions") or "?"
    return str(value[0] if isinstance(value, list) else value)


def spread(values: Sequence[float], form: str = "{:.2f}") -> str:
    """Return the median with least and greatest value."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{form.format(middle)} ({form.format(low)}-{form.format(high)})"


def cpu(took: Sequence[Took]) -> str:
    """Return the median CPU seconds, here and on the server."""
    own = statistics.median(t.own for t in took)
    there = [t.server for t in took if t.server is not None]
    return f"{own:.2f} + " + (f"{statistics.median(there):.2f}" if there else "?")


def walls(took: Sequence[Took]) -> list[float]:
    """Return the seconds on the clock."""
    return [t.wall for t in took]


def median(took: Sequence[Took]) -> float:
    """Return the median seconds on the clock."""
    return statistics.median(walls(took))


def server_cpu(took: Sequence[Took]) -> float | None:
    """Return the median CPU seconds of the server, None where they are unknown."""
    values = [t.server for t in took if t.server is not None]
    return statistics.median(values) if values else None
