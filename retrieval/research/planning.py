"""Sub-questions without a model: clauses of a question, names in it, names found."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from knowtrail.ingest.names import words_of
from knowtrail.ingest.terms import TermFinder
from knowtrail.retrieval.algorithms.auto_words import (
    as_written,
    possible_names,
    question_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.research.records import Reason

MOST_PLANNED = 6
MOST_FOLLOWED = 2
"""Names that a walk may lead to."""
_ASKING = r"(?:how|what|when|where|which|who|whom|whose|why)\b"
_CLAUSES = re.compile(
    rf"[;?!\n]+|,?\s+(?:and|but|or)\s+(?={_ASKING})|,\s+(?={_ASKING})", re.IGNORECASE
)
_LEAST_WORDS = 3


def planned(
    connection: Connection, corpus: str, question: str
) -> list[tuple[str, Reason]]:
    """Return the question, its clauses, and the rarest names in it, at most six."""
    found: list[tuple[str, Reason]] = [(question, "question")]
    clauses = [clause.strip(" ,.") for clause in _CLAUSES.split(question)]
    clauses = [clause for clause in clauses if len(words_of(clause)) >= _LEAST_WORDS]
    if len(clauses) > 1:
        found += [(clause, "clause") for clause in clauses]
    counts = _terms(connection, corpus, [], possible_names(question))
    names = question_names(question, counts)
    rarest = sorted(names, key=lambda name: (counts[name], name))
    found += [(as_written(name, question), "name") for name in rarest]
    return list({text: (text, why) for text, why in reversed(found)}.values())[::-1][
        :MOST_PLANNED
    ]


def followed(
    connection: Connection,
    corpus: str,
    question: str,
    *,
    chunks: Sequence[str],
    findings: Sequence[tuple[str, float]],
    asked: Iterable[str],
) -> list[str]:
    """Return questions for names in findings that were not asked about, best first.

    A name counts by the score of the best finding (text and score) that has it, and by
    its rarity; one that a single chunk names leads nowhere.
    """
    counts = _terms(connection, corpus, chunks, ())
    known = {name for name, count in counts.items() if count > 1}
    finder = TermFinder(known)
    old = {name for text in asked for name in finder.find(text)}
    most = max(counts.values(), default=1)
    best: dict[str, tuple[float, str]] = {}
    for text, score in findings:
        for name in finder.find(text):
            worth = score * (1 + math.log(1 + most / counts[name]))
            if name not in old and worth > best.get(name, (0.0, ""))[0]:
                best[name] = (worth, as_written(name, text))
    order = sorted(best, key=lambda name: (-best[name][0], name))
    return [f"{best[name][1]}: {question}" for name in order[:MOST_FOLLOWED]]


def _terms(
    connection: Connection, corpus: str, chunks: Sequence[str], names: Sequence[str]
) -> dict[str, int]:
    """Return terms that chunks name, or of names, with how many chunks name each."""
    (row,) = connection.read(
        "retrieval/terms", corpus=corpus, ids=list(chunks), names=list(names)
    )
    return {name: count for name, count, _ in row["terms"]}
