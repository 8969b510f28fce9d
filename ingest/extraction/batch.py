"""Extraction from many sources: several at once, resumable, each stored as it ends."""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError, ModelError, check_ranges, near_name
from knowtrail.ingest.extraction.stored_knowledge import (
    ExtractionSource,
    extraction_id,
    knowledge_of,
    store,
    supports,
)
from knowtrail.ingest.extraction.text_extraction import extract_text
from knowtrail.ingest.extraction.variants import prompt_hash, variant_of
from knowtrail.ingest.extraction.web import results_text
from knowtrail.ingest.keys import camel_case, content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.ingest.extraction.text_extraction import Extracted
    from knowtrail.ingest.extraction.web import WebResult

Unit = Literal["document", "chunk"]


def stored_sources(
    connection: Connection,
    corpus: str,
    *,
    unit: Unit = "document",
    only: Sequence[str] = (),
) -> list[ExtractionSource]:
    """Return the documents or chunks of a corpus, without their texts."""
    wanted = list(only) or None
    rows = connection.read(f"extraction/{unit}s", corpus=corpus, only=wanted)
    check_named(connection, corpus, rows, only)
    return [
        ExtractionSource(
            id=row["id"],
            title=row["title"],
            content_hash=row["contentHash"],
            document=row["document"],
        )
        for row in rows
    ]


def check_named(
    connection: Connection,
    corpus: str,
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str],
) -> None:
    """Refuse names that are those of no document, suggesting a near title."""
    known = {
        name for row in rows for name in (row["id"], row["title"], row["document"])
    }
    known |= {alias for row in rows for alias in row["aliases"] or ()}
    for name in names:
        if name not in known:
            rows = connection.read("extraction/documents", corpus=corpus, only=None)
            titles = [row["title"] for row in rows]
            hint = near_name(name, titles, none="give a title or an id.")
            raise InputError(f"No document {name!r} in corpus {corpus!r}: {hint}")


def search_source(
    query: str, results: Sequence[WebResult], *, corpus: str
) -> ExtractionSource:
    """Return what a search found as one source."""
    text = results_text(results)
    return ExtractionSource(
        id=content_key("search", corpus, query),
        title=query,
        content_hash=content_key("results", text),
        results=tuple(results),
        text=text,
    )


def _with_text(connection: Connection, source: ExtractionSource) -> ExtractionSource:
    if source.text is not None:
        return source
    (row,) = connection.read("extraction/texts", ids=[source.id])
    return replace(source, text=row["text"])


_LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 32
_ADDED = (
    *("not_understood", "source_characters", "read_characters", "passages"),
    *("prompt_tokens", "completion_tokens", "seconds"),
)
"""What a report has of all extractions together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOptions:
    """How to extract.

    Attributes:
        question: What the knowledge is wanted for; None for no question.
        concurrency: Texts that the model reads at once, 1 to 32.
        seconds: Time limit of each answer.
        tokens: Tokens that an answer may have, and half of the context at most.
        retry_failed: Whether what failed before, in part too, is tried again.
    """

    variant: str = "skn"
    question: str | None = None
    concurrency: int = 1
    seconds: float = 120.0
    tokens: int = 4_096
    retry_failed: bool = False

    def __post_init__(self) -> None:
        variant_of(self.variant)
        check_ranges(
            concurrency=(self.concurrency, 1, MOST_AT_ONCE),
            seconds=(self.seconds, 1, 3_600),
            tokens=(self.tokens, 16, 1_000_000),
        )
        if self.question is not None and not self.question.strip():
            raise InputError("The question is empty: ask something, or leave it out.")


@dataclass(slots=True, kw_only=True)
class ExtractionReport:
    """What a run did.

    Attributes:
        failed_before: Sources that were done before, and failed then.
        ok: Answers that were valid as they came.
        partial: Long texts of which some passages failed.
        kept: Of the partial and the failed, how many left an earlier extraction that
            had read more in its place.
        failures: Title and reason of some that failed, in part too.
        not_understood: Pieces of answers that were left out.
        answer_tokens: Tokens that each answer might have; None where none was asked
            for.
        supported: Those with a sentence that supports them.
        seconds: Time of the model, all answers together.
    """

    variant: str
    model: str
    sources: int = 0
    skipped: int = 0
    failed_before: int = 0
    ok: int = 0
    repaired: int = 0
    partial: int = 0
    failed: int = 0
    kept: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    not_understood: int = 0
    source_characters: int = 0
    read_characters: int = 0
    passages: int = 0
    answer_tokens: int | None = None
    facts: int = 0
    supported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def take(
        self,
        source: ExtractionSource,
        extracted: Extracted,
        facts: tuple[int, int] | None,
    ) -> None:
        """Count one extraction with its facts and supported ones, None if not kept."""
        stated, supported = facts or (0, 0)
        self.kept += facts is None
        self.facts += stated
        self.supported += supported
        setattr(self, extracted.status, getattr(self, extracted.status) + 1)
        if extracted.error and len(self.failures) < 20:
            self.failures.append((source.title, extracted.error))
        for name in _ADDED:
            more = getattr(extracted, name) or 0
            setattr(self, name, getattr(self, name) + more)
        self.answer_tokens = extracted.answer_tokens

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values with camelCase names."""
        return {
            camel_case(name): round(value, 3) if name == "seconds" else value
            for name, value in asdict(self).items()
        } | {"failures": [{"title": t, "error": e} for t, e in self.failures]}


