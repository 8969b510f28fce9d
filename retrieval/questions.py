"""A question with everything about it that can be checked without a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, get_args

from knowtrail.graph.errors import InputError, check_whole, shown
from knowtrail.ingest.keys import camel_cased
from knowtrail.retrieval.algorithms import ALGORITHMS, DEFAULT_ALGORITHM, ORDERED
from knowtrail.retrieval.algorithms import algorithm as algorithm_named
from knowtrail.retrieval.algorithms.rules import PUBLISHED
from knowtrail.retrieval.budgets import BUDGETS
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.protocols import WalkOptions
from knowtrail.retrieval.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.hits import Granularity
    from knowtrail.retrieval.protocols import Algorithm, Vector, Walking
    from knowtrail.retrieval.walk import Trail

LONGEST_QUESTION = 10_000
LARGEST_K = 10_000

Preset: TypeAlias = Literal["published"]
"""`published` walks as the published code does, see `retrieval.algorithms`."""

ReaderName: TypeAlias = Literal["auto", "cypher", "snapshot"]
"""Where walks read: the database, its snapshot, or the snapshot where it is current."""

_GRANULARITIES = ("chunk", "sentence")


class WalkSettings(TypedDict, total=False):
    """What can be asked of every walk; the defaults are those of `check_question`.

    Attributes:
        embedder: The model that the corpus was embedded with; None loads the one
            of the settings, or else the one that the corpus names, once a process.
        corpus: Name of the corpus; may be left out where there is only one.
        algorithm: Name of the algorithm, or one of your own (an `Algorithm`).
        model: The language model of `llm_guided_traversal`; None loads that of the
            settings.
        settings: Where embedder, language model and snapshots are found.
        max_sentences: Sentences wanted.
        max_hops: Edges that may be followed.
        anchors: Chunks to start from, spread over documents.
        lookahead: Further steps that are looked at before one is taken.
        beam: Paths that are kept while looking ahead.
        filter: What chunks must pass at every hop, see `knowtrail.retrieval.filters`.
        preset: `published` for the rules of the published code, else None.
        reader: Where to read, see `ReaderName`.
    """

    embedder: Embedder | None
    corpus: str | None
    algorithm: str | Algorithm
    model: LanguageModel | None
    settings: Settings | None
    max_sentences: int
    max_hops: int
    anchors: int
    lookahead: int
    beam: int
    filter: Mapping[str, Any] | None
    preset: Preset | None
    reader: ReaderName


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A checked question, ready to be walked for.

    `k` hits are wanted; None takes the walk as it is.
    """

    question: str
    algorithm: Algorithm
    options: WalkOptions
    k: int | None
    filter: Filter | None
    given_filter: Mapping[str, Any] | None
    granularity: Granularity
    preset: Preset | None
    reader: ReaderName

    def walking(self, query: Vector) -> Walking[Trail]:
        """Return the walk for a question's vector, to be run over a reader."""
        return self.algorithm.walk(query, self.options)

    def language_model(
        self, given: LanguageModel | None, settings: Settings | None
    ) -> LanguageModel | None:
        """Return the model that the walk asks, None where it asks none.

        The caller's is taken where there is one, or else that of the settings.
        """
        if not getattr(self.algorithm, "asks_model", False):
            return None
        if given is not None:
            return given
        from knowtrail.graph.models.language_models import load_language_model

        return load_language_model(settings=settings)

    def walk(
        self, corpus: str, trail: Trail, seconds: float, **used: str | int | None
    ) -> Walk:
        """Return a trail with what it was made from, and what else was in force."""
        options = self.options
        return Walk(
            algorithm=self.algorithm.name,
            question=self.question,
            corpus=corpus,
            steps=trail.steps,
            stop_reason=trail.stop_reason,
            milliseconds=seconds * 1000,
            parameters={
                "maxSentences": options.max_sentences if self.k is None else None,
                **camel_cased(options, "max_hops", "anchors", "lookahead", "beam"),
                "filter": self.given_filter,
                "preset": self.preset,
                **used,
            },
            counts=trail.counts,
            score=trail.score,
        )


