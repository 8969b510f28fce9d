"""Queries with candidates out of a corpus, and annotations of them into its graph.

Annotations are stored as scores, and the battles that they come from:

    (:Query {judgedAt})-[:JUDGED {zelo, stderr, rank, battles}]->(:Chunk)
    (:Battle)-[:FOR_QUERY]->(:Query), (:Battle)-[:LEFT | :RIGHT]->(:Chunk)

A Battle is one pair, in one repetition. Its `score` is the mean of its judges', below 0
where they prefer the left chunk; `judges`, `scores` and `reasonings` are lists of those
who answered, `votesLeft` and `votesRight` count them, `spread` is how far apart they
are, `reason` is that of the judge with the clearest score for the side that won. Ids
come from the content: storing an annotation again changes nothing, and storing a newer
one takes the place of the older, question by question.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from knowtrail.eval.store import LONGEST_TEXT, sendable
from knowtrail.eval.zelo.scored_pairs import FITS, SCORES
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines, read_lines
from knowtrail.ingest.corpus import stored_corpus
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.store import batched
from knowtrail.retrieval.recording import question_id
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    read_annotated,
)
from knowtrail.retrieval.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.hits import Hit
    from knowtrail.retrieval.rerank.datasets import AnnotatedQueryDocuments
    from knowtrail.retrieval.walk import ChunkText

STAGE = "Finding candidates"
_ALL = 1_000_000


def stored_questions(connection: Connection, corpus: str) -> list[str]:
    """Return the questions that were asked of a corpus, the earliest first."""
    rows = connection.read("eval/zelo_questions", corpus=corpus, limit=_ALL)
    if not rows:
        msg = (
            f"Corpus {corpus!r} has no questions: ask some with knowtrail traverse, or "
            "give --questions FILE, or --bundled for those of the quick start."
        )
        raise InputError(msg)
    return [row["question"] for row in rows]


def bundled_questions() -> list[str]:
    """Return the questions that travel with the quick start's corpus."""
    from knowtrail.ingest.bundled import questions

    return [str(row["question"]) for row in questions()]


def questions_of_file(path: Path) -> Iterator[str]:
    """Yield the questions of a file: a text a line, or an object with `question`."""
    for number, line in read_lines(path):
        yield _question(line, f"{path}, line {number}")


def _question(line: str, where: str) -> str:
    """Return the question of a line."""
    if not line.lstrip().startswith("{"):
        return line.strip()
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        msg = f"{where} is no JSON: {error}."
        raise SourceError(msg) from error
    value = row.get("question", row.get("query"))
    if not isinstance(value, str) or not value.strip():
        msg = f"{where}: question is {str(value)[:80]!r}: write a text."
        raise SourceError(msg)
    return value


