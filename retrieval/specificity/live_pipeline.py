"""A pipeline over the graph in the database: its names, classes and chunks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NoReturn

from knowtrail.graph.batches import batched
from knowtrail.graph.errors import InputError
from knowtrail.ingest.corpus import check_corpus
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.specificity.class_scores import (
    ClassScores,
    RankedChunk,
    SpecificityLookup,
    load_lookup,
    write_scores,
)
from knowtrail.retrieval.specificity.execution import SECONDS
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.institutions import Nearby
from knowtrail.retrieval.specificity.query_templates import load_templates
from knowtrail.retrieval.specificity.template_pipeline import (
    PipelineOptions,
    TemplatePipeline,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.classifier import TemplateClassifier
    from knowtrail.retrieval.specificity.monitoring import (
        SpecificityExperiment,
        SpecificityMetrics,
    )
    from knowtrail.retrieval.specificity.understanding import Understanding

MOST_CLASSES = 190
"""Classes of one search, as a filter holds 200 tests; more take several searches."""


_NO_INSTITUTIONS = (
    "Templates need institutions, and the graph has none: put some in with knowtrail "
    "ingest custodians, or use --route graph."
)


@dataclass(eq=False)
class ChunkSearch:
    """Searches one corpus, restricted to classes."""

    connection: Connection
    corpus: str
    _: KW_ONLY
    embedder: Embedder | None = None
    settings: Settings | None = None

    def search(
        self, question: str, classes: Sequence[str] | None, *, k: int = 10
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks nearest to a question."""
        names = sorted(set(classes or ()))
        parts = [None] if classes is None else batched(names, MOST_CLASSES)
        found = [chunk for part in parts for chunk in self._nearest(question, part, k)]
        return tuple(sorted(found, key=lambda c: (-c.similarity, c.chunk_id))[:k])

    def _nearest(
        self, question: str, classes: Sequence[str] | None, k: int
    ) -> tuple[RankedChunk, ...]:
        from knowtrail.retrieval.search import search

        where = None if classes is None else {"className": {"$in": list(classes)}}
        found = search(
            self.connection,
            question,
            embedder=self.embedder,
            corpus=self.corpus,
            algorithm="basic_retrieval",
            k=k,
            settings=self.settings,
            filter=where,
        )
        ids = [hit.chunk.id for hit in found.hits]
        rows = self.connection.read("retrieval/specificity_classes", ids=ids)
        names = {row["id"]: row["className"] or "" for row in rows}
        return tuple(
            RankedChunk(
                chunk_id=hit.chunk.id,
                document_id=hit.chunk.document_id,
                title=hit.chunk.title,
                class_name=names.get(hit.chunk.id, ""),
                text=hit.text,
                similarity=hit.score,
                sentence_ids=tuple(s.id for s in hit.sentences),
            )
            for hit in found.hits
        )


def open_pipeline(
    connection: Connection,
    settings: Settings,
    *,
    corpus: str | None = None,
    model: LanguageModel | None = None,
    record: bool = True,
    templates: Path | None = None,
    classifier: TemplateClassifier | None = None,
    understanding: Understanding | None = None,
    metrics: SpecificityMetrics | None = None,
    experiment: SpecificityExperiment | None = None,
    seconds: float = SECONDS,
    chunks: bool = True,
) -> TemplatePipeline:
    """Return a pipeline that reads the database live.

    The connection is left open. Institutions of the corpus are found, and its chunks
    searched; without one all are found, and the one corpus is searched whose chunks
    have classes, if it is one. `record` is whether turns are stored, and the scores of
    classes; `templates` is a file, `seconds` the time limit of the queries of one
    question, `chunks` whether they are searched beside rows, which needs the embedder.
    The rest are fields of `TemplatePipeline` and of its options.

    Raises:
        UnknownCorpusError: If a corpus is named and nothing is stored under the name.
        InputError: If a corpus is named that has no institutions.
    """
    from knowtrail.graph.rdf.store import live_graph

    rows = connection.read("retrieval/specificity_gazetteer", corpus=corpus)
    if corpus is not None and not rows:
        refuse_empty(connection, corpus)
    names = build_gazetteer(rows)
    return TemplatePipeline(
        live_graph(connection, seconds=seconds),
        names,
        templates=load_templates(templates),
        classifier=classifier,
        understanding=understanding,
        scores=_scores(connection, record=record),
        search=_search(connection, corpus, settings),
        nearby=Nearby(connection, names, corpus=corpus),
        model=model,
        store=connection if record else None,
        metrics=metrics,
        experiment=experiment,
        options=PipelineOptions(query_seconds=seconds, corpus=corpus, chunks=chunks),
    )


def _scores(connection: Connection, *, record: bool) -> SpecificityLookup:
    lookup = load_lookup()
    rows = connection.read("retrieval/specificity_class_names")
    others = {row["name"]: ClassScores(name=row["name"]) for row in rows}
    if record:
        write_scores(connection, lookup)
    return SpecificityLookup(others | lookup.classes)


def refuse_empty(connection: Connection, corpus: str | None) -> NoReturn:
    """Refuse a corpus, or a database, that has no institutions or is not there."""
    if corpus is None:
        raise InputError(_NO_INSTITUTIONS)
    check_corpus(connection, corpus)
    raise InputError(
        f"Corpus {corpus!r} has texts and no institutions: name a corpus of "
        "institutions, none for all, or use --route graph."
    )


def _search(
    connection: Connection, corpus: str | None, settings: Settings
) -> ChunkSearch | None:
    """Return the search of a corpus, or of the only one whose chunks have classes."""
    # None where there is none: a corpus of institutions alone has no chunks.
    if corpus is None:
        rows = connection.read("retrieval/specificity_corpora")
        found = [row["name"] for row in rows] if len(rows) == 1 else []
    else:
        found = [info.name for info in corpora(connection) if info.name == corpus]
    return ChunkSearch(connection, found[0], settings=settings) if found else None