def check_question(
    question: str,
    *,
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    k: int | None = None,
    max_sentences: int = BUDGETS["max_sentences"].default,
    max_hops: int = BUDGETS["max_hops"].default,
    anchors: int = BUDGETS["anchors"].default,
    lookahead: int = BUDGETS["lookahead"].default,
    beam: int = BUDGETS["beam"].default,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word callers know
    granularity: Granularity = "chunk",
    preset: Preset | None = None,
    reader: ReaderName = "auto",
    embedded: bool = False,
) -> Task:
    """Check what a caller gives, before any server is asked.

    Takes the arguments of `knowtrail.retrieval.search.search` and `WalkSettings`; with
    `embedded`, the question's vector is given, so that the question may be empty.

    Raises:
        InputError: If something is no good; the message says what to give.
    """
    if not (embedded and question == ""):
        _check_text(question)
    _check_names(granularity, preset, reader)
    if k is not None:
        check_whole("k", k, 1, LARGEST_K, ", or leave it out")
    options = WalkOptions(
        max_sentences=max_sentences,
        max_hops=max_hops,
        anchors=anchors,
        lookahead=lookahead,
        beam=beam,
        question=question,
    )
    if preset == "published":
        PUBLISHED.check(options)
    name = algorithm if isinstance(algorithm, str) else algorithm_named(algorithm).name
    if why := refused(
        name, anchors=anchors, lookahead=lookahead, preset=preset, reader=reader
    ):
        raise InputError(why)
    return Task(
        question=question,
        algorithm=algorithm_named(algorithm, published=preset == "published"),
        options=options,
        k=k,
        filter=parse_filter(filter),
        given_filter=filter,
        granularity=granularity,
        preset=preset,
        reader=reader,
    )


def refused(algorithm: str, /, **asked: Unpack[WalkSettings]) -> str:
    """Return why an algorithm has no use for some settings; empty where it has."""
    if algorithm not in ORDERED:
        return ""
    if asked.get("preset") is not None:
        return (
            f"The preset 'published' has no algorithm {algorithm!r}: name another one, "
            "such as 'query_traversal', or leave the preset out."
        )
    if asked.get("reader") == "snapshot" and needs_words(ALGORITHMS[algorithm]):
        return (
            f"Algorithm {algorithm!r} looks for words that are common, too, for which "
            "snapshots are too slow: use the reader 'cypher' or 'auto'."
        )
    usual = {name: BUDGETS[name].default for name in ("anchors", "lookahead")}
    if other := [f"{n}={asked[n]}" for n, v in usual.items() if asked.get(n, v) != v]:  # type: ignore[literal-required]
        return (
            f"Algorithm {algorithm!r} starts from many chunks and does not look ahead, "
            f"and got {', '.join(other)}: leave that out, or name another algorithm, "
            "such as 'query_traversal'."
        )
    return ""


def needs_words(algorithm: Algorithm) -> bool:
    """Return whether an algorithm looks for words, so that the database is read."""
    return bool(getattr(algorithm, "needs_words", False))


def _check_names(granularity: object, preset: object, reader: object) -> None:
    if granularity not in _GRANULARITIES:
        msg = f"granularity is {shown(granularity)}: use 'chunk' or 'sentence'."
        raise InputError(msg)
    if preset not in (None, *get_args(Preset)):
        raise InputError(f"preset is {shown(preset)}: use 'published', or none.")
    if reader not in get_args(ReaderName):
        msg = f"reader is {shown(reader)}: use 'auto', 'cypher' or 'snapshot'."
        raise InputError(msg)


def _check_text(question: object) -> None:
    """Refuse a question that is empty, too long or no valid text."""
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"The question is {shown(question)}: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise InputError(
            f"The question has {len(question)} characters: shorten it to "
            f"{LONGEST_QUESTION}."
        )
    try:
        question.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"The question is not valid text at character {error.start + 1}."
        raise InputError(msg) from error
