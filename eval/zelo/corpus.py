"""Queries with candidates out of a corpus, and annotations of them into its graph.

Annotations are stored as scores, and the battles that they come from:

    (:Query {judgedAt})-[:JUDGED {zelo, stderr, rank, battles}]->(:Chunk)
    (:Battle)-[:FOR_QUERY]->(:Query), (:Battle)-[:LEFT | :RIGHT]->(:Chunk)

A Battle is one pair, in one repetition. Its `score` is the mean of its judges', below 0
where they prefer the left chunk; `reason` is that of the judge with the clearest score
for the side that won. Ids come from the content: storing an annotation again changes
nothing, and storing a newer one takes the place of the older, question by question.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, zip_longest
from math import nan
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import as_number
from knowtrail.eval.store import LONGEST_TEXT, sendable
from knowtrail.eval.zelo.scored_pairs import FITS, ScoredPairs, working_folder
from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import disk_errors, json_value, read_lines
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.recording import question_id
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    read_annotated,
)
from knowtrail.retrieval.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.zelo.judgements import Judgement
    from knowtrail.eval.zelo.scored_pairs import JudgedQuery
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.rerank.datasets import AnnotatedQueryDocuments
    from knowtrail.retrieval.walk import ChunkText

STAGE = "Finding candidates"
_ALL = 1_000_000


def stored_questions(connection: Connection, corpus: str) -> list[str]:
    """Return the questions that were asked of a corpus, the earliest first."""
    rows = connection.read("eval/zelo_questions", corpus=corpus, limit=_ALL)
    if not rows:
        raise InputError(
            f"Corpus {corpus!r} has no questions: ask some with knowtrail traverse, or "
            "give --questions FILE, or --bundled for those of the quick start."
        )
    return [row["question"] for row in rows]


def bundled_questions() -> list[str]:
    """Return the questions that travel with the quick start's corpus."""
    from knowtrail.ingest.bundled import questions

    return [str(row["question"]) for row in questions()]


def questions_of_file(path: Path) -> Iterator[str]:
    """Yield the questions of a file: a text a line, or an object with `question`."""
    for number, line in read_lines(path):
        if not line.lstrip().startswith("{"):
            yield line.strip()
            continue
        where = f"{path}, line {number}"
        row = json_value(line, where)
        value = row.get("question", row.get("query"))
        if not isinstance(value, str) or not value.strip():
            msg = f"{where}: question is {str(value)[:80]!r}: write a text."
            raise SourceError(msg)
        yield value