def extract_sources(
    connection: Connection,
    sources: Sequence[ExtractionSource],
    *,
    corpus: str,
    model: LanguageModel,
    embedder: Embedder,
    options: ExtractionOptions,
    progress: Progress = silent,
) -> ExtractionReport:
    """Let a model read sources, and store what it writes down as it comes.

    Each source is stored in one transaction. What an earlier run did with the same
    prompt, model and content is left as it is, so that an interrupted run goes on; an
    answer that was cut is asked for again where it may be longer. One that failed, or
    of which passages failed, replaces none that had read more.

    Raises:
        InputError: If the question is too long for the model.
        ModelError: If the model's server is down or lacks it; what was done is stored.
        DatabaseError: If the database fails.
    """
    report = ExtractionReport(
        variant=options.variant, model=model.name, sources=len(sources)
    )
    asked = {"corpus": corpus, "variant": options.variant, "model": model.name}
    rows = connection.read("extraction/done", **asked)
    before = {row["id"]: row["read"] for row in rows}
    done = _done(rows, model, options)
    keys = {source.id: extraction_id(source=source.id, **asked) for source in sources}
    left = [s for s in sources if done.get(keys[s.id]) != s.content_hash]
    report.skipped = len(sources) - len(left)
    skipped = set(keys.values()) - {keys[source.id] for source in left}
    report.failed_before = sum(not before[key] for key in skipped)
    if not left:
        return report
    progress(f"extract {options.variant}", 0, len(left))
    answers = _answers(
        left,
        lambda source: _extract(_with_text(connection, source), model, options),
        options.concurrency,
    )
    with _told_how_to_go_on(report):
        for number, (source, extracted) in enumerate(answers, start=1):
            knowledge = knowledge_of(
                extracted,
                corpus=corpus,
                source=source.id,
                content_hash=source.content_hash,
                question=options.question,
            )
            facts = None
            had_read = before.get(knowledge.id, 0)
            if not extracted.error or extracted.read_characters >= had_read:
                supported = supports(connection, embedder, knowledge, source.document)
                store(connection, knowledge, source, corpus=corpus, supported=supported)
                facts = len(knowledge.facts), len({row["fact"] for row in supported})
            report.take(source, extracted, facts)
            progress(f"extract {options.variant}", number, len(left))
    return report


@contextmanager
def _told_how_to_go_on(report: ExtractionReport) -> Iterator[None]:
    """Say what is stored where the model fails in the middle."""
    try:
        yield
    except ModelError as error:
        done = report.ok + report.repaired + report.partial + report.failed
        done -= report.kept
        if not done:
            raise
        msg = f"{error} {done} are stored: run the same command again to go on."
        raise ModelError(msg) from error


def _done(
    rows: Sequence[Mapping[str, Any]], model: LanguageModel, options: ExtractionOptions
) -> dict[str, str]:
    """Return the content of each extraction that needs not be made again, by its id."""
    asked = prompt_hash(variant_of(options.variant), options.question)
    return {
        row["id"]: row["contentHash"]
        for row in rows
        if row["promptHash"] == asked
        and not (options.retry_failed and row["read"] < row["characters"])
        and not (
            row["cut"] and model.room(options.tokens)[1] > (row["answerTokens"] or 0)
        )
    }


def _answers(
    sources: Sequence[ExtractionSource],
    extract: Callable[[ExtractionSource], Extracted],
    concurrency: int,
) -> Iterator[tuple[ExtractionSource, Extracted]]:
    """Yield sources with what the model made of them, as they are done."""
    # The threads that wait for the model are daemons: one who stops the program does
    # not wait for answers that nobody reads.
    waiting = iter(list(sources))
    results: queue.Queue[tuple[ExtractionSource, Extracted] | BaseException]
    results = queue.Queue(maxsize=2 * concurrency)
    stopped = threading.Event()

    def work() -> None:
        for source in waiting:
            if stopped.is_set():
                return
            try:
                results.put((source, extract(source)))
            except BaseException as error:
                results.put(error)
                return

    for number in range(min(concurrency, len(sources))):
        name = f"knowtrail-extract-{number}"
        threading.Thread(target=work, name=name, daemon=True).start()
    try:
        for _ in sources:
            item = results.get()
            if isinstance(item, BaseException):
                stopped.set()
                while not results.empty():
                    late = results.get_nowait()
                    if not isinstance(late, BaseException):
                        yield late
                raise item
            yield item
    finally:
        stopped.set()
        while not results.empty():
            results.get_nowait()


def _extract(
    source: ExtractionSource, model: LanguageModel, options: ExtractionOptions
) -> Extracted:
    extracted = extract_text(
        source.text or "",
        variant=options.variant,
        model=model,
        question=options.question,
        seconds=options.seconds,
        tokens=options.tokens,
    )
    if extracted.status == "failed":
        _LOG.info("No extraction from %.80r: %s", source.title, extracted.error)
    return extracted