def candidates(
    connection: Connection,
    questions: Iterable[str],
    *,
    corpus: str,
    algorithms: Sequence[str],
    count: int = 20,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Iterator[QueryDocuments]:
    """Yield questions with the chunks that algorithms find for them.

    A question that comes twice is taken once. Query ids are those of the graph, and
    document ids those of the chunks, so that judgements find their way back. Several
    algorithms take turns: the best of each, then the second best, each chunk once.

    Args:
        connection: The database.
        questions: What is asked.
        corpus: Name of the corpus.
        algorithms: Names of algorithms.
        count: Chunks wanted of each algorithm.
        embedder: As in `search`.
        model: As in `search`.
        settings: As in `search`.
        progress: Told of each question.

    Yields:
        One query a question; metadata has title, document and, where there is one,
        address: not the rank, which would sway who judges.

    Raises:
        KnowtrailError: As `search`.
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
                embedder=embedder,
                corpus=corpus,
                algorithm=algorithm,
                k=count,
                model=model,
                settings=settings,
            ).hits
            for algorithm in algorithms
        ]
        documents = tuple(_in_turns(rankings))
        yield QueryDocuments(query=Query(id=name, query=question), documents=documents)
        progress(STAGE, len(seen), None)


def _in_turns(rankings: Sequence[Sequence[Hit]]) -> Iterator[Document]:
    """Yield the best of each ranking, then the second best, each chunk once."""
    seen: set[str] = set()
    for hits in zip_longest(*rankings):
        for hit in hits:
            if hit is not None and hit.chunk.id not in seen:
                seen.add(hit.chunk.id)
                yield _document(hit.chunk)


def _document(chunk: ChunkText) -> Document:
    """Return a chunk as a candidate."""
    metadata = {"title": chunk.title, "document": chunk.document_id}
    if chunk.url:
        metadata["url"] = chunk.url
    return Document(id=chunk.id, content=chunk.text, metadata=metadata)


_BATCH = 500
_SUFFIX = "_score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was stored.

    Attributes:
        missing: Documents that are no chunks of the corpus; they were passed over, and
            so were their battles.
    """

    queries: int
    scores: int
    battles: int
    missing: int


def store_annotation(
    connection: Connection,
    annotated: Path,
    *,
    corpus: str,
    folder: Path | None = None,
) -> Stored:
    """Store an annotation over a corpus; storing it twice changes nothing.

    Questions and chunks are found by what they are, so an annotation of an exported
    file fits as long as its corpus holds the same chunks. Each question is stored in
    transactions of bounded size, scores first.

    Args:
        connection: The database.
        annotated: The annotated file.
        corpus: Name of the corpus that it was exported from.
        folder: The working folder of the annotation; None is the one beside the file,
            `NAME.zelo`. Without one there are scores only.

    Raises:
        InputError: If a file is no good, or none of the documents is a chunk of the
            corpus.
        UnknownCorpusError: If there is no such corpus.
    """
    stored_corpus(connection, corpus)
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    judged = _Judged.of(annotated, folder)
    found = [0, 0, 0, 0]
    for item in read_annotated(annotated):
        ids = [document.id for document in item.documents]
        known = _known_chunks(connection, corpus, ids)
        query = question_id(corpus, item.query.query)
        rows = [
            battle
            for row in judged.rows(item.query.id)
            if (battle := _battle(row, corpus, query)) is not None
            and {battle["left"], battle["right"]} <= known
        ]
        _number(rows, query)
        scores = _scores(item, known, judged.errors.get(item.query.id, {}), rows)
        found[3] += len(ids) - len(scores)
        if scores:
            _store(connection, corpus, query, item, judged.time, scores, rows)
            found = [
                found[0] + 1,
                found[1] + len(scores),
                found[2] + len(rows),
                found[3],
            ]
    if found[3] and not found[1]:
        msg = (
            f"No document of {annotated} is a chunk of corpus {corpus!r}: annotate "
            "what `knowtrail eval zelo export` wrote from that corpus."
        )
        raise InputError(msg)
    queries, scored, battles, missing = found
    return Stored(queries=queries, scores=scored, battles=battles, missing=missing)


def _store(
    connection: Connection,
    corpus: str,
    query: str,
    item: AnnotatedQueryDocuments,
    time: datetime,
    scores: list[dict[str, Any]],
    rows: list[dict[str, Any]],
) -> None:
    """Store one question."""
    connection.write(
        "eval/zelo_judged",
        corpus=corpus,
        queries=[
            {
                "id": query,
                "text": sendable(item.query.query),
                "judgedAt": time,
                "chunks": [score["chunk"] for score in scores],
                "scores": scores,
                "battles": [row["properties"]["id"] for row in rows],
            }
        ],
    )
    for part in batched(rows, _BATCH):
        connection.write("eval/zelo_battles", rows=part)


def _known_chunks(connection: Connection, corpus: str, ids: list[str]) -> set[str]:
    """Return which documents are chunks of the corpus."""
    sent = [i for i in ids if sendable(i) == i]
    rows = connection.read("eval/zelo_chunks", corpus=corpus, ids=sent)
    return {row["id"] for row in rows}


class _Judged:
    """What an annotation left beside its scores, found query by query."""

    def __init__(self, time: datetime) -> None:
        self.time = time
        self.errors: dict[str, dict[str, float | None]] = {}
        self._file: Path | None = None
        self._places: dict[str, list[int]] = {}

    @classmethod
    def of(cls, annotated: Path, folder: Path | None) -> _Judged:
        """Look for the working folder and index what is in it."""
        try:
            time = datetime.fromtimestamp(annotated.stat().st_mtime, UTC)
        except OSError as error:
            msg = f"{annotated} cannot be read: {error.strerror}."
            raise SourceError(msg) from error
        found = cls(time)
        beside = folder or annotated.with_name(f"{annotated.name}.zelo")
        if not (beside / FITS).is_file():
            if folder is None:
                return found
            msg = f"{folder} has no {FITS}: name the working folder of an annotation."
            raise InputError(msg)
        try:
            found._index(beside)
        except (OSError, ValueError, KeyError, TypeError) as error:
            msg = f"{beside} cannot be read: {error!r:.200}. Annotate again."
            raise SourceError(msg) from error
        return found

    def _index(self, folder: Path) -> None:
        """Take note of standard errors, and of where each query's pairs stand."""
        for _, row in read_json_lines(folder / FITS):
            self.errors[row["query"]["id"]] = {
                d["id"]: d["standard_error"] for d in row["documents"]
            }
        self._file = folder / SCORES
        place = 0
        with self._file.open("rb") as raw:
            for data in raw:
                if (row_of := _row(data)) is not None:
                    name = row_of["pair"]["query_id"]
                    self._places.setdefault(name, []).append(place)
                place += len(data)

    def rows(self, query_id: str) -> list[dict[str, Any]]:
        """Return the scored pairs of a query."""
        if self._file is None or query_id not in self._places:
            return []
        found = []
        with self._file.open("rb") as raw:
            for place in self._places[query_id]:
                raw.seek(place)
                found.append(_row(raw.readline()) or {})
        return found


def _row(data: bytes) -> dict[str, Any] | None:
    """Return the scored pair of a line, None for the lines around them."""
    text = data.strip().rstrip(b",")
    if not text.startswith(b'{"pair"'):
        return None
    row: dict[str, Any] = json.loads(text)
    return row


def _battle(row: dict[str, Any], corpus: str, query: str) -> dict[str, Any] | None:
    """Return a scored pair as a battle; None where no judge answered."""
    said = [
        (name.removesuffix(_SUFFIX), value)
        for name, value in row.items()
        if name.endswith(_SUFFIX) and value["score"] is not None
    ]
    if not said:
        return None
    scores = [float(value["score"]) for _, value in said]
    mean = sum(scores) / len(scores)
    thoughts = [sendable(value["thought"][:LONGEST_TEXT]) for _, value in said]
    best = max(range(len(said)), key=lambda i: (scores[i] * mean, -i))
    left = row["pair"]["document_a"]["document_id"]
    right = row["pair"]["document_b"]["document_id"]
    return {
        "query": query,
        "left": left,
        "right": right,
        "properties": {
            "corpus": corpus,
            "queryId": query,
            "leftId": left,
            "rightId": right,
            "score": mean,
            "votesLeft": sum(score < 0 for score in scores),
            "votesRight": sum(score > 0 for score in scores),
            "spread": max(scores) - min(scores),
            "judges": [sendable(name) for name, _ in said],
            "scores": scores,
            "reasonings": thoughts,
            "reason": f"{sendable(said[best][0])}: {thoughts[best]}",
        },
    }


def _number(rows: list[dict[str, Any]], query: str) -> None:
    """Give battles their ids; a pair that comes again has another one each time."""
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = (row["left"], row["right"])
        seen[pair] = seen.get(pair, -1) + 1
        row["properties"]["id"] = content_key("battle", query, *pair, seen[pair])
        row["properties"]["repetition"] = seen[pair]


def _scores(
    item: AnnotatedQueryDocuments,
    known: set[str],
    errors: dict[str, float | None],
    rows: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the scores of the chunks of a question, best first."""
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
                "stderr": errors.get(document.id),
                "rank": rank,
                "battles": fought[document.id],
            },
        }
        for rank, document in enumerate(ranked, start=1)
    ]
