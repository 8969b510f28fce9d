"""Pairs and their scores as JSON files, for people and other programs; read back.

`pairs.json` is `{"pairs": [...]}`, each with pair_id (query id, left and right document
id, joined by hyphens; not unique, as a pair can come again), query_id, query, and
document_a and document_b with document_id, metadata and content. `ai_scores.json` is
`{"scored_pairs": [...]}`, each with `pair` and, for each judge, `NAME_score` with
`thought` and `score`; where a judge failed its score is null, `error` says why, and a
judge that was not asked is missing. Read back, a score that is no number in [-1, 1] is
a failed judgement.

`fits.jsonl` has the scores of each query's documents: null for one that no judge
answered about, which the annotated file leaves out, and 0 for one that is alone.
"""

from __future__ import annotations

import json
import math
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TextIO

from knowtrail.eval.zelo.fit import REGULARISATION, Battles, Fit, Method, fit_battles
from knowtrail.eval.zelo.judgements import (
    SWAPPED,
    Journal,
    Judge,
    Judgement,
    Matchup,
    battles_of,
    known_judgements,
    matchups,
    plan_key,
    usable_score,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import (
    disk_errors,
    json_value,
    read_json,
    read_json_lines,
    whole_file,
)
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedQueryDocuments,
    Document,
    Query,
    QueryDocuments,
    read_queries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.pairs import PairSettings


PAIRS = "pairs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How scores are found; see `knowtrail.eval.zelo.fit.fit_battles`."""

    method: Method = "maximum_likelihood"
    magnitude: bool = False
    regularisation: float = REGULARISATION


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredQuery:
    """A query with what its judgements come to, for its first `judged` documents."""

    query: Query
    documents: tuple[Document, ...]
    judged: int
    pairs: tuple[Matchup, ...]
    judgements: tuple[tuple[Judgement, ...], ...]
    fit: Fit

    def score(self, number: int) -> float | None:
        """Return the score of a document, None where it was not judged."""
        if number >= self.judged:
            return None
        if self.judged == 1:
            return 0.0
        score = float(self.fit.scores[number])
        judged = self.fit.degree[number] > 0 and math.isfinite(score)
        return score if judged else None

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Return the ids of documents without a score."""
        return tuple(
            document.id
            for number, document in enumerate(self.documents)
            if self.score(number) is None
        )

    def annotated(self) -> AnnotatedQueryDocuments:
        """Return the query with the documents that have a score."""
        scored = ((self.score(n), one) for n, one in enumerate(self.documents))
        documents = tuple(
            one.scored(score) for score, one in scored if score is not None
        )
        return AnnotatedQueryDocuments(query=self.query, documents=documents)

    def row(self) -> dict[str, Any]:
        """Return the line of `fits.jsonl`."""
        return {
            "query": {"id": self.query.id, "query": self.query.query},
            "method": self.fit.method,
            "components": self.fit.components,
            "converged": self.fit.converged,
            "documents": [
                self._document(number, document)
                for number, document in enumerate(self.documents)
            ],
        }

    def _document(self, number: int, document: Document) -> dict[str, Any]:
        score = self.score(number)
        judged = number < self.judged and self.fit.degree[number] > 0
        error = float(self.fit.standard_errors[number]) if judged else math.nan
        return {
            "id": document.id,
            "score": score,
            "standard_error": error if math.isfinite(error) else None,
            "battles": int(self.fit.degree[number]) if number < self.judged else 0,
            "component": int(self.fit.component[number]) if judged else None,
        }


def pairs_of(
    journal: Journal | None,
    settings: PairSettings,
    judges: Sequence[Judge],
    query: Query,
    documents: Sequence[Document],
) -> Iterator[Matchup]:
    """Yield the pairs of a query, with the adaptive rounds that were chosen so far."""
    pairs = settings.begin(query.id, [document.id for document in documents])
    if journal is not None and settings.mode == "adaptive" and len(documents) > 1:
        plan = plan_key(settings, query, documents, judges)
        for chosen in journal.rounds(plan)[: settings.cycle_num - 1]:
            pairs += chosen
    yield from matchups(query, documents, pairs)


def scored_queries(of: ZeloAnnotator, journal: Journal) -> Iterator[ScoredQuery]:
    """Yield the queries of a file with their scores; write the files of the folder."""
    folder = journal.folder
    with ExitStack() as stack:
        asked = PairFile(stack.enter_context(whole_file(folder / PAIRS)), "pairs")
        file = stack.enter_context(whole_file(folder / SCORES))
        scores = PairFile(file, "scored_pairs")
        fits = stack.enter_context(whole_file(folder / FITS))
        for queried in read_queries(of.source):
            item = _scored(of, journal, queried)
            for pair, said in zip(item.pairs, item.judgements, strict=True):
                asked.add(pair_row(pair))
                if said:
                    scores.add(scored_row(pair, said))
            fits.write(json.dumps(item.row()) + "\n")
            yield item
        asked.end()
        scores.end()


def _scored(of: ZeloAnnotator, journal: Journal, item: QueryDocuments) -> ScoredQuery:
    taken = of.pairs.considered(item.documents)
    pairs = tuple(pairs_of(journal, of.pairs, of.judges, item.query, taken))
    said = tuple(tuple(known_judgements(journal, pair, of.judges)) for pair in pairs)
    battles = battles_of(
        [document.id for document in taken],
        (one for each in said for one in each),
        [judge.name for judge in of.judges],
        failed=0.0 if of.fit.method == "published" else math.nan,
    )
    return ScoredQuery(
        query=item.query,
        documents=item.documents,
        judged=battles.n,
        pairs=pairs,
        judgements=said,
        fit=fit_battles(battles, **asdict(of.fit)),
    )


def pair_row(matchup: Matchup) -> dict[str, Any]:
    """Return a pair as the files have it."""
    query, sides = matchup.query, {"a": matchup.left, "b": matchup.right}
    return {
        "pair_id": f"{query.id}-{matchup.left.id}-{matchup.right.id}",
        "query_id": query.id,
        "query": query.query,
    } | {
        f"document_{side}": {
            "document_id": one.id,
            "metadata": one.metadata,
            "content": one.content,
        }
        for side, one in sides.items()
    }


def scored_row(matchup: Matchup, judgements: Iterable[Judgement]) -> dict[str, Any]:
    """Return a pair with what its judges said."""
    row: dict[str, Any] = {"pair": pair_row(matchup)}
    for one in judgements:
        said: dict[str, Any] = {"thought": one.reasoning, "score": one.score}
        if one.score is None:
            said["error"] = one.error
        row[f"{one.judge}_score"] = said
    return row


class PairFile:
    """Writes an object with one long list, a row at a time."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self._separator = "\n"
        file.write(f"{{{json.dumps(name)}: [")

    def add(self, row: dict[str, Any]) -> None:
        """Write the next row."""
        self._file.write(self._separator + json.dumps(row))
        self._separator = ",\n"

    def end(self) -> None:
        """End the list."""
        self._file.write("\n]}\n")


SCORES, FITS = "ai_scores.json", "fits.jsonl"
_SUFFIX = "_score"
_QUERY, _SIDES = ("query_id", "query"), ("document_a", "document_b")
_HEAD = '{"scored_pairs": [\n'
"""The first line of a file of ours; each pair then has a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
    """A query with all that was judged of it; `fitted` are scores and their errors."""

    query: Query
    documents: tuple[Document, ...]
    judges: tuple[str, ...]
    judgements: tuple[Judgement, ...]
    fitted: dict[str, tuple[float, float]] | None = None

    def battles(self) -> Battles:
        """Return the judgements as battles, documents numbered in their order."""
        ids = [document.id for document in self.documents]
        return battles_of(ids, self.judgements, self.judges)


class ScoredPairs:
    """The scored pairs of an annotation by query, in the order of the file.

    Of a file of ours only places are in memory, and what was fitted: query -> document
    -> score and standard error, NaN where there is none.
    """

    def __init__(self, source: Path) -> None:
        """Look through the scored pairs."""
        folder = source if source.is_dir() else working_folder(source)
        self._path = folder / SCORES if folder.is_dir() else source
        self._rows: dict[str, list[Any]] = {}
        for number, (row, place) in enumerate(self._read()):
            if not isinstance(row, dict):
                raise SourceError(_other(self._path))
            name = _pair(row, f"{self._path}, scored pair {number}")["query_id"]
            self._rows.setdefault(name, []).append(row if place is None else place)
        self.queries = tuple(self._rows)
        self.fitted = _fits(self._path.with_name(FITS))

    def _read(self) -> Iterator[tuple[Any, int | None]]:
        """Yield the pairs with their places, which a file that others wrote has not."""
        told = "{path} cannot be read: {reason}. Name the {file} of an annotation, or "
        told += "its working folder."
        with (
            disk_errors(SourceError, told, path=self._path, file=SCORES),
            self._path.open("rb") as lines,
        ):
            first = lines.readline()
            if first.decode("utf-8-sig", "replace") == _HEAD:
                yield from self._lines(lines, len(first))
                return
        data = read_json(self._path)
        rows = data.get("scored_pairs") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise SourceError(_other(self._path))
        yield from ((row, None) for row in rows)

    def _lines(self, lines: Iterable[bytes], place: int) -> Iterator[tuple[Any, int]]:
        """Yield the pairs of a file that has one a line, up to the list's end."""
        for line in lines:
            try:
                text = line.decode().strip().removesuffix(",")
            except UnicodeDecodeError as error:
                at = place + error.start
                msg = f"{self._path} is not UTF-8 text: {error.reason} at byte {at}."
                raise SourceError(msg) from error
            if text == "]}":
                return
            yield json_value(text, str(self._path)), place
            place += len(line)
        raise SourceError(f"{self._path} is no JSON: it ends before its list does.")

    def judged(
        self, query_id: str, documents: tuple[Document, ...] = ()
    ) -> JudgedQuery:
        """Return what was judged of a query, its documents in the order given."""
        rows = []
        with self._path.open("rb") as lines:
            for one in self._rows[query_id]:
                if isinstance(one, int):
                    lines.seek(one)
                    rows.append(json.loads(lines.readline().strip().removesuffix(b",")))
                else:
                    rows.append(one)
        return _judged(rows, documents, self.fitted.get(query_id))


def working_folder(annotated: Path) -> Path:
    """Return the working folder beside an annotated file."""
    return annotated.with_name(f"{annotated.name}.zelo")


def read_judged(
    source: Path, *, documents: Path | None = None, query_id: str | None = None
) -> list[JudgedQuery]:
    """Return the judged queries, or one; a file gives the order of their documents."""
    scored = ScoredPairs(source)
    wanted = [name for name in scored.queries if query_id in {None, name}]
    items = read_queries(documents) if documents is not None else ()
    order = {item.query.id: item.documents for item in items if item.query.id in wanted}
    return [scored.judged(name, order.get(name, ())) for name in wanted]


def _fits(path: Path) -> dict[str, dict[str, tuple[float, float]]]:
    if not path.is_file():
        return {}
    try:
        return {
            row["query"]["id"]: {
                one["id"]: (
                    _number(one.get("score")),
                    _number(one.get("standard_error")),
                )
                for one in row["documents"]
            }
            for _, row in read_json_lines(path)
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"{path} is no good: {error!r}. Annotate again.") from error


def one_judged(
    source: Path, query_id: str | None, documents: Path | None
) -> JudgedQuery:
    """Return one judged query of an annotation; None is the only one."""
    found = read_judged(source, documents=documents, query_id=query_id)
    if len(found) == 1:
        return found[0]
    if query_id is not None:
        known = some_ids(ScoredPairs(source).queries)
        msg = f"No query {query_id!r:.80} was judged in {source}: there are {known}."
        raise InputError(msg)
    if not found:
        raise InputError(f"Nothing was judged in {source}: annotate first.")
    names = some_ids([judged.query.id for judged in found])
    raise InputError(f"{source} has {len(found)} queries: name one of {names}.")


def some_ids(names: Sequence[str]) -> str:
    """Return the first ids, as they are shown."""
    shown = [f"{name!r:.60}" for name in names[:5]] or ["none"]
    return ", ".join([*shown, *(["..."] if len(names) > len(shown) else [])])


def _other(path: Path) -> str:
    return f"{path} has no list scored_pairs of objects: name a file of {SCORES}."


def _pair(row: dict[str, Any], where: str) -> dict[str, Any]:
    pair: Any = row.get("pair")
    with suppress(KeyError, TypeError):
        ids = [(pair[side], ("document_id", "content")) for side in _SIDES]
        texts = [of[name] for of, names in [(pair, _QUERY), *ids] for name in names]
        if all(isinstance(text, str) for text in texts):
            return dict(pair)
    msg = f"{where} has no pair with query_id, query, document_a and document_b."
    raise SourceError(msg)


def _judged(
    rows: list[dict[str, Any]],
    known: tuple[Document, ...],
    fitted: dict[str, tuple[float, float]] | None,
) -> JudgedQuery:
    documents: dict[str, Document | None] = dict.fromkeys(fitted or ())
    documents |= {document.id: document for document in known}
    judges: dict[str, None] = {}
    judgements: list[Judgement] = []
    times: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = row["pair"]
        left, right = (_document(pair[side]) for side in _SIDES)
        for one in (left, right):
            documents[one.id] = documents.get(one.id) or one
        names = left.id, right.id
        again = times.get(names, 0)
        times[names] = again + 1
        for key, said in row.items():
            if key.endswith(_SUFFIX) and isinstance(said, dict):
                judge = key.removesuffix(_SUFFIX)
                judges.setdefault(judge)
                judgements.append(
                    Judgement(
                        query_id=pair["query_id"],
                        left_id=left.id,
                        right_id=right.id,
                        repetition=again,
                        judge=judge,
                        **_said(said),
                    )
                )
    first = rows[0]["pair"]
    return JudgedQuery(
        query=Query(id=first["query_id"], query=first["query"]),
        documents=tuple(
            Document(id=name, content="") if document is None else document
            for name, document in documents.items()
        ),
        judges=tuple(judges),
        judgements=tuple(judgements),
        fitted=fitted,
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _document(row: dict[str, Any]) -> Document:
    metadata = row.get("metadata")
    return Document(
        id=row["document_id"],
        content=row["content"],
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _said(said: dict[str, Any]) -> dict[str, Any]:
    score, error, thought = (said.get(name) for name in ("score", "error", "thought"))
    if score is not None:
        score, error = usable_score(score)
    reasoning = thought if isinstance(thought, str) else ""
    return {
        "score": score,
        "reasoning": reasoning,
        "swapped": reasoning.startswith(SWAPPED),
        "error": error if isinstance(error, str) else None,
    }
