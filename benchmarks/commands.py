"""CPU seconds and clock of each command: without a server, and beside a warm one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from measure import Table
from sample import raw_documents

from knowtrail.graph.server.folder import server_status, stop_server

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

QUESTION = "What is the largest island of the sea?"
CORPUS = "files"
CHARACTERS = 3_000
KNOWTRAIL = str(Path(sys.executable).with_name("knowtrail"))
RETRIEVER = (
    "from knowtrail.retrieval.langchain import KnowtrailRetriever\n"
    f"KnowtrailRetriever.from_env().invoke({QUESTION!r})\n"
)
OFTEN = 3
"""Times that a command is run beside a warm server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a command cost.

    Attributes:
        own: CPU seconds of its process.
        server: CPU seconds of the running server meanwhile; None where none ran before.
        wall: Seconds on the clock.
    """

    own: float
    server: float | None
    wall: float

    def __str__(self) -> str:
        """Return the numbers of a cell."""
        there = "" if self.server is None else f" + {self.server:.2f}"
        return f"{self.own:.2f}{there} CPU s, {self.wall:.1f} s"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--files", type=int, help="files of the corpus (default 46)")


def run(given: argparse.Namespace) -> None:
    """Run every command, first each with a server of its own, then beside one."""
    count = given.files or (4 if given.small else 46)
    table = Table(
        title=f"commands: a corpus of {count} files of {CHARACTERS:,} characters",
        columns=("command", "without a server", "beside a warm one"),
    )
    with tempfile.TemporaryDirectory(prefix="knowtrail-benchmark-") as name:
        place = Path(name)
        texts = _files(place / "texts", count)
        others = {n: v for n, v in os.environ.items() if not n.startswith("NEO4J_")}
        environment = others | {
            "KNOWTRAIL_HOME": str(place / "home"),
            "KNOWTRAIL_CORPUS": CORPUS,
            "KNOWTRAIL_OLLAMA_URL": "http://127.0.0.1:9",  # ask without a model
        }
        ingest = [KNOWTRAIL, "ingest", "files", str(texts)]
        whole = _cost(ingest, environment)
        table.add("ingest files (all new)", str(whole), "-")
        commands = _commands(place)
        cold = {one: _cost(words, environment) for one, words in commands.items()}
        cold_change = _changed(texts, ingest, environment)
        try:
            _cost([KNOWTRAIL, "server", "start"], environment)
            _cost(commands["search"], environment)  # waits for the model
            for one, words in commands.items():
                found = [_cost(words, environment) for _ in range(OFTEN)]
                table.add(one, str(cold[one]), str(_middle(found)))
            changes = [_changed(texts, ingest, environment) for _ in range(OFTEN)]
            warm_change = _middle(changes)
        finally:
            stop_server(place / "home")
    table.add("ingest files (one of them changed)", str(cold_change), str(warm_change))
    spent = warm_change.own + (warm_change.server or 0.0)
    table.notes += [
        "CPU seconds of the command's process + those of the server that ran before.",
        f"One file changed of {count}, against all new (at most 10 % is wanted): "
        f"{cold_change.own / whole.own:.1%} without a server, "
        f"{spent / whole.own:.1%} beside one, the server's included.",
    ]
    table.print()


def _commands(place: Path) -> dict[str, list[str]]:
    """Return the commands by what they are called in the table."""
    words: dict[str, Sequence[str]] = {
        "--help": ["--help"],
        "corpus list": ["corpus", "list"],
        "cypher": ["cypher", "RETURN 1"],
        "search": ["search", QUESTION],
        "traverse": ["traverse", QUESTION],
        "compare": ["compare", QUESTION],
        "ask": ["ask", QUESTION],
        "view path": ["view", "path", QUESTION, "-o", str(place / "path.html")],
        "view graph": ["view", "graph", "-o", str(place / "graph.html")],
    }
    return {
        **{one: [KNOWTRAIL, *given] for one, given in words.items()},
        "KnowtrailRetriever.from_env": [sys.executable, "-c", RETRIEVER],
        "ingest files (nothing changed)": [
            *(KNOWTRAIL, "ingest", "files", str(place / "texts"))
        ],
    }


def _files(folder: Path, count: int) -> Path:
    """Write the beginnings of articles as files."""
    folder.mkdir()
    for number, article in zip(range(count), raw_documents(), strict=False):
        text = article.raw[:CHARACTERS]
        (folder / f"{number:03}.txt").write_text(text, "utf-8")
    return folder


def _changed(texts: Path, ingest: list[str], environment: dict[str, str]) -> Cost:
    """Add a sentence to one file and ingest all again."""
    with (texts / "001.txt").open("a", encoding="utf-8") as file:
        file.write(f"\n\nOne sentence was added at {time.time_ns()}.\n")
    return _cost(ingest, environment)


def _cost(words: list[str], environment: dict[str, str]) -> Cost:
    """Run a command and say what it cost; end where it fails."""
    info = server_status(Path(environment["KNOWTRAIL_HOME"]))
    server = None if info is None else psutil.Process(info.pid)
    before = _spent(server)
    begin = time.perf_counter()
    process = subprocess.Popen(
        words,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} failed: {said.decode()}")
    after = _spent(server)
    there = None if before is None or after is None else after - before
    return Cost(own=used.ru_utime + used.ru_stime, server=there, wall=wall)


def _spent(server: psutil.Process | None) -> float | None:
    """Return the CPU seconds of a server so far."""
    if server is None:
        return None
    times = server.cpu_times()
    return float(times.user + times.system)


def _middle(costs: list[Cost]) -> Cost:
    """Return the median of each number."""
    servers = [cost.server for cost in costs if cost.server is not None]
    return Cost(
        own=statistics.median(cost.own for cost in costs),
        server=statistics.median(servers) if servers else None,
        wall=statistics.median(cost.wall for cost in costs),
    )