def candidates(
    connection: Connection,
    questions: Iterable[str],
    *,
    corpus: str,
    algorithms: Sequence[str],
    count: int = 20,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Iterator[QueryDocuments]:
    """Yield questions, each once, with the chunks that algorithms find, in turns.

    Ids are those of the graph, so that judgements find their way back. Metadata does
    not have the rank, which would sway who judges.
    """
    seen: set[str] = set()
    for question in questions:
        name = question_id(corpus, question)
        if name in seen:
            continue
        seen.add(name)
        rankings = [
            search(
                connection,
                question,
                corpus=corpus,
                algorithm=algorithm,
                k=count,
                settings=settings,
            ).hits
            for algorithm in algorithms
        ]
        # The best of each ranking, then the second best, each chunk once.
        chunks: dict[str, ChunkText] = {}
        for hit in filter(None, chain.from_iterable(zip_longest(*rankings))):
            chunks.setdefault(hit.chunk.id, hit.chunk)
        documents = tuple(map(_document, chunks.values()))
        yield QueryDocuments(query=Query(id=name, query=question), documents=documents)
        progress(STAGE, len(seen), None)


def _document(chunk: ChunkText) -> Document:
    metadata = {"title": chunk.title, "document": chunk.document_id}
    if chunk.url:
        metadata["url"] = chunk.url
    return Document(id=chunk.id, content=chunk.text, metadata=metadata)


_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was stored; `missing` documents are no chunks, and have no battles."""

    queries: int
    scores: int
    battles: int
    missing: int


def store_annotation(
    connection: Connection, annotated: Path, *, corpus: str, folder: Path | None = None
) -> Stored:
    """Store an annotation over a corpus; storing it twice changes nothing.

    Questions and chunks are found by what they are, so an annotation of an exported
    file fits as long as its corpus holds the same chunks. Each question is stored in
    transactions of bounded size, scores first. Without a working folder, which None
    looks for beside the file, there are scores only.
    """
    stored_corpus(connection, corpus)
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    judged = _beside(annotated, folder)
    with disk_errors(SourceError, "{path} cannot be read: {reason}.", path=annotated):
        time = datetime.fromtimestamp(annotated.stat().st_mtime, UTC)
    queries = scored = battles = missing = 0
    for item in read_annotated(annotated):
        name, ids = item.query.id, [document.id for document in item.documents]
        known = _known_chunks(connection, corpus, ids)
        query = question_id(corpus, item.query.query)
        rows: list[dict[str, Any]] = []
        if judged and name in judged.queries:
            rows = _battles(judged.judged(name), known, corpus, query)
        fitted = judged.fitted.get(name, {}) if judged else {}
        scores = _scores(item, known, fitted, rows)
        missing += len(ids) - len(scores)
        if scores:
            queries += 1
            scored += len(scores)
            battles += len(rows)
            told = {
                "id": query,
                "text": sendable(item.query.query),
                "judgedAt": time,
                "chunks": [score["chunk"] for score in scores],
                "scores": scores,
                "battles": [row["properties"]["id"] for row in rows],
            }
            connection.write("eval/zelo_judged", corpus=corpus, queries=[told])
            for part in batched(rows, _BATCH):
                connection.write("eval/zelo_battles", rows=part)
    if missing and not scored:
        raise InputError(
            f"No document of {annotated} is a chunk of corpus {corpus!r}: annotate "
            "what `knowtrail eval zelo export` wrote from that corpus."
        )
    return Stored(queries=queries, scores=scored, battles=battles, missing=missing)


def _known_chunks(connection: Connection, corpus: str, ids: list[str]) -> set[str]:
    sent = [i for i in ids if sendable(i) == i]
    rows = connection.read("eval/zelo_chunks", corpus=corpus, ids=sent)
    return {row["id"] for row in rows}


def _beside(annotated: Path, folder: Path | None) -> ScoredPairs | None:
    """Return what was judged, of a folder or of the one beside, where there is one."""
    place = folder or working_folder(annotated)
    if (place / FITS).is_file():
        return ScoredPairs(place)
    if folder is None:
        return None
    msg = f"{folder} has no {FITS}: name the working folder of an annotation."
    raise InputError(msg)


def _battles(
    judged: JudgedQuery, known: set[str], corpus: str, query: str
) -> list[dict[str, Any]]:
    fought: dict[tuple[str, str, int], list[Judgement]] = {}
    for one in judged.judgements:
        if one.score is not None and {one.left_id, one.right_id} <= known:
            pair = (one.left_id, one.right_id, one.repetition)
            fought.setdefault(pair, []).append(one)
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for (left, right, _), said in fought.items():
        again = seen[left, right]
        seen[left, right] += 1
        rows.append({
            "query": query,
            "left": left,
            "right": right,
            "properties": {
                "id": content_key("battle", query, left, right, again),
                "repetition": again,
                "corpus": corpus,
                "queryId": query,
                "leftId": left,
                "rightId": right,
                **_said(said),
            },
        })
    return rows


def _said(said: list[Judgement]) -> dict[str, Any]:
    scores = [float(one.score or 0) for one in said]
    mean = sum(scores) / len(scores)
    judges = [sendable(one.judge) for one in said]
    thoughts = [sendable(one.reasoning[:LONGEST_TEXT]) for one in said]
    best = max(range(len(said)), key=lambda i: (scores[i] * mean, -i))
    return {
        "score": mean,
        "votesLeft": sum(score < 0 for score in scores),
        "votesRight": sum(score > 0 for score in scores),
        "spread": max(scores) - min(scores),
        "judges": judges,
        "scores": scores,
        "reasonings": thoughts,
        "reason": f"{judges[best]}: {thoughts[best]}",
    }


def _scores(
    item: AnnotatedQueryDocuments,
    known: set[str],
    fitted: Mapping[str, tuple[float, float]],
    rows: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    fought: Counter[str] = Counter()
    for row in rows:
        fought.update([row["left"], row["right"]])
    ranked = sorted(
        (document for document in item.documents if document.id in known),
        key=lambda document: (-document.score, document.id),
    )
    return [
        {
            "chunk": document.id,
            "properties": {
                "zelo": document.score,
                "stderr": as_number(fitted.get(document.id, (nan, nan))[1]),
                "rank": rank,
                "battles": fought[document.id],
            },
        }
        for rank, document in enumerate(ranked, start=1)
    ]
