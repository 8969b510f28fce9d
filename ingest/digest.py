"""One number for the content of a corpus, whatever order it is stored in.

Covered are ids, texts, properties and edges with their ends, ranks, scopes and
scores. Left out are vectors, whose last bits depend on how texts were batched, and
what counts runs rather than content (`corpusVersion`, `version`, `status`, and the
`source` path a document was read from).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.corpus import stored_corpus

if TYPE_CHECKING:
    from graph.connection import Connection

__all__ = ["CorpusDigest", "corpus_digest"]

_PARTS = (
    "documents",
    "chunks",
    "sentences",
    "themes",
    "terms",
    "categories",
    "redirects",
    "similar",
    "document_edges",
    "chunk_edges",
    "sentence_edges",
)
_MODULUS = 1 << 128
_UNCOUNTED = frozenset({
    "corpusVersion", "embedding", "source", "status", "themeEmbedding",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusDigest:
    """The digest of a corpus.

    Attributes:
        value: 32 hexadecimal digits.
        parts: The same by kind of node or edge, to see where two corpora differ.
        counts: How many there are of each kind.
    """

    value: str
    parts: dict[str, str]
    counts: dict[str, int]


def corpus_digest(connection: Connection, corpus: str) -> CorpusDigest:
    """Return the digest of a stored corpus, streaming over it in bounded memory.

    Raises:
        UnknownCorpusError: If there is no such corpus.
    """
    stored_corpus(connection, corpus)
    parts, counts = {}, {}
    for part in _PARTS:
        total = count = 0
        for record in connection.stream(f"corpus/digest_{part}", corpus=corpus):
            row = [
                {k: v for k, v in value.items() if k not in _UNCOUNTED}
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
