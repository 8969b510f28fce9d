r"""The other side of loading and reading: py2neo 2021.2.4, the last there was.

Runs in an environment of its own and takes orders on standard input, so that all sides
can be measured in turn:

    uv run --no-project --isolated --with py2neo==2021.2.4 \
        python -P benchmarks/peer_py2neo.py FOLDER

FOLDER holds `rows.json`: the rows of each kind, and how to log in. Each line names a
kind of work, which is done once and answered with one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from py2neo import Graph, __version__
from py2neo.bulk import (
    create_nodes,
    create_relationships,
    merge_nodes,
    merge_relationships,
)


def load(graph: Any, work: str, given: dict[str, Any]) -> None:
    """Load rows, a transaction a batch as its handbook says; or read them all."""
    if work in given["read"]:
        graph.run(given["read"][work]).data()
        return
    rows, keys, size = given["rows"][work], given["keys"], given["batch"]
    ends = {"start_node_key": ("Person", "id"), "end_node_key": ("Person", "id")}
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        if work == "create nodes, lists":
            create_nodes(graph.auto(), batch, labels={"Person"}, keys=keys)
        elif work == "create nodes, dictionaries":
            create_nodes(graph.auto(), batch, labels={"Person"})
        elif work.startswith("merge nodes"):
            merge_nodes(graph.auto(), batch, ("Person", "id"), keys=keys)
        elif work == "create relationships":
            create_relationships(graph.auto(), batch, "KNOWS", keys=["since"], **ends)
        else:
            merge_relationships(graph.auto(), batch, "KNOWS", keys=["since"], **ends)


def main() -> None:
    """Say what is installed, then obey."""
    given = json.loads((Path(sys.argv[1]) / "rows.json").read_text("utf-8"))
    login = given["login"]
    try:
        graph = Graph(login["uri"], auth=(login["username"], login["password"]))
        graph.run("RETURN 1").evaluate()
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return
    print(json.dumps({"py2neo": __version__}), flush=True)
    for line in sys.stdin:
        own, wall = time.process_time(), time.perf_counter()
        load(graph, line.strip(), given)
        answer = {
            "wall": time.perf_counter() - wall,
            "own": time.process_time() - own,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
