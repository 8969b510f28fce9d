"""A pipeline over the graph in the database: its names, classes and chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.specificity.class_scores import (
    RankedChunk,
    WithOtherClasses,
    load_lookup,
    write_scores,
)
from knowtrail.retrieval.specificity.execution import DEFAULT_BASE, SECONDS
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.query_templates import load_templates
from knowtrail.retrieval.specificity.routes import refuse_empty
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
    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.monitoring import (
        SpecificityExperiment,
        SpecificityMetrics,
    )

MOST_CLASSES = 190
"""Classes of one search, as a filter holds 200 tests; more take several searches."""


def _corpora_with_classes(connection: Connection) -> tuple[str, ...]:
    """Return the names of the corpora whose chunks have classes."""
    rows = connection.read("retrieval/specificity_corpora")
    return tuple(row["name"] for row in rows)


class ChunkSearch:
    """Searches one corpus, restricted to classes."""

    def __init__(
        self,
        connection: Connection,
        corpus: str,
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.corpus = corpus
        self._connection = connection
        self._embedder = embedder
        self._settings = settings

    def search(
        self, question: str, classes: Sequence[str] | None, *, k: int = 10
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks nearest to a question."""
        if classes is None:
            return self._nearest(question, None, k)
        names = sorted(set(classes))
        found = [
            chunk
            for begin in range(0, len(names), MOST_CLASSES)
            for chunk in self._nearest(question, names[begin : begin + MOST_CLASSES], k)
        ]
        return tuple(sorted(found, key=lambda c: (-c.similarity, c.chunk_id))[:k])

    def _nearest(
        self, question: str, classes: Sequence[str] | None, k: int
    ) -> tuple[RankedChunk, ...]:
        """Return the nearest chunks of at most as many classes as one search takes."""
        from knowtrail.retrieval.search import search

        where = None if classes is None else {"className": {"$in": list(classes)}}
        found = search(
            self._connection,
            question,
            embedder=self._embedder,
            corpus=self.corpus,
            algorithm="basic_retrieval",
            k=k,
            settings=self._settings,
            filter=where,
        )
        ids = [hit.chunk.id for hit in found.hits]
        rows = self._connection.read("retrieval/specificity_classes", ids=ids)
        names = {row["id"]: row["className"] or "" for row in rows}
        return tuple(
            RankedChunk(
                chunk_id=hit.chunk.id,
                document_id=hit.chunk.document_id,
                title=hit.chunk.title,
                class_name=names.get(hit.chunk.id, ""),
                text=hit.text,
                similarity=hit.score,
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
    metrics: SpecificityMetrics | None = None,
    experiment: SpecificityExperiment | None = None,
    base: str = DEFAULT_BASE,
    seconds: float = SECONDS,
    chunks: bool = True,
) -> TemplatePipeline:
    """Return a pipeline that reads the database live.

    Args:
        connection: The database; it is left open.
        settings: Where models are found.
        corpus: Whose institutions are found and whose chunks are searched. None finds
            all, and searches the one corpus whose chunks have classes, if it is one.
        model: Writes answers; None answers in fixed words.
        record: Whether turns are stored, and the scores of classes.
        templates: A file of templates; None takes those of the product.
        classifier: Tells the template, such as a `DspyTemplateClassifier`; None takes
            the one that is trained on examples.
        metrics: What counts; None counts nothing.
        experiment: Which sessions are filtered; None filters all.
        base: Where the IRIs of the graph begin.
        seconds: Time limit of the queries of one question.
        chunks: Whether chunks are searched, which needs the embedder; fixed words do
            not use them.

    Raises:
        UnknownCorpusError: If a corpus is named and nothing is stored under the name.
        InputError: If a corpus is named that has no institutions.
    """
    from knowtrail.graph.rdf.store import live_graph

    names = _names(connection, corpus)
    known, lookup = load_templates(templates), load_lookup()
    if record:
        write_scores(connection, lookup, base=Vocabulary(base).base)
    return TemplatePipeline(
        live_graph(connection, base=base, seconds=seconds),
        names,
        templates=known,
        classifier=classifier,
        scores=WithOtherClasses(lookup, _class_names(connection)),
        search=_search(connection, corpus, settings) if chunks else None,
        model=model,
        store=connection if record else None,
        metrics=metrics,
        experiment=experiment,
        options=PipelineOptions(base=base, query_seconds=seconds, corpus=corpus),
    )


def _search(
    connection: Connection, corpus: str | None, settings: Settings
) -> ChunkSearch | None:
    """Return the search of the corpus whose chunks are searched; None for none."""
    searched = _searched(connection, corpus)
    if searched is None:
        return None
    return ChunkSearch(connection, searched, settings=settings)


def _names(connection: Connection, corpus: str | None) -> Gazetteer:
    """Return the names of the graph; refuse a corpus without institutions."""
    rows = connection.read("retrieval/specificity_gazetteer", corpus=corpus)
    if corpus is not None and not rows:
        refuse_empty(connection, corpus)
    return build_gazetteer(rows)


def _class_names(connection: Connection) -> list[str]:
    """Return the classes that the graph has, in the schema or not."""
    rows = connection.read("retrieval/specificity_class_names")
    return [row["name"] for row in rows]


def _searched(connection: Connection, corpus: str | None) -> str | None:
    """Return the corpus whose chunks are searched, None to search none.

    A corpus of institutions alone has no chunks.
    """
    if corpus is None:
        classed = _corpora_with_classes(connection)
        return classed[0] if len(classed) == 1 else None
    stored = {info.name for info in corpora(connection)}
    return corpus if corpus in stored else None
