"""Checks of a stored corpus, statements that find what is wrong, and its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.db.labels import COPIED
from knowtrail.graph.db.statements import statement_names, statement_record
from knowtrail.ingest.bulk.export import EDGES, NODES
from knowtrail.ingest.corpus import OPTION_KEYS, stored_corpus
from knowtrail.ingest.neighbour_index import LEAST_RECALL
from knowtrail.ingest.terms import LINKED_SHARE, MOST_LINKED

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection

_PREFIX = "corpus/verify_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How often there is what must not be, and ids of some."""

    check: str
    count: int
    examples: tuple[str, ...]


def verify_corpus(connection: Connection, corpus: str) -> list[Finding]:
    """Run every check; all counts are 0 in a sound corpus."""
    stored = stored_corpus(connection, corpus)
    settings = {key: getattr(stored.options, n) for n, key in OPTION_KEYS.items()}
    findings = []
    for name in statement_names():
        if not name.startswith(_PREFIX):
            continue
        (row,) = connection.read(
            name,
            corpus=corpus,
            dimensions=stored.dimensions,
            **settings,
            leastRecall=LEAST_RECALL,
            mostLinked=MOST_LINKED,
            linkedShare=LINKED_SHARE,
        )
        findings.append(
            Finding(
                check=statement_record(name).purpose,
                count=row["count"],
                examples=tuple(row["examples"]),
            )
        )
    return findings


_PARTS = (*NODES.values(), "similar", *EDGES)
_MODULUS = 1 << 128
_UNCOUNTED = frozenset({
    "corpusVersion", "embedding", "source", "status", "themeEmbedding",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusDigest:
    """The digest of a corpus: 32 hexadecimal digits.

    The parts are the same by kind of node or edge, to see where two corpora differ.
    """

    value: str
    parts: dict[str, str]
    counts: dict[str, int]


def corpus_digest(connection: Connection, corpus: str) -> CorpusDigest:
    """Return the digest of a stored corpus, streaming over it in bounded memory."""
    stored_corpus(connection, corpus)
    parts, counts = {}, {}
    for part in _PARTS:
        total = count = 0
        name = f"corpus/digest_{part}"
        for record in connection.stream(name, corpus=corpus, vectors=False):
            row = [
                {
                    k: v
                    for k, v in value.items()
                    if k not in _UNCOUNTED
                    and not (part == "chunks" and k.startswith(COPIED))
                }
                if isinstance(value, dict)
                else value
                for value in record.values()
            ]
            data = json.dumps(row, sort_keys=True, default=str).encode()
            digest = hashlib.blake2b(data, digest_size=16).digest()
            total = (total + int.from_bytes(digest, "big")) % _MODULUS
            count += 1
        parts[part], counts[part] = f"{total:032x}", count
    whole = hashlib.blake2b("".join(parts.values()).encode(), digest_size=16)
    return CorpusDigest(value=whole.hexdigest(), parts=parts, counts=counts)
