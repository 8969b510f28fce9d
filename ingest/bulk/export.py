"""A stored corpus as the files of a bulk load, for a Neo4j elsewhere."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import write_file
from knowtrail.ingest.bulk.columns import INPUT, ColumnFiles
from knowtrail.ingest.corpus import stored_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection

_PARENTS = {"Document": "IN_CORPUS", "Chunk": "FROM_DOCUMENT"}
NODES = {
    "Document": "documents",
    "Chunk": "chunks",
    "Sentence": "sentences",
    "Theme": "themes",
    "Term": "terms",
    "Category": "categories",
    "Redirect": "redirects",
}
EDGES = ("document_edges", "chunk_edges", "sentence_edges")
_VECTORS = ("embedding", "themeEmbedding")
_ROWS = 4096


def export_corpus(
    connection: Connection, corpus: str, folder: Path, *, progress: Progress = silent
) -> tuple[str, ColumnFiles]:
    """Write a stored corpus as files; return the command that loads them.

    The rows are streamed: memory does not grow with the corpus. The folder is made.

    Raises:
        UnknownCorpusError: If there is no such corpus.
        InputError: If the folder has files.
        StorageError: If it cannot be written.
    """
    stored_corpus(connection, corpus)
    folder = folder.expanduser().absolute()
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"Folder {folder} is not empty: name a new one.")
    with ColumnFiles(folder) as files:
        (row,) = connection.stream("ingest/corpus_read", name=corpus)
        properties = row["properties"] | {"copied": None, "filters": None}
        files.add_nodes("Corpus", [properties])
        for label, part in NODES.items():
            for rows in _batches(connection, corpus, part):
                files.add_nodes(label, [_node(row["properties"]) for row in rows])
                keys = [row["properties"]["id"] for row in rows]
                if label in _PARENTS:
                    parents = [row.get("document", corpus) for row in rows]
                    files.add_relationships(_PARENTS[label], keys, parents)
                progress(part, files.nodes, None)
        for part in ("similar", *EDGES):
            for rows in _batches(connection, corpus, part):
                _add_edges(files, rows)
                progress(part, files.relationships, None)
    words = ["neo4j-admin", "database", "import", "full", "neo4j"]
    command = shlex.join([*words, "--overwrite-destination", INPUT, *files.arguments()])
    write_file(folder / "import.sh", f"{command}\n")
    return command, files


def _batches(
    connection: Connection, corpus: str, part: str
) -> Iterator[list[dict[str, Any]]]:
    records = connection.stream(f"corpus/digest_{part}", corpus=corpus, vectors=True)
    return batched(map(dict, records), _ROWS)


def _node(properties: dict[str, Any]) -> dict[str, Any]:
    """Return a node's properties with its vectors as arrays."""
    for name in _VECTORS:
        if (vector := properties.get(name)) is not None:
            properties[name] = np.asarray(vector, dtype=np.float32)
    return properties


def _add_edges(files: ColumnFiles, rows: list[dict[str, Any]]) -> None:
    rows.sort(key=_type)
    for kind, group in groupby(rows, _type):
        edges = list(group)
        properties = [edge["properties"] for edge in edges]
        files.add_relationships(
            kind,
            [edge["a"] for edge in edges],
            [edge["b"] for edge in edges],
            **{name: [p[name] for p in properties] for name in properties[0]},
        )


def _type(row: dict[str, Any]) -> str:
    return str(row.get("type", "SIMILAR_TO"))
