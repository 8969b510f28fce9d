"""Checks of a stored corpus, each a Cypher statement that finds what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph.statements import statement_names, statement_record
from ingest.corpus import stored_corpus
from ingest.terms import LINKED_SHARE, MOST_LINKED

if TYPE_CHECKING:
    from graph.connection import Connection

__all__ = ["Finding", "verify_corpus"]

_PREFIX = "corpus/verify_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: What must not be there, such as `chunks without a document`.
        count: How many there are.
        examples: Ids of some.
    """

    check: str
    count: int
    examples: tuple[str, ...]


def verify_corpus(connection: Connection, corpus: str) -> list[Finding]:
    """Run every check and return its outcome; all counts are 0 in a sound corpus.

    Raises:
        UnknownCorpusError: If there is no such corpus.
    """
    stored = stored_corpus(connection, corpus)
    options = stored.options
    findings = []
    for name in statement_names():
        if not name.startswith(_PREFIX):
            continue
        (row,) = connection.read(
            name,
            corpus=corpus,
            dimensions=stored.dimensions,
            intraTopK=options.intra_top_k,
            intraThreshold=options.intra_threshold,
            interTopX=options.inter_top_x,
            interThreshold=options.inter_threshold,
            themeTop=options.theme_top,
            themeThreshold=options.theme_threshold,
            window=options.window,
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
