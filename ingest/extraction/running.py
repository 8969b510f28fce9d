"""Extraction from many sources: several at once, resumable, each stored as it ends."""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from graph.errors import InputError, ModelError
from graph.progress import silent
from ingest.extraction.extracting import extract_text
from ingest.extraction.knowledge import extraction_id, knowledge_of
from ingest.extraction.prompts import prompt_hash
from ingest.extraction.sources import with_text
from ingest.extraction.storing import store, supports
from ingest.extraction.variants import variant_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.language_models import LanguageModel
    from graph.progress import Progress
    from ingest.extraction.results import Extracted
    from ingest.extraction.storing import ExtractionSource

__all__ = ["ExtractionOptions", "ExtractionReport", "extract_sources"]

_LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOptions:
    """How to extract.

    Attributes:
        variant: How the answers are written, see `VARIANTS`.
        question: What the knowledge is wanted for; None for no question.
        concurrency: Texts that the model reads at once, 1 to 32.
        seconds: Time limit of each answer.
        tokens: Tokens that an answer may have.
        retry_failed: Whether what failed before is tried again.
    """

    variant: str = "skn"
    question: str | None = None
    concurrency: int = 1
    seconds: float = 120.0
    tokens: int = 4_096
    retry_failed: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be done.

        Raises:
            InputError: Naming the option and its range.
        """
        variant_of(self.variant)
        for name, least, most in (
            ("concurrency", 1, MOST_AT_ONCE),
            ("seconds", 1, 3_600),
            ("tokens", 16, 1_000_000),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                msg = f"{name} is {value!r}: give a number from {least} to {most}."
                raise InputError(msg)
        if self.question is not None and not self.question.strip():
            msg = "The question is empty: ask something, or leave it out."
            raise InputError(msg)


@dataclass(slots=True, kw_only=True)
class ExtractionReport:
    """What a run did.

    Attributes:
        variant: Name of the variant.
        model: Name of the model.
        sources: Texts that were asked for.
        skipped: Those that were done before.
        ok: Answers that were valid as they came.
        repaired: Answers that were put right.
        failed: Answers that could not be used.
        failures: Title and reason of some that failed.
        shortened: Texts that were too long for the model.
        facts: Facts stored.
        supported: Those with a sentence that supports them.
        prompt_tokens: Tokens of all prompts, as the model counted.
        completion_tokens: Tokens of all answers.
        seconds: Time of the model, all answers together.
    """

    variant: str
    model: str
    sources: int = 0
    skipped: int = 0
    ok: int = 0
    repaired: int = 0
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    shortened: int = 0
    facts: int = 0
    supported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def take(
        self,
        source: ExtractionSource,
        extracted: Extracted,
        facts: int,
        supported: int,
    ) -> None:
        """Count one extraction with its facts, and those that are supported."""
        self.facts += facts
        self.supported += supported
        setattr(self, extracted.status, getattr(self, extracted.status) + 1)
        if extracted.status == "failed" and len(self.failures) < 20:
            self.failures.append((source.title, extracted.error or ""))
        self.shortened += 0 < extracted.read_characters < extracted.source_characters
        self.prompt_tokens += extracted.prompt_tokens or 0
        self.completion_tokens += extracted.completion_tokens or 0
        self.seconds += extracted.seconds

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values with camelCase names."""
        names = {"prompt_tokens": "promptTokens"}
        names |= {"completion_tokens": "completionTokens"}
        return {
            names.get(name, name): round(value, 3) if name == "seconds" else value
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
    prompt, model and content is left as it is, so that a run that was interrupted goes
    on where it was; an answer that was cut is asked for again where it may be longer.

    Args:
        connection: The database.
        sources: What is read.
        corpus: Name of the stored corpus that they belong to.
        model: Who reads.
        embedder: The model of the corpus' vectors, to find supporting sentences.
        options: How to extract.
        progress: Told of each source that is done.

    Raises:
        InputError: If the question is too long for the model.
        ModelError: If the model's server is down or has no such model; what was done
            before is stored.
        DatabaseError: If the database fails.
    """
    report = ExtractionReport(
        variant=options.variant, model=model.name, sources=len(sources)
    )
    left = _left(connection, sources, corpus=corpus, model=model, options=options)
    report.skipped = len(sources) - len(left)
    if not left:
        return report
    stage = f"extract {options.variant}"
    progress(stage, 0, len(left))
    done = _extracted(connection, left, model, options)
    with _told_how_to_go_on(report):
        for number, (source, extracted) in enumerate(done, start=1):
            kept = _kept(
                connection,
                source,
                extracted,
                corpus=corpus,
                embedder=embedder,
                options=options,
            )
            report.take(source, extracted, *kept)
            progress(stage, number, len(left))
    return report


@contextmanager
def _told_how_to_go_on(report: ExtractionReport) -> Iterator[None]:
    """Say what is stored where the model fails in the middle."""
    try:
        yield
    except ModelError as error:
        done = report.ok + report.repaired + report.failed
        if not done:
            raise
        msg = f"{error} {done} are stored: run the same command again to go on."
        raise ModelError(msg) from error


def _kept(
    connection: Connection,
    source: ExtractionSource,
    extracted: Extracted,
    *,
    corpus: str,
    embedder: Embedder,
    options: ExtractionOptions,
) -> tuple[int, int]:
    """Store an extraction; return how many facts it has, and how many supported."""
    knowledge = knowledge_of(
        extracted,
        corpus=corpus,
        source=source.id,
        content_hash=source.content_hash,
        question=options.question,
    )
    supported = supports(connection, embedder, knowledge, source.document)
    store(connection, knowledge, source, corpus=corpus, supported=supported)
    return len(knowledge.facts), len({row["fact"] for row in supported})


def _left(
    connection: Connection,
    sources: Sequence[ExtractionSource],
    *,
    corpus: str,
    model: LanguageModel,
    options: ExtractionOptions,
) -> list[ExtractionSource]:
    """Return the sources that are not done yet."""
    rows = connection.read(
        "extraction/done", corpus=corpus, variant=options.variant, model=model.name
    )
    asked = prompt_hash(variant_of(options.variant), options.question)
    done = {
        row["id"]: row["contentHash"]
        for row in rows
        if row["promptHash"] == asked
        and not (options.retry_failed and row["status"] == "failed")
        and not (row["cut"] and options.tokens > (row["answerTokens"] or 0))
    }

    def is_done(source: ExtractionSource) -> bool:
        key = extraction_id(
            corpus, source.id, variant=options.variant, model=model.name
        )
        return done.get(key) == source.content_hash

    return [source for source in sources if not is_done(source)]


def _extracted(
    connection: Connection,
    sources: Sequence[ExtractionSource],
    model: LanguageModel,
    options: ExtractionOptions,
) -> Iterator[tuple[ExtractionSource, Extracted]]:
    """Yield sources with what the model made of them, as they are done.

    The threads that wait for the model are daemons: one who stops the program does not
    wait for answers that nobody reads.
    """
    waiting: queue.SimpleQueue[ExtractionSource] = queue.SimpleQueue()
    for source in sources:
        waiting.put(source)
    results: queue.Queue[tuple[ExtractionSource, Extracted] | BaseException]
    results = queue.Queue(maxsize=2 * options.concurrency)
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                source = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                results.put((source, _extract(connection, source, model, options)))
            except BaseException as error:
                results.put(error)
                return

    for number in range(min(options.concurrency, len(sources))):
        name = f"knowtrail-extract-{number}"
        threading.Thread(target=work, name=name, daemon=True).start()
    try:
        for _ in sources:
            item = results.get()
            if isinstance(item, BaseException):
                stopped.set()
                yield from _answers(results)
                raise item
            yield item
    finally:
        stopped.set()
        while not results.empty():
            results.get_nowait()


def _answers(
    results: queue.Queue[tuple[ExtractionSource, Extracted] | BaseException],
) -> Iterator[tuple[ExtractionSource, Extracted]]:
    """Yield what is finished already, without waiting."""
    while not results.empty():
        item = results.get_nowait()
        if not isinstance(item, BaseException):
            yield item


def _extract(
    connection: Connection,
    source: ExtractionSource,
    model: LanguageModel,
    options: ExtractionOptions,
) -> Extracted:
    """Let the model read one source."""
    known = with_text(connection, source)
    extracted = extract_text(
        known.text or "",
        variant=options.variant,
        model=model,
        question=options.question,
        seconds=options.seconds,
        tokens=options.tokens,
    )
    if extracted.status == "failed":
        _LOG.info("No extraction from %.80r: %s", source.title, extracted.error)
    return extracted
