r"""The other side of the write path: Neo4jVector, as people install it.

Runs in an environment of its own, without the product's extra packages, and takes
orders on standard input, so that both sides can be measured in turn:

    uv run --no-project --isolated --with langchain-neo4j --with neo4j \
        python benchmarks/peer_neo4jvector.py FOLDER

FOLDER holds `rows.json` (ids, texts and how to log in) and `vectors.npy`. Each line
`write N` writes the first N rows into an empty database with its index in place, and
answers with one line of JSON.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_neo4j import Neo4jVector

LABEL, INDEX = "PeerChunk", "peer_embedding"


class Given(Embeddings):
    """Stands where a model is asked for; its vectors are all given."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions

    def embed_query(self, text: str) -> list[float]:
        """Return any vector of the right length."""
        return [1.0] * self._dimensions

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one such vector a text."""
        return [self.embed_query(text) for text in texts]


def read_vectors(path: Path, count: int) -> list[list[float]]:
    """Read a .npy file of 32-bit floats, with numpy or without."""
    data = path.read_bytes()
    offset = 10 + struct.unpack("<H", data[8:10])[0]
    width = (len(data) - offset) // 4 // count
    form = struct.Struct(f"<{width}f")
    return [list(form.unpack_from(data, offset + 4 * width * i)) for i in range(count)]


def write(rows: list[list[str]], vectors: Any, login: dict[str, str]) -> None:
    """Write rows with the published call and its defaults."""
    store = Neo4jVector.from_embeddings(
        list(zip([text for _, text in rows], vectors, strict=True)),
        Given(len(vectors[0])),
        ids=[key for key, _ in rows],
        node_label=LABEL,
        index_name=INDEX,
        **login,
    )
    store._driver.close()


def main() -> None:
    """Say what is installed, then obey."""
    folder = Path(sys.argv[1])
    given = json.loads((folder / "rows.json").read_text("utf-8"))
    rows, login = given["rows"], given["login"]
    vectors = read_vectors(folder / "vectors.npy", len(rows))
    installed = {
        "langchain-neo4j": version("langchain-neo4j"),
        "neo4j": version("neo4j"),
        "rust": find_spec("neo4j._rust") is not None
        or find_spec("neo4j._codec.packstream._rust") is not None,
    }
    print(json.dumps(installed), flush=True)
    for line in sys.stdin:
        count = int(line.split()[1])
        own, begin = time.process_time(), time.perf_counter()
        write(rows[:count], vectors[:count], login)
        answer = {
            "wall": time.perf_counter() - begin,
            "own": time.process_time() - own,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
