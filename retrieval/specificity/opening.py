"""A pipeline over the graph in the database, and which route a question takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from graph.errors import InputError
from graph.rdf.vocabulary import Vocabulary
from ingest.corpus import check_corpus
from retrieval.corpora import corpora
from retrieval.specificity.chunks import ChunkSearch, corpora_with_classes
from retrieval.specificity.classifying import EmbeddingTemplateClassifier
from retrieval.specificity.execution import DEFAULT_BASE, SECONDS
from retrieval.specificity.gazetteer import build_gazetteer
from retrieval.specificity.lookup import WithOtherClasses, load_lookup
from retrieval.specificity.pipeline import PipelineOptions, TemplatePipeline
from retrieval.specificity.storing import write_scores
from retrieval.specificity.templates import NONE, load_templates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.language_models import LanguageModel
    from graph.settings import Settings
    from retrieval.specificity.classifying import TemplateClassifier
    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.experiment import SpecificityExperiment
    from retrieval.specificity.gazetteer import Gazetteer
    from retrieval.specificity.monitoring import SpecificityMetrics
    from retrieval.specificity.templates import Template

__all__ = [
    "Institutions",
    "Route",
    "RouteName",
    "choose_route",
    "institutions_of",
    "open_pipeline",
    "refuse_empty",
]

_NO_INSTITUTIONS = (
    "Templates need institutions, and the graph has none: put some in with knowtrail "
    "ingest custodians, or use --route graph."
)

RouteName: TypeAlias = Literal["templates", "graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a question is answered.

    Attributes:
        name: `templates` or `graph`.
        reason: Why, for people.
    """

    name: RouteName
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Institutions:
    """Whether templates could find anything.

    Attributes:
        stored: Whether the database has institutions.
        found: Whether the corpus that was asked for has some; `stored` where none was.
    """

    stored: bool
    found: bool


def institutions_of(connection: Connection, corpus: str | None = None) -> Institutions:
    """Return whether institutions are stored, asking the database once."""
    row = connection.read("retrieval/specificity_institutions", corpus=corpus)[0]
    return Institutions(stored=bool(row["stored"]), found=bool(row["found"]))


def refuse_empty(connection: Connection, corpus: str | None) -> NoReturn:
    """Refuse a corpus, or a database, that has no institutions.

    Raises:
        UnknownCorpusError: If a corpus is named and nothing is stored under the name.
        InputError: If it, or where none is named the database, has no institutions.
    """
    if corpus is None:
        raise InputError(_NO_INSTITUTIONS)
    check_corpus(connection, corpus)
    msg = (
        f"Corpus {corpus!r} has texts and no institutions: name a corpus of "
        "institutions, none for all, or use --route graph."
    )
    raise InputError(msg)


def open_pipeline(
    connection: Connection,
    settings: Settings,
    *,
    corpus: str | None = None,
    embedder: Embedder | None = None,
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
        embedder: For questions, without a `classifier`; None: that of the settings.
        model: Writes answers; None answers in fixed words.
        record: Whether turns are stored, and the scores of classes.
        templates: A file of templates; None takes those of the product.
        classifier: Tells the template, such as a `DspyTemplateClassifier`; None finds
            the nearest examples.
        metrics: What counts; None counts nothing.
        experiment: Which sessions are filtered; None filters all.
        base: Where the IRIs of the graph begin.
        seconds: Time limit of the queries of one question.
        chunks: Whether chunks are searched, which needs the embedder for every
            question; fixed words do not use them.

    Raises:
        UnknownCorpusError: If a corpus is named and nothing is stored under the name.
        InputError: If a corpus is named that has no institutions.
    """
    from graph.rdf.store import live_graph

    names = _names(connection, corpus)
    known, lookup = load_templates(templates), load_lookup()
    if record:
        write_scores(connection, lookup, base=Vocabulary(base).base)
    return TemplatePipeline(
        live_graph(connection, base=base, seconds=seconds),
        names,
        templates=known,
        classifier=classifier or _nearest(known, embedder, settings),
        scores=WithOtherClasses(lookup, _class_names(connection)),
        search=_search(connection, corpus, settings) if chunks else None,
        model=model,
        store=connection if record else None,
        metrics=metrics,
        experiment=experiment,
        options=PipelineOptions(base=base, query_seconds=seconds, corpus=corpus),
    )


def _nearest(
    templates: Mapping[str, Template], embedder: Embedder | None, settings: Settings
) -> EmbeddingTemplateClassifier:
    """Return the classifier by nearest examples, whose vectors are kept at home."""
    from graph.embedders import load_embedder

    if embedder is None:
        embedder = load_embedder(settings.embedder, settings=settings)
    return EmbeddingTemplateClassifier(
        templates, embedder, cache=settings.home / "templates"
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
        classed = corpora_with_classes(connection)
        return classed[0] if len(classed) == 1 else None
    stored = {info.name for info in corpora(connection)}
    return corpus if corpus in stored else None


def choose_route(
    pipeline: TemplatePipeline,
    question: str,
    conversation: Conversation | str | None = None,
) -> Route:
    """Return whether a question is better answered by a template or from the graph.

    Args:
        pipeline: What would answer by a template; it runs no query here.
        question: What is asked.
        conversation: What was said before, or its name.
    """
    seen = pipeline.understand(question, conversation=conversation)
    if seen.status == "lost":
        return Route(name="templates", reason="it builds on an earlier question")
    if seen.status == "irrelevant":
        return Route(name="graph", reason="it names nothing of heritage institutions")
    if seen.classification is None:
        msg = "The question was not classified."
        raise InputError(msg)
    if seen.template_id == NONE:
        reason = "it asks for what no template answers"
        likely, score = next(iter(seen.classification.scores), (NONE, 0.0))
        if likely != NONE:
            reason = f"no template fits; {likely} is nearest, only {score:.2f} like it"
        return Route(name="graph", reason=reason)
    confidence = seen.classification.confidence
    reason = f"the template {seen.template_id} fits, with confidence {confidence:.2f}"
    return Route(name="templates", reason=reason)
